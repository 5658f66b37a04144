// Run-out of collapsing columns of sand in either model.
#pragma once

#include "sand/sands.h"

#include <fmt/format.h>

namespace spindrift {

// [Lube 2004] measures, for columns of aspect ratio a, a run-out (r - r0) / r0 of 1.24 a below a = 1.7 and of 1.6
// sqrt(a) above, and a final height of 0.88 a^(1/6) r0 unless the middle stays put. `start(scene, keep)` makes the sand
// and `particles(sand)` returns its particles.
template <class Start, class ParticlesOf> void print_columns(const Start& start, const ParticlesOf& particles)
{
    constexpr float kRadius = 0.12f, kDensity = 1600;
    constexpr double kThinnest = 0.1; // depth of sand at which the run-out ends, in cells
    fmt::print("\n| aspect | voxel [m] | run-out (r - r0) / r0 | Lube et al. | difference | height / r0 | theirs | "
               "slope [deg] |\n|---|---|---|---|---|---|---|---|\n");
    for (const float aspect : {0.5f, 1.0f, 2.0f, 4.0f})
        for (const float voxel : {0.015f, 0.01f}) {
            SandScene scene(0.4f, Vec3f(-1, 0, -1), Vec3f(1, 0.6f, 1), voxel);
            scene.fill_box(Vec3f(-kRadius, 0, -kRadius), Vec3f(kRadius, aspect * kRadius, kRadius));
            const auto sand = start(scene, [](const Vec3f& x) { return std::hypot(x.x(), x.z()) < kRadius; });
            for (int f = 0; f < 48; ++f) sand->advance();
            const RadialProfile profile(particles(*sand), kDensity, voxel);
            const double r0 = static_cast<double>(kRadius), a = static_cast<double>(aspect);
            const double found = profile.radius(kThinnest) / r0 - 1, theirs = a < 1.7 ? 1.24 * a : 1.6 * std::sqrt(a);
            const double height = a < 0.74 ? a : 0.88 * std::pow(a, 1.0 / 6);
            fmt::print("| {} | {} | {:.2f} | {:.2f} | {:+.0f}% | {:.2f} | {:.2f} | {:.1f} |\n", aspect, voxel, found,
                       theirs, 100 * (found / theirs - 1), profile.top() / r0, height, profile.angle());
            std::fflush(stdout);
        }
}

} // namespace spindrift
