#include "spindrift/stages/liquid_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/expression/field_sampler.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"
#include "spindrift/stages/body_files.h"
#include "spindrift/stages/filled_volume.h"
#include "spindrift/stages/ripples_state.h"
#include "spindrift/stages/scene_shapes.h"
#include "spindrift/stages/taken_particles.h"
#include "spindrift/stages/thin_solids.h"
#include "spindrift/stages/tracked_surfaces.h"
#include "spindrift/stages/tracker_state.h"

#include <bit>
#include <filesystem>

namespace spindrift {

namespace {

// Measured on splashes: particles are doubled while sorting. In a file, position 6, velocity 12, id 4 bytes, less
// compression.
constexpr ParticleCosts kLiquidCosts{.bytes_per_particle = 90,
                                     .bytes_per_cell = 110,
                                     .cells_per_full_cell = 2.5,
                                     .file_bytes_per_particle = 20,
                                     .most_particles = 2e9};

} // namespace

std::vector<std::string> LiquidStage::endings() const
{
    std::vector<std::string> endings = {"vdb"};
    if (params_.turbulence.on) endings.push_back(kRipplesEnding);
    if (!params_.bodies.empty()) endings.push_back(kBodiesEnding);
    if (tracked()) endings.push_back(kSurfaceEnding);
    return endings;
}

void LiquidStage::visit(ParamVisitor& v)
{
    params_.visit(v), expressions_.visit(v);
    surface_expressions_.visit(
        v, "surface_expression",
        "Expressions on the vertices of the tracked surface, after advection of a frame or before "
        "writing it.");
}

void LiquidStage::load_shapes_of(const SceneFile& scene, float first_frame, LiquidFacts& facts) const
{
    facts.sources = load_shapes(scene, params_.sources, param("source"));
    facts.sinks = load_shapes(scene, params_.sinks, param("sink"));
    facts.colliders = load_colliders(scene, params_.colliders, param("collider"));
    facts.collider_text = text_of_shapes(param("collider"), params_.colliders, scene);
    facts.bodies = load_body_shapes(scene, params_.bodies, param("body"));
    for (auto* shapes : {&facts.sources, &facts.sinks, &facts.colliders})
        for (Shape& shape : *shapes) shape.prepare(first_frame);
    facts.extent = extent_of(params_.domain, {&facts.sources, &facts.colliders}, first_frame);
    if (params_.domain.bounded()) facts.container = facts.extent;
}

void LiquidStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    params_.name = name();
    const LiquidParams& params = params_;
    if (params.sources.empty() && params.bodies.empty())
        bad_input("{}: the liquid has no source; add a [[{}]] with a shape", scene.where(name()), param("source"));
    const auto first_frame = static_cast<float>(shot.range().first);
    const auto facts = std::make_shared<LiquidFacts>();
    facts->stage = name(), facts->params = params;
    load_shapes_of(scene, first_frame, *facts);
    warnings_ = thin_solids(scene, name(), params.voxel, facts->colliders, facts->bodies);
    if (tracked())
        for (std::string& odd : odd_meshes(scene, facts->sources, param("source"), first_frame))
            warnings_.push_back(std::move(odd));
    mesh_files_ = mesh_files_of(params.sources, scene) + mesh_files_of(params.sinks, scene) +
                  mesh_files_of(params.colliders, scene);
    for (const BodyParams& body : params.bodies)
        mesh_files_ += mesh_files_of(body, scene) + mesh_files_of(body.parts, scene);

    const FillingOf filling{"liquid",
                            param("source"),
                            param("domain"),
                            params.domain,
                            facts->extent,
                            shot.range(),
                            static_cast<double>(shot.fps)};
    const double volume = filled_volume(scene, filling, params.sources, facts->sources);
    estimate_ = estimate_of_particles(scene, param("voxel"), params.voxel, volume, shot.range(), kLiquidCosts);
    if (tracked()) {
        const Estimate surface = estimate_of_surface(
            scene, param(params.tracked.voxel ? "tracked.voxel" : "voxel"), params.surface_voxel(),
            extent_of_surface(facts->sources, first_frame, closed_sides(params.domain)), shot.range());
        if (surface.memory > estimate_.memory) estimate_.note = surface.note, estimate_.remedy = surface.remedy;
        estimate_.memory += surface.memory, estimate_.disk += surface.disk;
    }
    liquid_ = std::make_unique<Liquid>(
        params, Liquid::Shapes{facts->sources, facts->sinks, facts->colliders, facts->bodies}, shot.fps);
    std::vector<std::string> places;
    for (size_t b = 0; b < params.bodies.size(); ++b)
        places.push_back(scene.where(fmt::format("{}[{}]", param("body"), b)));
    liquid_->expect_room_for_bodies(shot.range().first, places);
    for (const RigidSolid& body : liquid_->bodies().solids()) facts->body_meshes.push_back(body.mesh());
    fps_ = shot.fps;
    expressions_.prepare(scene, name(), shot.range(), shot.fps, facts->colliders);
    surface_expressions_.prepare(scene, name(), shot.range(), shot.fps, facts->colliders);
    if (!tracked() && surface_expressions_.any())
        bad_input("{}: there is no tracked surface; set {} = \"tracked\"", scene.where(param("surface_expression[0]")),
                  param("surface"));
    expressions_.set_radii(
        [this](const Particles& all) { return std::vector<float>(all.size(), liquid_->particle_radius()); });
    liquid_->set_hooks(expressions_.hooks([this] { return fields(); }));
    facts_ = facts;
}

std::string LiquidFacts::text_of_walls(const SceneFile& scene) const
{
    LiquidParams copy = params;
    return mesh_files_of(copy.colliders, scene) + canonical_text([&](ParamVisitor& v) {
               v.list("liquid_collider", copy.colliders, "");
               v.group("liquid_domain", copy.domain, "");
           });
}

DrawableFacts::Looks LiquidFacts::looks() const
{
    const bool tracked = params.surface == LiquidParams::Surface::tracked;
    return {.look = tracked, .color = true, .color_by = !tracked};
}

// Draws the tracked surface, or particles, coloured by speed unless the render or its layer says otherwise.
void LiquidFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    const std::string path = frame.input(stage, frame.frame);
    if (params.surface == LiquidParams::Surface::tracked) {
        Mesh mesh = read_mesh(std::filesystem::path(path).replace_extension(kSurfaceEnding).string());
        picture.count("triangles", mesh.triangles.size());
        return picture.add_surface(std::move(mesh));
    }
    ParticleFile file = read_particles(path);
    frame.taken.leave_out_taken(stage, frame.frame, frame.input, file.particles);
    picture.count("particles", file.particles.size());
    add_particles(file, path, picture.color_by("speed"), Vec3f::Ones(), 1, picture);
}

double LiquidFacts::memory(const Foreseen& foreseen) const
{
    return DrawnScene::kBytesPerSphere * foreseen.number("particles");
}

// The fields that expressions can sample after advection.
ExpressionContext LiquidStage::fields() const
{
    const float voxel = params_.voxel;
    ExpressionContext context;
    context.volumes["surface"] = [voxel, cells = field_sampler(liquid_->surface_distance(), voxel)](const Vec3f& x) {
        return voxel * cells(x);
    };
    std::array<std::function<float(const Vec3f&)>, 3> components;
    for (size_t a = 0; a < 3; ++a) components[a] = field_sampler(liquid_->velocity().u[a], voxel);
    context.vector_volumes["vel"] = [voxel, components](const Vec3f& x) {
        Vec3f v;
        for (int a = 0; a < 3; ++a) // faces lie half a cell below centres
            v[a] = components[a](x + 0.5f * voxel * Vec3f::Unit(a));
        return v;
    };
    return context;
}

std::vector<std::string> LiquidStage::coarser(double k) const
{
    std::vector<std::string> settings = {fmt::format("{}={}", param("voxel"), k * static_cast<double>(params_.voxel))};
    if (const std::optional<float> own = params_.tracked.voxel; tracked() && own)
        settings.push_back(fmt::format("{}={}", param("tracked.voxel"), std::min(k * static_cast<double>(*own), 1e4)));
    return settings;
}

double LiquidStage::memory(const Forecast& forecast) const
{
    const Foreseen& liquid = forecast.at(name());
    return kLiquidCosts.memory(liquid.number("particles"), kTileCells * liquid.number("tiles")) +
           memory_of_surface(liquid);
}

FrameReport LiquidStage::report_of(const LiquidReport& liquid) const
{
    FrameReport report;
    report.numbers = {{"particles", static_cast<double>(liquid.particles)},
                      {"tiles", static_cast<double>(liquid.tiles)},
                      {"substeps", liquid.substeps},
                      {"iterations", liquid.iterations}};
    if (tracked()) report.numbers.emplace_back("triangles", static_cast<double>(liquid_->surface_triangles()));
    report.unconverged = liquid.unconverged;
    report.times = liquid.times;
    return report;
}

FrameReport LiquidStage::start(int frame)
{
    LiquidReport report;
    report.times.measure("fill", [&] { liquid_->start(frame); });
    ExpressionContext fields;
    fields.volumes["surface"] = [](const Vec3f&) { return 0.0f; };
    fields.vector_volumes["vel"] = [](const Vec3f&) { return Vec3f::Zero().eval(); };
    expressions_.check(liquid_->particles(), fields);
    change_surface();
    report.particles = liquid_->particles().size();
    return report_of(report);
}

FrameReport LiquidStage::restore(StateFile state)
{
    const auto number = [&](const char* name) { return static_cast<int>(state.numbers[name]); };
    LiquidReport report;
    report.times.measure("restore", [&] {
        Liquid::State liquid = {number("frame"),
                                number("next_id"),
                                std::bit_cast<float>(number("speed_bits")),
                                std::move(state.particles),
                                {},
                                {},
                                load_motion(state, "bodies")};
        if (params_.turbulence.on) liquid.ripples = load_ripples(state);
        if (tracked()) liquid.surface = load_tracker(state, params_.tracked.reference);
        liquid_->restore(std::move(liquid));
    });
    report.particles = liquid_->particles().size();
    return report_of(report);
}

FrameReport LiquidStage::advance()
{
    const LiquidReport report = liquid_->advance();
    change_surface();
    return report_of(report);
}

void LiquidStage::change_surface()
{
    if (!surface_expressions_.any(ExpressionParams::At::after_advection)) return;
    liquid_->set_surface_attributes(attributes_after_advection(liquid_->surface(), surface_expressions_,
                                                               params_.tracked.directions, liquid_->frame(), name()));
}

Mesh LiquidStage::surface_to_write()
{
    Mesh mesh = liquid_->surface();
    surface_expressions_.run_on_vertices(ExpressionParams::At::before_writing, mesh, liquid_->frame(), name());
    return mesh;
}

void LiquidStage::write(const std::string& path)
{
    const FileMetadata metadata = {{"frame", std::to_string(liquid_->frame())},
                                   {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}};
    const auto write_points = [&](const Particles& particles) {
        write_particles(path, particles, params_.voxel, liquid_->particle_radius(), metadata);
    };
    liquid_->show_motion([&](const Particles& particles) {
        if (!expressions_.any(ExpressionParams::At::before_writing)) return write_points(particles);
        Particles changed = particles;
        expressions_.run(ExpressionParams::At::before_writing, changed, static_cast<float>(liquid_->frame()), 1 / fps_);
        write_points(changed);
    });
    if (const Ripples* ripples = liquid_->ripples())
        write_fields(std::filesystem::path(path).replace_extension(kRipplesEnding).string(),
                     {{kRipplesGrid, &ripples->difference()}, {kRipplesBefore, &ripples->difference_before()}},
                     ripples->voxel(), metadata);
    if (tracked())
        write_mesh(std::filesystem::path(path).replace_extension(kSurfaceEnding).string(), surface_to_write());
    if (!liquid_->bodies().empty())
        write_bodies(std::filesystem::path(path).replace_extension(kBodiesEnding).string(), liquid_->bodies(),
                     liquid_->frame());
}

StateFile LiquidStage::save() const
{
    Liquid::State state = liquid_->state();
    StateFile file = {
        {{"frame", state.frame}, {"next_id", state.next_id}, {"speed_bits", std::bit_cast<int32_t>(state.speed)}},
        std::move(state.particles)};
    if (params_.turbulence.on) save_ripples(std::move(state.ripples), file);
    if (tracked()) save_tracker(state.surface, file);
    save_motion(state.bodies, "bodies", file);
    return file;
}

void LiquidStage::shot_complete(const std::vector<std::string>&, const ShotPaths& paths, Progress&)
{
    write_body_meshes(liquid_->bodies(), paths.stage_folder(name()));
}

StageKind liquid_stage()
{
    return stage_kind<LiquidStage>("liquid", "A liquid of particles and a grid (PIC, FLIP or APIC).");
}

} // namespace spindrift
