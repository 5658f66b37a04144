// Runs Liquid (liquid/liquid.h) as a stage. Writes particles to liquid.####.vdb and the motion of bodies, if there are
// any, to liquid.####.bodies.json.
#pragma once

#include "spindrift/liquid/liquid.h"
#include "spindrift/stages/drawable.h"
#include "spindrift/stages/stage_expressions.h"

namespace spindrift {

struct LiquidFacts : DrawableFacts {
    LiquidParams params;
    std::vector<Shape> sources, sinks; // in the order of params
    std::vector<Bodies::Shapes> bodies;
    // Colliders and domain, for the records of stages that use them without reading frames.
    std::string text_of_walls(const SceneFile& scene) const;
    Looks looks() const override;
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override;
    double memory(const Foreseen& foreseen) const override;
};

// With turbulence, a frame of the liquid has a second file for its ripples.
constexpr const char* kRipplesEnding = "ripples.vdb";
constexpr const char* kRipplesGrid = "difference"; // distance of the rippled surface minus that of the liquid [m]
constexpr const char* kRipplesBefore = "before";   // the same one frame earlier

// With a tracked surface, a frame has a third one.
constexpr const char* kSurfaceEnding = "surface.ply";

class LiquidStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    std::string shown_by() const override { return params_.sources.empty() || tracked() ? "" : "surface"; }
    std::vector<std::string> warnings() const override { return warnings_; }
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override { return {2.5, 3}; }
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override
    {
        return mesh_files_ + expressions_.dependencies() + surface_expressions_.dependencies();
    }

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
    bool tracked() const { return params_.surface == LiquidParams::Surface::tracked; }
    ExpressionContext fields() const;
    void change_surface();
    Mesh surface_to_write();
    void load_shapes_of(const SceneFile& scene, float first_frame, LiquidFacts& facts) const;

    LiquidParams params_;
    std::shared_ptr<const LiquidFacts> facts_;
    std::string mesh_files_; // named by the scene, with a hash of their contents
    StageExpressions expressions_, surface_expressions_;
    std::unique_ptr<Liquid> liquid_;
    float fps_ = 24;
    FrameReport report_of(const LiquidReport& liquid) const;
    Estimate estimate_;
    std::vector<std::string> warnings_;
};

} // namespace spindrift
