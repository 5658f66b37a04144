// Runs SurfaceTracker (track/tracker.h) as a stage: carries a surface along with the velocities of a liquid, of a smoke
// or of another program. Writes the surface to track.####.ply, with the attributes of its vertices and their places on
// the surface of the frame before.
#pragma once

#include "spindrift/liquid/particle_flow.h"
#include "spindrift/liquid/surface_solids.h"
#include "spindrift/stages/liquid_stage.h"
#include "spindrift/stages/stage_expressions.h"
#include "spindrift/stages/surface_stage.h"
#include "spindrift/stages/volume_flow.h"
#include "spindrift/track/params.h"

namespace spindrift {

class TrackStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<Port> ports(const ShotGraph& graph) const override;
    std::string input_files() const override { return input_files_; }
    std::vector<int> input_frames(int frame) const override;
    std::vector<std::string> endings() const override { return {"ply"}; }
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    std::string stands_for() const override { return "of"; }
    std::vector<std::string> warnings() const override { return warnings_; }
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override { return {2, 2.3}; }
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override { return dependencies_ + expressions_.dependencies(); }

    void read_from(const InputPath& input) override { input_path_ = input; }
    FrameReport start(int frame) override;
    FrameReport restore(StateFile file) override;
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;

  private:
    struct SourceOfSurface : FillingParams { // mode "initial" or "flow"
        std::optional<Vec3f> color;
        void visit(ParamVisitor& v);
    };
    // The colliders and bodies of the liquid.
    struct Obstacles {
        Solids solids;
        Bodies bodies;
        SurfaceSolids cut;
        std::vector<RigidMotion> motions; // of the bodies, at the current frame
        Obstacles(const LiquidFacts& liquid, float fps, float voxel, ParticleFlow& flow);
        // A share of the way from `motions` to others.
        void place_bodies(const std::vector<RigidMotion>& next, float share, float frame);
    };
    void prepare_sources(const SceneFile& scene);
    void prepare_velocities(const StageContext& context);
    void prepare_files(const SceneFile& scene);
    Box3f bounds_of_velocities(const SceneFile& scene);
    void read_liquid(int frame, Particles& particles, std::vector<RigidMotion>& bodies) const;
    void place_at(int frame);
    const TrackSolids* cut() const { return obstacles_ ? &obstacles_->cut : nullptr; }
    float file_frame(float frame) const;
    std::string volume_file(int file_frame) const;
    std::shared_ptr<const VelocityVolume> volume_at(int file_frame);
    int steps_for(float cells) const;
    void follow_liquid(PhaseTimes& times);
    void follow_volumes(PhaseTimes& times);
    void expect_speed(float max_speed) const;
    void step(const TrackFlow& flow, float seconds, float frame, PhaseTimes& times);
    void find_velocities(const TrackFlow& flow) { velocities_ = tracker_->velocities(flow, fps_); }
    void change_attributes();
    FrameReport report(PhaseTimes times) const;

    std::string of_, input_, grid_ = "vel";
    float scale_ = 1, cells_per_step_ = 8;
    std::optional<float> voxel_, input_fps_;
    TrackParams params_;
    std::vector<SourceOfSurface> source_params_;
    StageExpressions expressions_;

    std::shared_ptr<const LiquidFacts> liquid_; // null if the velocities are in volumes
    bool of_shaped_smoke_ = false;
    std::string source_, input_files_;
    std::shared_ptr<const SurfaceFacts> facts_;
    std::vector<Shape> sources_; // in the order of source_params_
    std::string dependencies_;
    std::vector<std::string> warnings_;
    Estimate estimate_;
    InputPath input_path_;
    FrameRange range_;
    float fps_ = 24;
    std::optional<Box3f> walls_;
    std::unique_ptr<ParticleFlow> particle_flow_;
    std::unique_ptr<Obstacles> obstacles_; // null if there are none
    std::unique_ptr<SurfaceTracker> tracker_;
    // Of the current frame.
    Particles particles_;                                          // of the liquid
    std::map<int, std::shared_ptr<const VelocityVolume>> volumes_; // or the last velocities, by frame of the files
    std::vector<Vec3f> velocities_;                                // of the vertices
    int frame_ = 0, steps_ = 0;
};

} // namespace spindrift
