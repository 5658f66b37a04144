#include "spindrift/stages/surface_stage.h"
#include "spindrift/scene/limits.h"

#include "spindrift/base/error.h"
#include "spindrift/engine/cache.h"
#include "spindrift/engine/graph.h"
#include "spindrift/engine/progress.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/point_file.h"
#include "spindrift/points/spacing.h"
#include "spindrift/surface/mixed_sizes.h"

#include <filesystem>

namespace spindrift {

namespace {

constexpr double kBytesPerTriangle = 200, kBytesPerParticle = 100;

} // namespace

void SurfaceStage::visit(ParamVisitor& v)
{
    v("of", of_,
      "Whose particles: those of a liquid, or the droplets of a spray, each with its own radius. Left out: the only "
      "liquid of the scene, or, without any, its only spray.");
    v("input", input_,
      "Particles of another program, VDB points or PLY, e.g. \"points.####.vdb\"; the folder is relative to the "
      "scene's. "
      "Left out: those of `of`.");
    v("grid", names_.grid, "Name of the point grid to read from the input. Left out: all there are.");
    v("velocity", names_.velocity,
      "Name of the attribute of the input that is its velocity. Left out: v, vel or velocity; vx, vy, vz in PLY.");
    v("spacing", spacing_, unit::metres, limits::size(),
      "Mean distance of the particles. Left out: half a voxel of the liquid, or found from the first frame of the "
      "input, by the particles' radii if these differ. Particles of one radius (pscale) that lie so far apart that "
      "they "
      "do not touch are drops of that radius.");
    params_.visit(v);
    v.list("expression", expressions_,
           "Expressions on the particles that are read, or on the volumes that are written.");
}

void SurfaceStage::ExpressionParams::visit(ParamVisitor& v)
{
    v("on", on, choices("particles", "volumes"),
      "Particles, before the surface is made, or the volumes \"surface\" and \"vel\" before they are written.");
    ExpressionSource::visit(v);
}

std::vector<Port> SurfaceStage::ports(const ShotGraph& graph) const
{
    const auto liquids = graph.of_kind("liquid");
    Port of{"of", {"liquid", "spray"}, named(of_)};
    // Only to know where the liquid is that drops fly around, or that another program's particles stand for.
    Port around{"liquid", {"liquid"}, {}};
    around.frames = false, around.optional = true;
    if (liquids.size() > 1) around.unnamed = Port::Unnamed::none;
    if (!input_.empty()) return {around, handover_port(graph, graph.scene().resolve(input_))};
    of.missing = "there are no particles to make a surface of; add [liquid], or name the files of another program as " +
                 param("input");
    const std::string from = of_.empty() && liquids.size() == 1 ? liquids.front()->stage->name() : of_;
    const ShotGraph::Node* source = graph.find(from);
    if (source && source->stage->kind() == "spray") return {of, around};
    return {of, handover_port(graph, from)};
}

std::shared_ptr<SurfaceFacts> SurfaceFacts::around(const std::string& stage, const LiquidFacts* liquid)
{
    auto facts = std::make_shared<SurfaceFacts>();
    facts->stage = stage;
    if (liquid) facts->extent = liquid->extent, facts->container = liquid->container;
    return facts;
}

void SurfaceFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    Mesh mesh = read_mesh(frame.input(stage, frame.frame));
    picture.count("triangles", mesh.triangles.size());
    picture.add_surface(std::move(mesh));
}

double SurfaceFacts::memory(const Foreseen& foreseen) const
{
    return DrawnScene::kBytesPerTriangle * foreseen.number("triangles");
}

std::optional<Box3f> walls_around(const LiquidFacts& liquid)
{
    std::optional<Box3f> walls = liquid.container;
    for (int axis = 0; walls && axis < 3; ++axis) { // an open side is no wall: the surface may close before it
        if (!liquid.params.domain.closed(axis, 0)) walls->min[axis] = -kInfinity;
        if (!liquid.params.domain.closed(axis, 1)) walls->max[axis] = kInfinity;
    }
    return walls;
}

void SurfaceStage::prepare_expressions(const SceneFile& scene, const ShotParams& shot)
{
    fps_ = shot.fps;
    if (liquid_) colliders_ = liquid_->colliders;
    for (size_t i = 0; i < expressions_.size(); ++i) {
        const std::string name = fmt::format("{}[{}]", param("expression"), i);
        ExpressionSource::Loaded loaded = expressions_[i].load(scene, name);
        expression_files_ += loaded.dependencies;
        if (expressions_[i].on == ExpressionParams::On::particles) {
            on_particles_.push_back({Expression(loaded.label, loaded.text, loaded.options), loaded.volumes});
            continue;
        }
        if (!params_.sdf)
            bad_input("{}: no volumes are written for this expression to run on; set {} = true", scene.where(name),
                      param("sdf"));
        on_volumes_.push_back({VolumeExpression(loaded.label, loaded.text, loaded.options), loaded.volumes});
    }
}

ExpressionContext SurfaceStage::context(int frame, const SampledVolumes& volumes) const
{
    ExpressionContext context;
    context.frame = frame, context.fps = fps_, context.dt = 1 / fps_;
    context.time = static_cast<double>(frame - range_.first) / fps_;
    volumes.add(frame, context);
    set_colliders(colliders_, static_cast<float>(frame), context);
    return context;
}

std::vector<std::string> SurfaceStage::endings() const
{
    std::vector<std::string> endings = {"ply"};
    if (params_.sdf) endings.push_back("vdb");
    if (params_.obj) endings.push_back("obj");
    return endings;
}

void SurfaceStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    range_ = shot.range();
    if (const StageView* of = inputs.one("of")) source_ = of->name, of_spray_ = of->kind == "spray";
    liquid_ = inputs.facts<LiquidFacts>(inputs.one("liquid") ? "liquid" : "of");
    taken_ = TakenParticles(inputs.all("handover"));
    facts_ = SurfaceFacts::around(name(), liquid_.get());
    prepare_expressions(scene, shot);
    if (liquid_) container_ = walls_around(*liquid_);
    if (!input_.empty()) return prepare_input(scene);
    if (of_spray_) return;
    if (spacing_) {
        // Much smaller than it is, each particle is a drop on a grid of its own; much larger, all of them are one.
        constexpr float kMost = 16;
        const float real = 0.5f * liquid_->params.voxel;
        if (*spacing_ * kMost < real || *spacing_ > kMost * real)
            bad_input("{}: {} is {} m, but the particles of the liquid are {} m apart; leave it out, or "
                      "set it to something near that",
                      scene.where(param("spacing")), param("spacing"), *spacing_, real);
    }
    if (liquid_->extent.empty()) return;
    const Vec3f size = liquid_->extent.size();
    const double voxel = params_.voxel.value_or(spacing_.value_or(0.5f * liquid_->params.voxel));
    constexpr double kMostErosion = 64; // voxels, as in make_surface()
    if (params_.filter.erode > kMostErosion * voxel)
        bad_input("{}: {} is {} m, more than {} voxels of {:.3g} m; lower it or raise {}",
                  scene.where(param("filter.erode")), param("filter.erode"), params_.filter.erode, kMostErosion, voxel,
                  param("voxel"));
    // A splash has about four times the surface of the box that holds it.
    const double area = 8.0 * (size.x() * size.y() + size.y() * size.z() + size.z() * size.x());
    const double triangles = 2 * area / (voxel * voxel);
    // Half a vertex a triangle, each of 36 bytes.
    const double frame_bytes = triangles * 0.4 * (0.5 * 36 + 13) + (params_.sdf ? 10 * triangles : 0);
    estimate_ = {triangles * 200 + 1e8, frame_bytes * shot.range().count(),
                 fmt::format("up to {:.2g} triangles", triangles), "raise " + param("voxel")};
}

std::vector<std::string> SurfaceStage::coarser(double k) const
{
    std::vector<std::string> sets;
    if (params_.voxel) sets.push_back(fmt::format("{}={}", param("voxel"), k * static_cast<double>(*params_.voxel)));
    if (spacing_) sets.push_back(fmt::format("{}={}", param("spacing"), k * static_cast<double>(*spacing_)));
    return sets;
}

Growth SurfaceStage::growth() const { return {2, 2.6}; }

double SurfaceStage::memory(const Forecast& forecast) const
{
    const Foreseen& surface = forecast.at(name());
    // Those of a liquid grow in number otherwise than triangles do.
    const auto read = forecast.find(source_);
    const double particles = input_.empty() && read != forecast.end()
                                 ? read->second.number(of_spray_ ? "droplets" : "particles")
                                 : surface.number("particles");
    return kBytesPerTriangle * surface.number("triangles") + kBytesPerParticle * particles;
}

void SurfaceStage::prepare_input(const SceneFile& scene)
{
    const std::string ending = std::filesystem::path(input_).extension().string();
    if (ending != ".vdb" && ending != ".ply")
        bad_input("{}: {} is \"{}\"; files of particles must end in .vdb or .ply", scene.where(param("input")),
                  param("input"), input_);
    input_files_ = scene.resolve(input_);
    double largest = 0;
    for (const std::string& path : inputs_on_disk()) {
        std::error_code gone;
        const auto size = std::filesystem::file_size(path, gone);
        if (!gone) largest = std::max(largest, static_cast<double>(size));
    }
    // VDB files are packed, to about a third.
    estimate_ = {20 * largest + 1e8, 3 * largest * range_.count(), fmt::format("input up to {}", size_text(largest)),
                 "raise " + param("voxel")};
}

// Those of the shot's frames, in their order.
std::vector<std::string> SurfaceStage::inputs_on_disk() const
{
    std::vector<std::string> paths;
    if (!has_frame_pattern(input_files_)) {
        if (file_exists(input_files_)) paths.push_back(input_files_);
        return paths;
    }
    for (const int frame : frames_on_disk(input_files_))
        if (frame >= range_.first && frame <= range_.last) paths.push_back(frame_path(input_files_, frame));
    return paths;
}

// The spacing that all frames share is found from the first of them.
std::string SurfaceStage::dependencies() const
{
    if (input_.empty() || spacing_) return expression_files_;
    const std::vector<std::string> inputs = inputs_on_disk();
    return expression_files_ +
           (inputs.empty() ? "" : fmt::format("first frame of the input: {}\n", file_signature(inputs.front())));
}

float SurfaceStage::spacing_of(const ParticleFile& file)
{
    if (spacing_) return *spacing_;
    if (input_.empty() && of_spray_) { // says how fine the grid is; droplets have their own radii
        const std::vector<float>* radii = own_radii(file.particles);
        return params_.radius_scale * spacing_of_radii(radii ? *radii : std::vector<float>());
    }
    // Eight particles fill a cell of the grid that the liquid wrote them with.
    if (input_.empty()) return 0.5f * file.voxel;
    // From frame to frame it must not change, or the whole surface would swell and shrink.
    if (!found_spacing_) look_at_input();
    return *found_spacing_;
}

// The radii of particles that have their own: pscale if it varies, as a liquid's does not, or radius, as spray has it.
const std::vector<float>* SurfaceStage::own_radii(const Particles& particles)
{
    const auto* pscale = particles.find<float>("pscale");
    if (pscale && std::ranges::adjacent_find(*pscale, std::not_equal_to<>()) != pscale->end()) return pscale;
    return particles.find<float>("radius");
}

// The one radius that all particles have; 0 if there is none.
float SurfaceStage::common_radius(const ParticleFile& file)
{
    const auto* pscale = file.particles.find<float>("pscale"); // the same for all, or own_radii() has it
    return pscale && !pscale->empty() ? pscale->front() : file.pscale;
}

// Finds the spacing from the first frame that has enough points, or the one that has most.
void SurfaceStage::look_at_input()
{
    constexpr size_t kEnough = 1000;
    constexpr float kApart = 2.5f; // times the spacing at which particles of a radius fill space: these do not touch
    std::vector<Vec3f> most;
    float told = 0; // by the radius
    std::vector<float> radii;
    for (const std::string& path : inputs_on_disk()) {
        ParticleFile file = read_points(path, names_);
        if (file.particles.size() <= most.size()) continue;
        const std::vector<float>* found = own_radii(file.particles);
        radii = found ? *found : std::vector<float>();
        told = spacing_of_radius(common_radius(file));
        most = std::move(file.particles.P);
        if (most.size() >= kEnough) break;
    }
    const size_t count = most.size();
    if (count == 0) {
        found_spacing_ = 1; // of nothing
    } else if (!radii.empty()) {
        found_spacing_ = params_.radius_scale * spacing_of_radii(std::move(radii));
    } else {
        found_spacing_ = find_spacing(std::move(most));
        are_drops_ = told > 0 && (!found_spacing_ || *found_spacing_ > kApart * told);
        if (are_drops_) found_spacing_ = params_.radius_scale * told;
    }
    if (!found_spacing_)
        bad_input("{}: {} points in less than nine different places do not tell their spacing; set {} [m]",
                  input_files_, count, param("spacing"));
}

// Colliders hold the particles of this program: those of another may be anywhere.
const Solids* SurfaceStage::walls_at(int frame, float reach)
{
    if (!input_.empty() || !liquid_) return nullptr;
    return walls_.at(frame, reach, liquid_->colliders, fps_);
}

FrameReport SurfaceStage::make(int frame, const InputPath& input_path, const std::vector<std::string>& outputs)
{
    const std::string input = input_.empty() ? input_path(source_, frame) : frame_path(input_files_, frame);
    FrameReport report;
    ParticleFile file;
    float spacing = 0;
    report.times.measure("read", [&] {
        file = input_.empty() ? read_particles(input) : read_points(input, names_);
        spacing = spacing_of(file);
        taken_.leave_out_taken(input_.empty() ? source_ : input_files_, frame, input_path, file.particles);
    });
    for (Shape& shape : colliders_) shape.prepare(static_cast<float>(frame));
    if (!on_particles_.empty() && file.pscale > 0) // of all particles; expressions find it like any other attribute
        file.particles.attribute<float>("pscale").assign(file.particles.size(), file.pscale);
    for (const auto& on : on_particles_)
        report.times.measure("expressions", [&] {
            const ExpressionContext around = context(frame, on.volumes);
            on.expression.check(file.particles, around);
            on.expression.run(file.particles, around);
        });
    const size_t count = file.particles.size();
    std::vector<float> radii;
    if (const std::vector<float>* own = own_radii(file.particles))
        radii = *own;
    else if (are_drops_)
        radii.assign(count, common_radius(file));
    Surface surface;
    try {
        const Solids* walls = walls_at(frame, std::max(spacing, params_.voxel.value_or(0)));
        surface = make_surface(std::move(file.particles), spacing, params_, container_, std::move(radii), walls);
    } catch (const Error& e) {
        throw Error(input_.empty() ? e.code : ExitCode::bad_input, fmt::format("{}: {}", input, e.what()));
    }
    for (const auto& [phase, seconds] : surface.times.phases()) report.times.add(phase, seconds);
    for (const auto& on : on_volumes_)
        report.times.measure("expressions", [&] {
            on.expression.run(
                {surface.topology.get(), surface.voxel, {{"surface", &surface.phi}, {"vel", &surface.velocity}}},
                context(frame, on.volumes));
        });
    report.times.measure("write", [&] {
        write_mesh(outputs[0], surface.mesh);
        if (params_.obj) write_mesh(outputs.back(), surface.mesh);
        if (params_.sdf)
            write_fields(outputs[1], {{"surface", &surface.phi, true}}, surface.voxel, file.metadata,
                         {{"vel", &surface.velocity, &surface.phi}});
    });
    report.numbers = {{"particles", static_cast<double>(count)},
                      {"triangles", static_cast<double>(surface.mesh.triangles.size())}};
    if (params_.mode == SurfaceMode::ellipsoids)
        for (const auto& [name, scale] : {std::pair{"k_s_least", surface.least_scale},
                                          {"k_s_mean", surface.mean_scale},
                                          {"k_s_most", surface.most_scale}})
            report.numbers.emplace_back(name, static_cast<double>(scale));
    if (!input_.empty()) report.numbers.emplace_back("spacing", static_cast<double>(spacing));
    return report;
}

StageKind surface_stage()
{
    return stage_kind<SurfaceStage>("surface", "A smooth mesh around the particles.", /*needs_no_table=*/true);
}

} // namespace spindrift
