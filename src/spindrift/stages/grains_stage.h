// Grains to look at as a stage: points in grains.####.vdb, made from the frames of the sand.
#pragma once

#include "spindrift/stages/sand_setup.h"
#include "spindrift/engine/stage.h"
#include "spindrift/sand/grain_points.h"

namespace spindrift {

class GrainsStage : public TimeStage {
  public:
    explicit GrainsStage(std::shared_ptr<const SandSetup> sand) : sand_(std::move(sand)) {}

    std::string name() const override { return "grains"; }
    std::string help() const override { return "Grains of the sand to look at: points that go with it."; }
    std::vector<std::string> inputs() const override { return {"sand"}; }
    std::vector<std::string> endings() const override { return {"vdb"}; }
    void visit(ParamVisitor& v) override { params_.visit(v); }
    void prepare(const SceneFile& scene, const ShotParams& shot) override;
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

    std::shared_ptr<const SandSetup> sand_;
    GrainParams params_;
    std::unique_ptr<GrainPoints> grains_;
    InputPath input_path_;
    int frame_ = 0;
    float fps_ = 24;
    Estimate estimate_;
};

} // namespace spindrift
