#include "spindrift/crowd/population.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/base/state_error.h"
#include "spindrift/crowd/starting_places.h"
#include "spindrift/plan/area_fraction.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

// One cell of margin around the floor, so that the continuum sees where it ends.
CrowdGrid grid_around(const FloorPlan& plan, const PopulationParams& params)
{
    const float cell = params.cell;
    Vec2d low = Vec2d::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (const PlanPolygon& floor : plan.boundary)
        for (const Vec2d& p : floor.shape.outer) low = low.cwiseMin(p), high = high.cwiseMax(p);
    constexpr double kMostCells = 1e8;
    constexpr double kRounding = 1e-3; // of a cell, so that 100 m are 50 cells of 2 m and not 51
    const Vec2d cells = ((high - low).array() / static_cast<double>(cell) - kRounding).ceil() + 2;
    if (!(cells.x() * cells.y() <= kMostCells))
        bad_input("{0}.cell is {1} m, which makes {2:.3g} x {3:.3g} cells; raise {0}.cell", params.name, cell,
                  cells.x(), cells.y());
    return {(low.array() - static_cast<double>(cell)).cast<float>(), cell, static_cast<int>(cells.x()),
            static_cast<int>(cells.y())};
}

// The plan with a boundary around everyone and scaled rates of its entrances.
FloorPlan completed(FloorPlan plan, const PopulationParams& params)
{
    for (PlanEntrance& entrance : plan.entrances) entrance.rate *= static_cast<double>(params.rate);
    std::vector<Vec2d> within;
    for (const GroupParams& group : params.groups) {
        for (const Polygon& polygon : group.polygons())
            within.insert(within.end(), polygon.outer.begin(), polygon.outer.end());
        for (const auto& ring : group.rings) {
            const Vec2d center(ring[0], ring[1]), reach = Vec2d::Constant(ring[3]);
            within.push_back(center - reach), within.push_back(center + reach);
        }
        for (const auto& key : group.path) within.emplace_back(key[1], key[2]);
    }
    plan.add_boundary_if_missing(within, static_cast<double>(2 * params.cell));
    return plan;
}

// Normal distribution, truncated at three standard deviations.
float normal(Random& random)
{
    const float u = std::max(random.uniform(), 0x1p-24f), angle = random.uniform(0, static_cast<float>(2 * kPi));
    return std::clamp(std::sqrt(-2 * std::log(u)) * std::cos(angle), -3.0f, 3.0f);
}

} // namespace

// Goals

// An agent's `goal` is the index of its current visit and its `leg` the roadmap vertex that it heads for. For an agent
// with a target of its own, `goal` is kArrived after it has been there.
class Population::Planner : public CrowdPlanner {
    static constexpr int32_t kArrived = 1;

  public:
    explicit Planner(const Population& all) : all_(all) {}

    Vec2f direction(Agents& agents, size_t i) const override
    {
        return agents.driver[i] != Driver::scripted ? direction_of(agents, i) : Vec2f(Vec2f::Zero());
    }
    bool leaves(const Agents& agents, size_t i) const override
    {
        const Group& group = group_of(agents, i);
        if (!group.params.leave || group.goals.empty() || agents.driver[i] == Driver::scripted) return false;
        return static_cast<size_t>(agents.goal[i]) + 1 == group.goals.size() &&
               all_.navigator_->arrived(agents.x[i], group.goals.back());
    }

  private:
    const Group& group_of(const Agents& agents, size_t i) const { return all_.groups_[all_.group_of(agents.id[i])]; }
    Vec2f direction_of(Agents& agents, size_t i) const
    {
        const Group& group = group_of(agents, i);
        const auto now = static_cast<float>(all_.crowd_.time());
        if (now < group.params.start) return Vec2f::Zero();
        if (!group.targets.empty()) return towards_target(group, agents, i);
        if (group.goals.empty()) return Vec2f::Zero();
        const Navigator& navigator = *all_.navigator_;
        size_t visit = agents.goal[i];
        if (now < group.params.visits[visit].from) return Vec2f::Zero();
        if (visit + 1 < group.goals.size() && now >= group.params.visits[visit + 1].from &&
            navigator.arrived(agents.x[i], group.goals[visit])) {
            agents.goal[i] = static_cast<int32_t>(++visit);
            agents.leg[i] = -1;
        }
        RouteCursor cursor{static_cast<uint32_t>(agents.leg[i])};
        Vec2f direction = navigator.direction(agents.x[i], group.goals[visit], cursor);
        agents.leg[i] = static_cast<int32_t>(cursor.vertex);
        return direction;
    }
    // Straight to the target if visible, otherwise along a route that is searched anew. An agent that has arrived gives
    // way to others and returns only from a distance: agents that return at once act as walls for the others.
    Vec2f towards_target(const Group& group, Agents& agents, size_t i) const
    {
        constexpr float kBackFrom = 4; // radii
        const Vec2f& target = group.targets[static_cast<size_t>(agents.id[i]) - group.first];
        const Vec2f way = target - agents.x[i];
        const float distance = way.norm();
        if (distance < agents.radius[i]) agents.goal[i] = kArrived;
        if (distance > kBackFrom * agents.radius[i]) agents.goal[i] = 0;
        if (agents.goal[i] == kArrived) return Vec2f::Zero();
        if (all_.navigator_->visible(agents.x[i], target)) return way.normalized();
        PointRoute route;
        return all_.navigator_->direction(agents.x[i], target, route);
    }

    const Population& all_;
};

class Population::Walls : public CrowdWalls {
  public:
    explicit Walls(const Navigator& navigator) : navigator_(navigator) {}
    void keep_out(std::span<const Vec2f> from, std::span<Vec2f> to, std::span<const float>) const override
    {
        for (size_t i = 0; i < to.size(); ++i) to[i] = navigator_.keep_out(from[i], to[i]);
    }

  private:
    const Navigator& navigator_;
};

// Start

namespace {

std::vector<std::string> names_of(const std::vector<GroupParams>& groups)
{
    std::vector<std::string> names;
    for (size_t g = 0; g < groups.size(); ++g) names.push_back(fmt::format("group[{}]", g));
    return names;
}

} // namespace

Population::Population(const PopulationParams& params, float fps)
    : Population(params, read_floor_plan(params.plan), fps, names_of(params.groups))
{
}

Population::Population(const PopulationParams& params, FloorPlan plan, float fps,
                       const std::vector<std::string>& group_places)
    : params_(params), plan_(completed(std::move(plan), params)), fps_(fps),
      navigator_(std::make_unique<Navigator>(plan_, static_cast<double>(params.largest_radius()))),
      planner_(std::make_unique<Planner>(*this)), walls_(std::make_unique<Walls>(*navigator_)),
      crowd_(params, grid_around(plan_, params))
{
    place_groups(group_places);
    check(group_places);
    const CrowdGrid& grid = crowd_.continuum().grid();
    crowd_.set_free_area(
        area_fractions(navigator_->space().walkable().polygons(),
                       {grid.origin.cast<double>(), static_cast<double>(grid.cell), grid.nx, grid.ny}));
    crowd_.set_planner(planner_.get());
    crowd_.set_walls(walls_.get());
}

Population::~Population() = default;

void Population::place_groups(const std::vector<std::string>& group_places)
{
    for (const PlanEntrance& entrance : plan_.entrances)
        doors_.emplace_back(entrance_zone(entrance, navigator_->space()));
    came_.resize(params_.groups.size());
    for (size_t g = 0; g < params_.groups.size(); ++g) {
        const GroupParams& p = params_.groups[g];
        Group group;
        group.params = p, group.first = starts_.size();
        for (int round = 1; round < p.rounds; ++round)
            group.params.visits.insert(group.params.visits.end(), p.visits.begin(), p.visits.end());
        for (const VisitParams& visit : group.params.visits) group.goals.push_back(navigator_->goal(visit.goal));
        if (!p.entrance.empty()) {
            for (size_t e = 0; e < plan_.entrances.size(); ++e)
                if (plan_.entrances[e].name == p.entrance) group.entrance = static_cast<int>(e);
            if (group.entrance < 0)
                bad_input("{}: there is no entrance '{}'; add a [[{}.entrance]] of this name", group_places[g],
                          p.entrance, params_.name);
            if (doors_[group.entrance].empty())
                bad_input("{}: the entrance '{}' has no room for an agent", group_places[g], p.entrance);
        }
        std::vector<Vec2f> places;
        if (p.driver == Driver::scripted) {
            ScriptedPath path;
            for (const auto& key : p.path)
                path.time.push_back(static_cast<double>(key[0])), path.point.emplace_back(key[1], key[2]);
            places = {path.point.front()};
            group.path = crowd_.add_path(std::move(path));
        } else
            places = starting_places(p.polygons(), p.rings, p.count, 2 * params_.radius_of(p), *navigator_, starts_,
                                     hash64(static_cast<uint64_t>(params_.seed), g));
        if (places.size() < static_cast<size_t>(p.count))
            bad_input(
                "{}: only {} of {} people of radius {} m fit into the shapes of the group; enlarge them or lower count",
                group_places[g], places.size(), p.count, params_.radius_of(p));
        if (p.heading == GroupParams::Heading::opposite) {
            Vec2d middle = Vec2d::Zero();
            for (const Vec2f& x : places) middle += x.cast<double>();
            const Vec2f twice = (2 * middle / std::max<double>(1, static_cast<double>(places.size()))).cast<float>();
            for (const Vec2f& x : places) group.targets.push_back(navigator_->nearest_free(twice - x));
        }
        starts_.insert(starts_.end(), places.begin(), places.end());
        group_of_start_.resize(starts_.size(), static_cast<int32_t>(g));
        groups_.push_back(std::move(group));
    }
}

void Population::check(const std::vector<std::string>& group_places)
{
    std::vector<PlannedGroup> planned;
    for (size_t g = 0; g < groups_.size(); ++g) {
        const Group& group = groups_[g];
        PlannedGroup one;
        one.name = group.params.name.empty() ? fmt::format("group {}", g + 1) : group.params.name;
        one.where = group_places[g];
        for (size_t i = 0; i < starts_.size(); ++i)
            if (group_of_start_[i] == static_cast<int32_t>(g) && group.path < 0) one.starts.push_back(starts_[i]);
        if (!group.params.entrance.empty()) one.entrances = {group.params.entrance};
        for (const VisitParams& visit : params_.groups[g].visits) one.goals.push_back(visit.goal);
        one.targets = group.targets;
        one.radius = static_cast<double>(params_.radius_of(group.params));
        if (group.path < 0) planned.push_back(std::move(one));
    }
    PlanReport report = check_plan(plan_, *navigator_, planned);
    if (!report.errors.empty()) bad_input("{}", report.errors.front());
    warnings_ = std::move(report.warnings);
}

double Population::most_people(double seconds) const
{
    auto people = static_cast<double>(starts_.size());
    for (const Group& group : groups_)
        if (group.entrance >= 0) {
            const PlanEntrance& entrance = plan_.entrances[group.entrance];
            people += entrance.rate * std::max(0.0, std::min(seconds, entrance.end) - entrance.start) /
                      groups_through(group.entrance);
        }
    return people;
}

// `number` is the key of the agent's random numbers.
void Population::set_agent(Agents& agents, size_t i, size_t g, const Vec2f& x, uint64_t number) const
{
    const GroupParams& group = groups_[g].params;
    Random random(hash64(static_cast<uint64_t>(params_.seed), g), number);
    agents.x[i] = x;
    agents.radius[i] = params_.radius_of(group);
    agents.speed[i] = std::max(0.1f * group.speed, group.speed + group.speed_deviation * normal(random));
    agents.priority[i] = group.priority;
    agents.goal[i] = std::max(groups_[g].path, 0), agents.leg[i] = -1;
    agents.driver[i] = group.driver;
}

void Population::start(int frame)
{
    frame_ = frame;
    Agents everyone;
    everyone.resize(starts_.size());
    for (size_t i = 0; i < starts_.size(); ++i) set_agent(everyone, i, group_of_start_[i], starts_[i], i);
    groups_of_ids_ = group_of_start_;
    crowd_.add(everyone);
}

void Population::restore(State state)
{
    // Check the group and goal of every agent.
    const Agents& agents = state.crowd.agents;
    if (state.came.size() != groups_.size() || std::ranges::any_of(state.came, [](int32_t n) { return n < 0; }))
        bad_state("the state has {} groups, the scene {}", state.came.size(), groups_.size());
    for (const int32_t group : state.groups)
        if (group < 0 || static_cast<size_t>(group) >= groups_.size()) bad_state("there is no group {}", group);
    for (size_t i = 0; i < agents.size(); ++i) {
        const size_t id = agents.id[i];
        if (id >= state.groups.size()) bad_state("agent {} has no group", agents.id[i]);
        const Group& group = groups_[state.groups[id]];
        const size_t goal = agents.goal[i];
        const bool has_target = group.targets.empty() || (id >= group.first && id - group.first < group.targets.size());
        const bool has_goal = agents.driver[i] == Driver::scripted || !group.targets.empty() || group.goals.empty() ||
                              goal < group.goals.size();
        if (!has_target || !has_goal)
            bad_state("agent {} is on visit {}, which its group does not have", id, agents.goal[i]);
    }

    frame_ = state.frame;
    groups_of_ids_ = std::move(state.groups), came_ = std::move(state.came);
    crowd_.restore(std::move(state.crowd));
}

// Frames

PopulationReport Population::advance()
{
    PopulationReport report;
    const float frame_time = 1 / fps_;
    report.steps = std::max(1, static_cast<int>(std::ceil(frame_time / params_.longest_step - 1e-3f)));
    const float dt = frame_time / static_cast<float>(report.steps);
    for (int s = 0; s < report.steps; ++s) {
        check_interrupt();
        report.times.measure("enter", [&] { admit_newcomers(dt, report); });
        const CrowdReport step = crowd_.step(dt);
        report.left += step.left.size();
        report.pressed_cells = step.continuum.pressed;
        report.iterations += step.continuum.inner.iterations + step.continuum.outer.iterations;
        report.unconverged += !step.continuum.outer.converged;
        for (const auto& [phase, seconds] : step.times.phases()) report.times.add(phase, seconds);
    }
    ++frame_;
    report.people = crowd_.agents().size();
    return report;
}

// Groups that share an entrance share its rate.
double Population::groups_through(size_t entrance) const
{
    return static_cast<double>(std::count_if(groups_.begin(), groups_.end(), [&](const Group& group) {
        return group.entrance == static_cast<int>(entrance);
    }));
}

// Lets agents in at the rate of their entrance if there is room; the others wait.
void Population::admit_newcomers(float dt, PopulationReport& report)
{
    constexpr int kTries = 30;
    report.waiting = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
        if (groups_[g].entrance < 0) continue;
        const size_t e = groups_[g].entrance;
        const PlanEntrance& entrance = plan_.entrances[e];
        const double open = std::min(crowd_.time() + static_cast<double>(dt), entrance.end) - entrance.start;
        const auto due = static_cast<int64_t>(std::max(0.0, entrance.rate * open / groups_through(e)));
        int64_t missing = due - came_[g];
        if (missing <= 0) continue;
        const float apart = params_.radius_of(groups_[g].params);
        // Test against all agents; only done when someone is due.
        const Agents& agents = crowd_.agents();
        const auto is_free = [&](const Vec2f& x, const Agents& before) {
            const auto apart_from = [&](const Agents& others) {
                for (size_t i = 0; i < others.size(); ++i) {
                    const float distance = others.radius[i] + apart;
                    if ((others.x[i] - x).squaredNorm() < distance * distance) return false;
                }
                return true;
            };
            return apart_from(before) && apart_from(agents);
        };
        Agents newcomers;
        for (; missing > 0; --missing) {
            Random random(hash64(static_cast<uint64_t>(params_.seed), 77 + g), static_cast<uint64_t>(came_[g]));
            bool found = false;
            for (int t = 0; t < kTries && !found; ++t) {
                // The places also depend on the time, so that waiting agents do not retry the same ones forever.
                const double choice = std::fmod(0.618 * crowd_.time() + static_cast<double>(random.uniform()), 1.0);
                const double u = static_cast<double>(random.uniform()), v = static_cast<double>(random.uniform());
                const Vec2f x = doors_[e].at(choice, u, v).cast<float>();
                found = navigator_->inside(x) && is_free(x, newcomers);
                if (!found) continue;
                newcomers.resize(newcomers.size() + 1);
                set_agent(newcomers, newcomers.size() - 1, g, x, hash64(static_cast<uint64_t>(came_[g])));
            }
            if (!found) break;
            ++came_[g];
        }
        report.waiting += missing;
        report.came += newcomers.size();
        if (newcomers.size() == 0) continue;
        crowd_.add(newcomers);
        groups_of_ids_.resize(groups_of_ids_.size() + newcomers.size(), static_cast<int32_t>(g));
    }
}

int Population::goal_of(size_t agent) const
{
    const Agents& agents = crowd_.agents();
    const Group& group = groups_[group_of(agents.id[agent])];
    if (group.goals.empty() || group.path >= 0) return -1;
    return static_cast<int>(group.goals[agents.goal[agent]]);
}

std::unique_ptr<Population> read_population(const PopulationParams& params, const SceneFile& scene,
                                            const std::string& table, float fps)
{
    if (params.groups.empty()) bad_input("{}: the crowd has no people; add a [[{}.group]]", scene.where(table), table);
    std::vector<std::string> places;
    for (size_t g = 0; g < params.groups.size(); ++g)
        places.push_back(scene.where(fmt::format("{}.group[{}]", table, g)));
    return std::make_unique<Population>(params, read_floor_plan(params.plan, scene, table), fps, places);
}

} // namespace spindrift
