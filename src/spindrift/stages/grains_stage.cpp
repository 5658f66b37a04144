#include "spindrift/stages/grains_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/io/vdb.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

// Bytes of a grain in memory (doubled while reordering) and on disk; fraction of the grains that are near a surface.
constexpr double kGrainsBytesPerParticle = 300; // of the sand, at two frames
constexpr double kBytesPerGrain = 100, kFileBytesPerGrain = 20, kSeen = 0.5;

} // namespace

void GrainsStage::visit(ParamVisitor& v)
{
    v("of", of_, "The sand to make grains for. Default: the only one of the scene.");
    params_.visit(v);
}

std::vector<Port> GrainsStage::ports(const ShotGraph&) const
{
    Port of{"of", {"sand"}, named(of_)};
    of.missing = "grains need sand; add [sand] to the scene";
    return {of};
}

void GrainsStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    sand_ = inputs.facts<SandFacts>("of");
    const double grains = kSeen * sand_->particles * params_.each;
    estimate_ = {kBytesPerGrain * grains, kFileBytesPerGrain * grains * shot.range().count(),
                 fmt::format("about {:.3g} grains", grains), "lower " + param("each")};
    grains_ = std::make_unique<GrainPoints>(sand_->params, params_, shot.fps, sand_->colliders);
    const auto facts = std::make_shared<GrainsFacts>();
    facts->stage = name(), facts->extent = sand_->extent, facts->materials = sand_->params.materials;
    if (facts->materials.empty()) facts->materials.emplace_back();
    facts_ = facts;
}

// Varies the colour of each grain slightly and shades it by its normal. An attribute of the layer colours grains, or
// that of the render, if they are drawn alone.
void GrainsFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    constexpr float kVariety = 0.25f; // variation around the material's colour
    const std::string path = frame.input(stage, frame.frame), color_by = picture.own_color_by();
    const ParticleFile file = read_particles(path);
    const Particles& grains = file.particles;
    const auto* material = grains.find<int32_t>(kMaterial);
    const auto* normal = grains.find<Vec3f>(kNormal);
    RenderSpheres spheres;
    spheres.radius = file.pscale, spheres.centers = grains.P, spheres.velocities = grains.v;
    spheres.colors.resize(grains.size()), spheres.normals.resize(grains.size());
    parallel_for(
        grains.size(),
        [&](size_t i) {
            Random random(0, static_cast<uint64_t>(grains.id[i]));
            const size_t kind = material ? std::min(static_cast<size_t>((*material)[i]), materials.size() - 1) : 0;
            spheres.colors[i] =
                picture.layer().color.value_or(materials[kind].color) * (1 + kVariety * random.uniform(-1, 1));
            spheres.normals[i] = normal ? (*normal)[i] : Vec3f::Zero().eval();
        },
        4096);
    if (!color_by.empty()) spheres.colors = colors_of(grains, color_by, path);
    picture.count("grains", grains.size());
    picture.add_spheres(std::move(spheres));
}

double GrainsFacts::memory(const Foreseen& foreseen) const
{
    return DrawnScene::kBytesPerSphere * foreseen.number("grains");
}

Growth GrainsStage::growth() const { return {2, 3}; }

double GrainsStage::memory(const Forecast& forecast) const
{
    const auto sand = forecast.find(sand_->stage);
    return kBytesPerGrain * forecast.at(name()).number("grains") +
           (sand == forecast.end() ? 0 : kGrainsBytesPerParticle * sand->second.number("particles"));
}

FrameReport GrainsStage::made(int frame, const std::function<GrainReport(Particles sand)>& make)
{
    FrameReport report;
    Particles sand;
    GrainReport grains;
    report.times.measure("read", [&] { sand = read_particles(input_path_(sand_->stage, frame)).particles; });
    report.times.measure("grains", [&] { grains = make(std::move(sand)); });
    frame_ = frame;
    report.numbers = {{"grains", static_cast<double>(grains_->points().size())},
                      {"made", static_cast<double>(grains.made)},
                      {"handed_on", static_cast<double>(grains.handed_on)},
                      {"given_up", static_cast<double>(grains.given_up)}};
    return report;
}

FrameReport GrainsStage::start(int frame)
{
    return made(frame, [&](Particles sand) { return grains_->start(std::move(sand), frame); });
}

FrameReport GrainsStage::restore(StateFile state)
{
    const int frame = static_cast<int>(state.numbers["frame"]);
    return made(frame, [&](Particles sand) {
        grains_->restore({static_cast<int>(state.numbers["next_id"]), std::move(state.particles)}, std::move(sand),
                         frame);
        return GrainReport();
    });
}

FrameReport GrainsStage::advance()
{
    return made(frame_ + 1, [this](Particles sand) { return grains_->advance(std::move(sand)); });
}

void GrainsStage::write(const std::string& path)
{
    Particles points = grains_->points();
    points.attributes.erase(kParent);
    write_particles(path, points, sand_->params.voxel, grains_->radius(),
                    {{"frame", std::to_string(frame_)}, {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}});
}

StateFile GrainsStage::save() const
{
    GrainPoints::State state = grains_->state();
    return {{{"frame", frame_}, {"next_id", state.next_id}}, std::move(state.points)};
}

StageKind grains_stage()
{
    return stage_kind<GrainsStage>("grains", "Grains of the sand for rendering: points that move with it.",
                                   /*needs_no_table=*/true);
}

} // namespace spindrift
