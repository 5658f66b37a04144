#include "pipeline/ripples_stage.h"

#include "base/error.h"
#include "io/mesh_file.h"
#include "io/vdb.h"
#include "pipeline/scene_shapes.h"
#include "surface/container.h"
#include "surface/contour.h"
#include "surface/level_set.h"
#include "surface/parts.h"
#include "turbulence/sampler.h"

#include <bit>
#include <filesystem>

namespace spindrift {

namespace {

// How far the liquid may move in a step of the ripples [cells], and how many steps a frame may have: what is faster is
// spray.
constexpr float kWay = 1.4f;
constexpr int kMostSteps = 12;
// Of a cell of the finer grid in the band, with what a step needs, and how thick the band is [cells of the liquid].
constexpr double kBytesPerCell = 60, kBand = 4;

// The distance [m] in a level set's band, with nothing beyond the walls.
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
    params_.visit(v);
    v("sdf", sdf_, "Also write the distance to the rippled surface as a VDB grid \"surface\".");
}

std::vector<std::string> RipplesStage::endings() const
{
    return sdf_ ? std::vector<std::string>{"ply", "vdb"} : std::vector<std::string>{"ply"};
}

void RipplesStage::prepare(const SceneFile& scene, const ShotParams& shot)
{
    if (!scene.has("ripples")) return;
    if (!scene.has("liquid")) bad_input("{}: ripples need a liquid; add [liquid] to the scene", scene.where("ripples"));
    const LiquidParams& liquid = liquid_->params;
    fps_ = shot.fps;
    if (liquid.domain.bounded()) { // an open side is no wall
        container_ = liquid_->extent;
        for (int axis = 0; axis < 3; ++axis) {
            if (!liquid.domain.closed(axis, 0)) container_->min[axis] = -kInfinity;
            if (!liquid.domain.closed(axis, 1)) container_->max[axis] = kInfinity;
        }
    }
    dependencies_ = mesh_files_of(liquid.colliders, scene);
    flow_ = std::make_unique<ParticleFlow>(liquid.domain, liquid_->colliders, fps_, liquid.voxel);
    ripples_ = std::make_unique<Ripples>(params_);

    const Vec3d size = liquid_->extent.size().cast<double>();
    const double voxel = static_cast<double>(liquid.voxel) / params_.refine;
    // A splash has about twice the area of the floor below it.
    const double cells = 2 * size.x() * size.z() / (voxel * voxel);
    const double bytes = kBytesPerCell * cells * kBand * params_.refine;
    estimate_ = {bytes, 70 * cells * shot.range().count(), fmt::format("about {:.2g} triangles", 2 * cells),
                 "lower ripples.refine or raise liquid.voxel"};
}

Particles RipplesStage::read(int frame) const
{
    Particles particles = read_particles(input_path_(frame)).particles;
    particles.attributes.clear();
    return particles;
}

FrameReport RipplesStage::report(const PhaseTimes& times) const
{
    FrameReport report;
    report.numbers = {{"fine_tiles", static_cast<double>(ripples_->topology().tile_count())},
                      {"eddies", static_cast<double>(ripples_->turbulence().particles().size())},
                      {"steps", steps_},
                      {"highest", static_cast<double>(largest_size(ripples_->difference()))}};
    report.times = times;
    return report;
}

void RipplesStage::find_flow(int frame)
{
    frame_ = frame;
    particles_ = read(frame);
    flow_->set(particles_, static_cast<float>(frame));
}

FrameReport RipplesStage::start(int frame)
{
    PhaseTimes times;
    times.measure("read", [&] { find_flow(frame); });
    ripples_ = std::make_unique<Ripples>(params_);
    times.measure("start", [&] { ripples_->step(flow_->flow(), liquid_->params.gravity.norm(), 0); });
    return report(times);
}

FrameReport RipplesStage::advance()
{
    PhaseTimes times;
    Particles next;
    times.measure("read", [&] { next = read(frame_ + 1); });
    const float seconds = 1 / fps_;
    const float way = fastest(flow_->flow()) * seconds / liquid_->params.voxel;
    steps_ = std::clamp(static_cast<int>(std::ceil(std::min(way / kWay, 1e6f))), 1, kMostSteps);
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
    return report(times);
}

// With the velocity of the liquid and its eddies.
Mesh RipplesStage::make_mesh(const Ripples::Surface& surface) const
{
    // Parts that are removed, in cells of the liquid: voids up to one, and drops smaller than a share of a particle's.
    constexpr double kBubble = 1, kSliver = 0.02;
    Mesh mesh = contour(surface.phi, ripples_->voxel(), container_).mesh;
    const double cell = std::pow(static_cast<double>(liquid_->params.voxel), 3);
    remove_parts(mesh, -kBubble * cell, kSliver * cell);
    mesh.velocities.resize(mesh.positions.size());
    ripples_->turbulence().velocity().sample_points(mesh.positions, mesh.velocities);
    const Flow flow = flow_->flow();
    parallel_chunks(mesh.positions.size(), 1024, [&](size_t begin, size_t end) {
        Sampler sampler(flow.topology());
        for (size_t i = begin; i < end; ++i)
            mesh.velocities[i] += sampler.velocity(flow.velocity, mesh.positions[i] / flow.voxel);
    });
    return mesh;
}

void RipplesStage::write(const std::string& path)
{
    Ripples::Surface surface = ripples_->surface();
    write_mesh(path, make_mesh(surface));
    if (!sdf_) return;
    finish_distance(surface.phi, ripples_->voxel(), container_);
    write_fields(std::filesystem::path(path).replace_extension("vdb").string(), {{"surface", &surface.phi, true}},
                 ripples_->voxel(),
                 {{"frame", std::to_string(frame_)}, {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}});
}

StateFile RipplesStage::save() const
{
    const auto bits = [](float x) { return static_cast<int64_t>(std::bit_cast<int32_t>(x)); };
    Ripples::State state = ripples_->state();
    Turbulence::State& turbulence = state.turbulence;
    StateFile file;
    file.numbers = {{"frame", frame_},
                    {"voxel_bits", bits(state.voxel)},
                    {"turbulence_voxel_bits", bits(turbulence.voxel)},
                    {"next_eddy", turbulence.particles.next_id},
                    {"eddy_steps", turbulence.particles.steps}};
    file.tiles["ripples"] = std::move(state.tiles), file.tiles["band"] = std::move(state.band);
    file.tiles["flow"] = std::move(state.flow_tiles), file.tiles["turbulence"] = std::move(turbulence.tiles);
    file.fields["difference"] = std::move(state.difference);
    file.fields["distance"] = std::move(state.distance);
    file.fields["solid_distance"] = std::move(state.solid_distance);
    file.fields["turbulence.energy"] = std::move(turbulence.energy);
    file.fields["turbulence.open"] = std::move(turbulence.open);
    file.fields["turbulence.solid_distance"] = std::move(turbulence.solid_distance);
    file.particles = std::move(turbulence.particles.particles);
    return file;
}

FrameReport RipplesStage::restore(StateFile file)
{
    PhaseTimes times;
    times.measure("restore", [&] {
        const auto real = [&](const char* name) {
            return std::bit_cast<float>(static_cast<int32_t>(file.numbers[name]));
        };
        Ripples::State state;
        state.voxel = real("voxel_bits");
        state.tiles = std::move(file.tiles["ripples"]), state.band = std::move(file.tiles["band"]);
        state.flow_tiles = std::move(file.tiles["flow"]);
        state.difference = std::move(file.fields["difference"]);
        state.distance = std::move(file.fields["distance"]);
        state.solid_distance = std::move(file.fields["solid_distance"]);
        Turbulence::State& turbulence = state.turbulence;
        turbulence.tiles = std::move(file.tiles["turbulence"]), turbulence.voxel = real("turbulence_voxel_bits");
        turbulence.energy = std::move(file.fields["turbulence.energy"]);
        turbulence.open = std::move(file.fields["turbulence.open"]);
        turbulence.solid_distance = std::move(file.fields["turbulence.solid_distance"]);
        turbulence.particles = {std::move(file.particles), static_cast<int>(file.numbers["next_eddy"]),
                                file.numbers["eddy_steps"]};
        ripples_ = std::make_unique<Ripples>(params_);
        ripples_->restore(std::move(state));
        find_flow(static_cast<int>(file.numbers["frame"]));
    });
    return report(times);
}

} // namespace spindrift
