// Runs Ripples (ripples/ripples.h) as a stage: adds ripples finer than a liquid's grid to the surface of its frames.
// Writes the rippled surface to ripples.####.ply.
#pragma once

#include "spindrift/liquid/particle_flow.h"
#include "spindrift/ripples/ripples.h"
#include "spindrift/stages/liquid_stage.h"
#include "spindrift/stages/surface_stage.h"
#include "spindrift/stages/thin_colliders.h"

namespace spindrift {

class RipplesStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<Port> ports(const ShotGraph& graph) const override;
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    std::string stands_for() const override { return "of"; }
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    Growth growth() const override;
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override { return dependencies_; }

    void read_from(const InputPath& input) override { input_path_ = input; }
    FrameReport start(int frame) override;
    FrameReport restore(StateFile file) override;
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;

  private:
    Particles read(int frame) const;
    // Whether the liquid stage has simulated the ripples; otherwise this stage simulates them from the liquid's frames.
    bool in_liquid() const { return liquid_->params.turbulence.on; }
    const RippleParams& ripple_params() const { return in_liquid() ? liquid_->params.turbulence : params_; }
    void find_flow(int frame);
    void read_ripples();
    void follow_liquid(PhaseTimes& times);
    Mesh make_mesh(const Ripples::Surface& surface);
    // Calls cut(walls, particles, reach of a particle [m]) if there are thin colliders.
    template <class Cut> void cut_at_thin_walls(const Cut& cut);
    FrameReport report(PhaseTimes times);

    std::string of_; // name in the scene
    std::shared_ptr<const LiquidFacts> liquid_;
    std::shared_ptr<const SurfaceFacts> facts_;
    RippleParams params_;
    bool sdf_ = false;
    InputPath input_path_;
    float fps_ = 24;
    std::string dependencies_;
    Estimate estimate_;
    std::optional<Box3f> container_; // its closed sides hold the liquid
    std::unique_ptr<ParticleFlow> flow_;
    std::unique_ptr<Ripples> ripples_;
    ThinColliders walls_;
    // Of the current frame.
    Particles particles_;
    Mesh mesh_;
    int frame_ = 0, steps_ = 0;
};

} // namespace spindrift
