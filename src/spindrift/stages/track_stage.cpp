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
#include "spindrift/stages/smoke_stage.h"
#include "spindrift/stages/tracker_state.h"

#include <filesystem>
#include <utility>

namespace spindrift {

namespace {

// Of the surface and its tree, with those of the last frame; of a triangle in the file.
constexpr double kTrackBytesPerTriangle = 700, kTrackFileBytesPerTriangle = 60;
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
      "The liquid or smoke whose velocities move the surface. Default: the only liquid of the scene, or, without any, "
      "its only smoke.");
    v("input", input_,
      "Velocities of another program, VDB volumes, e.g. \"vel.####.vdb\"; the folder is relative to the scene's. "
      "Default: those of `of`.");
    v("grid", grid_, "Name of the velocity grid in the volumes.");
    v("scale", scale_, unit::none, between(-1e6, 1e6), "Factor from the velocities of the volumes to m/s.");
    v("input_fps", input_fps_, unit::per_second, between(0.01, 1e4),
      "Frame rate of `input`. Default: that of the shot, whose frames are then those of the files.");
    v("voxel", voxel_, unit::metres, limits::voxel(),
      "Edge of the finest cells, which need not be those of the solver. Default: half of those of the liquid or "
      "smoke.");
    params_.visit(v);
    v.list("source", source_params_,
           "Shapes that the surface starts from (mode \"initial\") or that are kept filled (\"flow\"). Default: the "
           "sources of the liquid.");
    expressions_.visit(v);
}

std::vector<Port> TrackStage::ports(const ShotGraph&) const
{
    if (!input_.empty()) return {};
    Port of{"of", {"liquid", "smoke"}, named(of_)};
    of.missing = "nothing moves the surface; add [liquid] or [smoke], or name the velocities of another program as " +
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
    prepare_velocities(context);
    prepare_sources(scene);

    auto facts = SurfaceFacts::around(name(), liquid_.get());
    Box3f extent;
    for (Shape& shape : sources_) {
        shape.prepare(static_cast<float>(range_.first));
        const Box3f box = shape.bounds(static_cast<float>(range_.first));
        extent.add(walls_ ? Box3f{box.min.cwiseMax(walls_->min), box.max.cwiseMin(walls_->max)} : box);
    }
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

    const Vec3d size = extent.empty() ? Vec3d(Vec3d::Zero()) : Vec3d(extent.size().cast<double>());
    const double h = static_cast<double>(*voxel_);
    constexpr double kMostCells = 1e6; // across
    if (size.maxCoeff() / h > kMostCells)
        bad_input("{}: {:.3g} voxels across; at most {:.0e} are possible; raise {}", scene.where(param("voxel")),
                  size.maxCoeff() / h, kMostCells, param("voxel"));
    // A liquid in motion has about twice the surface of its box, and two triangles a cell.
    const double triangles = 2 * 2 * 2 * (size.x() * size.y() + size.y() * size.z() + size.z() * size.x()) / (h * h);
    estimate_ = {kTrackBytesPerTriangle * triangles, kTrackFileBytesPerTriangle * triangles * range_.count(),
                 fmt::format("about {:.2g} triangles", triangles), fmt::format("raise {}", param("voxel")), triangles};
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
    if (!voxel_) bad_input("{}: set {}, which has no default here", scene.where(name()), param("voxel"));
    if (input_.empty()) return;
    input_files_ = scene.resolve(input_);
    const std::string where = scene.where(param("input"));
    dependencies_ += FilesOfFrames(input_files_, where).signature("velocities");
    if (!has_frame_pattern(input_files_)) return; // a steady flow
    // Velocities must not end before the shot: a surface that stands still is a mistake nobody sees.
    const auto last = static_cast<int>(std::ceil(file_frame(static_cast<float>(range_.last)) - 1e-4f));
    for (int frame = range_.first; frame <= last; ++frame)
        if (const std::string file = frame_path(input_files_, frame); !std::filesystem::exists(file))
            bad_input("{}: {} is missing, which the shot needs up to frame {}; make the shot shorter, or set {} if the "
                      "files have another frame rate",
                      where, file, range_.last, param("input_fps"));
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
        warnings_ = odd_meshes(scene, sources_, param("source"), first);
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
    return kTrackBytesPerTriangle * forecast.at(name()).number("triangles") +
           (liquid == forecast.end() ? 0 : kBytesPerParticle * liquid->second.number("particles"));
}

// ------------------------------------------------------------------------------------------------------------- running

float TrackStage::file_frame(float frame) const
{
    const auto first = static_cast<float>(range_.first);
    return input_fps_ ? first + (frame - first) * *input_fps_ / fps_ : frame;
}

std::shared_ptr<const VelocityVolume> TrackStage::volume_at(int frame)
{
    auto& volume = volumes_[frame];
    if (!volume) {
        const std::string path = input_.empty()                    ? input_path_(source_, frame)
                                 : has_frame_pattern(input_files_) ? frame_path(input_files_, frame)
                                                                   : input_files_;
        volume = std::make_shared<const VelocityVolume>(path, grid_, scale_);
    }
    return volume;
}

int TrackStage::steps_for(float max_speed) const
{
    const float cells = max_speed / fps_ / *voxel_;
    return std::clamp(static_cast<int>(std::ceil(std::min(cells / params_.cells_per_step, 1e6f))), 1, kMostTrackSteps);
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
    steps_ = steps_for(speed);
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

void TrackStage::follow_volumes(PhaseTimes& times)
{
    const auto frame = static_cast<float>(frame_);
    const auto first = static_cast<int>(std::floor(file_frame(frame) + 1e-4f));
    times.measure("read", [&] {
        std::erase_if(volumes_, [&](const auto& read) { return read.first < first; });
        volume_at(first), volume_at(first + 1);
    });
    const float ratio = input_fps_ ? *input_fps_ / fps_ : 1;
    const float speed = std::max(volume_at(first)->max_speed(), volume_at(first + 1)->max_speed());
    if (const float voxels = speed / fps_ / *voxel_; voxels > kMostTrackSteps * params_.cells_per_step)
        fail(
            "{}: frame {}: velocities of up to {:.3g} m/s would move the surface by {:.3g} of its voxels; check {} and "
            "{}",
            name(), frame_ + 1, speed, voxels, param("scale"), param("voxel"));
    steps_ = std::max(steps_for(speed), static_cast<int>(std::ceil(ratio)));
    for (int s = 0; s < steps_; ++s) {
        const float begin = file_frame(frame + static_cast<float>(s) / static_cast<float>(steps_));
        const float end = file_frame(frame + static_cast<float>(s + 1) / static_cast<float>(steps_));
        const auto before = static_cast<int>(std::floor(0.5f * (begin + end)));
        const auto from = static_cast<float>(before);
        const auto low = volume_at(before), high = volume_at(before + 1);
        const VolumeFlow flow(*low, *high, clamp01(begin - from), clamp01(end - from));
        step(flow, 1 / (fps_ * static_cast<float>(steps_)),
             frame + static_cast<float>(s + 1) / static_cast<float>(steps_), times);
        if (s + 1 == steps_) find_velocities(VolumeFlow(*low, *high, clamp01(end - from), clamp01(end - from)));
    }
}

void TrackStage::find_velocities(const TrackFlow& flow)
{
    const std::vector<Vec3f>& x = tracker_->mesh().positions;
    velocities_.resize(x.size());
    parallel_chunks(x.size(), 1024, [&](size_t begin, size_t end) {
        flow.sample(std::span(x).subspan(begin, end - begin), 1, std::span(velocities_).subspan(begin, end - begin));
    });
}

// What expressions change after advection is carried on; the surface itself stays.
void TrackStage::change_attributes()
{
    if (!expressions_.any(ExpressionParams::At::after_advection)) return;
    Mesh mesh = tracker_->mesh();
    mesh.velocities = velocities_;
    expressions_.run_on_vertices(ExpressionParams::At::after_advection, mesh, frame_, name());
    for (const std::string& name : params_.directions)
        if (const auto found = mesh.attributes.find(name); found != mesh.attributes.end())
            if (auto* directions = std::get_if<std::vector<Vec3f>>(&found->second))
                make_tangent(mesh.normals, *directions);
    tracker_->set_attributes(std::move(mesh.attributes));
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
