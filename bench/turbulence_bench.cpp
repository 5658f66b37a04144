// Turbulence on a grid of [Narain 2011, table 3.1], 256 x 32 x 32 cells, refined four times: the velocity of three
// octaves of eddies at every fine cell, and the cost of advecting their energy and particles.
#include "bench.h"

#include "spindrift/turbulence/turbulence.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

// The fastest of several runs. Processor time hardly depends on other work on the machine.
struct Cost {
    double seconds = kInfinity, cpu = kInfinity;
};
template <class Body> Cost cost_of(int runs, const Body& body)
{
    Cost best;
    for (int i = 0; i < runs; ++i) {
        const double before = cpu_seconds(), seconds = seconds_of(body);
        best = {std::min(best.seconds, seconds), std::min(best.cpu, cpu_seconds() - before)};
    }
    return best;
}

} // namespace

void bench_turbulence(BenchTable& table)
{
    constexpr float voxel = 0.1f, dt = 0.05f;
    const Topology topology = Topology::covering(Vec3i::Zero(), Vec3i(256, 32, 32));
    MacField velocity;
    velocity.reset(topology, 0);
    for (int t = 0; t < topology.tile_count(); ++t) // strain everywhere, so that all octaves are active
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f x = voxel * (topology.first_cell(t) + cell_in_tile(c)).cast<float>();
            velocity.u[0].tile(t)[c] = 1 + std::sin(3 * x.y()), velocity.u[1].tile(t)[c] = std::sin(3 * x.z());
            velocity.u[2].tile(t)[c] = std::cos(3 * x.x());
        }
    const Flow flow{velocity, voxel, nullptr, nullptr, nullptr};
    Turbulence turbulence{TurbulenceParams()};
    TurbulentEnergy energy(1e-4f);
    for (int s = 0; s < 20; ++s) turbulence.step(flow, dt);
    energy.step(flow, 4 * voxel, dt);
    const auto cells = static_cast<double>(topology.cell_count());

    const Topology fine = Topology::covering(Vec3i::Zero(), Vec3i(1024, 128, 128));
    Field<float> u[3];
    const auto count = static_cast<double>(fine.cell_count());
    const Cost sampling = cost_of(3, [&] { turbulence.velocity().sample_cells(fine, voxel / 4, u); });
    table.add(fmt::format("turbulence: 3 octaves at {:.1f} million cells, {} particles", count / 1e6,
                          turbulence.particles().size()),
              fmt::format("{:.0f} M/s, {:.0f} M/CPU s", count / sampling.seconds / 1e6, count / sampling.cpu / 1e6),
              count / sampling.seconds / 1e6, at_least(5, " M/s"));
    std::vector<Vec3f> points;
    for (size_t i = 0; i < 400000; ++i) // in the order of sorted particles
        points.emplace_back(voxel * 0.25f *
                            Vec3f(static_cast<float>(i / 4000) + 0.3f, static_cast<float>(i / 40 % 100) + 0.6f,
                                  static_cast<float>(i % 40) + 0.1f));
    std::vector<Vec3f> at_points(points.size());
    const Cost scattered = cost_of(3, [&] { turbulence.velocity().sample_points(points, at_points); });
    const auto points_count = static_cast<double>(points.size());
    table.add("  at points", fmt::format("{:.1f} M/s, {:.1f} M/CPU s", points_count / scattered.seconds / 1e6,
                                         points_count / scattered.cpu / 1e6));
    const auto per_cell = [&](const char* what, const Cost& cost) {
        table.add(what,
                  fmt::format("{:.0f} ns, {:.0f} CPU ns per cell", 1e9 * cost.seconds / cells, 1e9 * cost.cpu / cells));
    };
    per_cell("  a step of their energy", cost_of(5, [&] { energy.step(flow, 4 * voxel, dt); }));
    per_cell("  a step of energy and particles", cost_of(5, [&] { turbulence.step(flow, dt); }));
    MacField faces;
    per_cell("  velocity on the flow's faces",
             cost_of(3, [&] { turbulence.velocity().sample_faces(topology, voxel, faces); }));
}

} // namespace spindrift
