// The stage [sand]: runs the solver GranularSand (sand/granular_sand.h, model "grains") or FluidSand
// (sand/fluid_sand.h, model "fluid"). Writes particles to sand.####.vdb and the motion of bodies, if there are any, to
// sand.####.bodies.json. (The stage [grains], which makes points for rendering, is in grains_stage.h.)
#pragma once

#include "spindrift/sand/fluid_sand.h"
#include "spindrift/sand/granular_sand.h"
#include "spindrift/stages/drawable.h"

namespace spindrift {

struct SandFacts : DrawableFacts {
    SandParams params;
    std::vector<Shape> sources; // in the order of params
    std::vector<Bodies::Shapes> bodies;
    double particles = 0; // expected number
    Looks looks() const override { return {.color = true, .color_by = true}; }
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override;
};

class SandStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override { params_.visit(v); }
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    std::string shown_by() const override { return "grains"; }
    std::vector<std::string> warnings() const override { return warnings_; }
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override { return {2.5, 3}; }
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override { return mesh_files_; }

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
    SandParams params_;
    std::shared_ptr<const SandFacts> facts_;
    std::string mesh_files_;                 // named by the scene, with a hash of their contents
    std::unique_ptr<GranularSand> granular_; // one of the two is set, depending on the model
    std::unique_ptr<FluidSand> fluid_;
    Estimate estimate_;
    std::vector<std::string> warnings_;
};

} // namespace spindrift
