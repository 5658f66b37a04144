// Cost of friction on top of the liquid's step: the column of "Comparison" in [Narain 2011, table 5.1] as a fluid, and
// every few frames a frame of the same particles without friction.
#include "bench.h"

#include "sand/sands.h"

#include <fmt/format.h>

namespace spindrift {

void bench_fluid_sand(BenchTable& table)
{
    constexpr int kRuns = 3, kFrames = 20, kEvery = 5;
    SandScene scene(0.5f, Vec3f(-0.75f, 0, -0.75f), Vec3f(0.75f, 1, 0.75f));
    scene.fill_box(Vec3f(-0.36f, 0, -0.36f), Vec3f(0.36f, 0.98f, 0.36f));
    LiquidParams params = FluidSand::liquid_of(scene.params);
    params.sources.clear();
    Liquid liquid(params, {}, kFps);

    // Seconds of a step at each of these frames, and of a frame: the least of several runs.
    struct Best {
        double sand = 1e9, liquid = 1e9;
    };
    std::array<Best, kFrames / kEvery> best;
    double frame = 1e9;
    for (int run = 0; run < kRuns; ++run) {
        const auto sand = scene.start_fluid();
        double seconds = 0;
        for (int f = 0; f < kFrames; ++f) {
            const FluidSand::State before = sand->state();
            const LiquidReport as_sand = sand->advance();
            seconds += as_sand.times.total() / kFrames;
            if (f % kEvery != kEvery - 1) continue;
            liquid.restore(before.liquid);
            const LiquidReport as_liquid = liquid.advance();
            Best& b = best[static_cast<size_t>(f / kEvery)];
            b.sand = std::min(b.sand, as_sand.times.total() / as_sand.substeps);
            b.liquid = std::min(b.liquid, as_liquid.times.total() / as_liquid.substeps);
        }
        frame = std::min(frame, seconds);
    }
    double sand = 0, water = 0;
    for (const Best& b : best) sand += b.sand / best.size(), water += b.liquid / best.size();
    table.add("sand as a fluid: time of a step relative to that of a liquid",
              fmt::format("{:.0f} : {:.0f} ms, {:.2f}x", 1e3 * sand, 1e3 * water, sand / water), sand / water,
              at_most(1.3, "x"));
    table.note(fmt::format("  {:.2f} s per frame", frame));
}

} // namespace spindrift
