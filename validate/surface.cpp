// The four surface modes on particles whose exact surface is known.
//
//     spindrift_validate surface
#include "checks.h"

#include "surface/jittered.h"

using namespace spindrift;

namespace {

template <class Inside> Particles jittered_particles(const Vec3i& low, const Vec3i& high, const Inside& inside)
{
    Particles particles;
    particles.P = jittered(low, high, 7, inside);
    particles.v.assign(particles.P.size(), Vec3f::Zero()), particles.id.assign(particles.P.size(), 0);
    return particles;
}

struct Spread {
    double sum = 0, sum2 = 0, count = 0;
    void add(double x) { sum += x, sum2 += x * x, ++count; }
    double mean() const { return sum / count; }
    double deviation() const { return std::sqrt(sum2 / count - mean() * mean()); }
};

} // namespace

// The four modes on a flat bed, a ball of radius 16 and a wavy sheet one particle thick; lengths in spacings.
void surface_modes(Figures& figures)
{
    constexpr double kSmootherThanSpheres = 3; // of ellipsoids, in RMS bumps of the distance itself, at one spacing
    const Box3f tank{Vec3f(0, 0, 0), Vec3f(48, 40, 48)};
    const Particles bed = jittered_particles({0, 0, 0}, {48, 20, 48}, [](const Vec3f&) { return true; });
    const Vec3f center(0.3f, 0.2f, 0.1f);
    const auto in_ball = [&](const Vec3f& p) { return (p - center).norm() < 16; };
    const Particles ball = jittered_particles(Vec3i::Constant(-18), Vec3i::Constant(18), in_ball);
    Particles sheet = jittered_particles({0, 0, 0}, {60, 1, 60}, [](const Vec3f&) { return true; });
    for (Vec3f& p : sheet.P) p.y() = 3 * std::sin(0.3f * p.x()) * std::cos(0.25f * p.z());
    const char* names[] = {"spheres", "averaged", "ellipsoids", "corrected"};
    fmt::print(
        "\n| mode | voxel | smoothing | bed: height error | bed: RMS bump | ball: volume | ball: RMS bump | sheet: "
        "holes |\n|---|---|---|---|---|---|---|---|\n");
    double sphere_bump[2] = {}, ellipsoid_bump[2] = {}; // bed, ball
    for (const float voxel : {1.0f, 0.5f})
        for (int mode = 0; mode < 4; ++mode)
            for (const int smoothing : {0, 2}) {
                SurfaceParams params;
                params.mode = static_cast<SurfaceMode>(mode);
                params.voxel = voxel, params.smoothing = smoothing;
                Spread height, radius;
                for (const Vec3f& x : make_surface(bed, 1, params, tank).mesh.positions)
                    if (x.y() > 15 && tank.grown(-4).contains(x)) height.add(x.y());
                const Mesh round = make_surface(ball, 1, params).mesh, thin = make_surface(sheet, 1, params).mesh;
                for (const Vec3f& x : round.positions) radius.add((x - center).norm());
                // The Euler characteristic of one closed part is 2; each hole subtracts 2.
                const auto euler =
                    static_cast<int>(thin.positions.size()) - static_cast<int>(thin.triangles.size() / 2);
                fmt::print("| {} | {} | {} | {:+.2f} | {:.3f} | {:+.1f}% | {:.3f} | {} |\n", names[mode], voxel,
                           smoothing, height.mean() - 20, height.deviation(),
                           100 * (volume_of(round) / (4 * kPi / 3 * 16 * 16 * 16) - 1), radius.deviation(),
                           1 - euler / 2);
                std::fflush(stdout);
                if (voxel != 1 || smoothing != 0) continue;
                if (params.mode == SurfaceMode::spheres)
                    sphere_bump[0] = height.deviation(), sphere_bump[1] = radius.deviation();
                if (params.mode == SurfaceMode::ellipsoids)
                    ellipsoid_bump[0] = height.deviation(), ellipsoid_bump[1] = radius.deviation();
            }
    for (const int shape : {0, 1})
        figures.require(fmt::format("surface of a {}: RMS bump of spheres over that of ellipsoids, voxel 1, unsmoothed",
                                    shape == 0 ? "bed" : "ball"),
                        sphere_bump[shape] / ellipsoid_bump[shape], at_least(kSmootherThanSpheres, "x"));
}
