// A fountain of droplets that merge and break up [Jones 2018, figure 4.13]: two steps of 1/96 s per frame, without
// writing. It starts in the state that it has after some seconds without collisions. Each shot runs in a process of its
// own for its peak memory.
#include "bench.h"

#include "spindrift/base/error.h"
#include "spindrift/base/memory.h"
#include "spindrift/spray/spray.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/resource.h>

namespace spindrift {

namespace {

constexpr float kFps = 48;
constexpr float kFlight = 1.85f; // [s] from the nozzle to the ground

// Identical jets side by side.
SprayParams fountain(double droplets, int jets)
{
    SprayParams params;
    params.substeps = 2;
    params.domain.min = Vec3f(-50, 0, -50), params.domain.max = Vec3f(50, 50, 50);
    const double each = droplets / jets;
    for (int j = 0; j < jets; ++j) {
        EmitterParams nozzle;
        nozzle.from = EmitterParams::From::disc;
        nozzle.center = Vec3f(4 * static_cast<float>(j % 10), 0.01f, 4 * static_cast<float>(j / 10));
        nozzle.radius = 0.25f * static_cast<float>(std::sqrt(each / 3.2e6));
        nozzle.rate = static_cast<float>(each / static_cast<double>(kFlight));
        nozzle.speed = 9, nozzle.speed_variation = 0.03f, nozzle.spread = 4;
        nozzle.droplet_radius = 1e-3f, nozzle.droplet_variation = 0.5f;
        params.emitters.push_back(nozzle);
    }
    return params;
}

// Droplets of all ages on the parabolas that they follow without drag and collisions.
Particles in_flight(const SprayParams& params, size_t count)
{
    Particles particles;
    std::vector<float> radius;
    for (size_t e = 0; e < params.emitters.size(); ++e) {
        const Emitter emitter(params.emitters[e], Shape(params.emitters[e].carrier(), "bench"), e);
        const size_t each = count / params.emitters.size();
        for (size_t n = 0; n < each; ++n) {
            const Droplet d = emitter.birth(static_cast<int64_t>(n), 0, kFps).droplet;
            const float age = kFlight * static_cast<float>(n) / static_cast<float>(each);
            const Vec3f x = d.x + age * d.v + 0.5f * age * age * params.gravity;
            if (x.y() <= 0) continue;
            particles.P.push_back(x), particles.v.push_back(d.v + age * params.gravity);
            radius.push_back(d.radius);
        }
    }
    particles.id.resize(particles.P.size());
    particles.attribute<float>(kRadiusAttribute) = std::move(radius);
    return particles;
}

struct Measured {
    double seconds = 0, cpu = 0, flight_share = 0, droplets = 0, collisions = 0, bytes = 0, own_bytes = 0;
    double nanoseconds() const { return 1e9 * cpu / droplets; } // of processor time, per droplet and frame
};

double peak_bytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

Measured run_child(const std::string& program, double droplets, int jets, int frames)
{
    Measured m;
    if (FILE* pipe = ::popen(fmt::format("{} --spray-child {} {} {}", program, droplets, jets, frames).c_str(), "r")) {
        if (std::fscanf(pipe, "%lf %lf %lf %lf %lf %lf %lf", &m.seconds, &m.cpu, &m.flight_share, &m.droplets,
                        &m.collisions, &m.bytes, &m.own_bytes) != 7)
            m.cpu = -1;
        ::pclose(pipe);
    }
    if (!(m.cpu > 0)) fail("the run with {} droplets failed", droplets);
    return m;
}

Measured faster(const Measured& a, const Measured& b) { return a.cpu < b.cpu ? a : b; }

Measured best_of(const std::string& program, double droplets, int jets, int frames, int runs)
{
    Measured best = run_child(program, droplets, jets, frames);
    for (int i = 1; i < runs; ++i) best = faster(best, run_child(program, droplets, jets, frames));
    return best;
}

} // namespace

// Arguments: droplets, jets, frames. Prints seconds and processor seconds of the frame that took least processor time,
// the share of forces and motion, droplets, collisions per frame, peak bytes above the start and bytes held, per
// droplet.
int run_spray_child(int argc, char** argv)
{
    if (argc < 5) return 2;
    const auto count = static_cast<size_t>(std::atof(argv[2]));
    const int jets = std::atoi(argv[3]), frames = std::atoi(argv[4]);
    return_freed_memory();
    const SprayParams params = fountain(static_cast<double>(count), jets);
    const double before = peak_bytes();
    std::vector<Shape> emitters;
    for (const EmitterParams& e : params.emitters) emitters.emplace_back(e.carrier(), "bench");
    Spray spray(params, {std::move(emitters), {}}, kFps);
    spray.start(0);
    spray.add(in_flight(params, count));
    Measured best;
    best.cpu = 1e30;
    for (int f = 0; f < frames; ++f) {
        SprayReport report;
        const double cpu = cpu_seconds();
        const double seconds = seconds_of([&] { report = spray.advance(); });
        double flight = 0;
        for (const auto& [phase, time] : report.times.phases())
            if (phase == "forces" || phase == "motion") flight += time;
        const double busy = cpu_seconds() - cpu;
        if (f == 0 || busy >= best.cpu) continue; // the first frame allocates
        best.seconds = seconds, best.cpu = busy, best.flight_share = flight / report.times.total();
        best.droplets = static_cast<double>(report.droplets);
        best.collisions = static_cast<double>(report.collisions[1] + report.collisions[2] + report.collisions[3]);
    }
    const auto last = static_cast<double>(spray.particles().size()); // the largest number
    fmt::print("{} {} {} {} {} {} {}\n", best.seconds, best.cpu, best.flight_share, best.droplets, best.collisions,
               (peak_bytes() - before) / last, static_cast<double>(spray.bytes()) / last);
    return 0;
}

void bench_spray(BenchTable& table, const std::string& program)
{
    const Measured at3 = best_of(program, 3.2e6, 1, 6, 3);
    table.add(fmt::format("fountain of {:.2f} million droplets, {:.0f} thousand collisions per frame",
                          at3.droplets / 1e6, at3.collisions / 1e3),
              fmt::format("{:.2f} s per frame, {:.2f} s CPU", at3.seconds, at3.cpu), at3.seconds,
              at_most(1, " s per frame"));
    table.add("  of which forces and motion", fmt::format("{:.1f}%", 100 * at3.flight_share), 100 * at3.flight_share,
              at_most(10, "%"));
    table.add("  peak memory, and that of all arrays",
              fmt::format("{:.0f} and {:.0f} bytes per droplet", at3.bytes, at3.own_bytes),
              std::max(at3.bytes, at3.own_bytes), at_most(120));
    // Alternate the two, so that a slow phase of the machine does not hit only one of them.
    Measured small = best_of(program, 1e5, 1, 20, 3), large = best_of(program, 1e7, 100, 4, 1);
    for (int i = 0; i < 2; ++i) {
        small = faster(small, best_of(program, 1e5, 1, 20, 3));
        large = faster(large, best_of(program, 1e7, 100, 4, 1));
    }
    const double ratio = large.nanoseconds() / small.nanoseconds();
    table.add("CPU per droplet and frame, 1 to 100 jets of 0.1 million",
              fmt::format("{:.0f} to {:.0f} ns, {:.2f}x", small.nanoseconds(), large.nanoseconds(), ratio), ratio,
              at_most(1.3, "x"));
}

} // namespace spindrift
