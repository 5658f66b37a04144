// Runs Population (crowd/population.h), which drives a Crowd, as a stage. Writes people as points to crowd.####.vdb
// and, when the shot is complete, trajectories as text and counts as tables and plots (crowd_results.h).
#pragma once

#include "spindrift/crowd/population.h"
#include "spindrift/stages/drawable.h"

namespace spindrift {

struct CrowdFacts : DrawableFacts {
    Mesh obstacles; // for pictures
    Looks looks() const override { return {.color = true, .color_by = true}; }
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
    // Rehearses at full resolution: a plan cannot be made coarser.
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
