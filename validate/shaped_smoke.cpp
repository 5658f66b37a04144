// Smoke that takes shapes: the matching of control and target particles (figure 2 of [Madill 2013]), overlap with the
// shapes over time with and without vortices, kinetic energy after arrival, containment, and projection.
//
//     spindrift_validate shaped_smoke
#include "checks.h"

#include "shaped_smoke/random_matching.h"
#include "shaped_smoke/shape_measures.h"
#include "shaped_smoke/smokes.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/plot.h"
#include "spindrift/turbulence/sampler.h"

#include <filesystem>
#include <fmt/format.h>

using namespace spindrift;

namespace {

// -------------------------------------------------------------------------------------------------------- matching

void matching(Figures& figures)
{
    fmt::print("| 500 points, goals shifted by | random start | after 10^4 tests | 10^5 | 10^6 | 4 10^6 |\n");
    fmt::print("|---|---|---|---|---|---|\n");
    double worst = 0;
    for (const float shift : {0.0f, 0.5f, 1.0f})
        for (const uint64_t seed : {1u, 2u, 3u}) {
            RandomMatching cloud(500, shift, seed);
            const double optimum = cloud.optimum();
            Correspondence correspondence(seed);
            fmt::print("| {} (seed {}) | {:.3f} |", shift, seed, cloud.energy() / optimum);
            uint64_t round = 0;
            size_t done = 0;
            for (const size_t tests : {10000u, 100000u, 1000000u, 4000000u}) {
                round = correspondence.improve(cloud.P, cloud.goals, cloud.target, tests - done, round), done = tests;
                fmt::print(" {:.4f} |", cloud.energy() / optimum);
            }
            fmt::print("\n");
            worst = std::max(worst, cloud.energy() / optimum);
        }
    figures.require("matching of 500 points, energy relative to the optimum", worst, at_most(1.05));

    // Figure 2: 10 thousand particles.
    Plot plot{"Energy of the matching, 10 thousand particles",
              "tests [thousand]",
              "energy relative to the start",
              {{"goals beside", {}}, {"goals among the points", {}}}};
    for (const size_t s : {0u, 1u}) {
        RandomMatching cloud(10000, s == 0 ? 1.5f : 0.0f, 1);
        Correspondence correspondence(1);
        const double start = cloud.energy();
        double before = start;
        uint64_t round = 0;
        plot.series[s].points.emplace_back(0, 1);
        for (int k = 1; k <= 80; ++k) {
            round = correspondence.improve(cloud.P, cloud.goals, cloud.target, 5000, round);
            const double now = cloud.energy();
            if (now > before) figures.fail("matching", "the energy rises");
            before = now;
            plot.series[s].points.emplace_back(5 * k, now / start);
        }
    }
    write_plot("shaped_smoke_matching.svg", plot);
}

// ---------------------------------------------------------------------------------------------------------- shapes

struct Track {
    std::vector<Eigen::Vector2d> overlap, distance; // over time [s]
    ShapeMatch last;
    double walking = 1, walking_distance = 0, walking_outside = 0; // worst while the shape moves
};

// Gathers and, with a walk, follows it; frames are counted from 1.
Track track_shape(const ShapedSmokeParams& params, const std::function<Mesh(int)>& mesh_at, int frames, int still_until)
{
    ShapedSmoke smoke(params, 24);
    smoke.start(1);
    Track track;
    while (smoke.frame() < frames) {
        smoke.advance();
        if (smoke.frame() % 4 != 0) continue;
        const ShapeMeasure measure(mesh_at(smoke.frame()), params.control_radius * params.voxel);
        track.last = measure.match(smoke.markers());
        const double time = (smoke.frame() - 1) / 24.0;
        track.overlap.emplace_back(time, track.last.overlap),
            track.distance.emplace_back(time, 100 * track.last.distance);
        if (smoke.frame() <= still_until) continue;
        track.walking = std::min(track.walking, track.last.overlap);
        track.walking_distance = std::max(track.walking_distance, track.last.distance);
        track.walking_outside = std::max(track.walking_outside, track.last.outside);
    }
    return track;
}

void shapes(Figures& figures)
{
    Plot overlap{"Overlap of smoke and shape", "time [s]", "intersection over union", {}};
    Plot distance{"Distance of smoke and shape", "time [s]", "symmetric mean distance [% of the diagonal]", {}};
    fmt::print("\n| shape | vortices | overlap after 2 s | mean distance, share of the diagonal | markers outside |\n");
    fmt::print("|---|---|---|---|---|\n");
    struct Case {
        const char* name;
        Mesh mesh;
        float voxel;
    };
    const Case cases[] = {{"ball", sphere_mesh(Vec3f(0, 0.5f, 0), 0.5f, 4), 0.03f},
                          {"letter", letter_mesh(), 0.02f},
                          {"creature", creature_mesh(0.1f), 0.02f}};
    for (const Case& c : cases)
        for (const bool vortices : {true, false}) {
            ShapedSmokeParams params = smoke_of_a_metre();
            params.voxel = c.voxel;
            if (!vortices) params.vortices.count = 0;
            const std::string file = output_path(std::string(c.name) + ".obj");
            write_mesh(file, c.mesh);
            params.targets = {target_mesh(file)};
            const Track track = track_shape(
                params, [&](int) { return c.mesh; }, 49, 1000);
            fmt::print("| {} | {} | {:.3f} | {:.2f}% | {:.3f}% |\n", c.name, vortices ? "yes" : "no",
                       track.last.overlap, 100 * track.last.distance, 100 * track.last.outside);
            const std::string name = fmt::format("{}{}", c.name, vortices ? "" : ", no vortices");
            overlap.series.push_back({name, track.overlap}), distance.series.push_back({name, track.distance});
            figures.require(name + ": overlap", track.last.overlap, at_least(0.85, ""));
            figures.require(name + ": distance [%]", 100 * track.last.distance, at_most(1.5));
        }
    // Other seeds, with vortices: the worst of three.
    for (const auto& [name, mesh, voxel] :
         {Case{"psi", psi_mesh(), 0.02f}, {"omega", omega_mesh(), 0.02f}, cases[0], cases[1], cases[2]}) {
        ShapeMatch worst{1, 0, 0};
        const std::string file = output_path(std::string(name) + ".obj");
        write_mesh(file, mesh);
        for (const int seed : {2, 3, 4}) {
            ShapedSmokeParams params = smoke_of_a_metre();
            params.voxel = voxel, params.seed = seed, params.targets = {target_mesh(file)};
            const ShapeMatch last = track_shape(
                                        params, [&](int) { return mesh; }, 49, 1000)
                                        .last;
            worst = {std::min(worst.overlap, last.overlap), std::max(worst.distance, last.distance),
                     std::max(worst.outside, last.outside)};
        }
        fmt::print("| {}, worst of three other seeds | yes | {:.3f} | {:.2f}% | {:.3f}% |\n", name, worst.overlap,
                   100 * worst.distance, 100 * worst.outside);
        figures.require(fmt::format("{}, other seeds: overlap", name), worst.overlap, at_least(0.85, ""));
        figures.require(fmt::format("{}, other seeds: distance [%]", name), 100 * worst.distance, at_most(1.5));
    }
    const int stands = 24, frames = 96;
    const std::string walk = write_walk(std::filesystem::path(output_path("x")).parent_path().string(), frames, stands);
    for (const bool vortices : {true, false}) {
        ShapedSmokeParams params = smoke_of_a_metre();
        if (!vortices) params.vortices.count = 0;
        params.targets = {target_mesh(walk)};
        const Track track = track_shape(
            params, [&](int f) { return creature_mesh(static_cast<float>(std::max(0, f - stands)) / 24); }, frames,
            stands);
        fmt::print("| creature that walks, worst frame | {} | {:.3f} | {:.2f}% | {:.3f}% |\n", vortices ? "yes" : "no",
                   track.walking, 100 * track.walking_distance, 100 * track.walking_outside);
        const std::string name = fmt::format("walk{}", vortices ? "" : ", no vortices");
        overlap.series.push_back({name, track.overlap}), distance.series.push_back({name, track.distance});
        figures.require(name + ": overlap", track.walking, at_least(0.7, ""));
        figures.require(name + ": distance [%]", 100 * track.walking_distance, at_most(1.5));
        figures.require(name + ": markers outside [%]", 100 * track.walking_outside, at_most(1));
    }
    write_plot("shaped_smoke_overlap.svg", overlap);
    write_plot("shaped_smoke_distance.svg", distance);
}

// ---------------------------------------------------------------------------------------------------------- motion

void motion(Figures& figures)
{
    fmt::print(
        "\n| 10 s after arrival | least kinetic energy / mean | most / mean | last / most ever |\n|---|---|---|---|\n");
    for (const bool vortices : {true, false}) {
        ShapedSmokeParams params = smoke_of_a_metre();
        params.voxel = 0.03f, params.markers = 50000, params.controls = 5000;
        params.targets = {target_ball(Vec3f(0.5f, 0.5f, 0), 0.5f)};
        if (!vortices) params.vortices.count = 0;
        ShapedSmoke smoke(params, 24);
        smoke.start(1);
        double ever = 0, sum = 0, least = 1e30, most = 0, last = 0;
        for (int f = 0; f < 36 + 240; ++f) {
            last = smoke.advance().kinetic, ever = std::max(ever, last);
            if (f < 36) continue;
            sum += last / 240, least = std::min(least, last), most = std::max(most, last);
        }
        fmt::print("| {} | {:.3f} | {:.3f} | {:.2g} |\n", vortices ? "with vortices" : "without", least / sum,
                   most / sum, last / ever);
        if (vortices) {
            figures.require("kinetic energy after arrival, least / mean", least / sum, at_least(0.5, ""));
            figures.require("kinetic energy after arrival, most / mean", most / sum, at_most(2));
        } else {
            figures.require("kinetic energy without vortices, last / most", last / ever, at_most(0.01));
        }
    }
}

// Mean kinetic energy of the markers against the control velocity, where they were before the last step.
double kinetic_against_controls(const ShapedSmoke& smoke, float voxel, float dt)
{
    Sampler sampler(smoke.topology());
    double sum = 0;
    const Particles& markers = smoke.markers();
    for (size_t i = 0; i < markers.size(); ++i) {
        Vec3f against = markers.v[i];
        for (int a = 0; a < 3; ++a)
            sampler.for_each_sample((markers.P[i] - dt * markers.v[i]) / voxel, Vec3f::Constant(0.5f),
                                    [&](int tile, int offset, float weight) {
                                        against[a] -= weight * smoke.control_velocity()[a].tile(tile)[offset];
                                    });
        sum += 0.5 * static_cast<double>(against.squaredNorm());
    }
    return sum / static_cast<double>(markers.size());
}

// The same against a shape that moves: the creature walks for 10 s.
void motion_while_walking(Figures& figures)
{
    const int stands = 24, frames = stands + 240;
    ShapedSmokeParams params = smoke_of_a_metre();
    params.targets = {
        target_mesh(write_walk(std::filesystem::path(output_path("x")).parent_path().string(), frames + 1, stands))};
    ShapedSmoke smoke(params, 24);
    smoke.start(1);
    double sum = 0, least = 1e30, most = 0, whole = 0;
    while (smoke.frame() < frames) {
        const double all = smoke.advance().kinetic;
        if (smoke.frame() <= stands) continue;
        const double kinetic = kinetic_against_controls(smoke, params.voxel, 1.0f / 24);
        sum += kinetic / 240, least = std::min(least, kinetic), most = std::max(most, kinetic), whole += all / 240;
    }
    fmt::print("| with vortices, against a creature that walks | {:.3f} | {:.3f} | |\n", least / sum, most / sum);
    fmt::print("\nThe mean against the creature is {:.2f} of the mean of the whole motion.\n", sum / whole);
    figures.require("kinetic energy against a creature that walks, least / mean", least / sum, at_least(0.5, ""));
    figures.require("kinetic energy against a creature that walks, most / mean", most / sum, at_most(2));
}

// --------------------------------------------------------------------------------------------------------- options

void options(Figures& figures)
{
    fmt::print("\n| containment | redistribution | markers farther than a control radius outside, after 3 s "
               "|\n|---|---|---|\n");
    const Mesh mesh = creature_mesh(0.1f);
    const std::string file = output_path("creature.obj");
    write_mesh(file, mesh);
    for (const bool contain : {false, true})
        for (const bool redistribute : {false, true}) {
            ShapedSmokeParams params = smoke_of_a_metre();
            params.vortices.speed = 0.3f;
            params.contain = contain, params.targets = {target_mesh(file)};
            if (!redistribute) params.redistribution.rate = 0;
            ShapedSmoke smoke(params, 24);
            smoke.start(1);
            for (int f = 0; f < 72; ++f) smoke.advance();
            const double outside =
                ShapeMeasure(mesh, params.control_radius * params.voxel).match(smoke.markers()).outside;
            fmt::print("| {} | {} | {:.3f}% |\n", contain ? "yes" : "no", redistribute ? "yes" : "no", 100 * outside);
            const std::string name = fmt::format("containment {}, redistribution {}: markers outside [%]",
                                                 contain ? "on" : "off", redistribute ? "on" : "off");
            figures.require(name, 100 * outside, contain || redistribute ? at_most(1) : at_least(10, ""));
        }

    fmt::print(
        "\n| projection | RMS divergence of the control velocity [1/s] | control velocity takes |\n|---|---|---|\n");
    double divergence[2];
    for (const bool project : {false, true}) {
        ShapedSmokeParams params = smoke_of_a_metre();
        params.project = project, params.targets = {target_mesh(file)};
        ShapedSmoke smoke(params, 24);
        smoke.measure_divergence(true);
        smoke.start(1);
        double seconds = 0;
        for (int f = 0; f < 6; ++f) { // the last of them is fast
            const ShapedSmokeReport report = smoke.advance();
            for (const auto& [phase, time] : report.times.phases())
                if (phase == "control field") seconds = time;
        }
        divergence[project] = smoke.control_divergence();
        fmt::print("| {} | {:.4g} | {:.1f} ms |\n", project ? "yes" : "no", divergence[project], 1e3 * seconds);
    }
    figures.require("projection: divergence, without / with", divergence[0] / divergence[1], at_least(100, ""));
}

} // namespace

void shaped_smoke(Figures& figures)
{
    matching(figures);
    shapes(figures);
    motion(figures);
    motion_while_walking(figures);
    options(figures);
}
