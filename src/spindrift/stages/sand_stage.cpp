#include "spindrift/stages/sand_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/io/vdb.h"
#include "spindrift/points/transfer.h"
#include "spindrift/stages/body_files.h"
#include "spindrift/stages/filled_volume.h"
#include "spindrift/stages/scene_shapes.h"
#include "spindrift/stages/thin_solids.h"

#include <bit>
#include <filesystem>

namespace spindrift {

namespace {

// Particles are doubled while sorting; the grid has the matrices of six quadratic programs. In a file, position 6,
// velocity 12, id, mass and material 12, shape 24 bytes, less compression.
constexpr ParticleCosts kSandCosts{.bytes_per_particle = 160,
                                   .bytes_per_cell = 700,
                                   .cells_per_full_cell = 2,
                                   .file_bytes_per_particle = 45,
                                   .most_particles = 1e9};

FrameReport report_of(const SandReport& sand)
{
    FrameReport report;
    report.numbers = {{"particles", static_cast<double>(sand.particles)},
                      {"tiles", static_cast<double>(sand.tiles)},
                      {"substeps", sand.substeps},
                      {"splits", static_cast<double>(sand.splits)},
                      {"merges", static_cast<double>(sand.merges)},
                      {"iterations", sand.stress.pressure_iterations + sand.stress.friction_iterations +
                                         sand.stress.spread_iterations},
                      {"mass", sand.mass},
                      {"fullest", static_cast<double>(sand.fullest)},
                      {"complementarity", sand.stress.complementarity},
                      {"friction_residual", sand.stress.friction}};
    report.unconverged = sand.stress.unconverged;
    report.times = sand.times;
    return report;
}

FrameReport report_of(const LiquidReport& liquid, const FluidSand& sand)
{
    FrameReport report;
    report.numbers = {{"particles", static_cast<double>(sand.particles().size())},
                      {"tiles", static_cast<double>(liquid.tiles)},
                      {"substeps", liquid.substeps},
                      {"iterations", liquid.iterations},
                      {"mass", sand.mass()},
                      {"rigid_clusters", static_cast<double>(sand.friction().clusters().count())}};
    report.unconverged = liquid.unconverged;
    report.times = liquid.times;
    return report;
}

// The state of either model: particles and the stress of the last step.
template <class Moving, class Stress> StateFile file_of(Moving& moving, Stress& stress)
{
    StateFile file = {{{"frame", moving.frame},
                       {"next_id", moving.next_id},
                       {"speed_bits", std::bit_cast<int32_t>(moving.speed)},
                       {"step_bits", std::bit_cast<int32_t>(stress.step)}},
                      std::move(moving.particles)};
    file.tiles["stress"] = std::move(stress.tiles), file.fields["stress"] = std::move(stress.values);
    return file;
}

} // namespace

std::vector<std::string> SandStage::endings() const
{
    if (params_.bodies.empty()) return {"vdb"};
    return {"vdb", kBodiesEnding};
}

void SandStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    params_.name = name();
    const SandParams& params = params_;
    if (params.sources.empty())
        bad_input("{}: the sand has no source; add a [[{}]] with a shape", scene.where(name()), param("source"));
    const auto first_frame = static_cast<float>(shot.range().first);
    const auto facts = std::make_shared<SandFacts>();
    facts->stage = name(), facts->params = params;
    facts->sources = load_shapes(scene, params.sources, param("source"));
    facts->colliders = load_colliders(scene, params.colliders, param("collider"));
    facts->collider_text = text_of_shapes(param("collider"), params.colliders, scene);
    facts->bodies = load_body_shapes(scene, params.bodies, param("body"));
    for (auto* shapes : {&facts->sources, &facts->colliders})
        for (Shape& shape : *shapes) shape.prepare(first_frame);
    facts->extent = extent_of(params.domain, {&facts->sources, &facts->colliders}, first_frame);
    facts_ = facts;
    warnings_ = thin_solids(scene, name(), params.voxel, facts->colliders, facts->bodies);
    mesh_files_ = mesh_files_of(params.sources, scene) + mesh_files_of(params.colliders, scene);
    for (const BodyParams& body : params.bodies)
        mesh_files_ += mesh_files_of(body, scene) + mesh_files_of(body.parts, scene);

    const FillingOf filling{"sand",
                            param("source"),
                            param("domain"),
                            params.domain,
                            facts->extent,
                            shot.range(),
                            static_cast<double>(shot.fps)};
    const double volume = filled_volume(scene, filling, params.sources, facts->sources);
    facts->particles = kParticlesPerCell * volume / std::pow(static_cast<double>(params.voxel), 3);
    estimate_ = estimate_of_particles(scene, param("voxel"), params.voxel, volume, shot.range(), kSandCosts);
    if (params.model == SandParams::Model::fluid) {
        fluid_ = std::make_unique<FluidSand>(params, facts->sources, facts->colliders, shot.fps);
        return;
    }
    granular_ = std::make_unique<GranularSand>(
        params, GranularSand::Shapes{facts->sources, facts->colliders, facts->bodies}, shot.fps);
    std::vector<std::string> places;
    for (size_t b = 0; b < params.bodies.size(); ++b)
        places.push_back(scene.where(fmt::format("{}[{}]", param("body"), b)));
    granular_->expect_room_for_bodies(shot.range().first, places);
    for (const RigidSolid& body : granular_->bodies().solids()) facts->body_meshes.push_back(body.mesh());
}

// Draws the particles. By default a render shows grains instead, which look better.
void SandFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    const std::string path = frame.input(stage, frame.frame);
    const ParticleFile file = read_particles(path);
    picture.count("particles", file.particles.size());
    add_particles(file, path, picture.color_by("speed"), Vec3f::Ones(), 1, picture);
}

std::vector<std::string> SandStage::coarser(double k) const
{
    return {fmt::format("{}={}", param("voxel"), k * static_cast<double>(params_.voxel))};
}

double SandStage::memory(const Forecast& forecast) const
{
    const Foreseen& sand = forecast.at(name());
    return kSandCosts.memory(sand.number("particles"), kTileCells * sand.number("tiles"));
}

FrameReport SandStage::start(int frame)
{
    if (fluid_) {
        LiquidReport report;
        report.times.measure("fill", [&] { fluid_->start(frame); });
        return report_of(report, *fluid_);
    }
    SandReport report;
    report.times.measure("fill", [&] { granular_->start(frame); });
    report.particles = granular_->particles().size(), report.mass = granular_->mass();
    return report_of(report);
}

FrameReport SandStage::restore(StateFile state)
{
    const auto number = [&](const char* name) { return static_cast<int>(state.numbers[name]); };
    if (fluid_) {
        LiquidReport report;
        report.times.measure("restore", [&] {
            fluid_->restore({{number("frame"),
                              number("next_id"),
                              std::bit_cast<float>(number("speed_bits")),
                              std::move(state.particles),
                              {}},
                             {std::bit_cast<float>(number("step_bits")), std::move(state.tiles["stress"]),
                              std::move(state.fields["stress"])}});
        });
        return report_of(report, *fluid_);
    }
    SandReport report;
    report.times.measure("restore", [&] {
        granular_->restore({number("frame"),
                            number("next_id"),
                            std::bit_cast<float>(number("speed_bits")),
                            std::move(state.particles),
                            {std::bit_cast<float>(number("step_bits")), std::move(state.tiles["stress"]),
                             std::move(state.fields["stress"])},
                            load_motion(state, "bodies")});
    });
    report.particles = granular_->particles().size(), report.mass = granular_->mass();
    return report_of(report);
}

FrameReport SandStage::advance()
{
    return fluid_ ? report_of(fluid_->advance(), *fluid_) : report_of(granular_->advance());
}

void SandStage::write(const std::string& path)
{
    Particles sand = fluid_ ? fluid_->grains() : granular_->particles();
    for (const char* row : kAffine) sand.attributes.erase(row); // only the next step needs them
    write_particles(path, sand, params_.voxel, fluid_ ? fluid_->particle_radius() : granular_->particle_radius(),
                    {{"frame", std::to_string(fluid_ ? fluid_->frame() : granular_->frame())},
                     {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}});
    if (granular_ && !granular_->bodies().empty())
        write_bodies(std::filesystem::path(path).replace_extension(kBodiesEnding).string(), granular_->bodies(),
                     granular_->frame());
}

StateFile SandStage::save() const
{
    if (fluid_) {
        FluidSand::State state = fluid_->state();
        return file_of(state.liquid, state.friction);
    }
    GranularSand::State state = granular_->state();
    StateFile file = file_of(state, state.stress);
    save_motion(state.bodies, "bodies", file);
    return file;
}

void SandStage::shot_complete(const std::vector<std::string>&, const ShotPaths& paths, Progress&)
{
    if (granular_) write_body_meshes(granular_->bodies(), paths.stage_folder(name()));
}

StageKind sand_stage()
{
    return stage_kind<SandStage>("sand", "Sand that disperses, piles up and carries weight, or a fluid with friction.");
}

} // namespace spindrift
