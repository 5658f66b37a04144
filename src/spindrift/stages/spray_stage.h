// Runs Spray (spray/spray.h) as a stage. Writes droplets from emitters and from the frames of liquids to
// spray.####.vdb.
#pragma once

#include "spindrift/io/vdb.h"
#include "spindrift/spray/spray.h"
#include "spindrift/stages/liquid_stage.h"

namespace spindrift {

struct SprayFacts : DrawableFacts {
    // The liquids whose isolated particles become droplets: stage names, or a file pattern. Empty without handover.
    std::vector<std::string> taken_from;
    Looks looks() const override { return {.look = true, .color = true, .color_by = true}; }
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override;
    double memory(const Foreseen& foreseen) const override;
};

class SprayStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<Port> ports(const ShotGraph& graph) const override;
    std::string input_files() const override { return input_files_; }
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    // Whether liquid particles become droplets.
    bool takes_over() const { return params_.whitewater.handover; }
    // The frame pattern of another program's liquid; empty if the spray reads a liquid of the shot.
    std::string liquid_files(const SceneFile& scene) const
    {
        return reads_liquid() && !input_.empty() ? scene.resolve(input_) : std::string();
    }
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
    std::unique_ptr<LiquidView> view_of_stages(int frame) const;
    void add_liquid_colliders(const StageContext& context, SprayParams& params, Spray::Shapes& shapes);
    void expect_radius_in_range(float spacing, const std::string& where) const;
    FileMetadata metadata() const;
    void write_taken(const std::string& path) const;
    FrameReport report_of(const SprayReport& spray) const;
    void prepare_wind(const SceneFile& scene);

    SprayParams params_;
    std::vector<std::string> liquid_names_; // names in the scene
    std::vector<std::shared_ptr<const LiquidFacts>> liquids_;
    std::shared_ptr<const SprayFacts> facts_;
    bool liquid_colliders_ = true;
    std::string input_, input_files_; // as written, and resolved
    std::optional<float> spacing_;
    std::string wind_file_, wind_files_, wind_grid_ = "vel";
    std::string dependencies_;
    InputPath input_path_;
    StageExpressions expressions_;
    std::unique_ptr<Spray> spray_;
    std::unique_ptr<LiquidView> now_; // the liquid at the current frame, if one is read
    float fps_ = 24;
    int first_frame_ = 0;
    Estimate estimate_;
    double droplets_ = 0; // expected number from emitters in the whole shot
};

} // namespace spindrift
