// Sand on the grids and with the particle counts of [Narain 2011, table 5.1]; asked for is a tenth of the paper's time.
// And the growth of time per particle from a hundred thousand to millions of particles.
#include "bench.h"

#include "sand/sands.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

struct Measured {
    double seconds = 0, cpu = 0, particles = 0, substeps = 0; // means over frames
    PhaseTimes times;
};

Measured measure(GranularSand& sand, int frames)
{
    Measured m;
    const double cpu = cpu_seconds();
    m.seconds = seconds_of([&] {
        for (int f = 0; f < frames; ++f) {
            const SandReport report = sand.advance();
            for (const auto& [phase, seconds] : report.times.phases()) m.times.add(phase, seconds);
            m.particles += static_cast<double>(report.particles) / frames, m.substeps += report.substeps;
        }
    });
    m.seconds /= frames, m.cpu = (cpu_seconds() - cpu) / frames, m.substeps /= frames;
    return m;
}

void add_row(BenchTable& table, const std::string& what, const Measured& m, double most_seconds)
{
    table.add(what, fmt::format("{:.2f} s per frame", m.seconds), m.seconds, at_most(most_seconds, " s"));
    const auto share = [&](std::initializer_list<const char*> names) {
        double sum = 0;
        for (const auto& [phase, seconds] : m.times.phases())
            for (const char* name : names) sum += phase == name ? seconds : 0;
        return 100 * sum / m.times.total();
    };
    table.note(fmt::format("  {:.0f} thousand particles, {:.1f} steps, {:.2f} s CPU; pressure {:.0f}% (paper 17), "
                           "friction {:.0f}% (35), "
                           "particles {:.0f}% (33)",
                           m.particles / 1e3, m.substeps, m.cpu, share({"pressure", "density"}), share({"friction"}),
                           share({"sort", "merge", "to grid", "to particles", "contact", "split"})));
}

SandScene heap(float side)
{
    SandScene scene(0.5f, Vec3f(-side, 0, -side), Vec3f(side, 1, side));
    scene.fill_box(Vec3f(-side, 0, -side), Vec3f(side, 0.2f, side));
    scene.fill_box(Vec3f(-0.2f, 0.3f, -0.2f), Vec3f(0.2f, 0.5f, 0.2f));
    return scene;
}

} // namespace

void bench_sand(BenchTable& table, const std::string& only)
{
    const auto wanted = [&](const char* name) { return only.empty() || only == name; };
    constexpr int kFrames = 24;
    constexpr float kSlowMotion = 5000; // frames a second
    if (wanted("explosion")) {
        SandScene scene(0.5f, Vec3f(-0.75f, 0, -0.75f), Vec3f(0.75f, 1, 0.75f));
        scene.fill_box(Vec3f(-0.56f, 0, -0.56f), Vec3f(0.56f, 0.19f, 0.56f));
        scene.params.impulses.push_back({Vec3f(0, 0.1f, 0), 0.22f, 9, 4});
        scene.add_ball(Vec3f(-0.2f, 0.26f, 0.1f), 0.07f, 400), scene.add_ball(Vec3f(0.2f, 0.26f, 0.1f), 0.07f, 900);
        scene.add_crate(Vec3f(-0.07f, 0.19f, -0.2f), Vec3f(0.07f, 0.33f, -0.06f), 500);
        scene.add_crate(Vec3f(0.2f, 0.19f, -0.25f), Vec3f(0.35f, 0.27f, -0.15f), 2500);
        const auto sand = scene.start();
        add_row(table, "explosion: 75x50x75 cells", measure(*sand, kFrames), 1.95);
    }
    if (wanted("hourglass")) {
        SandScene scene(0.4f, Vec3f(-0.25f, -0.1f, -0.25f), Vec3f(0.25f, 1, 0.25f));
        for (const float side : {-1.0f, 1.0f}) { // a slot between two slopes
            ColliderParams slope;
            slope.min = Vec3f(side < 0 ? -0.6f : 0.03f, 0.3f, -0.4f),
            slope.max = Vec3f(side < 0 ? -0.03f : 0.6f, 0.4f, 0.4f);
            slope.friction = 0.3f;
            scene.params.colliders.push_back(slope);
        }
        scene.fill_box(Vec3f(-0.25f, 0.42f, -0.25f), Vec3f(0.25f, 0.6f, 0.25f));
        const auto sand = scene.start();
        add_row(table, "hourglass: 25x50x25 cells", measure(*sand, kFrames), 0.65);
    }
    if (wanted("materials")) {
        SandScene scene(0.7f, Vec3f(-0.6f, 0, -0.6f), Vec3f(0.6f, 0.8f, 0.6f));
        scene.params.materials.resize(3);
        scene.params.materials[0].density = 4000, scene.params.materials[1].friction = 0.45f;
        scene.params.materials[2].density = 500, scene.params.materials[2].friction = 0.2f;
        for (int k = 0; k < 3; ++k) {
            const float x = 0.4f * static_cast<float>(k - 1);
            scene.fill_box(Vec3f(x - 0.18f, 0.02f, -0.45f), Vec3f(x + 0.18f, 0.44f, 0.45f), k,
                           Vec3f(1.0f * static_cast<float>(1 - k), 0, 0));
        }
        const auto sand = scene.start();
        add_row(table, "materials: 60x40x60 cells", measure(*sand, kFrames), 1.4);
    }
    if (wanted("comparison")) {
        SandScene scene(0.5f, Vec3f(-0.75f, 0, -0.75f), Vec3f(0.75f, 1, 0.75f));
        scene.fill_box(Vec3f(-0.36f, 0, -0.36f), Vec3f(0.36f, 0.98f, 0.36f));
        const auto sand = scene.start();
        add_row(table, "comparison: 75x50x75 cells", measure(*sand, kFrames), 1.2);
    }
    if (wanted("impacts")) {
        SandScene scene(0.5f, Vec3f(-1, 0, -0.5f), Vec3f(1, 0.8f, 0.5f));
        scene.fill_box(Vec3f(-1, 0, -0.5f), Vec3f(1, 0.2125f, 0.5f));
        const float ratios[] = {0.3f, 1, 3, 10};
        for (int k = 0; k < 4; ++k)
            scene.add_ball(Vec3f(-0.69f + 0.46f * static_cast<float>(k), 0.43f, 0), 0.1f, 1600 * ratios[k]);
        const auto sand = scene.start();
        add_row(table, "impacts: 100x40x50 cells", measure(*sand, kFrames), 1.8);
    }
    if (wanted("paddles")) {
        constexpr int kUntilFull = 84; // frames until there are as many particles as in the paper
        SandScene scene(0.5f, Vec3f(-0.5f, 0, -0.5f), Vec3f(0.5f, 2, 0.5f));
        scene.fill_box(Vec3f(0.02f, 1.9f, -0.24f), Vec3f(0.08f, 2, 0.24f), 0, Vec3f(0, -2, 0));
        scene.params.sources[0].mode = SandSourceParams::Mode::flow;
        for (int k = 0; k < 3; ++k)
            scene.add_wheel(Vec3f(k == 1 ? 0.25f : -0.15f, 1.4f - 0.45f * static_cast<float>(k), 0), 0.22f, 0.3f, 700);
        const auto sand = scene.start();
        add_row(table, "paddles: 50x100x50 cells", measure(*sand, kUntilFull), 3.2);
    }
    if (wanted("splash")) {
        SandScene scene(0.2f, Vec3f(-0.2f, 0, -0.2f), Vec3f(0.2f, 0.3f, 0.2f), 0.0025f);
        scene.fill_box(Vec3f(-0.0625f, 0, -0.0625f), Vec3f(0.0625f, 0.0517f, 0.0625f));
        scene.add_ball(Vec3f(0, 0.066f, 0), 0.0127f, 7800);
        scene.params.bodies[0].velocity = Vec3f(0, -25, 0);
        const auto sand = scene.start(kSlowMotion);
        add_row(table, "splash: 50x40x50 cells", measure(*sand, kFrames), 0.6);
    }
    if (!wanted("growth")) return;
    const auto growth = [&](float side) {
        const auto sand = heap(side).start();
        sand->advance();
        return measure(*sand, 4);
    };
    const Measured small = growth(0.33f), large = growth(2.5f);
    const auto each = [](const Measured& m) { return 1e6 * m.cpu / m.substeps / m.particles; };
    table.add(fmt::format("CPU per particle and step, {:.2f} to {:.1f} million", small.particles / 1e6,
                          large.particles / 1e6),
              fmt::format("{:.2f} to {:.2f} us, {:.2f}x", each(small), each(large), each(large) / each(small)),
              each(large) / each(small), at_most(1.5, "x"));
}

} // namespace spindrift
