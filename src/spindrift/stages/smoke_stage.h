// Runs Smoke (smoke/smoke.h) as a stage. Writes density, temperature, vel and other fields to smoke.####.vdb.
#pragma once

#include "spindrift/expression/volume_expression.h"
#include "spindrift/smoke/smoke.h"
#include "spindrift/stages/drawable.h"
#include "spindrift/stages/smoke_control.h"
#include "spindrift/stages/stage_expressions.h"

namespace spindrift {

struct SmokeFacts : DrawableFacts {
    float voxel = 0;
    bool has_velocity = false; // in its files
    Looks looks() const override { return {.color = true}; }
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override;
    double memory(const Foreseen& foreseen) const override;
};

class SmokeStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<Port> ports(const ShotGraph& graph) const override;
    std::vector<std::string> endings() const override { return {"vdb"}; }
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    std::vector<std::string> warnings() const override { return warnings_; }
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override;
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override { return dependencies_; }

    void read_from(const InputPath& input) override;
    FrameReport start(int frame) override;
    FrameReport restore(StateFile file) override;
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;

  private:
    using At = ExpressionParams::At;
    struct Loaded {
        At at;
        VolumeExpression expression;
        SampledVolumes volumes;
    };
    Smoke::ParticleSource particle_source(const SceneFile& scene, size_t index);
    void prepare_expressions(const SceneFile& scene);
    bool any(At at) const;
    void run(At at, const ExpressionFields& fields, float frame, float dt, const SmokeFields& flow) const;

    SmokeParams params_;
    std::shared_ptr<const SmokeFacts> facts_;
    bool half_ = false, write_velocity_ = true;
    SmokeControlParams control_params_;
    std::unique_ptr<SmokeControl> control_; // null without
    std::vector<ExpressionParams> expression_params_;
    std::vector<Loaded> expressions_;
    std::vector<Shape> colliders_; // for expressions
    std::string dependencies_;
    std::unique_ptr<Smoke> smoke_;
    FrameRange range_;
    float fps_ = 24;
    Estimate estimate_;
    std::vector<std::string> warnings_;
};

} // namespace spindrift
