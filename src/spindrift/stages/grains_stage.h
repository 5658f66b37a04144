// The stage [grains]: runs GrainPoints (sand/grain_points.h), which seeds and moves points for rendering from the
// frames of a [sand] stage. Writes points to grains.####.vdb.
#pragma once

#include "spindrift/sand/grain_points.h"
#include "spindrift/stages/sand_stage.h"

namespace spindrift {

struct GrainsFacts : DrawableFacts {
    std::vector<SandMaterialParams> materials;
    Looks looks() const override { return {.color = true, .color_by = true}; }
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override;
    double memory(const Foreseen& foreseen) const override;
};

class GrainsStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<Port> ports(const ShotGraph& graph) const override;
    std::vector<std::string> endings() const override { return {"vdb"}; }
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    std::string stands_for() const override { return "of"; }
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    Growth growth() const override;
    double memory(const Forecast& forecast) const override;

    void read_from(const InputPath& input) override { input_path_ = input; }
    FrameReport start(int frame) override;
    FrameReport restore(StateFile state) override;
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;

  private:
    FrameReport made(int frame, const std::function<GrainReport(Particles sand)>& make);

    std::string of_; // name in the scene
    std::shared_ptr<const SandFacts> sand_;
    std::shared_ptr<const GrainsFacts> facts_;
    GrainParams params_;
    std::unique_ptr<GrainPoints> grains_;
    InputPath input_path_;
    int frame_ = 0;
    Estimate estimate_;
};

} // namespace spindrift
