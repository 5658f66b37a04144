#include "pipeline/spray_stage.h"
#include "scene/limits.h"

#include "base/error.h"
#include "io/point_file.h"
#include "pipeline/scene_shapes.h"
#include "points/attribute_checks.h"
#include "points/spacing.h"

#include <algorithm>
#include <bit>
#include <filesystem>

namespace spindrift {

namespace {

// Of a droplet with what collisions need, and on disk, less what compression finds.
constexpr double kBytesPerDroplet = 200, kFileBytesPerDroplet = 40;
// Of a particle of the liquid that is read, at two frames, with what finds its neighbours.
constexpr double kBytesPerLiquidParticle = 100;

// The closed sides of a liquid's domain.
std::vector<SprayColliderParams> walls_of(const DomainParams& domain)
{
    std::vector<SprayColliderParams> walls;
    if (!domain.bounded()) return walls;
    for (int axis = 0; axis < 3; ++axis)
        for (int upper = 0; upper < 2; ++upper) {
            if (!domain.closed(axis, upper)) continue;
            SprayColliderParams wall;
            wall.shape = ShapeParams::Kind::half_space;
            wall.point = upper ? *domain.max : *domain.min;
            wall.normal = (upper ? -1.0f : 1.0f) * Vec3f::Unit(axis);
            walls.push_back(wall);
        }
    return walls;
}

// An edge for the cells of a point grid in which there is about one droplet where they are, so that leaves are neither
// empty nor crowded.
float voxel_for(const Particles& droplets)
{
    constexpr float kLeast = 1e-3f;
    Box3f box;
    for (const Vec3f& x : droplets.P) box.add(x);
    if (box.empty()) return kLeast;
    const Vec3f size = box.size().cwiseMax(kLeast);
    return std::max(kLeast, std::cbrt(size.x() * size.y() * size.z() / static_cast<float>(droplets.size())));
}

} // namespace

void SprayStage::visit(ParamVisitor& v)
{
    params_.visit(v);
    v("liquid_colliders", liquid_colliders_, "Droplets also bounce off the colliders and closed sides of [liquid].");
    v("input", input_,
      "Liquid of another program that whitewater comes from, VDB points or PLY, e.g. \"water.####.vdb\"; the folder is "
      "relative to the scene's. Left out: that of [liquid].");
    v("wind_file", wind_file_,
      "VDB files with a field of wind [m/s], e.g. \"wind.####.vdb\", that is added to spray.wind; the folder is "
      "relative to "
      "the scene's. Frames that are missing take the one before.");
    v("wind_grid", wind_grid_, "Name of the grid of vectors in them.");
    expressions_.visit(v);
    v("spacing", spacing_, unit::metres, limits::size(),
      "Mean distance of the liquid's particles. Left out: half a voxel of [liquid], or found from the input.");
}

std::vector<std::string> SprayStage::inputs() const
{
    if (reads_liquid() && input_.empty()) return {"liquid"};
    return {};
}

void SprayStage::prepare(const SceneFile& scene, const ShotParams& shot)
{
    if (!scene.has("spray")) return;
    fps_ = shot.fps;
    const FrameRange range = shot.range();
    first_frame_ = range.first;
    if (params_.emitters.empty() && !reads_liquid())
        bad_input(
            "{}: nothing makes spray; add a [[spray.emitter]], or set spray.whitewater.trapped_air, .wave_crests or "
            ".handover",
            scene.where("spray"));
    if (reads_liquid() && input_.empty() && !scene.has("liquid"))
        bad_input(
            "{}: spray.whitewater needs a liquid; add [liquid], or name the files of another program as spray.input",
            scene.where("spray"));
    if (reads_liquid() && !input_.empty()) input_files_ = scene.resolve(input_);

    liquid_->handed_over.reset();
    if (params_.whitewater.handover) {
        liquid_->handed_over = input_files_;
        if (spacing_ || input_.empty())
            expect_radius_in_range(spacing_.value_or(0.5f * liquid_->params.voxel),
                                   scene.where("spray.whitewater.handover"));
    }

    Spray::Shapes shapes;
    for (size_t i = 0; i < params_.emitters.size(); ++i)
        shapes.emitters.push_back(
            load_shape(scene, params_.emitters[i].carrier(), fmt::format("spray.emitter[{}]", i)));
    shapes.colliders = load_colliders(scene, params_.colliders, "spray.collider");
    dependencies_ = mesh_files_of(params_.emitters, scene) + mesh_files_of(params_.colliders, scene);
    for (auto* list : {&shapes.emitters, &shapes.colliders})
        for (Shape& shape : *list) shape.prepare(static_cast<float>(range.first));

    setup_->params = params_.colliders, setup_->colliders = shapes.colliders;

    double& droplets = droplets_ = 0;
    for (const EmitterParams& e : params_.emitters) {
        const double from = std::max(range.first, e.first_frame), to = std::min(range.last, e.last_frame);
        droplets += e.rate * std::max(0.0, to - from + 1) / fps_;
    }
    SprayParams params = params_;
    if (liquid_colliders_ && scene.has("liquid")) {
        // Whether or not the liquid's frames are read.
        LiquidParams liquid = liquid_->params;
        dependencies_ += mesh_files_of(liquid.colliders, scene) + canonical_text([&](ParamVisitor& v) {
                             v.list("liquid_collider", liquid.colliders, "");
                             v.group("liquid_domain", liquid.domain, "");
                         });
        for (size_t i = 0; i < liquid_->colliders.size(); ++i) {
            SprayColliderParams collider;
            static_cast<ShapeParams&>(collider) = liquid_->params.colliders[i];
            params.colliders.push_back(collider);
            shapes.colliders.push_back(liquid_->colliders[i]);
        }
        for (const SprayColliderParams& wall : walls_of(liquid_->params.domain)) {
            params.colliders.push_back(wall);
            shapes.colliders.emplace_back(wall, scene.where("liquid.domain"));
        }
    }
    estimate_ = {kBytesPerDroplet * droplets, kFileBytesPerDroplet * droplets * range.count() / 2,
                 reads_liquid() ? fmt::format("{:.3g} droplets from emitters, and those from the liquid", droplets)
                                : fmt::format("up to {:.3g} droplets and their satellites", droplets),
                 "lower spray.emitter.rate"};
    expressions_.prepare(scene, name(), range, shot.fps, shapes.colliders);
    spray_ = std::make_unique<Spray>(params, std::move(shapes), shot.fps);
    expressions_.set_radii([](const Particles& all) { return required<float>(all, kRadiusAttribute); });
    spray_->set_hooks(expressions_.hooks());
    prepare_wind(scene);
}

// Emitters make fewer droplets as a coarser liquid throws off fewer; a few thousand of them still tell.
double SprayStage::coarseness(double k) const
{
    constexpr double kEnough = 50000; // fewer lie alone in their leaves of a file
    if (!input_.empty()) return 1;    // a liquid that cannot be made coarser
    return reads_liquid() ? k : std::clamp(std::cbrt(droplets_ / kEnough), 1.0, 100.0);
}

std::vector<std::string> SprayStage::coarser(double k) const
{
    std::vector<std::string> sets;
    for (size_t i = 0; i < params_.emitters.size(); ++i)
        sets.push_back(fmt::format("spray.emitter[{}].rate={}", i, params_.emitters[i].rate / (k * k * k)));
    if (spacing_) sets.push_back(fmt::format("spray.spacing={}", k * static_cast<double>(*spacing_)));
    if (params_.whitewater.handover) // particles of a coarser liquid are larger droplets
        sets.push_back(fmt::format("spray.max_radius={}", std::min(k * static_cast<double>(params_.max_radius), 1e6)));
    return sets;
}

double SprayStage::memory(const Forecast& forecast) const
{
    double bytes = kBytesPerDroplet * forecast.at(name()).number("droplets");
    if (const auto liquid = forecast.find("liquid"); reads_liquid() && liquid != forecast.end())
        bytes += kBytesPerLiquidParticle * liquid->second.number("particles");
    return bytes;
}

void SprayStage::prepare_wind(const SceneFile& scene)
{
    if (wind_file_.empty()) return;
    const SampledVolumes volumes(scene.resolve(wind_file_), scene.where("spray.wind_file"));
    dependencies_ += volumes.signature("wind");
    spray_->set_air([volumes, grid = wind_grid_](float moment, std::span<const Vec3f> x, std::span<Vec3f> air) {
        const int frame = static_cast<int>(std::ceil(moment - 1e-4f));
        ExpressionContext context;
        volumes.add(frame, context);
        const auto found = context.vector_volumes.find(grid);
        if (found == context.vector_volumes.end())
            fail("{} has no grid of vectors named {} (see spray.wind_grid)", volumes.file_at(frame), grid);
        for (size_t i = 0; i < x.size(); ++i) air[i] += found->second(x[i]);
    });
}

// Droplets of other radii would not have the volume of the particles that they are made from.
void SprayStage::expect_radius_in_range(float spacing, const std::string& where) const
{
    const float radius = radius_of_share(spacing);
    if (radius < params_.min_radius || radius > params_.max_radius)
        bad_input("{}: droplets of the volume of a liquid particle have a radius of {:.3g} m, which is not between "
                  "spray.min_radius ({:.3g} m) and spray.max_radius ({:.3g} m)",
                  where, radius, params_.min_radius, params_.max_radius);
}

std::vector<std::string> SprayStage::endings() const
{
    std::vector<std::string> endings = {"vdb"};
    if (params_.whitewater.handover) endings.push_back(kTakenEnding);
    return endings;
}

std::unique_ptr<LiquidView> SprayStage::view(int frame) const
{
    if (!reads_liquid()) return nullptr;
    const std::string path = input_path_(frame);
    ParticleFile file = read_points(path);
    if (spacing_) return std::make_unique<LiquidView>(std::move(file.particles), *spacing_);
    if (input_.empty()) {
        // Velocities of our own frames are means over the frame before.
        const float late_by = frame > first_frame_ ? 0.5f / fps_ : 0;
        return std::make_unique<LiquidView>(std::move(file.particles), 0.5f * file.voxel, late_by);
    }
    const auto found = find_spacing(file.particles.P);
    if (!found && file.particles.size() > 0)
        bad_input("{}: {} points do not tell their spacing; set spray.spacing [m]", path, file.particles.size());
    if (found && params_.whitewater.handover) expect_radius_in_range(*found, path);
    return std::make_unique<LiquidView>(std::move(file.particles), found.value_or(1.0f));
}

FrameReport SprayStage::report_of(const SprayReport& spray) const
{
    FrameReport report;
    report.numbers = {{"droplets", static_cast<double>(spray_->particles().size())},
                      {"emitted", static_cast<double>(spray.emitted)},
                      {"satellites", static_cast<double>(spray.satellites)},
                      {"merged", static_cast<double>(spray.collisions[1])},
                      {"stretched", static_cast<double>(spray.collisions[2])},
                      {"reflexive", static_cast<double>(spray.collisions[3])}};
    if (params_.whitewater.handover) report.numbers.emplace_back("taken", static_cast<double>(spray_->taken().size()));
    report.times = spray.times;
    return report;
}

FrameReport SprayStage::start(int frame)
{
    SprayReport report;
    report.times.measure("start", [&] { spray_->start(frame), now_ = view(frame); });
    expressions_.check(spray_->particles());
    return report_of(report);
}

FrameReport SprayStage::restore(StateFile state)
{
    const auto number = [&](const char* name) { return static_cast<int>(state.numbers[name]); };
    SprayReport report;
    report.times.measure("restore", [&] {
        const std::vector<uint64_t>& taken = state.tiles["taken"];
        spray_->restore({number("start_frame"),
                         number("frame"),
                         number("next_id"),
                         std::bit_cast<float>(number("edge_bits")),
                         std::move(state.particles),
                         {taken.begin(), taken.end()}});
        now_ = view(spray_->frame());
    });
    return report_of(report);
}

FrameReport SprayStage::advance()
{
    if (!reads_liquid()) return report_of(spray_->advance());
    std::unique_ptr<LiquidView> next;
    PhaseTimes reading;
    reading.measure("read", [&] { next = view(spray_->frame() + 1); });
    SprayReport report = spray_->advance(*now_, *next);
    for (const auto& [phase, seconds] : reading.phases()) report.times.add(phase, seconds);
    now_ = std::move(next);
    return report_of(report);
}

FileMetadata SprayStage::metadata() const
{
    return {{"frame", std::to_string(spray_->frame())}, {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}};
}

void SprayStage::write(const std::string& path)
{
    Particles droplets = spray_->particles();
    expressions_.run(ExpressionParams::At::before_writing, droplets, static_cast<float>(spray_->frame()), 1 / fps_);
    // Other programs draw points with the radius pscale. An expression may have set one of its own.
    if (!droplets.attributes.contains("pscale"))
        droplets.attribute<float>("pscale") = required<float>(droplets, kRadiusAttribute);
    write_particles(path, droplets, voxel_for(droplets), /*pscale=*/0, metadata());
    if (params_.whitewater.handover) write_taken(std::filesystem::path(path).replace_extension(kTakenEnding).string());
}

// The liquid particles that are droplets in this frame.
void SprayStage::write_taken(const std::string& path) const
{
    const Particles& liquid = now_->particles();
    Particles taken;
    for (size_t i = 0; i < liquid.size(); ++i)
        if (std::ranges::binary_search(spray_->taken(), liquid.id[i])) {
            taken.P.push_back(liquid.P[i]), taken.v.push_back(liquid.v[i]), taken.id.push_back(liquid.id[i]);
        }
    write_particles(path, taken, voxel_for(taken), radius_of_share(now_->spacing()), metadata());
}

StateFile SprayStage::save() const
{
    Spray::State state = spray_->state();
    StateFile file = {{{"start_frame", state.start_frame},
                       {"frame", state.frame},
                       {"next_id", state.next_id},
                       {"edge_bits", std::bit_cast<int32_t>(state.edge)}},
                      std::move(state.particles)};
    if (!state.taken.empty()) file.tiles["taken"].assign(state.taken.begin(), state.taken.end());
    return file;
}

} // namespace spindrift
