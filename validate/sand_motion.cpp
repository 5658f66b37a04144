// Sand moved by colliders, in both models: on a belt, in a rotating drum, in a shaken box and in front of a blade.
//
//     spindrift_validate sand_motion
#include "checks.h"

#include "sand/moving_sands.h"

#include <fmt/format.h>

using namespace spindrift;

namespace {

void belts()
{
    fmt::print("\n| belt, 0.4 m/s | friction | stick | way of the belt [m] | of the sand | speed of the sand [m/s] |\n"
               "|---|---|---|---|---|---|\n");
    for (const auto& [friction, stick] : {std::pair(1.0f, 0.0f), std::pair(0.2f, 0.0f), std::pair(0.0f, 1.0f)})
        for_both_models(belt(0.4f, friction, stick), [&](auto& sand, const char* model) {
            const MeanMotion start(grains_of(sand));
            for (int f = 0; f < 24; ++f) sand.advance();
            const MeanMotion end(grains_of(sand));
            fmt::print("| {} | {} | {} | 0.400 | {:.3f} | {:.3f} |\n", model, friction, stick,
                       end.place.x() - start.place.x(), end.velocity.x());
            std::fflush(stdout);
        });
}

// Mean angle over the last two of four seconds.
void drums(Figures& figures)
{
    constexpr double kAllowed = 15; // [%] off the angle of repose
    fmt::print("\n| drum | alpha | Froude number | cells in the radius | angle [deg] | of repose | difference |\n"
               "|---|---|---|---|---|---|---|\n");
    for (const auto& [alpha, froude, cell] :
         {std::tuple(0.5f, 0.009f, 0.02f), std::tuple(0.5f, 0.004f, 0.02f), std::tuple(0.4f, 0.009f, 0.02f),
          std::tuple(0.3f, 0.009f, 0.02f), std::tuple(0.3f, 0.009f, 0.0125f), std::tuple(0.5f, 0.009f, 0.0125f)}) {
        const Drum drum(0.2f, cell, froude, alpha);
        const double repose = angle_of_friction(static_cast<double>(alpha));
        for_both_models(drum.scene, [&](auto& sand, const char* model) {
            const double found = drum.mean_angle(sand, 96, 48);
            fmt::print("| {} | {} | {} | {:.0f} | {:.1f} | {:.1f} | {:+.0f}% |\n", model, alpha, froude, 0.2f / cell,
                       found, repose, 100 * (found / repose - 1));
            figures.require(fmt::format("drum, {}, alpha {}, Froude number {}, {:.0f} cells: difference from the angle "
                                        "of repose",
                                        model, alpha, froude, 0.2f / cell),
                            100 * std::abs(found / repose - 1), at_most(kAllowed, "%"));
            std::fflush(stdout);
        });
    }
}

void box()
{
    fmt::print("\n| shaken box | farthest from the box [m] | change of mass | rms speed half a second after [m/s] |\n"
               "|---|---|---|---|\n");
    const SandScene scene = shaken_box();
    const Shape shape(scene.params.colliders[0], "the box");
    for_both_models(scene, [&](auto& sand, const char* model) {
        const MeanMotion start(grains_of(sand));
        double farthest = 0;
        for (int f = 1; f <= 36; ++f) {
            sand.advance();
            const double moved = MeanMotion(grains_of(sand)).place.x() - start.place.x();
            const auto box_at = static_cast<double>(shape.placed(Vec3f::Zero(), static_cast<float>(1 + f)).x());
            farthest = std::max(farthest, std::abs(moved - box_at));
        }
        const Particles grains = grains_of(sand);
        fmt::print("| {} | {:.3f} | {:.1e} | {:.3f} |\n", model, farthest, MeanMotion(grains).mass / start.mass - 1,
                   rms_speed(grains));
    });
}

void blade()
{
    fmt::print("\n| blade | height in front [m] | 0.3 to 0.4 m off | mass behind it | change of mass |\n"
               "|---|---|---|---|---|\n");
    const Blade blade;
    for_both_models(blade.scene, [](auto& sand, const char* model) {
        const double mass = MeanMotion(grains_of(sand)).mass;
        for (int f = 0; f < 32; ++f) sand.advance();
        const Particles grains = grains_of(sand);
        const double near = Blade::height(grains, 32, 0.1f);
        const double far = 4 * Blade::height(grains, 32, 0.4f) - 3 * Blade::height(grains, 32, 0.3f);
        fmt::print("| {} | {:.3f} | {:.3f} | {:.1e} | {:.1e} |\n", model, near, far, Blade::behind(grains, 32),
                   MeanMotion(grains).mass / mass - 1);
    });
}

} // namespace

void sand_motion(Figures& figures)
{
    belts();
    drums(figures);
    box();
    blade();
}
