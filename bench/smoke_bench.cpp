// Smoke: a step with MacCormack advection and pressure to 1e-4 on dense grids, and a plume in domains of different
// size, which must take the same time.
#include "bench.h"

#include "smoke/smokes.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

struct Measured {
    double nanoseconds = 0; // per active cell and step
    double advection = 0, pressure = 0;
    double bytes = 0; // per active cell
};

// The fastest frame of a plume in a closed box, solved on all cells.
Measured whole_box(int cells, int frames)
{
    SmokeParams p = warm_ball(cells);
    close_all_sides(p.domain);
    p.sparse = false;
    const auto smoke = started_smoke(p);
    for (int i = 0; i < 3; ++i) smoke->advance(); // allocates memory and starts the flow
    Measured best;
    best.nanoseconds = 1e9;
    for (int i = 0; i < frames; ++i) {
        SmokeReport report;
        const double seconds = seconds_of([&] { report = smoke->advance(); });
        const double scale = 1e9 / static_cast<double>(report.active_cells) / report.substeps;
        if (scale * seconds > best.nanoseconds) continue;
        best.nanoseconds = scale * seconds;
        for (const auto& [name, time] : report.times.phases()) {
            if (name == "advect") best.advection = scale * time;
            if (name == "pressure") best.pressure = scale * time;
        }
        best.bytes = static_cast<double>(smoke->bytes()) / static_cast<double>(report.active_cells);
    }
    return best;
}

// Seconds for some frames of a plume in the middle of a domain `scale` times as large in volume.
double plume_seconds(float scale)
{
    SmokeParams p = warm_ball(64);
    const float size = std::cbrt(scale);
    p.domain.min = Vec3f(0.5f, 0.3f, 0.5f) - size * Vec3f(1, 0.3f, 1);
    p.domain.max = Vec3f(0.5f, 0.3f, 0.5f) + size * Vec3f(1, 2, 1);
    const auto smoke = started_smoke(p);
    for (int i = 0; i < 12; ++i) smoke->advance();
    return seconds_of([&] {
        for (int i = 0; i < 4; ++i) smoke->advance();
    });
}

} // namespace

void bench_smoke(BenchTable& table)
{
    for (const int cells : {64, 128}) {
        const Measured m = whole_box(cells, cells == 64 ? 12 : 6);
        table.add(fmt::format("smoke, {0}x{1}x{0} cells, MacCormack, pressure to 1e-4", cells, cells * 3 / 2),
                  fmt::format("{:.0f} ns per cell and step", m.nanoseconds), m.nanoseconds, at_most(200));
        table.note(fmt::format("  advection {:.0f}, pressure {:.0f}; {:.0f} bytes per cell", m.advection, m.pressure,
                               m.bytes));
    }
    double small = 1e9, large = 1e9;
    for (int run = 0; run < 4; ++run)
        small = std::min(small, plume_seconds(1)), large = std::min(large, plume_seconds(8));
    table.add("  a plume in a domain 8x larger", fmt::format("{:+.1f}% time", 100 * (large / small - 1)),
              100 * (large / small - 1), at_most(5, "%"));
}

} // namespace spindrift
