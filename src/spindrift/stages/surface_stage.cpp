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

constexpr double kBytesPerTriangle = 200, kSurfaceBytesPerParticle = 100;

} // namespace

void SurfaceStage::visit(ParamVisitor& v)
{
    v("of", of_,
      "The stage whose particles are meshed: a liquid, or a spray, whose droplets have individual radii. Default: the "
      "only liquid of the scene, or, without any, its only spray.");
    v("input", input_,
      "Particles of another program, VDB points or PLY, e.g. \"points.####.vdb\"; the folder is relative to the "
      "scene's. Default: those of `of`.");
    v("grid", names_.grid, "Name of the point grid to read from the input. Default: all.");
    v("velocity", names_.velocity,
      "Name of the velocity attribute of the input. Default: v, vel or velocity; vx, vy, vz in PLY.");
    v("spacing", spacing_, unit::metres, limits::size(),
      "Mean spacing of the particles. Default: half a voxel of the liquid, or estimated from the first frame of the "
      "input, using the particles' radii if these differ. Particles of equal radius (pscale) that are too far apart to "
      "touch are meshed as drops of that radius.");
    params_.visit(v);
    v.list("expression", expressions_,
           "Expressions on the particles that are read, or on the volumes that are written.");
}

void SurfaceStage::ExpressionParams::visit(ParamVisitor& v)
{
    v("on", on, choices("particles", "volumes"),
      "\"particles\": before meshing; \"volumes\": on \"surface\" and \"vel\" before they are written.");
    ExpressionSource::visit(v);
}

std::vector<Port> SurfaceStage::ports(const ShotGraph& graph) const
{
    const auto liquids = graph.of_kind("liquid");
    Port of{"of", {"liquid", "spray"}, named(of_)};
    // Only used to locate the liquid around drops, or the liquid that another program's particles replace.
    Port around{"liquid", {"liquid"}, {}};
    around.frames = false, around.optional = true;
    if (liquids.size() > 1) around.unnamed = Port::Unnamed::none;
    if (!input_.empty()) return {around, handover_port(graph, {graph.scene().resolve(input_)})};
    of.missing =
        "there are no particles to mesh; add [liquid], or name the files of another program as " + param("input");
    const std::string from = of_.empty() && liquids.size() == 1 ? liquids.front()->stage->name() : of_;
    const ShotGraph::Node* source = graph.find(from);
    if (source && source->stage->kind() == "spray") return {of, around};
    return {of, handover_port(graph, {from})};
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
            bad_input("{}: this expression runs on volumes, but none are written; set {} = true", scene.where(name),
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
    params_.name = name();
    range_ = shot.range();
    if (const StageView* of = inputs.one("of")) source_ = of->name, of_spray_ = of->kind == "spray";
    liquid_ = inputs.facts<LiquidFacts>(inputs.one("liquid") ? "liquid" : "of");
    taken_ = TakenParticles(inputs.all("handover"));
    facts_ = SurfaceFacts::around(name(), liquid_.get());
    prepare_expressions(scene, shot);
    if (liquid_) container_ = closed_sides(liquid_->params.domain);
    if (liquid_ && inputs.one("liquid")) walls_around_ = liquid_->text_of_walls(scene);
    if (!input_.empty()) return prepare_input(scene);
    if (of_spray_) return;
    if (spacing_) {
        // If it is much too small, each particle becomes a drop on a grid of its own; much too large, all become one.
        constexpr float kMost = 16;
        const float real = 0.5f * liquid_->params.voxel;
        if (*spacing_ * kMost < real || *spacing_ > kMost * real)
            bad_input("{}: {} is {} m, but the particles of the liquid are {} m apart; leave it out, or "
                      "set it to about that",
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
    // Half a vertex per triangle, 36 bytes each.
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
    // The number of liquid particles grows differently from the number of triangles.
    const auto read = forecast.find(source_);
    const double particles = input_.empty() && read != forecast.end()
                                 ? read->second.number(of_spray_ ? "droplets" : "particles")
                                 : surface.number("particles");
    return kBytesPerTriangle * surface.number("triangles") + kSurfaceBytesPerParticle * particles;
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
    // VDB files are compressed to about a third.
    estimate_ = {20 * largest + 1e8, 3 * largest * range_.count(), fmt::format("input up to {}", size_text(largest)),
                 "raise " + param("voxel")};
}

// The input files of the shot's frames, in order.
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

// The spacing, which all frames share, is estimated from the first of them.
std::string SurfaceStage::dependencies() const
{
    const std::string text = expression_files_ + walls_around_;
    if (input_.empty() || spacing_) return text;
    const std::vector<std::string> inputs = inputs_on_disk();
    return text + (inputs.empty() ? "" : fmt::format("first frame of the input: {}\n", file_signature(inputs.front())));
}

float SurfaceStage::spacing_of(const ParticleFile& file)
{
    if (spacing_) return *spacing_;
    if (input_.empty() && of_spray_) { // sets the resolution of the grid; droplets have their own radii
        const std::vector<float>* radii = own_radii(file.particles);
        return params_.radius_scale * spacing_of_radii(radii ? *radii : std::vector<float>());
    }
    // Eight particles fill a cell of the grid that the liquid wrote them with.
    if (input_.empty()) return 0.5f * file.voxel;
    // The spacing must be the same in all frames, or the whole surface would swell and shrink.
    if (!found_spacing_) estimate_spacing();
    return *found_spacing_;
}

// The individual radii of particles, if they have any: pscale if it varies (a liquid's does not), or a spray's radius.
const std::vector<float>* SurfaceStage::own_radii(const Particles& particles)
{
    const auto* pscale = particles.find<float>("pscale");
    if (pscale && std::ranges::adjacent_find(*pscale, std::not_equal_to<>()) != pscale->end()) return pscale;
    return particles.find<float>("radius");
}

// The radius shared by all particles; 0 if there is none.
float SurfaceStage::common_radius(const ParticleFile& file)
{
    const auto* pscale = file.particles.find<float>("pscale"); // equal for all, or own_radii() would use it
    return pscale && !pscale->empty() ? pscale->front() : file.pscale;
}

// Estimates the spacing from the first frame that has enough points, or the one that has most.
void SurfaceStage::estimate_spacing()
{
    constexpr size_t kEnough = 1000;
    // Particles farther apart than this do not touch: in units of the spacing at which their radius fills space.
    constexpr float kApart = 2.5f;
    std::vector<Vec3f> most;
    float told = 0; // according to the radius
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
        found_spacing_ = 1; // no particles
    } else if (!radii.empty()) {
        found_spacing_ = params_.radius_scale * spacing_of_radii(std::move(radii));
    } else {
        found_spacing_ = find_spacing(std::move(most));
        are_drops_ = told > 0 && (!found_spacing_ || *found_spacing_ > kApart * told);
        if (are_drops_) found_spacing_ = params_.radius_scale * told;
    }
    if (!found_spacing_)
        bad_input("{}: cannot estimate the spacing of {} points at fewer than nine distinct positions; set {} [m]",
                  input_files_, count, param("spacing"));
}

// Colliders bound only particles of this program: those of another may be anywhere.
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
    // One radius for all particles: make it an attribute for expressions.
    if (!on_particles_.empty() && file.pscale > 0)
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
