// The liquid as a stage: particles in liquid.####.vdb; bodies, if it has any, in liquid.####.bodies.json.
#pragma once

#include "spindrift/liquid/liquid.h"
#include "spindrift/stages/liquid_setup.h"
#include "spindrift/engine/stage.h"
#include "spindrift/stages/stage_expressions.h"

namespace spindrift {

class LiquidStage : public TimeStage {
  public:
    explicit LiquidStage(std::shared_ptr<LiquidSetup> setup) : setup_(std::move(setup)) {}

    std::string name() const override { return "liquid"; }
    std::string help() const override { return "A PIC/FLIP/APIC liquid: particles that carry water."; }
    std::string command() const override { return "sim"; }
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override { setup_->params.visit(v), expressions_.visit(v); }
    void prepare(const SceneFile& scene, const ShotParams& shot) override;
    std::vector<std::string> warnings() const override { return warnings_; }
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override { return {2.5, 3}; }
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override { return mesh_files_ + expressions_.dependencies(); }

    FrameReport start(int frame) override;
    FrameReport restore(StateFile state) override;
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;
    std::vector<std::string> products(const ShotPaths& paths) const override
    {
        return {paths.stage_folder(name()) + "/bodies"};
    }
    void shot_complete(const std::vector<std::string>& files, const ShotPaths& paths, Progress& progress) override;

  private:
    ExpressionContext fields() const;
    double expected_volume(const SceneFile& scene, const ShotParams& shot) const;

    std::shared_ptr<LiquidSetup> setup_;
    std::string mesh_files_; // that the scene names, with a hash of their contents
    StageExpressions expressions_;
    std::unique_ptr<Liquid> liquid_;
    float fps_ = 24;
    Estimate estimate_;
    std::vector<std::string> warnings_;
};

} // namespace spindrift
