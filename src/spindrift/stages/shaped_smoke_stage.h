// Runs ShapedSmoke (shaped_smoke/shaped_smoke.h) as a stage. Writes markers to shaped_smoke.####.vdb, and their density
// and velocity as volumes to shaped_smoke.####.density.vdb.
#pragma once

#include "spindrift/io/vdb.h"
#include "spindrift/shaped_smoke/shaped_smoke.h"
#include "spindrift/stages/drawable.h"
#include "spindrift/stages/stage_expressions.h"

namespace spindrift {

// The file with the volumes of a frame, beside that with its markers.
std::string density_file_of(const std::string& path);

struct ShapedSmokeFacts : DrawableFacts {
    int first_frame = 0;
    float voxel = 0; // of its volumes
    Looks looks() const override { return {.color = true}; }
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override;
    double memory(const Foreseen& foreseen) const override;
};

class ShapedSmokeStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    std::vector<std::string> warnings() const override { return warnings_; }
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override { return {2, 3}; }
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override { return dependencies_ + expressions_.dependencies(); }

    FrameReport start(int frame) override;
    FrameReport restore(StateFile state) override;
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;

  private:
    float volume_voxel() const { return density_voxel_.value_or(params_.voxel); }
    FrameReport report_of(const ShapedSmokeReport& smoke) const;
    void warn_of_unused_targets(const FrameRange& range);
    void estimate_needs(const SceneFile& scene, const FrameRange& range, const Box3f& extent);

    ShapedSmokeParams params_;
    std::optional<float> density_voxel_;
    float density_radius_ = 2;
    bool half_ = false;
    std::shared_ptr<const ShapedSmokeFacts> facts_;
    std::string dependencies_;
    std::vector<std::string> warnings_;
    StageExpressions expressions_;
    std::unique_ptr<ShapedSmoke> smoke_;
    float fps_ = 24;
    Estimate estimate_;
};

} // namespace spindrift
