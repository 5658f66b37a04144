// The surface of a splash of a million particles, against OpenVDB on the same points.
#include "bench.h"
#include "spindrift/base/random.h"
#include "spindrift/surface/surface.h"

#include <cstdio>
#include <fmt/format.h>
#include <sys/resource.h>

namespace spindrift {

namespace {

// A choppy pool with a thin crown and drops above it; jittered, spacing 1.
Particles splash()
{
    Particles particles;
    Random random(5);
    for (int x = 0; x < 188; ++x)
        for (int y = 0; y < 64; ++y)
            for (int z = 0; z < 188; ++z) {
                const Vec3f p =
                    Vec3i(x, y, z).cast<float>() + Vec3f(random.uniform(), random.uniform(), random.uniform());
                const float from_axis = Vec2f(p.x() - 94, p.z() - 94).norm();
                const bool pool = p.y() < 27 + 5 * std::sin(0.15f * p.x()) * std::cos(0.13f * p.z());
                const bool crown = p.y() < 52 && std::abs(from_axis - 44 - 0.4f * (p.y() - 28)) < 1.2f;
                const bool drop = p.y() > 44 && random.uniform() < 0.04f;
                if (pool || crown || drop) particles.P.push_back(p);
            }
    particles.v = particles.P;
    particles.id.resize(particles.P.size());
    return particles;
}

constexpr float kAveraging = 2.5f; // radius over which OpenVDB averages, in spacings

SurfaceParams params_at(float voxel)
{
    SurfaceParams params;
    params.voxel = voxel;
    return params;
}

// Without meshing, which the OpenVDB functions do not do either.
double seconds_to_distance(const Surface& surface)
{
    double sum = 0;
    for (const auto& [phase, seconds] : surface.times.phases())
        if (phase == "sort" || phase == "blobs" || phase == "distance") sum += seconds;
    return sum;
}

double peak_bytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

} // namespace

int run_surface_child(int, char** argv)
{
    make_surface(splash(), 1, params_at(std::stof(argv[2])));
    fmt::print("{}\n", peak_bytes());
    return 0;
}

void bench_surface(BenchTable& table, const std::string& program)
{
    const Particles particles = splash();
    for (const float voxel : {1.0f, 0.5f}) {
        double best = 1e30, whole = 1e30;
        for (int run = 0; run < 3; ++run) {
            whole = std::min(whole, seconds_of([&] {
                                 const Surface surface = make_surface(particles, 1, params_at(voxel));
                                 best = std::min(best, seconds_to_distance(surface));
                             }));
        }
        const auto vdb = openvdb_surface_seconds(particles.P, 1, voxel, kAveraging, 3);
        table.add(fmt::format("surface of {:.2f} million particles, voxel {} spacings",
                              static_cast<double>(particles.P.size()) / 1e6, voxel),
                  fmt::format("{:.2f} s, {:.2f} s meshed", best, whole));
        table.add("  OpenVDB's rasterizeSmoothSpheres",
                  fmt::format("{:.2f} s, {:.1f}x ours", vdb.smooth_spheres, vdb.smooth_spheres / best),
                  vdb.smooth_spheres / best, at_least(1, "x ours"));
        table.add("  OpenVDB's rasterizeSpheres",
                  fmt::format("{:.2f} s, {:.1f}x ours", vdb.spheres, vdb.spheres / best), vdb.spheres / best,
                  at_least(3, "x ours"));
        double bytes = 1e30;
        if (FILE* pipe = ::popen(fmt::format("{} --surface-child {}", program, voxel).c_str(), "r")) {
            if (std::fscanf(pipe, "%lf", &bytes) != 1) bytes = 1e30;
            ::pclose(pipe);
        }
        table.add("  peak memory of the whole process", fmt::format("{:.0f} MB", bytes / 1e6), bytes / 1e6,
                  at_most(1000, " MB"));
    }
}

} // namespace spindrift
