#include "spindrift/stages/grains_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/io/vdb.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

// Of a grain, in memory twice while it is put into another order, and on disk; how many are near a surface.
constexpr double kBytesPerParticle = 300; // of the sand, at two frames
constexpr double kBytesPerGrain = 100, kFileBytesPerGrain = 20, kSeen = 0.5;

} // namespace

void GrainsStage::prepare(const SceneFile& scene, const ShotParams& shot)
{
    if (!scene.has("sand")) {
        if (scene.has("grains"))
            bad_input("{}: there is no sand to see the grains of; add [sand]", scene.where("grains"));
        return;
    }
    fps_ = shot.fps;
    const double grains = kSeen * sand_->particles * params_.each;
    estimate_ = {kBytesPerGrain * grains, kFileBytesPerGrain * grains * shot.range().count(),
                 fmt::format("about {:.3g} grains", grains), "lower grains.each"};
    grains_ = std::make_unique<GrainPoints>(sand_->params, params_);
}

Growth GrainsStage::growth() const { return {2, 3}; }

double GrainsStage::memory(const Forecast& forecast) const
{
    const auto sand = forecast.find("sand");
    return kBytesPerGrain * forecast.at(name()).number("grains") +
           (sand == forecast.end() ? 0 : kBytesPerParticle * sand->second.number("particles"));
}

FrameReport GrainsStage::made(int frame, const std::function<GrainReport(Particles sand)>& make)
{
    FrameReport report;
    Particles sand;
    GrainReport grains;
    report.times.measure("read", [&] { sand = read_particles(input_path_(frame)).particles; });
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
    return made(frame, [this](Particles sand) { return grains_->start(std::move(sand)); });
}

FrameReport GrainsStage::restore(StateFile state)
{
    return made(static_cast<int>(state.numbers["frame"]), [&](Particles sand) {
        grains_->restore({static_cast<int>(state.numbers["next_id"]), std::move(state.particles)}, std::move(sand));
        return GrainReport();
    });
}

FrameReport GrainsStage::advance()
{
    return made(frame_ + 1, [this](Particles sand) { return grains_->advance(std::move(sand), 1 / fps_); });
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

} // namespace spindrift
