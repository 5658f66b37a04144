// Spray as a stage: droplets in spray.####.vdb, from emitters and from the frames of a liquid.
#pragma once

#include "io/vdb.h"
#include "pipeline/liquid_setup.h"
#include "pipeline/spray_setup.h"
#include "pipeline/stage.h"
#include "pipeline/stage_expressions.h"
#include "spray/spray.h"

namespace spindrift {

class SprayStage : public TimeStage {
  public:
    SprayStage(std::shared_ptr<LiquidSetup> liquid, std::shared_ptr<SpraySetup> setup)
        : liquid_(std::move(liquid)), setup_(std::move(setup))
    {
    }

    std::string name() const override { return "spray"; }
    std::string help() const override { return "Droplets that fly, merge and break up, and foam."; }
    std::vector<std::string> inputs() const override;
    std::string input_files() const override { return input_files_; }
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override;
    void prepare(const SceneFile& scene, const ShotParams& shot) override;
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    double coarseness(double k) const override;
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override { return {2, 3}; }
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override { return dependencies_ + expressions_.dependencies(); }

    void read_from(const InputPath& input) override { input_path_ = input; }
    FrameReport start(int frame) override;
    FrameReport restore(StateFile state) override;
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;

  private:
    bool reads_liquid() const { return params_.whitewater.reads_liquid(); }
    std::unique_ptr<LiquidView> view(int frame) const;
    void expect_radius_in_range(float spacing, const std::string& where) const;
    FileMetadata metadata() const;
    void write_taken(const std::string& path) const;
    FrameReport report_of(const SprayReport& spray) const;
    void prepare_wind(const SceneFile& scene);

    std::shared_ptr<LiquidSetup> liquid_;
    std::shared_ptr<SpraySetup> setup_;
    SprayParams params_;
    bool liquid_colliders_ = true;
    std::string input_, input_files_; // as written, and from where the program runs
    std::optional<float> spacing_;
    std::string wind_file_, wind_files_, wind_grid_ = "vel";
    std::string dependencies_;
    InputPath input_path_;
    StageExpressions expressions_;
    std::unique_ptr<Spray> spray_;
    std::unique_ptr<LiquidView> now_; // the liquid at the spray's frame, if it is read
    float fps_ = 24;
    int first_frame_ = 0;
    Estimate estimate_;
    double droplets_ = 0; // that emitters make in the shot
};

} // namespace spindrift
