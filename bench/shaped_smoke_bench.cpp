// Shaped smoke: an animal and then a letter, with 10 thousand control and 10 thousand vortex particles, as in the
// scenes of [Madill 2013, 8]. The paper takes 120 to 170 ms per frame for 400 thousand markers and 488 ms for 2 million
// (table 1), on four cores. Times are medians over the frames from the arrival at the animal to that at the letter,
// without files.
#include "bench.h"

#include "shaped_smoke/smokes.h"
#include "spindrift/base/random.h"
#include "spindrift/render/marker_picture.h"
#include "spindrift/render/marker_shadows.h"

#include <filesystem>
#include <fmt/format.h>

namespace spindrift {

namespace {

struct Measured {
    double seconds = 0, cpu = 0; // medians a frame
    double vortices = 0, bytes = 0;
    std::map<std::string, double> phases; // means a frame
};

double median_of(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

Measured measure(int markers, int warm_up, int frames)
{
    const auto folder = std::filesystem::temp_directory_path();
    const std::string animal = (folder / "spindrift_bench_animal.obj").string();
    const std::string letter = (folder / "spindrift_bench_letter.obj").string();
    write_mesh(animal, creature_mesh(0.1f)), write_mesh(letter, letter_mesh());
    ShapedSmokeParams params = smoke_of_a_metre();
    params.markers = markers;
    // Vortices fill the smoke up to their number; weak ones, so that they do not blow it apart.
    params.vortices.count = 10000, params.vortices.speed = 100, params.vortices.strength = 2;
    params.vortices.radius = 0.06f, params.vortices.exchange_distance = 0.03f;
    params.targets = {target_mesh(animal), target_mesh(letter)};
    params.targets[1].frame = 1 + warm_up + frames / 2;
    ShapedSmoke smoke(params, 24);
    smoke.start(1);
    for (int f = 0; f < warm_up; ++f) smoke.advance();
    std::vector<double> seconds, cpu;
    Measured result;
    for (int f = 0; f < frames; ++f) {
        const double before = cpu_seconds();
        ShapedSmokeReport report;
        seconds.push_back(seconds_of([&] { report = smoke.advance(); }));
        cpu.push_back(cpu_seconds() - before);
        for (const auto& [name, time] : report.times.phases()) result.phases[name] += time / frames;
        result.vortices = std::max(result.vortices, static_cast<double>(report.vortices));
    }
    result.seconds = median_of(seconds), result.cpu = median_of(cpu);
    result.bytes = static_cast<double>(smoke.bytes());
    std::filesystem::remove(animal), std::filesystem::remove(letter);
    return result;
}

void add_frame(BenchTable& table, const char* name, const Measured& m, double most)
{
    table.add(fmt::format("shaped smoke, {} markers, {:.0f} vortices", name, m.vortices),
              fmt::format("{:.0f} ms per frame, {:.0f} ms CPU", 1e3 * m.seconds, 1e3 * m.cpu), 1e3 * m.seconds,
              at_most(most, " ms per frame"));
    for (const auto& [phase, seconds] : m.phases)
        if (seconds > 1e-4) table.add("  " + phase, fmt::format("{:.1f} ms", 1e3 * seconds));
}

// Shadows and picture of a ball of 10 million markers.
double seconds_of_picture(size_t count)
{
    Particles sorted; // as the files of the stage are
    Random random(1);
    while (sorted.P.size() < count) {
        const float x = random.uniform(-1, 1), y = random.uniform(-1, 1), z = random.uniform(-1, 1);
        if (x * x + y * y + z * z > 1) continue;
        sorted.id.push_back(static_cast<int32_t>(sorted.P.size())), sorted.P.emplace_back(x, y, z);
    }
    sorted.resize(count);
    ParticleIndex index;
    sort_by_tile(sorted, tiles_around(sorted, 0.01f, 1), 0.01f, index);
    RenderMarkers markers{std::move(sorted.P), std::move(sorted.id), {}, 0.005f, Vec3f::Ones()};
    const Camera camera(CameraParams{}, {Vec3f(-1, -1, -1), Vec3f(1, 1, 1)}, 960, 540);
    Image picture(960, 540);
    std::vector<float> alpha(picture.pixels.size());
    return best_seconds(3, [&] {
        markers.shadow = marker_shadows(markers.P, markers.id, Vec3f(0.3f, 1, 0.2f), {}, 1);
        draw_markers(markers, {}, camera, {}, picture, alpha);
    });
}

} // namespace

void bench_shaped_smoke(BenchTable& table)
{
    const double drawn = seconds_of_picture(10000000);
    table.add("10 million markers with shadows, 960 x 540", fmt::format("{:.2f} s", drawn), drawn, at_most(5, " s"));
    const Measured small = measure(400000, 48, 24), middle = measure(2000000, 48, 12);
    add_frame(table, "0.4 million", small, 60);
    add_frame(table, "2 million", middle, 150);
    const Measured large = measure(50000000, 4, 4);
    table.add("shaped smoke, 50 million markers", fmt::format("{:.2f} s per frame", large.seconds));
    // The grid and the other particles are the same for all, so they count only once.
    const double bytes = (large.bytes - small.bytes) / 49.6e6;
    table.add("  memory beyond 0.4 million markers", fmt::format("{:.1f} bytes per marker", bytes), bytes, at_most(48));
    const double per_middle = middle.cpu / 2e6, per_large = large.cpu / 50e6;
    table.add("  CPU time per marker, 2 and 50 million",
              fmt::format("{:.0f} and {:.0f} ns", 1e9 * per_middle, 1e9 * per_large), per_large / per_middle,
              at_most(1.3, "x"));
}

} // namespace spindrift
