// Crowds: the circle of 10000 agents who all cross to its opposite side [Narain 2011, figures 4.5 and 4.10, section
// 4.5.1], the throughput of a crossing, speed and flow against density in a corridor [Weidmann 1993], and the large
// scenes. All run the scenes of these names in scenes/.
//
//     spindrift_validate crowd     and streams, crowd_scenes
#include "checks.h"

#include "crowd/circle.h"
#include "crowd/scene_population.h"
#include "spindrift/base/parallel.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/image.h"
#include "spindrift/io/plot.h"
#include "spindrift/plan/plane.h"

#include <Eigen/Geometry>
#include <fmt/format.h>

using namespace spindrift;
using Box2d = Eigen::AlignedBox<double, 2>;

namespace {

constexpr float kFps = 20; // one step a frame

ScenePopulation load(const char* name, const std::vector<std::string>& overrides)
{
    return load_population(SceneFile(fmt::format("{}/scenes/{}.toml", SPINDRIFT_SOURCE_DIR, name), overrides), kFps);
}

// ------------------------------------------------------------------------------------------------------------ circle

constexpr int kAgents = 10000;
constexpr double kLongest = 420; // [s]

struct Variant {
    const char* name;
    std::vector<std::string> overrides;
};

// Agents as dots, coloured by heading; black where they have arrived.
void draw(const Crowd& crowd, const std::vector<Vec2f>& start, Image& image, int left)
{
    const CrowdGrid& grid = crowd.continuum().grid();
    const float scale = static_cast<float>(image.height) / grid.size().y();
    for (size_t i = 0; i < crowd.agents().size(); ++i) {
        const Vec2f at = scale * (crowd.agents().x[i] - grid.origin);
        const int x = static_cast<int>(at.x()), y = image.height - 1 - static_cast<int>(at.y());
        if (x < 0 || x >= image.height || y < 0 || y >= image.height) continue;
        const Vec2f v = crowd.agents().v[i];
        const float angle = std::atan2(v.y(), v.x());
        const auto channel = [angle](float turn) { return 0.45f + 0.45f * std::cos(angle - turn); };
        const bool arrived = (crowd.agents().x[i] + start[static_cast<size_t>(crowd.agents().id[i])]).norm() < 1;
        image.at(left + x, y) = arrived ? Vec3f(0, 0, 0) : Vec3f(channel(0), channel(2.094f), channel(4.189f));
    }
}

void run_circle(const Variant& variant, Image& image, int row)
{
    const ScenePopulation loaded = load("crowd_circle", variant.overrides);
    Population& population = *loaded.population;
    const Crowd& crowd = population.crowd();
    std::vector<Vec2f> start(crowd.agents().size());
    for (size_t i = 0; i < start.size(); ++i) start[static_cast<size_t>(crowd.agents().id[i])] = crowd.agents().x[i];
    const float full_radius = std::sqrt(static_cast<float>(kAgents / kPi) / loaded.params.densest());
    CircleFigures figures;
    Image strip(image.width, image.width / 4);
    std::fill(strip.pixels.begin(), strip.pixels.end(), Vec3f(1, 1, 1));
    int panel = 0;
    size_t arrived = 0;
    float densest = 0;
    double milliseconds = 0, steps = 0;
    while (crowd.time() < kLongest && arrived < kAgents) {
        const PopulationReport report = population.advance();
        milliseconds += 1e3 * report.times.total(), steps += 1;
        figures.look(crowd, 0.5f * full_radius, 1 / kFps);
        const auto density = crowd.continuum().density();
        densest = std::max(densest, *std::max_element(density.begin(), density.end()));
        arrived = 0;
        for (size_t i = 0; i < crowd.agents().size(); ++i)
            arrived += (crowd.agents().x[i] + start[static_cast<size_t>(crowd.agents().id[i])]).norm() < 1;
        constexpr double kMoments[] = {30, 60, 90, 130};
        if (panel < 4 && crowd.time() >= kMoments[panel]) draw(crowd, start, strip, panel * strip.height), ++panel;
    }
    std::copy(strip.pixels.begin(), strip.pixels.end(), image.pixels.begin() + row * strip.width * strip.height);
    fmt::print("| {} | {} of {} in {:.0f} s | {:+.3f} | {:+.1f} | {} | {:.2f}% | {:.4f}% | {:.3f} | {:.3f} | {:.2f} | "
               "{:.1f} |\n",
               variant.name, arrived, kAgents, crowd.time(), figures.most_turning, figures.turned, figures.most_dense,
               100 * figures.ever_share(kAgents), 100 * figures.too_close / figures.looked_at, figures.closest,
               figures.dense_mean(), densest, milliseconds / steps);
    std::fflush(stdout);
}

void circles()
{
    const Variant variants[] = {
        {"the scene", {}},
        {"keeping right, no look-ahead", {"crowd.look_ahead=0", "crowd.side=1"}},
        {"a tenth of freedom alone", {"crowd.look_ahead=0", "crowd.side=0"}},
        {"the model of Narain 2011", {"crowd.look_ahead=0", "crowd.side=0", "crowd.freedom=0"}},
    };
    fmt::print(
        "\n| circle of {} | arrived | fastest turning of the middle [1/s] | turned [rad] | most agents where it "
        "is full | ever closer than d_min | closer, of all agents and steps | closest [d_min] | mean nearest where "
        "it is full [d_min] | greatest density [rho_max] | ms per step |\n|---|---|---|---|---|---|---|---|---|---|"
        "---|\n",
        kAgents);
    constexpr int kPanel = 300;
    Image image(4 * kPanel, static_cast<int>(std::size(variants)) * kPanel);
    int row = 0;
    for (const Variant& variant : variants) run_circle(variant, image, row++);
    write_image(output_path("crowd_circle.png"), image);
}

// ---------------------------------------------------------------------------------------------------------- crossing

void crossings()
{
    constexpr double kSeconds = 180, kFrom = 90;
    fmt::print("\n| crossing, people a second | came in a second | left a second | on the floor at the end, at most | "
               "mean speed [m/s] |\n|---|---|---|---|---|\n");
    for (const int rate : {40, 80, 120}) {
        const ScenePopulation loaded =
            load("crowd_crossing", {fmt::format("crowd.rate={}", static_cast<double>(rate) / 80)});
        Population& population = *loaded.population;
        const Crowd& crowd = population.crowd();
        double came = 0, left = 0, speed = 0, seen = 0;
        size_t most = 0;
        while (crowd.time() < kSeconds) {
            const PopulationReport report = population.advance();
            most = std::max(most, report.people);
            if (crowd.time() < kFrom) continue;
            came += static_cast<double>(report.came), left += static_cast<double>(report.left);
            for (const Vec2f& v : crowd.agents().v) speed += static_cast<double>(v.norm());
            seen += static_cast<double>(crowd.agents().size());
        }
        const double span = kSeconds - kFrom;
        fmt::print("| {} | {:.1f} | {:.1f} | {}, {} | {:.2f} |\n", rate, came / span, left / span,
                   crowd.agents().size(), most, speed / seen);
        std::fflush(stdout);
    }
}

// ---------------------------------------------------------------------------------------------------------- corridor

constexpr double kWalkingSpeed = 1.34; // Weidmann's mean [m/s]

double weidmann(double density)
{
    return kWalkingSpeed * static_cast<double>(weidmann_speed(static_cast<float>(density)));
}

// Measures the middle of the corridor after everyone walks and before the ends of the crowd reach it.
void corridor()
{
    constexpr double kSettled = 5, kSeconds = 15; // [s]
    constexpr float kFrom = 40, kTo = 60;         // [m]
    constexpr double kArea = (kTo - kFrom) * 4;
    Plot speeds{"Speed against density in a corridor", "people a square metre", "speed [m/s]", {}},
        flows{"Flow against density in a corridor", "people a square metre", "people a metre and second", {}};
    PlotSeries curve{"Weidmann 1993", {}, false}, flow_curve = curve;
    for (double d = 0.05; d <= 5.4; d += 0.05)
        curve.points.emplace_back(d, weidmann(d)), flow_curve.points.emplace_back(d, d * weidmann(d));
    speeds.series.push_back(curve), flows.series.push_back(flow_curve);
    fmt::print(
        "\n| people | density [1/m2] | speed, Weidmann's law [m/s] | speed, constant law | Weidmann's curve | flow "
        "[1/(m s)] | Weidmann's |\n|---|---|---|---|---|---|---|\n");
    const char* laws[] = {"weidmann", "constant"};
    std::vector<std::array<Vec2d, 2>> found;
    for (const int count : {40, 80, 160, 240, 320, 400, 500, 600, 800, 1000, 1200, 1400, 1500}) {
        std::array<Vec2d, 2> both;
        for (int law = 0; law < 2; ++law) {
            const ScenePopulation loaded = load("crowd_corridor", {fmt::format("crowd.group.0.count={}", count),
                                                                   fmt::format("crowd.speed_law={}", laws[law])});
            const Crowd& crowd = loaded.population->crowd();
            double people = 0, along = 0, frames = 0;
            while (crowd.time() < kSeconds) {
                loaded.population->advance();
                if (crowd.time() < kSettled) continue;
                frames += 1;
                for (size_t i = 0; i < crowd.agents().size(); ++i) {
                    const float x = crowd.agents().x[i].x();
                    if (x < kFrom || x > kTo) continue;
                    people += 1;
                    along += static_cast<double>(crowd.agents().v[i].x());
                }
            }
            both[static_cast<size_t>(law)] = {people / frames / kArea, along / people};
        }
        found.push_back(both);
        const double density = both[0].x();
        fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} at {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", count, density,
                   both[0].y(), both[1].y(), both[1].x(), weidmann(density), density * both[0].y(),
                   density * weidmann(density));
        std::fflush(stdout);
    }
    for (size_t law = 0; law < 2; ++law) {
        PlotSeries speed{fmt::format("speed_law {}", laws[law]), {}, true}, flow = speed;
        for (const auto& both : found)
            speed.points.push_back(both[law]), flow.points.emplace_back(both[law].x(), both[law].prod());
        speeds.series.push_back(speed), flows.series.push_back(flow);
    }
    write_file(output_path("crowd_speed.svg"), svg_of(speeds));
    write_file(output_path("crowd_flow.svg"), svg_of(flows));
}

// ------------------------------------------------------------------------------------------------------------ scenes

// Whether a place is outside the floor or in an obstacle or wall of the plan as written.
bool misplaced(const FloorPlan& plan, const std::vector<Box2d>& boxes, const Vec2d& x)
{
    const auto on_floor = [&](const PlanPolygon& floor) { return contains(floor.shape, x); };
    if (std::none_of(plan.boundary.begin(), plan.boundary.end(), on_floor)) return true;
    for (size_t i = 0; i < plan.obstacles.size(); ++i)
        if (boxes[i].contains(x) && contains(plan.obstacles[i].shape, x)) return true;
    for (const PlanWall& wall : plan.walls)
        for (size_t i = 1; i < wall.points.size(); ++i) {
            const Vec2d a = wall.points[i - 1], along = wall.points[i] - a;
            const double t = std::clamp(along.dot(x - a) / along.squaredNorm(), 0.0, 1.0);
            if ((a + t * along - x).norm() < 0.5 * wall.thickness) return true;
        }
    return false;
}

// The large scenes of [Narain 2011] for two minutes; checks every agent once a second.
void scenes()
{
    constexpr double kSeconds = 120;
    fmt::print(
        "\n| scene | people | left after 120 s | looked at | in an obstacle or outside | closer than d_min, of those "
        "looked at | mean nearest where it is full [d_min] |\n|---|---|---|---|---|---|---|\n");
    for (const char* name : {"crowd_building", "crowd_trade_show", "crowd_campsite", "crowd_mosque"}) {
        const ScenePopulation loaded = load(name, {});
        Population& population = *loaded.population;
        const Crowd& crowd = population.crowd();
        std::vector<Box2d> boxes;
        for (const PlanPolygon& obstacle : population.plan().obstacles) {
            Box2d box;
            for (const Vec2d& p : obstacle.shape.outer) box.extend(p);
            boxes.push_back(box);
        }
        const size_t people = crowd.agents().size();
        size_t left = 0, looked_at = 0, wrong = 0;
        CircleFigures figures;
        for (int step = 1; crowd.time() < kSeconds; ++step) {
            left += population.advance().left;
            if (step % static_cast<int>(kFps) != 0) continue;
            figures.look(crowd, 1, 1);
            const Agents& agents = crowd.agents();
            looked_at += agents.size();
            wrong += parallel_reduce(
                agents.size(), size_t(0),
                [&](size_t i) -> size_t { return misplaced(population.plan(), boxes, agents.x[i].cast<double>()); },
                [](size_t a, size_t b) { return a + b; }, 1024);
        }
        fmt::print("| {} | {} | {} | {} | {} | {:.4f}% | {:.3f} |\n", name, people, left, looked_at, wrong,
                   100 * figures.too_close / figures.looked_at, figures.dense_mean());
        std::fflush(stdout);
    }
}

} // namespace

void crowd_circle(Figures&) { circles(); }
void crowd_scenes(Figures&) { scenes(); }
void crowd_streams(Figures&)
{
    crossings();
    corridor();
}
