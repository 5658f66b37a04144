#include "spindrift/stages/ripples_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"
#include "spindrift/stages/ripples_state.h"
#include "spindrift/stages/scene_shapes.h"
#include "spindrift/surface/container.h"
#include "spindrift/surface/contour.h"
#include "spindrift/surface/level_set.h"
#include "spindrift/surface/parts.h"
#include "spindrift/surface/thin_walls.h"
#include "spindrift/turbulence/sampler.h"

#include <filesystem>

namespace spindrift {

namespace {

// How far the liquid may move in a step of the ripples [cells], and the largest number of steps in a frame: anything
// faster is spray.
constexpr float kCellsPerStep = 1.4f;
constexpr int kMostSteps = 12;
// Bytes per cell of the finer grid in the band, including scratch memory, and the thickness of the band [cells of the
// liquid].
constexpr double kRipplesBytesPerCell = 64, kBand = 4;
constexpr double kRipplesBytesPerEddy = 200,
                 kRipplesBytesPerParticle = 150; // of the liquid that is read, with its velocity grid

// Makes the level set a distance [m] in its band and clips it at the walls.
void finish_distance(Field<float>& phi, float voxel, const std::optional<Box3f>& container)
{
    make_distance(phi);
    const Topology& topology = phi.topology();
    const float band = kLevelSetBand * voxel;
    for_each_tile(topology, [&](int tile) {
        const Vec3f first = topology.first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
        float* p = phi.tile(tile);
        for (int c = 0; c < kTileCells; ++c) {
            p[c] *= voxel;
            if (container)
                p[c] = std::max(p[c], distance_to_box((first + cell_in_tile(c).cast<float>()) * voxel, *container));
            p[c] = std::clamp(p[c], -band, band);
        }
    });
    std::fill_n(phi.tile(topology.tile_count()), kTileCells, band);
}

} // namespace

void RipplesStage::visit(ParamVisitor& v)
{
    v("of", of_, "The liquid whose surface is rippled. Default: the only one of the scene.");
    params_.visit(v);
    v("sdf", sdf_, "Also write the distance to the rippled surface as a VDB grid \"surface\".");
}

std::vector<std::string> RipplesStage::endings() const
{
    return sdf_ ? std::vector<std::string>{"ply", "vdb"} : std::vector<std::string>{"ply"};
}

std::vector<Port> RipplesStage::ports(const ShotGraph&) const
{
    Port of{"of", {"liquid"}, named(of_)};
    of.missing = "ripples need a liquid; add [liquid] to the scene";
    return {of};
}

void RipplesStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    liquid_ = inputs.facts<LiquidFacts>("of");
    const LiquidParams& liquid = liquid_->params;
    fps_ = shot.fps;
    container_ = closed_sides(liquid_->params.domain);
    facts_ = SurfaceFacts::around(name(), liquid_.get());
    dependencies_ = mesh_files_of(liquid.colliders, scene);
    flow_ = std::make_unique<ParticleFlow>(liquid.domain, liquid_->colliders, fps_, liquid.voxel);
    ripples_ = std::make_unique<Ripples>(ripple_params());

    const Vec3d size = liquid_->extent.size().cast<double>();
    const double voxel = static_cast<double>(liquid.voxel) / ripple_params().refine;
    // A splash has about twice the area of the floor below it.
    const double cells = 2 * size.x() * size.z() / (voxel * voxel);
    const double bytes = kRipplesBytesPerCell * cells * kBand * ripple_params().refine;
    estimate_ = {bytes, 70 * cells * shot.range().count(), fmt::format("about {:.2g} triangles", 2 * cells),
                 fmt::format("lower {} or raise {}.voxel", param("refine"), liquid_->stage)};
}

Growth RipplesStage::growth() const { return {2, 2.6}; }

double RipplesStage::memory(const Forecast& forecast) const
{
    const Foreseen& ripples = forecast.at(name());
    const auto liquid = forecast.find(liquid_->stage);
    return kRipplesBytesPerCell * kTileCells * ripples.number("fine_tiles") +
           kRipplesBytesPerEddy * ripples.number("eddies") +
           (liquid == forecast.end() ? 0 : kRipplesBytesPerParticle * liquid->second.number("particles"));
}

Particles RipplesStage::read(int frame) const
{
    Particles particles = read_particles(input_path_(liquid_->stage, frame)).particles;
    particles.attributes.clear();
    return particles;
}

// Meshes the current frame.
FrameReport RipplesStage::report(PhaseTimes times)
{
    times.measure("mesh", [&] { mesh_ = make_mesh(ripples_->surface()); });
    FrameReport report;
    report.numbers = {{"fine_tiles", static_cast<double>(ripples_->topology().tile_count())},
                      {"eddies", static_cast<double>(ripples_->turbulence().particles().size())},
                      {"triangles", static_cast<double>(mesh_.triangles.size())},
                      {"steps", steps_},
                      {"highest", static_cast<double>(max_abs(ripples_->difference()))}};
    report.times = times;
    return report;
}

void RipplesStage::find_flow(int frame)
{
    frame_ = frame;
    particles_ = read(frame);
    flow_->set(particles_, static_cast<float>(frame));
}

// Reads the ripples that the liquid stage has written for the frame.
void RipplesStage::read_ripples()
{
    const std::string path =
        std::filesystem::path(input_path_(liquid_->stage, frame_)).replace_extension(kRipplesEnding).string();
    FieldSet read = read_fields(path, {kRipplesGrid, kRipplesBefore});
    if (!read.numbers.contains(kRipplesGrid) || !read.numbers.contains(kRipplesBefore))
        fail("{}: \"{}\" and \"{}\" must hold numbers", path, kRipplesGrid, kRipplesBefore);
    const FieldFile& file = read.numbers[kRipplesGrid];
    const float fine_voxel = liquid_->params.voxel / static_cast<float>(ripple_params().refine);
    if (std::abs(file.voxel - fine_voxel) > 1e-3f * file.voxel)
        fail("{}: ripples have a voxel of {} m, where [{}.turbulence] says {} m", path, file.voxel, liquid_->stage,
             fine_voxel);
    // Make new Ripples, without data of the previous frame: a run resumed at this frame has none either.
    ripples_ = std::make_unique<Ripples>(ripple_params());
    ripples_->set(flow_->flow(), file.field, read.numbers[kRipplesBefore].field);
}

FrameReport RipplesStage::start(int frame)
{
    PhaseTimes times;
    times.measure("read", [&] { find_flow(frame); });
    ripples_ = std::make_unique<Ripples>(ripple_params());
    times.measure("start", [&] {
        if (in_liquid())
            read_ripples();
        else
            ripples_->step(flow_->flow(), liquid_->params.gravity.norm(), 0);
    });
    return report(times);
}

FrameReport RipplesStage::advance()
{
    PhaseTimes times;
    if (in_liquid())
        times.measure("read", [&] { find_flow(frame_ + 1), read_ripples(); });
    else
        follow_liquid(times);
    return report(times);
}

void RipplesStage::follow_liquid(PhaseTimes& times)
{
    Particles next;
    times.measure("read", [&] { next = read(frame_ + 1); });
    ripples_->begin_frame();
    const float seconds = 1 / fps_;
    const float way = max_speed(flow_->flow()) * seconds / liquid_->params.voxel;
    steps_ = std::clamp(static_cast<int>(std::ceil(std::min(way / kCellsPerStep, 1e6f))), 1, kMostSteps);
    for (int step = 1; step <= steps_; ++step) {
        const float share = static_cast<float>(step) / static_cast<float>(steps_);
        times.measure("flow", [&] {
            flow_->set(step == steps_ ? next : particles_between(particles_, next, share, seconds),
                       static_cast<float>(frame_) + share);
        });
        times.measure("ripples", [&] {
            ripples_->step(flow_->flow(), liquid_->params.gravity.norm(), seconds / static_cast<float>(steps_));
        });
    }
    particles_ = std::move(next);
    ++frame_;
}

template <class Cut> void RipplesStage::cut_at_thin_walls(const Cut& cut)
{
    constexpr float kReach = 2.5f; // [cells of the liquid]; farther than ripples are from particles
    const float voxel = liquid_->params.voxel;
    const Solids* thin = walls_.at(frame_, voxel, liquid_->colliders, fps_);
    if (!thin) return;
    const Flow flow = flow_->flow();
    cut(ThinWalls(*thin, container_), ThinWalls::Sorted{flow_->particles(), flow_->index(), flow.topology(), voxel},
        kReach * voxel);
}

// Meshes the surface, with the velocity of the liquid and its ripples.
Mesh RipplesStage::make_mesh(const Ripples::Surface& surface)
{
    // Removed components, in cells of the liquid: voids up to one, and drops smaller than a fraction of a particle's
    // volume.
    constexpr double kBubble = 1, kSliver = 0.02;
    Contour contoured = contour(surface.phi, ripples_->voxel(), container_);
    cut_at_thin_walls([&](const ThinWalls& walls, const ThinWalls::Sorted& liquid, float reach) {
        walls.cut(liquid.particles, walls.nearest(liquid, contoured.mesh.positions, reach), ripples_->voxel(),
                  contoured);
    });
    Mesh mesh = std::move(contoured.mesh);
    const double cell = std::pow(static_cast<double>(liquid_->params.voxel), 3);
    remove_parts(mesh, -kBubble * cell, kSliver * cell);
    mesh.velocities.assign(mesh.positions.size(), Vec3f::Zero());
    const Flow flow = flow_->flow();
    parallel_chunks(mesh.positions.size(), 1024, [&](size_t begin, size_t end) {
        Sampler sampler(flow.topology());
        for (size_t i = begin; i < end; ++i)
            mesh.velocities[i] = sampler.velocity(flow.velocity, mesh.positions[i] / flow.voxel);
    });
    ripples_->add_motion(mesh.positions, 1 / fps_, mesh.velocities);
    return mesh;
}

void RipplesStage::write(const std::string& path)
{
    write_mesh(path, mesh_);
    if (!sdf_) return;
    Ripples::Surface surface = ripples_->surface();
    cut_at_thin_walls([&](const ThinWalls& walls, const ThinWalls::Sorted& liquid, float reach) {
        walls.cut(liquid.particles, walls.nearest(liquid, surface.phi, ripples_->voxel(), reach), ripples_->voxel(),
                  surface.phi);
    });
    finish_distance(surface.phi, ripples_->voxel(), container_);
    write_fields(std::filesystem::path(path).replace_extension("vdb").string(), {{"surface", &surface.phi, true}},
                 ripples_->voxel(),
                 {{"frame", std::to_string(frame_)}, {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}});
}

StateFile RipplesStage::save() const
{
    StateFile file;
    file.numbers["frame"] = frame_;
    if (!in_liquid()) save_ripples(ripples_->state(), file);
    return file;
}

FrameReport RipplesStage::restore(StateFile file)
{
    PhaseTimes times;
    times.measure("restore", [&] {
        ripples_ = std::make_unique<Ripples>(ripple_params());
        find_flow(static_cast<int>(file.numbers["frame"]));
        if (in_liquid())
            read_ripples();
        else
            ripples_->restore(load_ripples(file));
    });
    return report(times);
}

StageKind ripples_stage()
{
    return stage_kind<RipplesStage>("ripples", "A finer surface of the liquid, rippled by its turbulence.");
}

} // namespace spindrift
