// A crowd as a stage: people as points in crowd.####.vdb; when the shot is complete, where everyone walked as text, and
// what was counted as tables and plots.
#pragma once

#include "spindrift/crowd/population.h"
#include "spindrift/stages/drawable.h"

namespace spindrift {

struct CrowdFacts : DrawableFacts {
    Mesh obstacles; // to look at
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override;
};

class CrowdStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    Estimate estimate() const override { return estimate_; }
    // As it is: a plan cannot be made coarser.
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    double coarseness(double) const override { return 1; }
    std::string dependencies() const override { return dependencies_; }
    std::vector<std::string> warnings() const override
    {
        return population_ ? population_->warnings() : std::vector<std::string>();
    }

    FrameReport start(int frame) override;
    FrameReport restore(StateFile state) override;
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;
    std::vector<std::string> products(const ShotPaths& paths) const override;
    void shot_complete(const std::vector<std::string>& files, const ShotPaths& paths, Progress& progress) override;

  private:
    std::shared_ptr<const CrowdFacts> facts_;
    PopulationParams params_;
    enum class Maps { none, exr, png };
    std::string map_ending() const;
    Maps maps_ = Maps::none;
    bool trajectories_ = true;
    std::unique_ptr<Population> population_;
    std::string dependencies_;
    float fps_ = 24;
    Estimate estimate_;
};

} // namespace spindrift
