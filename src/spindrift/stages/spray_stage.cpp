#include "spindrift/stages/spray_stage.h"
#include "spindrift/scene/limits.h"

#include "spindrift/base/error.h"
#include "spindrift/io/point_file.h"
#include "spindrift/points/attribute_checks.h"
#include "spindrift/points/spacing.h"
#include "spindrift/stages/scene_shapes.h"
#include "spindrift/stages/taken_particles.h"

#include <algorithm>
#include <bit>
#include <filesystem>

namespace spindrift {

namespace {

// Bytes of a droplet in memory, including collision data, and on disk, less compression.
constexpr double kBytesPerDroplet = 200, kFileBytesPerDroplet = 40;
// Bytes of a liquid particle that is read, at two frames, including neighbour search.
constexpr double kBytesPerLiquidParticle = 100;

// The closed sides of a liquid's domain as colliders.
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

// A voxel size for the point grid with about one droplet per occupied voxel, so that leaves are neither empty nor
// crowded.
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
    v("liquid", liquid_names_,
      "The liquids that emit whitewater and whose colliders stop droplets: one or more stages. Default: the "
      "only one of the scene.");
    v("liquid_colliders", liquid_colliders_,
      "Also collide droplets with the colliders and closed sides of the liquid.");
    v("input", input_,
      "Liquid of another program that emits whitewater, VDB points or PLY, e.g. \"water.####.vdb\"; the folder is "
      "relative to the scene's. Default: that of `liquid`.");
    v("wind_file", wind_file_,
      "VDB files with a wind field [m/s] that is added to spray.wind, e.g. \"wind.####.vdb\"; the folder is "
      "relative to the scene's. A missing frame uses the one before.");
    v("wind_grid", wind_grid_, "Name of the vector grid in these files.");
    expressions_.visit(v);
    v("spacing", spacing_, unit::metres, limits::size(),
      "Mean spacing of the liquid's particles. Default: half a voxel of the liquid, or estimated from the input.");
}

std::vector<Port> SprayStage::ports(const ShotGraph&) const
{
    Port liquid{"liquid", {"liquid"}, liquid_names_};
    liquid.many = true;
    liquid.frames = reads_liquid() && input_.empty();
    liquid.optional = !liquid.frames;
    liquid.missing = fmt::format("{} needs a liquid; add [liquid], or name the files of another program as {}",
                                 param("whitewater"), param("input"));
    return {liquid};
}

void SprayStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    params_.name = name();
    fps_ = shot.fps;
    const FrameRange range = shot.range();
    first_frame_ = range.first;
    if (params_.emitters.empty() && !reads_liquid())
        bad_input("{}: the spray has no source; add a [[{}]], or set {}.trapped_air, .wave_crests or .handover",
                  scene.where(name()), param("emitter"), param("whitewater"));
    input_files_ = liquid_files(scene);
    for (const StageView& view : inputs.all("liquid")) liquids_.push_back(view.as<LiquidFacts>());
    for (const auto& liquid : liquids_)
        if (reads_liquid() && liquid->params.voxel != liquids_.front()->params.voxel && input_.empty())
            bad_input("{}: {}.voxel is {} m and {}.voxel {} m; liquids of one spray must have the same voxel size; "
                      "otherwise give each its own spray",
                      scene.where(param("liquid")), liquids_.front()->stage, liquids_.front()->params.voxel,
                      liquid->stage, liquid->params.voxel);

    const auto facts = std::make_shared<SprayFacts>();
    facts->stage = name();
    for (const auto& liquid : liquids_)
        if (!liquid->extent.empty()) facts->extent.add(liquid->extent);
    if (takes_over()) {
        if (!input_files_.empty())
            facts->taken_from = {input_files_};
        else
            for (const auto& liquid : liquids_) facts->taken_from.push_back(liquid->stage);
        if (spacing_ || input_.empty())
            expect_radius_in_range(spacing_.value_or(liquids_.empty() ? 0 : 0.5f * liquids_.front()->params.voxel),
                                   scene.where(param("whitewater.handover")));
    }

    Spray::Shapes shapes;
    for (size_t i = 0; i < params_.emitters.size(); ++i)
        shapes.emitters.push_back(
            load_shape(scene, params_.emitters[i].carrier(), fmt::format("{}[{}]", param("emitter"), i)));
    shapes.colliders = load_colliders(scene, params_.colliders, param("collider"));
    dependencies_ = mesh_files_of(params_.emitters, scene) + mesh_files_of(params_.colliders, scene);
    for (auto* list : {&shapes.emitters, &shapes.colliders})
        for (Shape& shape : *list) shape.prepare(static_cast<float>(range.first));
    facts->colliders = shapes.colliders;
    facts->collider_text = text_of_shapes(param("collider"), params_.colliders, scene);

    double& droplets = droplets_ = 0;
    for (const EmitterParams& e : params_.emitters) {
        const double from = std::max(range.first, e.first_frame), to = std::min(range.last, e.last_frame);
        droplets += e.rate * std::max(0.0, to - from + 1) / fps_;
    }
    SprayParams params = params_;
    if (liquid_colliders_) add_liquid_colliders(context, params, shapes);
    estimate_ = {kBytesPerDroplet * droplets, kFileBytesPerDroplet * droplets * range.count() / 2,
                 reads_liquid() ? fmt::format("{:.3g} droplets from emitters, and those from the liquid", droplets)
                                : fmt::format("up to {:.3g} droplets and their satellites", droplets),
                 fmt::format("lower {}.rate", param("emitter"))};
    expressions_.prepare(scene, name(), range, shot.fps, shapes.colliders);
    spray_ = std::make_unique<Spray>(params, std::move(shapes), shot.fps);
    expressions_.set_radii([](const Particles& all) { return required<float>(all, kRadiusAttribute); });
    spray_->set_hooks(expressions_.hooks());
    prepare_wind(scene);
    facts_ = facts;
}

// Adds the colliders of the liquids and the closed sides of their domains, whether or not the liquids' frames are read.
void SprayStage::add_liquid_colliders(const StageContext& context, SprayParams& params, Spray::Shapes& shapes)
{
    for (const auto& liquid : liquids_) {
        const LiquidParams& their = liquid->params;
        dependencies_ += liquid->text_of_walls(context.scene);
        for (size_t i = 0; i < liquid->colliders.size(); ++i) {
            SprayColliderParams collider;
            static_cast<ShapeParams&>(collider) = their.colliders[i];
            params.colliders.push_back(collider);
            shapes.colliders.push_back(liquid->colliders[i]);
        }
        for (const SprayColliderParams& wall : walls_of(their.domain)) {
            params.colliders.push_back(wall);
            shapes.colliders.emplace_back(wall, context.scene.where(liquid->stage + ".domain"));
        }
    }
}

// Draws each droplet enlarged by the render's scale. The render's attribute colours droplets only if spray is drawn
// alone.
void SprayFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    const std::string path = frame.input(stage, frame.frame);
    const ParticleFile file = read_particles(path);
    const RenderParams& params = picture.params();
    picture.count("droplets", file.particles.size());
    const LayerParams::Look look = picture.layer().look;
    const bool water = look == LayerParams::Look::as_picture ? params.spray_look == RenderParams::SprayLook::water
                                                             : look == LayerParams::Look::water;
    add_particles(file, path, picture.own_color_by(), params.spray_color, params.spray_scale, picture, water);
}

double SprayFacts::memory(const Foreseen& foreseen) const
{
    return DrawnScene::kBytesPerSphere * foreseen.number("droplets");
}

// Reduces emitter rates as a coarser liquid emits fewer droplets; a few thousand are enough for a forecast.
double SprayStage::coarseness(double k) const
{
    constexpr double kEnough = 50000; // with fewer, most leaves of a file hold a single droplet
    if (!input_.empty()) return 1;    // a liquid that cannot be made coarser
    return reads_liquid() ? k : std::clamp(std::cbrt(droplets_ / kEnough), 1.0, 100.0);
}

std::vector<std::string> SprayStage::coarser(double k) const
{
    std::vector<std::string> sets;
    for (size_t i = 0; i < params_.emitters.size(); ++i)
        sets.push_back(fmt::format("{}[{}].rate={}", param("emitter"), i, params_.emitters[i].rate / (k * k * k)));
    if (spacing_) sets.push_back(fmt::format("{}={}", param("spacing"), k * static_cast<double>(*spacing_)));
    if (params_.whitewater.handover) // particles of a coarser liquid are larger droplets
        sets.push_back(
            fmt::format("{}={}", param("max_radius"), std::min(k * static_cast<double>(params_.max_radius), 1e6)));
    return sets;
}

double SprayStage::memory(const Forecast& forecast) const
{
    double bytes = kBytesPerDroplet * forecast.at(name()).number("droplets");
    for (const auto& read : liquids_)
        if (const auto liquid = forecast.find(read->stage); reads_liquid() && liquid != forecast.end())
            bytes += kBytesPerLiquidParticle * liquid->second.number("particles");
    return bytes;
}

void SprayStage::prepare_wind(const SceneFile& scene)
{
    if (wind_file_.empty()) return;
    const SampledVolumes volumes(scene.resolve(wind_file_), scene.where(param("wind_file")));
    dependencies_ += volumes.signature("wind");
    spray_->set_air([volumes, grid = wind_grid_](float moment, std::span<const Vec3f> x, std::span<Vec3f> air) {
        const int frame = static_cast<int>(std::ceil(moment - 1e-4f));
        ExpressionContext context;
        volumes.add(frame, context);
        const auto found = context.vector_volumes.find(grid);
        if (found == context.vector_volumes.end())
            fail("{} has no vector grid named {} (see wind_grid)", volumes.file_at(frame), grid);
        for (size_t i = 0; i < x.size(); ++i) air[i] += found->second(x[i]);
    });
}

// Checks that a droplet with the volume of a liquid particle lies within the allowed radii: handover must conserve
// volume.
void SprayStage::expect_radius_in_range(float spacing, const std::string& where) const
{
    const float radius = radius_of_share(spacing);
    if (radius < params_.min_radius || radius > params_.max_radius)
        bad_input("{}: droplets of the volume of a liquid particle have a radius of {:.3g} m, which is not between "
                  "{} ({:.3g} m) and {} ({:.3g} m)",
                  where, radius, param("min_radius"), params_.min_radius, param("max_radius"), params_.max_radius);
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
    if (input_.empty()) return view_of_stages(frame);
    const std::string path = frame_path(input_files_, frame);
    ParticleFile file = read_points(path);
    if (spacing_) return std::make_unique<LiquidView>(std::move(file.particles), *spacing_);
    const auto found = find_spacing(file.particles.P);
    if (!found && file.particles.size() > 0)
        bad_input("{}: cannot estimate the spacing of {} points; set {} [m]", path, file.particles.size(),
                  param("spacing"));
    if (found && params_.whitewater.handover) expect_radius_in_range(*found, path);
    return std::make_unique<LiquidView>(std::move(file.particles), found.value_or(1.0f));
}

// All liquids together. With several, ids are made unique: id times the number of liquids, plus the index of the
// liquid.
std::unique_ptr<LiquidView> SprayStage::view_of_stages(int frame) const
{
    const auto count = static_cast<int32_t>(liquids_.size());
    ParticleFile all = read_points(input_path_(liquids_.front()->stage, frame));
    if (count > 1) {
        all.particles.attributes.clear();
        for (int32_t k = 0; k < count; ++k) {
            Particles more;
            if (k > 0) more = read_points(input_path_(liquids_[k]->stage, frame)).particles;
            Particles& from = k > 0 ? more : all.particles;
            for (int32_t& id : from.id) {
                if (id > std::numeric_limits<int32_t>::max() / count - 1)
                    fail("{}: the ids of {} liquids do not fit into 32 bits", name(), count);
                id = id * count + k;
            }
            if (k == 0) continue;
            all.particles.P.insert(all.particles.P.end(), more.P.begin(), more.P.end());
            all.particles.v.insert(all.particles.v.end(), more.v.begin(), more.v.end());
            all.particles.id.insert(all.particles.id.end(), more.id.begin(), more.id.end());
        }
    }
    if (spacing_) return std::make_unique<LiquidView>(std::move(all.particles), *spacing_);
    // The velocities in our own frames are averages over the preceding frame.
    const float late_by = frame > first_frame_ ? 0.5f / fps_ : 0;
    return std::make_unique<LiquidView>(std::move(all.particles), 0.5f * all.voxel, late_by);
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
    // Other programs draw points with the radius pscale. Keep a pscale that an expression has set.
    if (!droplets.attributes.contains("pscale"))
        droplets.attribute<float>("pscale") = required<float>(droplets, kRadiusAttribute);
    write_particles(path, droplets, voxel_for(droplets), /*pscale=*/0, metadata());
    if (params_.whitewater.handover) write_taken(std::filesystem::path(path).replace_extension(kTakenEnding).string());
}

// Writes the liquid particles that are droplets in this frame.
void SprayStage::write_taken(const std::string& path) const
{
    const Particles& liquid = now_->particles();
    const auto count = std::max(int32_t{1}, static_cast<int32_t>(liquids_.size()));
    Particles taken;
    std::vector<int32_t> from;
    for (size_t i = 0; i < liquid.size(); ++i)
        if (std::ranges::binary_search(spray_->taken(), liquid.id[i])) {
            taken.P.push_back(liquid.P[i]), taken.v.push_back(liquid.v[i]), taken.id.push_back(liquid.id[i]);
            if (input_.empty() && count > 1) from.push_back(liquid.id[i] % count), taken.id.back() /= count;
        }
    if (!from.empty()) taken.attribute<int32_t>(kTakenFrom) = std::move(from);
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

StageKind spray_stage()
{
    return stage_kind<SprayStage>("spray", "Droplets that fly, merge and break up; whitewater and foam.");
}

} // namespace spindrift
