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

// Particles, doubled while sorting, and the grid around them with the matrices of six quadratic programs.
constexpr double kSandBytesPerParticle = 160, kSandBytesPerCell = 700, kSandCellsPerFullCell = 2;
// Position 6, velocity 12, id, mass and material 12, shape 24 bytes, less compression.
constexpr double kSandFileBytesPerParticle = 45;
constexpr double kSandMaxParticles = 1e9;

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
    warnings_ = thin_solids(scene, name(), params.voxel, facts->colliders, facts->bodies, first_frame);
    mesh_files_ = mesh_files_of(params.sources, scene) + mesh_files_of(params.colliders, scene);
    for (const BodyParams& body : params.bodies)
        mesh_files_ += mesh_files_of(body, scene) + mesh_files_of(body.parts, scene);

    const double cells = expected_volume(scene, shot, *facts) / std::pow(static_cast<double>(params.voxel), 3);
    const double particles = facts->particles = 8 * cells;
    if (!(particles <= kSandMaxParticles))
        bad_input("{}: {} is {} m, which makes about {:.3g} particles; at most {:.0g} are possible; raise {}",
                  scene.where(param("voxel")), param("voxel"), params.voxel, particles, kSandMaxParticles,
                  param("voxel"));
    estimate_ = {kSandBytesPerParticle * particles + kSandBytesPerCell * kSandCellsPerFullCell * cells,
                 kSandFileBytesPerParticle * particles * shot.range().count(),
                 fmt::format("about {:.3g} particles", particles), "raise " + param("voxel"),
                 kSandCellsPerFullCell * cells};
    if (params.model == SandParams::Model::fluid) {
        fluid_ = std::make_unique<FluidSand>(params, facts->sources, facts->colliders, shot.fps);
        return;
    }
    grains_ =
        std::make_unique<Grains>(params, Grains::Shapes{facts->sources, facts->colliders, facts->bodies}, shot.fps);
    std::vector<std::string> places;
    for (size_t b = 0; b < params.bodies.size(); ++b)
        places.push_back(scene.where(fmt::format("{}[{}]", param("body"), b)));
    grains_->expect_room_for_bodies(shot.range().first, places);
    for (const RigidSolid& body : grains_->bodies().solids()) facts->body_meshes.push_back(body.mesh());
}

// Draws the particles. By default a render shows grains instead, which look better.
void SandFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    const std::string path = frame.input(stage, frame.frame);
    const ParticleFile file = read_particles(path);
    picture.count("particles", file.particles.size());
    const std::string color_by = picture.color_by();
    add_particles(file, path, color_by.empty() ? "speed" : color_by, Vec3f::Ones(), 1, picture);
}

// The largest volume of sand at any time [m3]. Throws bad_input for a source that cannot be filled.
double SandStage::expected_volume(const SceneFile& scene, const ShotParams& shot, const SandFacts& facts) const
{
    const FillingOf filling{"sand",
                            param("source"),
                            param("domain"),
                            params_.domain,
                            facts.extent,
                            shot.range(),
                            static_cast<double>(shot.fps)};
    return filled_volume(scene, filling, params_.sources, facts.sources);
}

std::vector<std::string> SandStage::coarser(double k) const
{
    return {fmt::format("{}={}", param("voxel"), k * static_cast<double>(params_.voxel))};
}

double SandStage::memory(const Forecast& forecast) const
{
    const Foreseen& sand = forecast.at(name());
    return kSandBytesPerParticle * sand.number("particles") + kSandBytesPerCell * kTileCells * sand.number("tiles");
}

FrameReport SandStage::start(int frame)
{
    if (fluid_) {
        LiquidReport report;
        report.times.measure("fill", [&] { fluid_->start(frame); });
        return report_of(report, *fluid_);
    }
    SandReport report;
    report.times.measure("fill", [&] { grains_->start(frame); });
    report.particles = grains_->particles().size(), report.mass = grains_->mass();
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
        grains_->restore({number("frame"),
                          number("next_id"),
                          std::bit_cast<float>(number("speed_bits")),
                          std::move(state.particles),
                          {std::bit_cast<float>(number("step_bits")), std::move(state.tiles["stress"]),
                           std::move(state.fields["stress"])},
                          load_motion(state, "bodies")});
    });
    report.particles = grains_->particles().size(), report.mass = grains_->mass();
    return report_of(report);
}

FrameReport SandStage::advance()
{
    return fluid_ ? report_of(fluid_->advance(), *fluid_) : report_of(grains_->advance());
}

void SandStage::write(const std::string& path)
{
    Particles sand = fluid_ ? fluid_->grains() : grains_->particles();
    for (const char* row : kAffine) sand.attributes.erase(row); // only the next step needs them
    write_particles(path, sand, params_.voxel, fluid_ ? fluid_->particle_radius() : grains_->particle_radius(),
                    {{"frame", std::to_string(fluid_ ? fluid_->frame() : grains_->frame())},
                     {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}});
    if (grains_ && !grains_->bodies().empty())
        write_bodies(std::filesystem::path(path).replace_extension(kBodiesEnding).string(), grains_->bodies(),
                     grains_->frame());
}

StateFile SandStage::save() const
{
    if (fluid_) {
        FluidSand::State state = fluid_->state();
        return file_of(state.liquid, state.friction);
    }
    Grains::State state = grains_->state();
    StateFile file = file_of(state, state.stress);
    save_motion(state.bodies, "bodies", file);
    return file;
}

void SandStage::shot_complete(const std::vector<std::string>&, const ShotPaths& paths, Progress&)
{
    if (grains_) write_body_meshes(grains_->bodies(), paths.stage_folder(name()));
}

StageKind sand_stage()
{
    return stage_kind<SandStage>("sand", "Sand that disperses, piles up and carries weight, or a fluid with friction.");
}

} // namespace spindrift
