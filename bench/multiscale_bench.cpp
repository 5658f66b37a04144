// [Narain 2011, table 3.1]: five scenes on a coarse grid with subgrid eddies, and the same scenes solved directly on a
// grid as fine as that of the eddies. Both are timed at the same frame: the direct run continues from our state,
// resampled to its grid, so that no time has to be extrapolated.
#include "bench.h"
#include "spindrift/base/scratch.h"

#include "spindrift/field/block.h"
#include "spindrift/liquid/liquid.h"
#include "spindrift/smoke/smoke.h"
#include "spindrift/stages/scene_shapes.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

constexpr int kRefine = 4;
constexpr float kFps = 24;
constexpr int kFrames = 2; // timed in both runs

struct Row31 {
    const char *name, *scene;
    int frame;   // of the shot, up to which it develops
    double most; // seconds that a frame of ours may take
    double paper_ours, paper_direct;
};

constexpr Row31 kRows[] = {{"rising smoke", "rising_smoke", 72, 2.8, 56, 1192},
                           {"wake of a ball", "wake", 40, 2.2, 45, 708},
                           {"pouring box", "pouring_box", 60, 3.5, 70, 360},
                           {"rapids", "rapids", 72, 5.2, 105, 776},
                           {"rocket launch", "rocket_launch", 60, 7.1, 142, 3186}};

struct Timed {
    double ours = 0, direct = 0;
    int our_substeps = 0, direct_substeps = 0;
    double our_cells = 0, direct_cells = 0;
    std::string our_phases, direct_phases;
};

// Runs kFrames frames and returns the seconds of one.
template <class Solver> double seconds_a_frame(Solver& solver, int& substeps, std::string& phases)
{
    PhaseTimes times;
    substeps = 0;
    const double seconds = seconds_of([&] {
        for (int i = 0; i < kFrames; ++i) {
            const auto report = solver.advance();
            substeps += report.substeps;
            for (const auto& [name, time] : report.times.phases()) times.add(name, time);
        }
    });
    for (const auto& [name, time] : times.phases())
        if (time > 0.02 * seconds) phases += fmt::format("{} {:.2f}  ", name, time / kFrames);
    return seconds / kFrames;
}

// ------------------------------------------------------------------------------------------------------------- liquid

// Replaces each particle by as many as fill its place on the finer grid.
Liquid::State finer(Liquid::State state, float voxel)
{
    constexpr int kEach = kRefine * kRefine * kRefine;
    Liquid::State fine{state.frame, state.next_id * kEach, state.speed, {}, {}};
    const size_t count = state.particles.size();
    fine.particles.resize(kEach * count);
    parallel_for(count, [&](size_t i) {
        for (int k = 0; k < kEach; ++k) {
            const Vec3i at(k / (kRefine * kRefine), k / kRefine % kRefine, k % kRefine);
            const Vec3f share = (at.cast<float>() + Vec3f::Constant(0.5f)) / kRefine - Vec3f::Constant(0.5f);
            const size_t to = kEach * i + static_cast<size_t>(k);
            fine.particles.P[to] = state.particles.P[i] + 0.5f * voxel * share; // two particles along a cell's edge
            fine.particles.v[to] = state.particles.v[i];
            fine.particles.id[to] = state.particles.id[i] * kEach + k;
        }
    });
    return fine;
}

Timed time_liquid(const SceneFile& scene, int frame)
{
    LiquidParams p;
    scene.read("liquid", [&](ParamVisitor& v) { p.visit(v); });
    Liquid::Shapes shapes{load_shapes(scene, p.sources, "liquid.source"),
                          load_shapes(scene, p.sinks, "liquid.sink"),
                          load_colliders(scene, p.colliders, "liquid.collider"),
                          {}};
    for (auto* list : {&shapes.sources, &shapes.sinks, &shapes.colliders})
        for (Shape& shape : *list) shape.prepare(1);
    p.turbulence.on = true; // some scenes have eddies in a stage of their own; the cost is the same here
    Timed timed;
    Liquid::State before;
    {
        Liquid liquid(p, shapes, kFps);
        liquid.start(1);
        while (liquid.frame() < frame) liquid.advance();
        before = liquid.state();
        timed.ours = seconds_a_frame(liquid, timed.our_substeps, timed.our_phases);
        timed.our_cells = static_cast<double>(liquid.particles().size()) / 8;
    }
    Liquid::State state = finer(std::move(before), p.voxel);
    p.voxel /= kRefine, p.turbulence.on = false;
    Liquid direct(p, shapes, kFps);
    direct.restore(std::move(state));
    direct.advance(); // lets the particles settle
    timed.direct = seconds_a_frame(direct, timed.direct_substeps, timed.direct_phases);
    timed.direct_cells = static_cast<double>(direct.particles().size()) / 8;
    return timed;
}

// -------------------------------------------------------------------------------------------------------------- smoke

// The tiles of the finer grid that cover those of a coarse one.
Topology finer(const Topology& coarse)
{
    std::vector<uint64_t> codes;
    for (int t = 0; t < coarse.tile_count(); ++t)
        for (int k = 0; k < kRefine * kRefine * kRefine; ++k)
            codes.push_back(morton_of_tile(coarse.tile(t) * kRefine +
                                           Vec3i(k / (kRefine * kRefine), k / kRefine % kRefine, k % kRefine)));
    return Topology(std::move(codes));
}

// One velocity component, interpolated from the faces of the coarse grid.
std::vector<float> finer_faces(const Field<float>& u, int axis, const Topology& fine)
{
    std::vector<float> values(static_cast<size_t>(fine.tile_count()) * kTileCells);
    const Topology& coarse = u.topology();
    for_each_tile(coarse, [&](int tile) {
        auto& block = thread_scratch<Block<float, 1>>();
        block.gather(u, tile, Margin::nearest);
        constexpr int kCells = kTileSize * kRefine;
        for (int c = 0; c < kCells * kCells * kCells; ++c) {
            const Vec3i cell(c / (kCells * kCells), c / kCells % kCells, c % kCells);
            Vec3f x = (cell.cast<float>() + Vec3f::Constant(0.5f)) / kRefine - Vec3f::Constant(0.5f);
            x[axis] = static_cast<float>(cell[axis]) / kRefine;
            const Vec3i low = x.array().floor().cast<int>();
            const Vec3f share = x - low.cast<float>();
            float value = 0;
            for (int k = 0; k < 8; ++k) {
                const Vec3i up(k >> 2, k >> 1 & 1, k & 1);
                float weight = 1;
                for (int a = 0; a < 3; ++a) weight *= up[a] ? share[a] : 1 - share[a];
                const Vec3i at = low + up;
                value += weight * block.at(at.x(), at.y(), at.z());
            }
            const Vec3i place = coarse.first_cell(tile) * kRefine + cell;
            const auto to = static_cast<size_t>(fine.find(tile_of_cell(place)));
            values[to * kTileCells + static_cast<size_t>(offset_of_cell(place))] = value;
        }
    });
    return values;
}

// The advected scalars are on the finer grid already; only velocities are resampled.
Smoke::State finer(const Smoke& smoke)
{
    const Topology fine = finer(smoke.topology());
    Smoke::State state;
    state.frame = smoke.frame();
    state.tiles = fine.codes();
    for (int a = 0; a < 3; ++a) {
        state.fields[std::string("vel.") + "xyz"[a]] = finer_faces(smoke.velocity().u[a], a, fine);
        state.fields[std::string("push.") + "xyz"[a]].resize(static_cast<size_t>(fine.tile_count()) * kTileCells);
    }
    for (const SmokeScalar& scalar : smoke.scalars()) {
        std::vector<float>& values = state.fields[scalar.name];
        values.resize(static_cast<size_t>(fine.tile_count()) * kTileCells);
        for (int t = 0; t < fine.tile_count(); ++t)
            std::copy_n(scalar.value.tile(smoke.fine_topology().find(fine.tile(t))), kTileCells,
                        values.begin() + static_cast<std::ptrdiff_t>(t) * kTileCells);
    }
    return state;
}

Timed time_smoke(const SceneFile& scene, int frame)
{
    SmokeParams p;
    scene.read("smoke", [&](ParamVisitor& v) { p.visit(v); });
    const Smoke::Shapes shapes{
        load_shapes(scene, p.sources, "smoke.source"), load_shapes(scene, p.colliders, "smoke.collider"), {}};
    Timed timed;
    Smoke::State state;
    {
        Smoke smoke(p, shapes, kFps);
        smoke.start(1);
        while (smoke.frame() < frame) smoke.advance();
        state = finer(smoke);
        timed.ours = seconds_a_frame(smoke, timed.our_substeps, timed.our_phases);
        timed.our_cells = static_cast<double>(smoke.active_cells());
    }
    p.voxel /= kRefine, p.turbulence.on = false;
    Smoke direct(p, shapes, kFps);
    direct.restore(std::move(state));
    direct.advance();
    timed.direct = seconds_a_frame(direct, timed.direct_substeps, timed.direct_phases);
    timed.direct_cells = static_cast<double>(direct.active_cells());
    return timed;
}

} // namespace

void bench_multiscale(BenchTable& table, const std::string& only)
{
    constexpr double kLeastGain = 5;
    for (const Row31& row : kRows) {
        if (!only.empty() && only != row.scene) continue;
        const SceneFile scene(fmt::format("{}/scenes/{}.toml", SPINDRIFT_SOURCE_DIR, row.scene));
        const Timed t = scene.has("liquid") ? time_liquid(scene, row.frame) : time_smoke(scene, row.frame);
        const double gain = t.direct / t.ours;
        table.add(fmt::format("{}, frame {}: ours, per frame", row.name, row.frame), fmt::format("{:.2f} s", t.ours),
                  t.ours, at_most(row.most, " s"));
        table.add(fmt::format("{}: gain over {:.1f} s on the 4x finer grid", row.name, t.direct),
                  fmt::format("{:.1f}x", gain), gain, at_least(kLeastGain, "x"));
        table.note(fmt::format("paper: {} s, {} s, {:.0f}x; we are {:.0f}x and {:.0f}x as fast", row.paper_ours,
                               row.paper_direct, row.paper_direct / row.paper_ours, row.paper_ours / t.ours,
                               row.paper_direct / t.direct));
        table.note(fmt::format("ours: {:.3g} cells, {} substeps in {} frames: {}", t.our_cells, t.our_substeps, kFrames,
                               t.our_phases));
        table.note(fmt::format("direct: {:.3g} cells, {} substeps in {} frames: {}", t.direct_cells, t.direct_substeps,
                               kFrames, t.direct_phases));
    }
}

} // namespace spindrift
