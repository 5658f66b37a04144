// Runs make_surface() (surface/surface.h) as a stage: meshes the particles of a liquid, a spray or another program.
// Writes the mesh to surface.####.ply and, if requested, signed distance and velocity to surface.####.vdb.
#pragma once

#include "spindrift/expression/volume_expression.h"
#include "spindrift/io/vdb.h"
#include "spindrift/stages/liquid_stage.h"
#include "spindrift/stages/stage_expressions.h"
#include "spindrift/stages/taken_particles.h"
#include "spindrift/stages/thin_colliders.h"
#include "spindrift/surface/surface.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// A mesh that renders show as a liquid.
struct SurfaceFacts : DrawableFacts {
    // `liquid` tells where the surface is; it may be null.
    static std::shared_ptr<SurfaceFacts> around(const std::string& stage, const LiquidFacts* liquid);
    Looks looks() const override { return {.look = true, .color = true}; }
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override;
    double memory(const Foreseen& foreseen) const override;
};

class SurfaceStage : public FrameStage {
  public:
    using FrameStage::FrameStage;
    std::vector<Port> ports(const ShotGraph& graph) const override;
    std::string input_files() const override { return input_files_; }
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    std::string stands_for() const override { return "of"; }
    Estimate estimate() const override { return estimate_; }
    // Files of another program cannot be made coarser: rehearses a few of their frames at full resolution.
    Rehearsal rehearsal() const override { return input_.empty() ? Rehearsal::all_frames : Rehearsal::some_frames; }
    double coarseness(double k) const override { return input_.empty() ? k : 1; }
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override;
    Measure follows() const override { return input_.empty() && of_spray_ ? Measure{source_, "droplets"} : Measure(); }
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override;
    FrameReport make(int frame, const InputPath& input, const std::vector<std::string>& outputs) override;

  private:
    // Expressions on the particles that are read, or on the volumes that are written.
    struct ExpressionParams : ExpressionSource {
        enum class On { particles, volumes };
        On on = On::particles;
        void visit(ParamVisitor& v);
    };
    void prepare_expressions(const SceneFile& scene, const ShotParams& shot);
    ExpressionContext context(int frame, const SampledVolumes& volumes) const;
    void prepare_input(const SceneFile& scene);
    std::vector<std::string> inputs_on_disk() const;
    float spacing_of(const ParticleFile& file);
    void estimate_spacing();
    const Solids* walls_at(int frame, float reach);
    static const std::vector<float>* own_radii(const Particles& particles);
    static float common_radius(const ParticleFile& file);

    std::string of_, source_; // source of the particles: name in the scene, and as resolved
    bool of_spray_ = false;
    std::shared_ptr<const LiquidFacts> liquid_; // null if there is none
    TakenParticles taken_;                      // particles that are droplets, which the surface leaves out
    std::shared_ptr<const SurfaceFacts> facts_;
    std::string input_, input_files_; // as written, and resolved
    PointNames names_;
    std::optional<float> spacing_, found_spacing_; // set in the scene, or estimated from the input
    bool are_drops_ = false;                       // all of one radius and too far apart for a liquid
    FrameRange range_;
    SurfaceParams params_;
    std::optional<Box3f> container_; // its closed sides hold the liquid
    std::string walls_around_;       // closed sides and colliders of a liquid whose frames are not read, as text
    ThinColliders walls_;
    Estimate estimate_;

    std::vector<ExpressionParams> expressions_;
    template <class Kind> struct Compiled {
        Kind expression;
        SampledVolumes volumes;
    };
    std::vector<Compiled<Expression>> on_particles_;
    std::vector<Compiled<VolumeExpression>> on_volumes_;
    std::vector<Shape> colliders_; // visible to expressions
    std::string expression_files_;
    float fps_ = 24;
};

} // namespace spindrift
