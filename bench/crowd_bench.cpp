// Crowds, simulation only: the scenes of [Narain 2011, table 4.1], each timed after it has become dense; and the growth
// of time with the number of agents, who walk straight to their goals in a hall.
#include "bench.h"

#include "crowd/circle.h"
#include "crowd/scene_population.h"
#include "spindrift/engine/stage.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

constexpr float kDt = 0.05f;

// People all over a hall, at half the greatest density. Obstacle blocks cover a tenth of it. Everyone walks to one of
// `exits` at the sides, or to a place of their own if there are none.
struct Hall {
    CrowdParams params;
    CrowdGrid grid;
    StraightPlanner planner;
    Agents start;
    std::vector<float> free_area;

    Hall(size_t count, int nx, int ny, int exits) : free_area(static_cast<size_t>(nx) * ny, 1.0f)
    {
        const float density = 0.5f * params.densest();
        const float pitch = std::sqrt(0.9f / density);
        grid.nx = nx, grid.ny = ny;
        grid.cell = std::sqrt(static_cast<float>(count) / (density * static_cast<float>(nx) * static_cast<float>(ny)));
        Random random(1);
        for (int block = 0; block < nx * ny / 40; ++block) {
            const int i = static_cast<int>(random.uniform(1, static_cast<float>(nx - 3)));
            const int j = static_cast<int>(random.uniform(1, static_cast<float>(ny - 3)));
            for (const int k : {j * nx + i, j * nx + i + 1, (j + 1) * nx + i, (j + 1) * nx + i + 1})
                free_area[static_cast<size_t>(k)] = 0;
        }
        const Vec2f size = grid.size();
        for (int e = 0; e < exits; ++e) {
            const float t = (static_cast<float>(e / 4) + 0.5f) / static_cast<float>((exits + 3) / 4);
            const Vec2f places[4] = {{t, 0}, {t, 1}, {0, t}, {1, t}};
            planner.goals.push_back(size.cwiseProduct(places[e % 4]));
        }
        planner.near = 1, planner.leave = exits > 0;
        const int columns = static_cast<int>(size.x() / pitch), rows = static_cast<int>(size.y() / pitch);
        start.resize(count);
        size_t added = 0;
        for (int j = 0; j < rows && added < count; ++j)
            for (int i = 0; i < columns && added < count; ++i) {
                const Vec2f jitter(random.uniform(0.4f, 0.6f), random.uniform(0.4f, 0.6f));
                const Vec2f x = pitch * (Vec2f(static_cast<float>(i), static_cast<float>(j)) + jitter);
                const int cell = std::min(ny - 1, static_cast<int>(x.y() / grid.cell)) * nx +
                                 std::min(nx - 1, static_cast<int>(x.x() / grid.cell));
                if (free_area[static_cast<size_t>(cell)] == 0) continue;
                start.x[added] = x, start.radius[added] = params.radius, start.priority[added] = 1;
                start.speed[added] = random.uniform(1.1f, 1.5f);
                if (exits > 0) {
                    start.goal[added] = static_cast<int>(random.uniform(0, static_cast<float>(exits)));
                } else {
                    start.goal[added] = static_cast<int>(planner.goals.size());
                    planner.goals.push_back(size.cwiseProduct(Vec2f(random.uniform(), random.uniform())));
                }
                ++added;
            }
        start.resize(added);
    }
    Crowd make() const
    {
        Crowd crowd(params, grid);
        crowd.set_planner(&planner);
        crowd.set_free_area(free_area);
        crowd.add(start);
        return crowd;
    }
};

struct Measured {
    double seconds = 1e30, cpu = 1e30; // of the fastest step
    double mean = 0;                   // of the timed steps [s]
    double agents = 0, bytes = 0;
    int iterations = 0, separations = 0;
    size_t pressed = 0;
    PhaseTimes times; // of the fastest step
};

Measured measure(Crowd& crowd, int before, int steps)
{
    for (int s = 0; s < before; ++s) crowd.step(kDt);
    Measured m;
    for (int s = 0; s < steps; ++s) {
        const double cpu = cpu_seconds();
        CrowdReport report;
        const double seconds = seconds_of([&] { report = crowd.step(kDt); });
        m.cpu = std::min(m.cpu, cpu_seconds() - cpu), m.mean += seconds / steps;
        if (seconds >= m.seconds) continue;
        m.seconds = seconds, m.times = report.times;
        m.iterations = report.continuum.inner.iterations + report.continuum.outer.iterations;
        m.separations = report.separation.iterations, m.pressed = report.continuum.pressed;
    }
    m.agents = static_cast<double>(crowd.agents().size());
    m.bytes = static_cast<double>(crowd.bytes()) / m.agents;
    return m;
}

void add_row(BenchTable& table, const std::string& what, const Measured& m, double most_seconds)
{
    table.add(what, fmt::format("{:.2f} ms per step", 1e3 * m.seconds), 1e3 * m.seconds,
              at_most(1e3 * most_seconds, " ms"));
    std::string phases;
    for (const auto& [phase, seconds] : m.times.phases())
        if (seconds > 0.01 * m.seconds) phases += fmt::format("{} {:.0f}, ", phase, 1e9 * seconds / m.agents);
    table.note(fmt::format(
        "  {}ns per agent; {} iterations, {} cells with pressure, {} separations; {:.2f} ms CPU, mean {:.2f} ms",
        phases, m.iterations, m.pressed, m.separations, 1e3 * m.cpu, 1e3 * m.mean));
}

// Everyone walks to a place of their own, in cells half filled by 8 people.
Measured measure_growth(size_t count)
{
    const int cells = std::max(8, static_cast<int>(std::lround(std::sqrt(static_cast<double>(count) / 8))));
    const Hall hall(count, cells, cells, 0);
    Crowd crowd = hall.make();
    return measure(crowd, 10, count > 2000000 ? 4 : count > 200000 ? 8 : 40);
}

struct Scene {
    const char* name;
    const char* file;
    int seconds;  // of the shot, after which it is dense
    double most;  // seconds that a step may take
    double paper; // seconds of a step in [Narain 2011]
};

constexpr Scene kScenes[] = {
    {"circle", "crowd_circle", 50, 0.003, 0.0342},       {"crossing", "crowd_crossing", 60, 0.00165, 0.0165},
    {"building", "crowd_building", 30, 0.00161, 0.0161}, {"trade show", "crowd_trade_show", 40, 0.040, 0.806},
    {"campsite", "crowd_campsite", 60, 0.045, 0.447},    {"mosque", "crowd_mosque", 40, 0.009, 0.0881}};

// Runs the scene without writing files, and times a step in the fastest of several frames.
void add_scene(BenchTable& table, const Scene& scene)
{
    constexpr int kFramesTimed = 12;
    const SceneFile file(fmt::format("{}/scenes/{}.toml", SPINDRIFT_SOURCE_DIR, scene.file));
    ShotParams shot;
    file.read("shot", [&](ParamVisitor& v) { shot.visit(v); });
    const auto population = load_population(file, shot.fps).population;
    for (int frame = 0; frame < scene.seconds * static_cast<int>(shot.fps); ++frame) population->advance();
    double best = 1e30, mean = 0;
    PopulationReport report, fastest;
    for (int frame = 0; frame < kFramesTimed; ++frame) {
        report = population->advance();
        const double step = report.times.total() / report.steps;
        mean += step / kFramesTimed;
        if (step < best) best = step, fastest = report;
    }
    table.add(fmt::format("{}: {} people after {} s", scene.name, report.people, scene.seconds),
              fmt::format("{:.2f} ms per step ({:.0f}x)", 1e3 * best, scene.paper / best), 1e3 * best,
              at_most(1e3 * scene.most, " ms"));
    std::string phases;
    for (const auto& [phase, seconds] : fastest.times.phases())
        if (const double share = seconds / fastest.times.total(); share > 0.01)
            phases += fmt::format("{} {:.0f}%, ", phase, 100 * share);
    table.note(fmt::format("  {}{:.0f} iterations a step, {} cells with pressure; mean {:.2f} ms", phases,
                           static_cast<double>(fastest.iterations) / fastest.steps, fastest.pressed_cells, 1e3 * mean));
}

} // namespace

void bench_crowd(BenchTable& table)
{
    for (const Scene& scene : kScenes) add_scene(table, scene);

    const Measured small = measure_growth(10000);
    for (const size_t count : {100000, 1000000}) {
        const Measured m = measure_growth(count);
        add_row(table, fmt::format("{:.2f} million agents, all ways", static_cast<double>(count) / 1e6), m,
                count == 1000000 ? 0.4 : 0.04);
        if (count == 1000000)
            table.add("  memory of all arrays", fmt::format("{:.0f} bytes per agent", m.bytes), m.bytes, at_most(150));
    }
    const Measured large = measure_growth(4000000);
    const double ratio = large.cpu / large.agents / (small.cpu / small.agents);
    table.add("CPU time per agent and step, 10 thousand to 4 million",
              fmt::format("{:.0f} to {:.0f} ns, {:.2f}x", 1e9 * small.cpu / small.agents,
                          1e9 * large.cpu / large.agents, ratio),
              ratio, at_most(1.3, "x"));
}

} // namespace spindrift
