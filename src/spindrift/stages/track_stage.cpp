#include "spindrift/stages/track_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/base/state_error.h"
#include "spindrift/engine/graph.h"
#include "spindrift/engine/progress.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/liquid/mac_flow.h"
#include "spindrift/liquid/tracked_surface.h"
#include "spindrift/scene/limits.h"
#include "spindrift/stages/body_files.h"
#include "spindrift/stages/scene_shapes.h"
#include "spindrift/stages/shaped_smoke_stage.h"
#include "spindrift/stages/smoke_stage.h"
#include "spindrift/stages/tracked_surfaces.h"
#include "spindrift/stages/tracker_state.h"

#include <filesystem>
#include <utility>

namespace spindrift {

namespace {

constexpr int kMostTrackSteps = 200; // in a frame: anything faster is a mistake

} // namespace

void TrackStage::SourceOfSurface::visit(ParamVisitor& v)
{
    visit_filling(v, "liquid");
    FrameSpan::visit(v, "the flow");
    v("color", color, unit::none, between(0, 100), "Colour of its part of the surface. Default: none.");
}

void TrackStage::visit(ParamVisitor& v)
{
    v("of", of_,
      "The liquid, smoke or shaped smoke whose velocities move the surface. Default: the only liquid of the scene, or, "
      "without any, its only smoke, or its only shaped smoke.");
    v("input", input_,
      "Velocities of another program, VDB volumes, e.g. \"vel.####.vdb\"; the folder is relative to the scene's. "
      "Default: those of `of`.");
    v("grid", grid_,
      "Name of the velocity grid in the volumes: one of vectors, or three of numbers, \"vel.x\", \"vel.y\" and "
      "\"vel.z\". "
      "Where it has no values, velocities are continued for a few cells.");
    v("scale", scale_, unit::none, between(-1e6, 1e6), "Factor from the velocities of the volumes to m/s.");
    v("input_fps", input_fps_, unit::per_second, between(0.01, 1e4),
      "Frame rate of `input`, whose first file is that of the shot's first frame. Default: that of the shot, whose "
      "frames "
      "are then those of the files.");
    v("voxel", voxel_, unit::metres, limits::voxel(),
      "Edge of the finest cells, which need not be those of the solver. Default: half of those of the liquid or "
      "smoke.");
    v("cells_per_step", cells_per_step_, unit::cells, between(0.1, 20),
      "How far the surface may move in a step. Each step blurs detail a little, so that long steps keep more; but they "
      "see less of how the flow changes with time, and sources flow in less evenly.");
    params_.visit(v);
    v.list("source", source_params_,
           "Shapes that the surface starts from (mode \"initial\") or that are kept filled (\"flow\"). Default: the "
           "sources of the liquid.");
    expressions_.visit(v, "expression", "Expressions on the vertices of the surface.");
}

std::vector<Port> TrackStage::ports(const ShotGraph&) const
{
    if (!input_.empty()) return {};
    Port of{"of", {"liquid", "smoke", "shaped_smoke"}, named(of_)};
    of.missing = "nothing moves the surface; add [liquid], [smoke] or [shaped_smoke], or name the velocities of "
                 "another program as " +
                 param("input");
    return {of};
}

// ----------------------------------------------------------------------------------------------------------- preparing

void TrackStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    fps_ = shot.fps, range_ = shot.range();
    dependencies_.clear(), warnings_.clear();
    liquid_ = inputs.facts<LiquidFacts>("of");
    if (const StageView* of = inputs.one("of")) source_ = of->name;
    if (input_fps_ && input_.empty())
        bad_input("{}: only files have a frame rate of their own; set {}, or remove {}",
                  scene.where(param("input_fps")), param("input"), param("input_fps"));
    prepare_velocities(context);
    prepare_sources(scene);

    auto facts = SurfaceFacts::around(name(), liquid_.get());
    const Box3f extent = extent_of_surface(sources_, static_cast<float>(range_.first), walls_);
    if (!extent.empty() && !extent.size().allFinite())
        bad_input("{}: a source is infinite; give the liquid a domain, or use another shape",
                  scene.where(param("source")));
    if (!input_.empty()) {
        const Box3f moved = bounds_of_velocities(scene);
        if (Box3f{moved.min.cwiseMax(extent.min), moved.max.cwiseMin(extent.max)}.empty())
            warnings_.push_back(fmt::format("{}: no velocity of the first file reaches the surface, which stands still",
                                            scene.where(param("input"))));
    }
    if (facts->extent.empty()) facts->extent = extent, facts->bounded = false;
    facts_ = facts;

    estimate_ = estimate_of_surface(scene, param("voxel"), *voxel_, extent, range_);
    expressions_.prepare(scene, name(), range_, fps_, liquid_ ? liquid_->colliders : std::vector<Shape>());
    tracker_ = std::make_unique<SurfaceTracker>(params_.settings(*voxel_, liquid_ ? liquid_->params.voxel : 0, walls_));
}

void TrackStage::prepare_velocities(const StageContext& context)
{
    const SceneFile& scene = context.scene;
    if (liquid_) {
        if (!voxel_) voxel_ = 0.5f * liquid_->params.voxel;
        walls_ = closed_sides(liquid_->params.domain);
        particle_flow_ =
            std::make_unique<ParticleFlow>(liquid_->params.domain, liquid_->colliders, fps_, liquid_->params.voxel);
        obstacles_.reset();
        if (!liquid_->colliders.empty() || !liquid_->bodies.empty())
            obstacles_ = std::make_unique<Obstacles>(*liquid_, fps_, *voxel_, *particle_flow_);
        dependencies_ += mesh_files_of(liquid_->params.colliders, scene);
        return;
    }
    if (const auto smoke = context.inputs.facts<SmokeFacts>("of")) {
        if (!smoke->has_velocity)
            bad_input("{}: {} writes no velocities; set {}.write_velocity", scene.where(name()), source_, source_);
        if (!voxel_) voxel_ = 0.5f * smoke->voxel;
    }
    if (const auto smoke = context.inputs.facts<ShapedSmokeFacts>("of")) {
        of_shaped_smoke_ = true;
        if (!voxel_) voxel_ = 0.5f * smoke->voxel;
    }
    if (!voxel_) bad_input("{}: set {}, which has no default here", scene.where(name()), param("voxel"));
    if (!input_.empty()) prepare_files(scene);
}

void TrackStage::prepare_files(const SceneFile& scene)
{
    input_files_ = scene.resolve(input_);
    const std::string where = scene.where(param("input"));
    dependencies_ += FilesOfFrames(input_files_, where).signature("velocities");
    if (!has_frame_pattern(input_files_) || input_fps_) return;
    if (const int last = frames_on_disk(input_files_).back(); last > range_.last)
        warnings_.push_back(
            fmt::format("{}: the files go on to {}, after the shot's last frame {}; if they have another "
                        "frame rate, set {}",
                        where, frame_path(input_files_, last), range_.last, param("input_fps")));
}

// A frame needs the files from that at the frame before, or just before it, to that at its end or just after it.
std::vector<int> TrackStage::input_frames(int frame) const
{
    const auto first =
        static_cast<int>(std::floor(file_frame(static_cast<float>(std::max(frame - 1, range_.first))) + 1e-4f));
    const auto last = static_cast<int>(std::ceil(file_frame(static_cast<float>(frame)) - 1e-4f));
    std::vector<int> frames;
    for (int f = first; f <= last; ++f) frames.push_back(f);
    return frames;
}

// Of the first file, which is read once before anything is computed.
Box3f TrackStage::bounds_of_velocities(const SceneFile& scene)
{
    try {
        const Box3f bounds = volume_at(static_cast<int>(file_frame(static_cast<float>(range_.first))))->bounds();
        volumes_.clear();
        return bounds;
    } catch (const Error& error) {
        bad_input("{}: {}", scene.where(param("input")), error.what());
    }
}

// Without sources of its own, the surface is that of the liquid's.
void TrackStage::prepare_sources(const SceneFile& scene)
{
    sources_.clear();
    if (!source_params_.empty()) {
        sources_ = load_shapes(scene, source_params_, param("source"));
        const auto first = static_cast<float>(range_.first);
        for (std::string& odd : odd_meshes(scene, sources_, param("source"), first))
            warnings_.push_back(std::move(odd));
        for (size_t i = 0; i < sources_.size(); ++i) {
            sources_[i].prepare(first);
            if (sources_[i].bounds(first).size().minCoeff() < *voxel_)
                warnings_.push_back(
                    fmt::format("{}: the source is thinner than a voxel of {} m, so that its surface is "
                                "lost; lower {}",
                                scene.where(fmt::format("{}[{}]", param("source"), i)), *voxel_, param("voxel")));
        }
        dependencies_ += mesh_files_of(source_params_, scene);
    } else if (liquid_) {
        for (const SourceParams& source : liquid_->params.sources) {
            SourceOfSurface& own = source_params_.emplace_back();
            static_cast<FillingParams&>(own) = source;
            own.color = source.color;
        }
        sources_ = liquid_->sources;
        dependencies_ += text_of_shapes("source", liquid_->params.sources, scene);
    }
    if (sources_.empty())
        bad_input("{}: there is no surface to track; add a [[{}]] with a shape", scene.where(name()), param("source"));
}

std::vector<std::string> TrackStage::coarser(double k) const
{
    return {fmt::format("{}={}", param("voxel"), std::min(k * static_cast<double>(*voxel_), 1e4))};
}

double TrackStage::memory(const Forecast& forecast) const
{
    constexpr double kBytesPerParticle = 150;
    const auto liquid = liquid_ ? forecast.find(liquid_->stage) : forecast.end();
    return memory_of_surface(forecast.at(name())) +
           (liquid == forecast.end() ? 0 : kBytesPerParticle * liquid->second.number("particles"));
}

// ------------------------------------------------------------------------------------------------------------- running

float TrackStage::file_frame(float frame) const
{
    const auto first = static_cast<float>(range_.first);
    return input_fps_ ? first + (frame - first) * *input_fps_ / fps_ : frame;
}

std::string TrackStage::volume_file(int frame) const
{
    if (!input_.empty()) return has_frame_pattern(input_files_) ? frame_path(input_files_, frame) : input_files_;
    const std::string path = input_path_(source_, frame);
    return of_shaped_smoke_ ? density_file_of(path) : path;
}

std::shared_ptr<const VelocityVolume> TrackStage::volume_at(int frame)
{
    auto& volume = volumes_[frame];
    if (!volume) volume = std::make_shared<const VelocityVolume>(volume_file(frame), grid_, scale_);
    return volume;
}

// For a move of so many cells.
int TrackStage::steps_for(float cells) const
{
    return std::clamp(static_cast<int>(std::ceil(std::min(cells / cells_per_step_, 1e6f))), 1, kMostTrackSteps);
}

void TrackStage::step(const TrackFlow& flow, float seconds, float frame, PhaseTimes& times)
{
    times.measure("track", [&] {
        const auto sources = active_sources(source_params_, sources_, frame, FillingParams::Mode::flow, walls_);
        tracker_->step(flow, seconds, sources, {}, cut());
    });
}

TrackStage::Obstacles::Obstacles(const LiquidFacts& liquid, float fps, float voxel, ParticleFlow& flow)
    : solids(liquid.params.domain, liquid.colliders, fps),
      bodies(liquid.params.bodies, liquid.bodies, liquid.params.domain, liquid.colliders, fps),
      cut(solids, flow.solid_cells(), flow.topology(), liquid.params.voxel, voxel)
{
    for (Solids* of : {&solids, &flow.solids()}) of->set_bodies(&bodies.solids()), of->find_sheets(liquid.params.voxel);
}

void TrackStage::Obstacles::place_bodies(const std::vector<RigidMotion>& next, float share, float frame)
{
    if (bodies.empty()) return;
    const auto s = static_cast<double>(share);
    std::vector<RigidMotion> between = next;
    for (size_t b = 0; share < 1 && b < between.size(); ++b) {
        between[b].position = (1 - s) * motions[b].position + s * next[b].position;
        between[b].orientation = motions[b].orientation.slerp(s, next[b].orientation);
    }
    bodies.restore(std::move(between), frame);
}

void TrackStage::read_liquid(int frame, Particles& particles, std::vector<RigidMotion>& bodies) const
{
    const std::string path = input_path_(source_, frame);
    particles = read_particles(path).particles;
    particles.attributes.clear();
    if (!obstacles_ || obstacles_->bodies.empty()) return;
    const auto file = std::filesystem::path(path).replace_extension(kBodiesEnding);
    bodies = read_bodies(file.string(), obstacles_->bodies.size());
}

// The velocity of each step is that of the liquid in its middle.
void TrackStage::follow_liquid(PhaseTimes& times)
{
    Particles next;
    std::vector<RigidMotion> motions;
    times.measure("read", [&] { read_liquid(frame_ + 1, next, motions); });
    const auto place_bodies = [&](float share) {
        if (obstacles_) obstacles_->place_bodies(motions, share, static_cast<float>(frame_) + share);
    };
    float speed = 0;
    for (const Vec3f& v : next.v) speed = std::max(speed, v.norm());
    for (const Vec3f& v : particles_.v) speed = std::max(speed, v.norm());
    steps_ = steps_for(speed / fps_ / *voxel_);
    const float seconds = 1 / fps_;
    for (int s = 0; s < steps_; ++s) {
        const float middle = (static_cast<float>(s) + 0.5f) / static_cast<float>(steps_);
        const float end = (static_cast<float>(s) + 1) / static_cast<float>(steps_);
        times.measure("flow", [&] {
            place_bodies(middle);
            particle_flow_->set(particles_between(particles_, next, middle, seconds),
                                static_cast<float>(frame_) + middle);
            place_bodies(end);
            if (obstacles_) obstacles_->solids.set_frame(static_cast<float>(frame_) + end);
        });
        const MacFlow flow(particle_flow_->flow().velocity, liquid_->params.voxel);
        step(flow, seconds / static_cast<float>(steps_), static_cast<float>(frame_) + end, times);
    }
    particles_ = std::move(next);
    if (obstacles_) obstacles_->motions = std::move(motions);
    times.measure("flow", [&] { particle_flow_->set(particles_, static_cast<float>(frame_) + 1); });
    find_velocities(MacFlow(particle_flow_->flow().velocity, liquid_->params.voxel));
}

void TrackStage::expect_speed(float speed) const
{
    const float voxels = speed / fps_ / *voxel_;
    if (voxels > kMostTrackSteps * cells_per_step_)
        fail(
            "{}: frame {}: velocities of up to {:.3g} m/s would move the surface by {:.3g} of its voxels; check {} and "
            "{}",
            name(), frame_ + 1, speed, voxels, param("scale"), param("voxel"));
}

// From file to file, as far as they lie within the frame. Only the two around the current time are in memory.
void TrackStage::follow_volumes(PhaseTimes& times)
{
    constexpr float kRounding = 1e-4f;
    const auto frame = static_cast<float>(frame_);
    const float start = file_frame(frame), end = file_frame(frame + 1);
    steps_ = 0;
    for (float from = start; from < end;) {
        const auto before = static_cast<int>(std::floor(from + kRounding));
        const auto file = static_cast<float>(before);
        const float to = file + 1 + kRounding < end ? file + 1 : end;
        times.measure("read", [&] {
            std::erase_if(volumes_, [&](const auto& read) { return read.first < before; });
            volume_at(before), volume_at(before + 1);
        });
        const auto low = volume_at(before), high = volume_at(before + 1);
        const float speed = std::max(low->max_speed(), high->max_speed()), share = (to - from) / (end - start);
        expect_speed(speed);
        const int steps = steps_for(share * speed / fps_ / *voxel_);
        const auto time = [&](int s) { return from + (to - from) * static_cast<float>(s) / static_cast<float>(steps); };
        for (int s = 0; s < steps; ++s) {
            const VolumeFlow flow(*low, *high, clamp01(time(s) - file), clamp01(time(s + 1) - file));
            step(flow, share / (fps_ * static_cast<float>(steps)), frame + (time(s + 1) - start) / (end - start),
                 times);
        }
        steps_ += steps, from = to;
        if (to == end) find_velocities(VolumeFlow(*low, *high, clamp01(end - file), clamp01(end - file)));
    }
}

void TrackStage::change_attributes()
{
    if (!expressions_.any(ExpressionParams::At::after_advection)) return;
    Mesh mesh = tracker_->mesh();
    mesh.velocities = velocities_;
    tracker_->set_attributes(
        attributes_after_advection(std::move(mesh), expressions_, params_.directions, frame_, name()));
}

FrameReport TrackStage::report(PhaseTimes times) const
{
    FrameReport report;
    report.numbers = {{"triangles", static_cast<double>(tracker_->mesh().triangles.size())},
                      {"steps", steps_},
                      {"volume", tracker_->volume(cut())}};
    report.times = std::move(times);
    return report;
}

// The liquid and what is in its way, at the current frame.
void TrackStage::place_at(int frame)
{
    std::vector<RigidMotion> motions;
    read_liquid(frame, particles_, motions);
    if (!obstacles_) return;
    obstacles_->motions = motions;
    obstacles_->place_bodies(motions, 0, static_cast<float>(frame));
    obstacles_->solids.set_frame(static_cast<float>(frame));
}

FrameReport TrackStage::start(int frame)
{
    PhaseTimes times;
    frame_ = frame, steps_ = 0;
    times.measure("start", [&] {
        if (liquid_) {
            place_at(frame);
            particle_flow_->set(particles_, static_cast<float>(frame));
        }
        const auto at = static_cast<float>(frame);
        tracker_->start(active_sources(source_params_, sources_, at, FillingParams::Mode::initial, walls_), cut());
        if (liquid_) {
            find_velocities(MacFlow(particle_flow_->flow().velocity, liquid_->params.voxel));
        } else {
            const auto volume = volume_at(static_cast<int>(file_frame(static_cast<float>(frame))));
            find_velocities(VolumeFlow(*volume, *volume, 0, 0));
        }
    });
    change_attributes();
    return report(times);
}

FrameReport TrackStage::advance()
{
    PhaseTimes times;
    tracker_->begin_frame();
    if (liquid_)
        follow_liquid(times);
    else
        follow_volumes(times);
    ++frame_;
    change_attributes();
    return report(times);
}

void TrackStage::write(const std::string& path)
{
    Mesh mesh = tracker_->mesh();
    add_origins(tracker_->origins(), mesh);
    mesh.velocities = velocities_;
    expressions_.run_on_vertices(ExpressionParams::At::before_writing, mesh, frame_, name());
    if (walls_) clip_at_walls(mesh, *walls_);
    if (obstacles_) clip_at_solids(mesh, obstacles_->cut);
    write_mesh(path, mesh);
}

// --------------------------------------------------------------------------------------------------------------- state

StateFile TrackStage::save() const
{
    StateFile file;
    file.numbers = {{"frame", frame_}, {"substeps", steps_}};
    SurfaceTracker::State state = tracker_->state();
    state.mesh.velocities = velocities_;
    save_tracker(state, file);
    return file;
}

FrameReport TrackStage::restore(StateFile file)
{
    PhaseTimes times;
    times.measure("restore", [&] {
        frame_ = static_cast<int>(file.numbers["frame"]), steps_ = static_cast<int>(file.numbers["substeps"]);
        SurfaceTracker::State state = load_tracker(file, params_.reference);
        velocities_ = std::exchange(state.mesh.velocities, {});
        tracker_->restore(std::move(state));
        if (liquid_) place_at(frame_);
    });
    return report(times);
}

StageKind track_stage()
{
    return stage_kind<TrackStage>("track", "A surface that is carried along with a flow, and remembers where it was.");
}

} // namespace spindrift
