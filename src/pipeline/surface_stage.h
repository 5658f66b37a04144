// The surface of particles, the liquid's, the spray's or another program's: a mesh in surface.####.ply, and its signed
// distance and velocity in surface.####.vdb if asked for.
#pragma once

#include "expression/volume_expression.h"
#include "io/vdb.h"
#include "pipeline/liquid_setup.h"
#include "pipeline/stage.h"
#include "pipeline/stage_expressions.h"
#include "pipeline/thin_colliders.h"
#include "surface/surface.h"

namespace spindrift {

class SurfaceStage : public FrameStage {
  public:
    explicit SurfaceStage(std::shared_ptr<LiquidSetup> liquid) : liquid_(std::move(liquid)) {}

    std::string name() const override { return "surface"; }
    std::string help() const override { return "A smooth mesh around the particles."; }
    std::vector<std::string> inputs() const override
    {
        return input_.empty() ? std::vector<std::string>{source()} : std::vector<std::string>{};
    }
    std::vector<std::string> optional_inputs() const override
    {
        return leaves_out_taken() ? std::vector<std::string>{"spray"} : std::vector<std::string>{};
    }
    std::string input_files() const override { return input_files_; }
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override;
    void prepare(const SceneFile& scene, const ShotParams& shot) override;
    Estimate estimate() const override { return estimate_; }
    // Files of another program cannot be made coarser: a few frames of them are meshed as they are.
    Rehearsal rehearsal() const override { return input_.empty() ? Rehearsal::all_frames : Rehearsal::some_frames; }
    double coarseness(double k) const override { return input_.empty() ? k : 1; }
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override;
    Measure follows() const override
    {
        return input_.empty() && of_ == Of::spray ? Measure{"spray", "droplets"} : Measure();
    }
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override;
    FrameReport make(int frame, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs) override;

  private:
    // Expressions on the particles that are read, and on the volumes that are written.
    struct ExpressionParams : ExpressionSource {
        enum class On { particles, volumes };
        On on = On::particles;
        void visit(ParamVisitor& v);
    };
    void prepare_expressions(const SceneFile& scene, const ShotParams& shot);
    ExpressionContext context(int frame, const SampledVolumes& volumes) const;
    void prepare_input(const SceneFile& scene);
    std::string source() const { return of_ == Of::spray ? "spray" : "liquid"; }
    // Particles of the liquid that are droplets of [spray] are no part of the surface.
    bool leaves_out_taken() const
    {
        return (of_ == Of::liquid || !input_.empty()) && liquid_->is_handed_over(input_files_);
    }
    std::vector<std::string> inputs_on_disk() const;
    float spacing_of(const ParticleFile& file);
    void look_at_input();
    const Solids* walls_at(int frame, float reach);
    static const std::vector<float>* own_radii(const Particles& particles);
    static float common_radius(const ParticleFile& file);

    std::shared_ptr<LiquidSetup> liquid_;
    enum class Of { liquid, spray } of_ = Of::liquid;
    std::string input_, input_files_; // as written, and from where the program runs
    PointNames names_;
    std::optional<float> spacing_, found_spacing_; // named in the scene, or told by the input
    bool are_drops_ = false;                       // of one radius, too far apart to be a liquid
    FrameRange range_;
    SurfaceParams params_;
    std::optional<Box3f> container_; // whose closed sides hold the liquid
    ThinColliders walls_;
    Estimate estimate_;

    std::vector<ExpressionParams> expressions_;
    template <class Kind> struct Compiled {
        Kind expression;
        SampledVolumes volumes;
    };
    std::vector<Compiled<Expression>> on_particles_;
    std::vector<Compiled<VolumeExpression>> on_volumes_;
    std::vector<Shape> colliders_; // that expressions see
    std::string expression_files_;
    float fps_ = 24;
};

} // namespace spindrift
