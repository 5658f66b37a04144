// Shaped smoke: an animal and then a letter, with 10 thousand control and 10 thousand vortex particles, as in the
// scenes of [Madill 2013, 8]. The paper takes 120 to 170 ms a frame for 400 thousand markers and 488 ms for 2 million
// (table 1), on four cores. Times are medians over the frames from the arrival at the animal to that at the letter,
// without files.
#include "bench.h"

#include "shaped_smoke/smokes.h"
#include "spindrift/base/error.h"
#include "spindrift/base/memory.h"
#include "spindrift/base/random.h"
#include "spindrift/render/marker_picture.h"
#include "spindrift/render/marker_shadows.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>

namespace spindrift {

namespace {

struct Measured {
    double seconds = 0, cpu = 0; // medians a frame
    double controls = 0, vortices = 0, bytes = 0;
    std::map<std::string, double> phases; // means a frame
};

double median_of(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

Measured run_shot(int markers, int warm_up, int frames)
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
    const double before = peak_memory();
    ShapedSmoke smoke(params, 24);
    smoke.start(1);
    for (int f = 0; f < warm_up; ++f) smoke.advance();
    std::vector<double> seconds, cpu;
    Measured result;
    for (int f = 0; f < frames; ++f) {
        const double cpu_before = cpu_seconds();
        ShapedSmokeReport report;
        seconds.push_back(seconds_of([&] { report = smoke.advance(); }));
        cpu.push_back(cpu_seconds() - cpu_before);
        for (const auto& [name, time] : report.times.phases()) result.phases[name] += time / frames;
        result.controls = static_cast<double>(report.controls);
        result.vortices = std::max(result.vortices, static_cast<double>(report.vortices));
    }
    result.seconds = median_of(seconds), result.cpu = median_of(cpu);
    result.bytes = peak_memory() - before;
    std::filesystem::remove(animal), std::filesystem::remove(letter);
    return result;
}

// In a process of its own, for its peak memory.
Measured measure(const std::string& program, int markers, int warm_up, int frames)
{
    Measured m;
    const std::string command = fmt::format("{} --shaped-smoke-child {} {} {}", program, markers, warm_up, frames);
    if (FILE* pipe = ::popen(command.c_str(), "r")) {
        if (std::fscanf(pipe, "%lf %lf %lf %lf %lf", &m.seconds, &m.cpu, &m.controls, &m.vortices, &m.bytes) != 5)
            m.seconds = 0;
        char phase[64];
        for (double seconds = 0; std::fscanf(pipe, "%lf %63[^\n]", &seconds, phase) == 2;) m.phases[phase] = seconds;
        ::pclose(pipe);
    }
    if (!(m.seconds > 0)) fail("the run with {} markers failed: {}", markers, command);
    return m;
}

void add_frame(BenchTable& table, const char* name, const Measured& m, double most)
{
    table.add(fmt::format("shaped smoke, {} markers, {:.0f} controls, {:.0f} vortices", name, m.controls, m.vortices),
              fmt::format("{:.0f} ms a frame, {:.0f} ms CPU", 1e3 * m.seconds, 1e3 * m.cpu), 1e3 * m.seconds,
              at_most(most, " ms a frame"));
    for (const auto& [phase, seconds] : m.phases)
        if (seconds > 1e-4) table.add("  " + phase, fmt::format("{:.1f} ms", 1e3 * seconds));
}

// Shadows and picture of a ball of markers.
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
    RenderMarkers markers{0, std::move(sorted.P), {}, std::move(sorted.id), {}, 0.005f, Vec3f::Ones()};
    const RenderMarkers* cloud = &markers;
    const Camera camera(CameraParams{}, {Vec3f(-1, -1, -1), Vec3f(1, 1, 1)}, 960, 540);
    Picture picture;
    picture.color = Image(960, 540), picture.alpha.resize(picture.color.pixels.size());
    const std::vector<MarkerFrame> frames(kBlendedFrames, {markers.P, markers.id}); // as the stage does
    return best_seconds(3, [&] {
        markers.shadow = blended_shadows(frames, Vec3f(0.3f, 1, 0.2f), {}, 1);
        draw_markers({&cloud, 1}, {}, {}, camera, {}, picture);
    });
}

} // namespace

// Arguments: markers, frames before those that are timed, frames. Prints seconds and processor seconds a frame,
// control particles, vortices, peak bytes above the start, and a line for each phase.
int run_shaped_smoke_child(int argc, char** argv)
{
    if (argc < 5) return 2;
    return_freed_memory();
    const Measured m = run_shot(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
    fmt::print("{} {} {} {} {}\n", m.seconds, m.cpu, m.controls, m.vortices, m.bytes);
    for (const auto& [phase, seconds] : m.phases) fmt::print("{} {}\n", seconds, phase);
    return 0;
}

void bench_shaped_smoke(BenchTable& table, const std::string& program)
{
    const double drawn = seconds_of_picture(10000000);
    table.add("10 million markers with shadows, 960 x 540", fmt::format("{:.2f} s", drawn), drawn, at_most(5, " s"));
    const Measured small = measure(program, 400000, 48, 24), middle = measure(program, 2000000, 48, 24);
    add_frame(table, "0.4 million", small, 60);
    add_frame(table, "2 million", middle, 150);
    table.note("[Madill 2013, table 1], 2 million: 102 + 82.6 + 117 + 36.4 + 127 + 23 = 488 ms a frame on four cores");
    // The same moments of the shot for all, since work depends on how far the smoke has gathered. The grid and the
    // other particles are the same too, so what each further marker takes is compared.
    constexpr int kMarkers[] = {400000, 2000000, 10000000, 50000000};
    std::vector<Measured> grown;
    for (const int markers : kMarkers) grown.push_back(measure(program, markers, 4, 8));
    table.add("shaped smoke, 10 million markers", fmt::format("{:.2f} s a frame", grown[2].seconds));
    table.add("shaped smoke, 50 million markers", fmt::format("{:.2f} s a frame", grown[3].seconds));
    std::vector<double> bytes, nanoseconds;
    for (size_t i = 0; i + 1 < grown.size(); ++i) {
        const double markers = kMarkers[i + 1] - kMarkers[i];
        bytes.push_back((grown[i + 1].bytes - grown[i].bytes) / markers);
        nanoseconds.push_back(1e9 * (grown[i + 1].cpu - grown[i].cpu) / markers);
    }
    const auto list = [](const std::vector<double>& v) {
        return fmt::format("{:.1f}, {:.1f}, {:.1f}", v[0], v[1], v[2]);
    };
    table.add("  bytes a marker, peak, 0.4 to 2 to 10 to 50 million", list(bytes),
              *std::max_element(bytes.begin(), bytes.end()), at_most(48));
    const auto [least, largest] = std::minmax_element(nanoseconds.begin(), nanoseconds.end());
    table.add("  CPU a marker [ns]", list(nanoseconds), *largest / *least, at_most(1.3, "x from least to most"));
}

} // namespace spindrift
