// Sand as grains: angles of repose [Narain 2011, figure 5.4], the constant flow out of a silo [Narain 2011, figure 5.3;
// Beverloo 1961], the run-out of columns [Lube 2004], mass over splits and merges, and an expanding cloud [Narain 2011,
// figure 5.6].
//
//     spindrift_validate sand_piles     and sand_columns, sand_silo, sand_mass, sand_cloud
#include "checks.h"
#include "columns.h"

#include "sand/sands.h"
#include "spindrift/sand/grain_points.h"

#include <fmt/format.h>

using namespace spindrift;

namespace {

constexpr float kDensity = 1600;

// Cones flatter and steeper than their angle of friction, after one second and after ten.
void piles(Figures& figures)
{
    constexpr double kAllowed = 15; // [%] off the angle of friction
    fmt::print("\n| alpha | arcsin(alpha sqrt(3/2)) | starts at | after 1 s | after 10 s | difference | fullest |\n"
               "|---|---|---|---|---|---|---|\n");
    for (const float alpha : {0.3f, 0.5f, 0.7f})
        for (const double share : {0.95, 1.1, 1.6}) {
            const double exact = angle_of_friction(static_cast<double>(alpha));
            if (share * exact > 75) continue;
            SandScene scene(alpha, Vec3f(-0.5f, 0, -0.5f), Vec3f(0.5f, 0.9f, 0.5f));
            scene.fill_box(Vec3f(-0.3f, 0, -0.3f), Vec3f(0.3f, 0.8f, 0.3f));
            const auto sand = scene.start(cone(0.3f, share * exact));
            double after_one = 0;
            float fullest = 0;
            for (int f = 1; f <= 240; ++f) {
                const SandReport report = sand->advance();
                if (f > 24) fullest = std::max(fullest, report.fullest);
                if (f == 24) after_one = RadialProfile(sand->particles(), kDensity, 0.02f).angle();
            }
            const double found = RadialProfile(sand->particles(), kDensity, 0.02f).angle();
            fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:+.0f}% | {:.3f} |\n", alpha, exact, share * exact,
                       after_one, found, 100 * (found / exact - 1), fullest);
            figures.require(fmt::format("pile, alpha {}, from {:.1f} degrees: difference from the angle of friction",
                                        alpha, share * exact),
                            100 * std::abs(found / exact - 1), at_most(kAllowed, "%"));
            std::fflush(stdout);
        }
}

// Flow through the floor [kg/s] while the sand still to flow out falls from 80 to 60, to 40 and to 20%.
template <class Sand> std::array<double, 3> flows(Sand& sand, float floor)
{
    const auto inside = [&] {
        const auto* mass = sand.particles().template find<float>(kMass); // particles of a fluid all have the same mass
        const double each = sand.mass() / static_cast<double>(sand.particles().size());
        double sum = 0;
        for (size_t i = 0; i < sand.particles().size(); ++i)
            if (sand.particles().P[i].y() > floor) sum += mass ? static_cast<double>((*mass)[i]) : each;
        return sum;
    };
    // Subtract the sand that stays in the corners of the flat floor.
    const double full = inside();
    std::vector<double> left = {full};
    constexpr size_t kStill = 6; // frames
    do sand.advance(), left.push_back(inside());
    while (left.size() < 400 && (left.size() < 12 || left[left.size() - kStill] - left.back() > 0.002 * full));
    const double rest = left.back(), all = full - rest;
    for (double& l : left) l -= rest;
    // The time at which this share of the sand is left [s].
    const auto when = [&](double share) {
        for (size_t f = 1; f < left.size(); ++f)
            if (left[f] <= share * all)
                return (static_cast<double>(f) - (share * all - left[f]) / (left[f - 1] - left[f])) /
                       static_cast<double>(kFps);
        return std::numeric_limits<double>::quiet_NaN();
    };
    std::array<double, 3> flow;
    for (size_t part = 0; part < 3; ++part) {
        const double until = 0.6 - 0.2 * static_cast<double>(part);
        flow[part] = 0.2 * all / (when(until) - when(until + 0.2));
    }
    return flow;
}

// A silo with a square hole in its flat floor. A liquid through the smallest hole for comparison.
void silo(Figures& figures)
{
    constexpr double kAllowed = 10; // [%] of the mean flow
    constexpr float kVoxel = 0.02f, kFloor = 0.4f, kWidth = 0.16f, kHead = 0.8f, kLiquidHole = 5;
    fmt::print(
        "\n| hole [cells] | flow from 80% to 20% of what flows out [kg/s], in three parts | largest difference | "
        "over Beverloo's 5/2 power of the first |\n|---|---|---|---|\n");
    double first = 0, first_hole = 0;
    for (const float hole : {5.0f, 6.0f, 7.0f}) {
        const float half = 0.5f * hole * kVoxel;
        SandScene scene(0.4f, Vec3f(-kWidth, 0, -kWidth), Vec3f(kWidth, kFloor + kHead + 0.1f, kWidth), kVoxel);
        scene.params.domain.y_min = DomainParams::Side::open;
        scene.params.wall_friction = 0.3f;
        const auto slab = [&](const Vec3f& min, const Vec3f& max) {
            ColliderParams box;
            box.min = min, box.max = max, box.friction = 0.5f;
            scene.params.colliders.push_back(box);
        };
        const float low = kFloor - 0.06f, far = kWidth + 0.1f;
        slab(Vec3f(-far, low, -far), Vec3f(-half, kFloor, far)), slab(Vec3f(half, low, -far), Vec3f(far, kFloor, far));
        slab(Vec3f(-half, low, -far), Vec3f(half, kFloor, -half));
        slab(Vec3f(-half, low, half), Vec3f(half, kFloor, far));
        scene.fill_box(Vec3f(-kWidth, kFloor, -kWidth), Vec3f(kWidth, kFloor + kHead, kWidth));
        const auto sand = scene.start();
        const auto flow = flows(*sand, kFloor);
        const double mean = (flow[0] + flow[1] + flow[2]) / 3;
        if (first == 0) first = mean, first_hole = static_cast<double>(hole);
        const double beverloo = first * std::pow(static_cast<double>(hole) / first_hole, 2.5);
        const auto row = [](const std::string& what, const std::array<double, 3>& found, const std::string& ratio) {
            double most = 0;
            for (const double f : found) most = std::max(most, std::abs(3 * f / (found[0] + found[1] + found[2]) - 1));
            fmt::print("| {} | {:.2f}, {:.2f}, {:.2f} | {:.0f}% | {} |\n", what, found[0], found[1], found[2],
                       100 * most, ratio);
            std::fflush(stdout);
            return 100 * most;
        };
        figures.require(fmt::format("silo, hole of {} cells: largest difference from the mean flow", hole),
                        row(fmt::format("{}", hole), flow, fmt::format("{:.2f}", mean / beverloo)),
                        at_most(kAllowed, "%"));
        if (hole != kLiquidHole) continue;
        scene.params.materials[0].friction = 0, scene.params.wall_friction = 0, scene.params.cohesion = 0;
        for (ColliderParams& c : scene.params.colliders) c.friction = 0;
        const auto liquid = scene.start_fluid();
        row(fmt::format("{}, a liquid", hole), flows(*liquid, kFloor), "");
    }
}

// Mass over 500 frames with an explosion every 48.
void mass()
{
    SandScene scene(0.5f, Vec3f(-0.3f, 0, -0.3f), Vec3f(0.3f, 1, 0.3f));
    scene.fill_box(Vec3f(-0.3f, 0, -0.3f), Vec3f(0.3f, 0.06f, 0.3f));
    for (int frame = 2; frame < 500; frame += 48) scene.params.impulses.push_back({Vec3f(0, 0, 0), 0.2f, 5, frame});
    const auto sand = scene.start();
    const double start = sand->mass();
    size_t splits = 0, merges = 0;
    float fullest = 0;
    for (int f = 0; f < 500; ++f) {
        const SandReport report = sand->advance();
        splits += report.splits, merges += report.merges, fullest = std::max(fullest, report.fullest);
    }
    fmt::print("\n| frames | splits | merges | change of mass | greatest volume fraction |\n|---|---|---|---|---|\n"
               "| 500 | {} | {} | {:.1e} | {:.3f} |\n",
               splits, merges, sand->mass() / start - 1, fullest);
}

// Variance over mean of the number of points in the cells of a cube: 1 for independent points, more for clumps.
double unevenness(const Particles& points, const Vec3f& middle, float half, float voxel)
{
    const int side = static_cast<int>(2 * half / voxel);
    std::vector<int> count(static_cast<size_t>(side) * side * side, 0);
    for (const Vec3f& x : points.P) {
        const Vec3i c = cell_of(x - middle + Vec3f::Constant(half), 1 / voxel);
        if ((c.array() < 0).any() || (c.array() >= side).any()) continue;
        ++count[static_cast<size_t>((c.x() * side + c.y()) * side + c.z())];
    }
    double sum = 0, squares = 0;
    for (const int n : count) sum += n, squares += static_cast<double>(n) * n;
    const double mean = sum / static_cast<double>(count.size());
    return (squares / static_cast<double>(count.size()) - mean * mean) / mean;
}

// A cube of sand thrown upwards, with a velocity that grows linearly from its centre. The exact solution is a falling
// cube of uniform density, 1 + 6 t times as large. It starts at half the density of sand at rest, without pressure.
void cloud()
{
    constexpr float kSpread = 6, kHalf = 0.1f, kVoxel = 0.02f; // [1/s], [m], [m]
    const Vec3f up(0.4f, 3, 0), gravity(0, -9.81f, 0);
    fmt::print(
        "\n| shapes | size | particles | off their parabolas, in cells: median, 99% | the middle | grains in a cell: "
        "variance / mean |\n|---|---|---|---|---|---|\n");
    for (const bool shapes : {true, false}) {
        SandScene scene(0.5f, Vec3f::Constant(-4), Vec3f::Constant(4), kVoxel);
        scene.params.shapes = shapes;
        scene.fill_box(Vec3f::Constant(-kHalf), Vec3f::Constant(kHalf));
        const auto sand = scene.start([](const Vec3f& x) { return (cell_of(x, 2 / kVoxel).sum() & 1) != 0; });
        GranularSand::State state = sand->state();
        for (size_t i = 0; i < state.particles.size(); ++i) state.particles.v[i] = up + kSpread * state.particles.P[i];
        state.speed = 4;
        sand->restore(std::move(state));
        GrainPoints grains(scene.params, {}, kFps);
        grains.start(sand->particles(), 0);
        for (int f = 1; f <= 12; ++f) {
            sand->advance();
            grains.advance(sand->particles());
            if (f % 4 != 0) continue;
            const float t = static_cast<float>(f) / kFps, size = 1 + kSpread * t;
            const Vec3f middle = t * up + 0.5f * t * t * gravity;
            const Particles& particles = sand->particles();
            const auto& mass = *particles.find<float>(kMass);
            std::vector<float> errors;
            Vec3d sum = Vec3d::Zero();
            for (size_t i = 0; i < particles.size(); ++i) {
                sum += static_cast<double>(mass[i]) * particles.P[i].cast<double>();
                // Velocity error against the exact flow at this place, times t: the distance off the parabola.
                const Vec3f from = (particles.P[i] - middle) / size;
                errors.push_back((particles.v[i] - up - t * gravity - kSpread * from).norm() * t / kVoxel);
            }
            std::sort(errors.begin(), errors.end());
            const Vec3d off = sum / sand->mass() - middle.cast<double>();
            const auto error = [&](double share) {
                return errors[static_cast<size_t>(share * static_cast<double>(errors.size() - 1))];
            };
            fmt::print("| {} | {:.0f} | {} | {:.3f}, {:.3f} | {:.4f} | {:.2f} |\n", shapes ? "on" : "off", size,
                       particles.size(), error(0.5), error(0.99), off.norm() / static_cast<double>(kVoxel),
                       unevenness(grains.points(), middle, 0.8f * size * kHalf, kVoxel));
            std::fflush(stdout);
        }
    }
}

} // namespace

void sand_piles(Figures& figures) { piles(figures); }
void sand_columns(Figures&)
{
    print_columns([](const SandScene& scene, const auto& keep) { return scene.start(keep); },
                  [](const GranularSand& sand) { return sand.particles(); });
}
void sand_silo(Figures& figures) { silo(figures); }
void sand_mass(Figures&) { mass(); }
void sand_cloud(Figures&) { cloud(); }
