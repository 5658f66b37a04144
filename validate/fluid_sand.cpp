// Sand as a fluid [Zhu 2005, chapter 2]: angles of repose and run-outs at two resolutions, and both sand models on the
// column of [Zhu 2005] that [Narain 2011, figure 5.11] repeats.
//
//     spindrift_validate sand_fluid     and sand_models
#include "checks.h"
#include "columns.h"

#include "sand/sands.h"

#include <ctime>
#include <fmt/format.h>

using namespace spindrift;

namespace {

constexpr float kDensity = 1600;

// Cones flatter and steeper than their angle of friction.
void slopes()
{
    fmt::print("\n| alpha | arcsin(alpha sqrt(3/2)) | voxel [m] | starts at | after 1 s | after 5 s | difference | rms "
               "speed [mm/s] |\n"
               "|---|---|---|---|---|---|---|---|\n");
    for (const float alpha : {0.3f, 0.5f})
        for (const float voxel : {0.02f, 0.0125f})
            for (const double share : {0.9, 1.1, 1.6}) {
                const double exact = angle_of_friction(static_cast<double>(alpha));
                SandScene scene(alpha, Vec3f(-0.5f, 0, -0.5f), Vec3f(0.5f, 0.9f, 0.5f), voxel);
                scene.fill_box(Vec3f(-0.3f, 0, -0.3f), Vec3f(0.3f, 0.8f, 0.3f));
                const auto sand = scene.start_fluid(cone(0.3f, share * exact));
                const auto angle = [&] { return RadialProfile(sand->grains(), kDensity, voxel).angle(); };
                for (int f = 0; f < 24; ++f) sand->advance();
                const double after_one = angle();
                for (int f = 24; f < 120; ++f) sand->advance();
                fmt::print("| {} | {:.1f} | {} | {:.1f} | {:.1f} | {:.1f} | {:+.0f}% | {:.1f} |\n", alpha, exact, voxel,
                           share * exact, after_one, angle(), 100 * (angle() / exact - 1),
                           1e3 * rms_speed(sand->particles()));
                std::fflush(stdout);
            }
}

} // namespace

void sand_fluid(Figures&)
{
    slopes();
    print_columns([](const SandScene& scene, const auto& keep) { return scene.start_fluid(keep); },
                  [](const FluidSand& sand) { return sand.grains(); });
}

// The column of scenes/sand_column.toml. Its domain has open sides, through which sand leaves the square floor.
void sand_models(Figures&)
{
    SandScene scene(0.5f, Vec3f(-0.75f, 0, -0.75f), Vec3f(0.75f, 1, 0.75f));
    DomainParams& domain = scene.params.domain;
    for (auto* side : {&domain.x_min, &domain.x_max, &domain.y_max, &domain.z_min, &domain.z_max})
        *side = DomainParams::Side::open;
    scene.fill_box(Vec3f(-0.42f, 0, -0.42f), Vec3f(0.42f, 1, 0.42f));
    const auto in_column = [](const Vec3f& x) { return std::hypot(x.x(), x.z()) < 0.401f; };
    fmt::print("\n| model | s | particles | height [m] | slope [deg] | rms speed [m/s] | s per frame | CPU |\n"
               "|---|---|---|---|---|---|---|---|\n");
    const auto follow = [](const char* model, auto& sand, const auto& particles) {
        double seconds = 0;
        const std::clock_t start = std::clock();
        for (int f = 1; f <= 30; ++f) {
            seconds += sand.advance().times.total();
            if (f != 4 && f != 8 && f != 30) continue;
            const Particles now = particles();
            const RadialProfile profile(now, kDensity, 0.02f);
            fmt::print("| {} | {:.2f} | {} | {:.2f} | {:.1f} | {:.2f} | {:.2f} | {:.2f} |\n", model, f / 24.0,
                       now.size(), profile.top(), profile.angle(), rms_speed(now), seconds / f,
                       static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / f);
            std::fflush(stdout);
        }
    };
    const auto fluid = scene.start_fluid(in_column);
    follow("fluid", *fluid, [&] { return fluid->grains(); });
    const auto grains = scene.start(in_column);
    follow("grains", *grains, [&] { return grains->particles(); });
}
