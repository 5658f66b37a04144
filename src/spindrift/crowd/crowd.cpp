#include "spindrift/crowd/crowd.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/state_error.h"
#include "spindrift/crowd/avoidance.h"

namespace spindrift {

namespace {

constexpr size_t kAgentsAtOnce = 1024;

bool is_finite(const Vec2f& x) { return std::isfinite(x.x()) && std::isfinite(x.y()); }
Vec2f turned(const Vec2f& d, float sine, float cosine)
{
    return {cosine * d.x() - sine * d.y(), sine * d.x() + cosine * d.y()};
}

// Checks that agents are on the grid, have a valid size, and are in the cells stored for them.
void check_state(const Crowd::State& state, const CrowdGrid& grid, const CrowdParams& params, size_t paths)
{
    const Agents& agents = state.agents;
    const float most = 0.5f * grid.cell / params.separation;
    if (!(state.largest_radius >= params.radius && state.largest_radius <= most))
        bad_state("the largest radius of an agent is {} m", state.largest_radius);
    if (!std::isfinite(state.time) || state.time < 0 || state.steps < 0 || state.next_id < 0)
        bad_state("the time is {} s after {} steps", state.time, state.steps);
    for (size_t i = 0; i < agents.size(); ++i) {
        const bool somewhere =
            agents.x[i] == grid.inside(agents.x[i]) && agents.v[i].allFinite() && agents.preferred[i].allFinite();
        const bool fits = agents.radius[i] > 0 && agents.radius[i] <= state.largest_radius && agents.speed[i] >= 0 &&
                          agents.speed[i] < 1e6f && agents.priority[i] > 0 && agents.priority[i] < 1e15f;
        const bool has_path = agents.driver[i] <= Driver::avoiding &&
                              (agents.driver[i] != Driver::scripted ||
                               (agents.goal[i] >= 0 && static_cast<size_t>(agents.goal[i]) < paths));
        if (!somewhere || !fits || !has_path || agents.id[i] < 0 || agents.id[i] >= state.next_id)
            bad_state("agent {} is outside the grid or has invalid values", agents.id[i]);
    }
    if (state.sorted && (state.sorted_cells.size() != agents.size() || !std::ranges::is_sorted(state.sorted_cells)))
        bad_state("{} agents are sorted into {} cells", agents.size(), state.sorted_cells.size());
    if (!state.sorted || state.sorted_cells.empty()) return;
    const AgentCells cells(grid, static_cast<int>(grid.cell / (2 * state.largest_radius * params.separation)));
    const size_t count = static_cast<size_t>(cells.columns()) * cells.rows();
    if (state.sorted_cells.back() >= count) bad_state("an agent is in cell {} of {}", state.sorted_cells.back(), count);
}

} // namespace

Vec2f ScriptedPath::at(double seconds) const
{
    const size_t next = std::upper_bound(time.begin(), time.end(), seconds) - time.begin();
    if (next == 0) return point.front();
    if (next == time.size()) return point.back();
    const double t = (seconds - time[next - 1]) / (time[next] - time[next - 1]);
    return point[next - 1] + static_cast<float>(t) * (point[next] - point[next - 1]);
}

Crowd::Crowd(const CrowdParams& params, const CrowdGrid& grid)
    : params_(params), continuum_(grid, params.densest(), params.radius)
{
    make_cells(params.radius);
}

// The smallest cells that suffice for the largest agents.
void Crowd::make_cells(float largest_radius)
{
    const CrowdGrid& grid = continuum_.grid();
    const float reach = 2 * largest_radius * params_.separation;
    if (!(grid.cell >= reach))
        bad_input("the cells of a crowd's grid are {} m wide, but agents of radius {} m keep {} m apart; use cells at "
                  "least that wide",
                  grid.cell, largest_radius, reach);
    largest_radius_ = largest_radius;
    cells_ = AgentCells(grid, static_cast<int>(grid.cell / reach));
    sorted_ = false;
}

int32_t Crowd::add_path(ScriptedPath path)
{
    if (path.time.empty() || path.time.size() != path.point.size())
        bad_input("a scripted path has {} times and {} points; it needs the same number of both, and at least one",
                  path.time.size(), path.point.size());
    for (size_t i = 0; i < path.time.size(); ++i) {
        if (!std::isfinite(path.time[i]) || !is_finite(path.point[i]))
            bad_input("point {} of a scripted path is not finite", i);
        if (i > 0 && !(path.time[i] > path.time[i - 1]))
            bad_input("time {} of a scripted path is {} s, not after {} s before it", i, path.time[i],
                      path.time[i - 1]);
    }
    paths_.push_back(std::move(path));
    return static_cast<int32_t>(paths_.size()) - 1;
}

int32_t Crowd::add(const Agents& newcomers)
{
    const size_t count = agents_.size(), more = newcomers.size();
    float largest = largest_radius_;
    for (size_t i = 0; i < more; ++i) {
        const auto number = static_cast<size_t>(next_id_) + i;
        if (!is_finite(newcomers.x[i])) bad_input("the position of agent {} is not finite", number);
        if (!(newcomers.radius[i] > 0))
            bad_input("agent {} has radius {} m; it must be above 0", number, newcomers.radius[i]);
        if (!(newcomers.speed[i] >= 0 && std::isfinite(newcomers.speed[i])))
            bad_input("agent {} has speed {} m/s; it must be at least 0", number, newcomers.speed[i]);
        if (!(newcomers.priority[i] > 0 && newcomers.priority[i] < 1e15f))
            bad_input("agent {} has priority {}; it must be above 0 and below 1e15", number, newcomers.priority[i]);
        if (newcomers.driver[i] == Driver::scripted && static_cast<size_t>(newcomers.goal[i]) >= paths_.size())
            bad_input("agent {} follows path {}, but only {} paths exist", number, newcomers.goal[i], paths_.size());
        largest = std::max(largest, newcomers.radius[i]);
    }
    if (largest > largest_radius_) make_cells(largest);
    agents_.resize(count + more);
    for (size_t i = 0; i < more; ++i) {
        const size_t to = count + i;
        const bool scripted = newcomers.driver[i] == Driver::scripted;
        const Vec2f x = scripted ? paths_[newcomers.goal[i]].at(time_) : newcomers.x[i];
        agents_.x[to] = continuum_.grid().inside(x);
        agents_.radius[to] = newcomers.radius[i], agents_.speed[to] = newcomers.speed[i];
        agents_.priority[to] = newcomers.priority[i], agents_.driver[to] = newcomers.driver[i];
        agents_.goal[to] = newcomers.goal[i], agents_.leg[to] = newcomers.leg[i];
        agents_.id[to] = next_id_ + static_cast<int32_t>(i);
    }
    if (more > 0) sorted_ = false;
    next_id_ += static_cast<int32_t>(more);
    return next_id_ - static_cast<int32_t>(more);
}

void Crowd::remove(std::span<const int32_t> ids)
{
    std::vector<int32_t> gone(ids.begin(), ids.end());
    std::sort(gone.begin(), gone.end());
    std::vector<uint8_t> kept(agents_.size());
    for (size_t i = 0; i < kept.size(); ++i) kept[i] = !std::binary_search(gone.begin(), gone.end(), agents_.id[i]);
    keep_only(kept);
}

void Crowd::keep_only(const std::vector<uint8_t>& kept)
{
    size_t count = 0;
    agents_.for_each_array([&](auto& array) {
        count = 0;
        for (size_t i = 0; i < kept.size(); ++i)
            if (kept[i]) array[count++] = array[i];
    });
    if (count == agents_.size()) return;
    agents_.resize(count);
    sorted_ = false;
}

// The algorithm of [Narain 2011, section 4.4.4].
CrowdReport Crowd::step(float dt)
{
    if (!(dt > 0 && std::isfinite(dt))) fail("the step of a crowd is {} s; it must be above 0", dt);
    report_ = {};
    auto& times = report_.times;
    if (!sorted_) times.measure("sort", [&] { sort(); });
    times.measure("plan", [&] { plan(); });
    times.measure("others", [&] { move_others(dt); });
    times.measure("splat", [&] { continuum_.splat(agents_, cells_); });
    times.measure("pressure", [&] {
        report_.continuum = continuum_.project(dt, static_cast<double>(params_.tolerance), params_.max_iterations);
    });
    times.measure("move", [&] { move_crowd(dt); });
    times.measure("sort", [&] { sort(); });
    times.measure("separation", [&] {
        if (!params_.pairs) return;
        report_.separation = separation_.run(agents_, cells_, continuum_, walls_,
                                             {params_.separation, 2, params_.separation_iterations, 20}, dt);
    });
    time_ += static_cast<double>(dt), ++steps_;
    times.measure("leave", [&] { remove_leaving(); });
    return std::move(report_);
}

void Crowd::sort()
{
    cells_.sort(agents_);
    sorted_ = true;
}

// Preferred velocity of each agent, given the continuum of the last step. Replan each agent every fourth step,
// staggered by id: planning is expensive. With 0.05 s a step that is five times a second.
void Crowd::plan()
{
    constexpr int32_t kPlanInterval = 4;
    const auto keeps_plan = [&](size_t i) {
        return (agents_.id[i] + steps_) % kPlanInterval != 0 && !agents_.preferred[i].isZero(0);
    };
    const bool weidmann = params_.speed_law == CrowdParams::SpeedLaw::weidmann;
    const bool steers = params_.look_ahead > 0 || params_.side != 0;
    parallel_chunks(agents_.size(), kAgentsAtOnce, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            if (keeps_plan(i)) continue;
            Vec2f d = planner_ ? planner_->direction(agents_, i) : Vec2f(Vec2f::Zero());
            if (!is_finite(d)) d.setZero();
            float speed = agents_.speed[i];
            if (weidmann) speed *= weidmann_speed(density_around(i));
            if (steers && !d.isZero(0) && agents_.driver[i] == Driver::crowd) d = steer(i, d, speed);
            agents_.preferred[i] = speed * d;
        }
    });
}

// The density [1/m2] that slows an agent down. Subtracts the agent's own share of the continuum where the continuum is
// not full: a single agent in a cell of a metre would otherwise slow itself down.
float Crowd::density_around(size_t i) const
{
    const CrowdGrid& grid = continuum_.grid();
    const Vec2f cells = (agents_.x[i] - grid.origin) / grid.cell - Vec2f::Constant(0.5f);
    const Vec2f f = cells.array() - cells.array().floor();
    const Vec2f shares = f.array().square() + (1 - f.array()).square(); // its own weight by (4.1) at its place
    const float fullness = continuum_.smooth_sample(agents_.x[i]).fullness;
    const float own = shares.prod() / (grid.cell * grid.cell);
    return std::max(0.0f, continuum_.densest() * fullness - (1 - fullness) * own);
}

// Steers around dense crowds ahead, and to the preferred side of oncoming agents: the mean of five directions, weighted
// by their progress along the agent's own direction minus the opposition of the flow there.
Vec2f Crowd::steer(size_t i, const Vec2f& direction, float speed) const
{
    constexpr int kTurns = 2;                        // to each side
    constexpr float kSine[] = {0, 0.3827f, 0.7071f}; // of 0, 22.5 and 45 degrees
    constexpr float kCosine[] = {1, 0.9239f, 0.7071f};
    constexpr int kSquarings = 5; // of a gain: a direction with a tenth less has a fifth of the weight
    constexpr float kNobody = 1e-3f;
    constexpr float kLeastSight = 1; // [s] for choosing a side
    const float sight = std::max(params_.look_ahead, kLeastSight) * speed;
    if (!(sight > 0)) return direction;
    const auto opposition = [&](const Vec2f& d) {
        constexpr float kAhead = 0.75f; // of the range of sight; several samples are no better and dominate the cost
        const auto there = continuum_.smooth_sample(agents_.x[i] + kAhead * sight * d);
        return there.fullness * std::clamp(0.5f * (1 - there.velocity.dot(d) / speed), 0.0f, 1.0f);
    };
    const float oncoming = opposition(direction);
    if (!(oncoming > kNobody)) return direction;
    Vec2f sum = Vec2f::Zero();
    for (int turn = -kTurns; turn <= kTurns; ++turn) {
        const float sine = turn < 0 ? -kSine[-turn] : kSine[turn], cosine = kCosine[std::abs(turn)];
        const Vec2f d = turned(direction, sine, cosine);
        float gain = cosine;
        if (params_.look_ahead > 0) gain -= turn == 0 ? oncoming : opposition(d);
        gain -= params_.side * oncoming * sine; // a positive sine is to the left
        float weight = std::max(0.5f * (1 + gain), 0.0f);
        for (int k = 0; k < kSquarings; ++k) weight *= weight;
        sum += weight * d;
    }
    return sum.norm() > 0 ? Vec2f(sum.normalized()) : direction;
}

// Moves scripted and avoiding agents, from the positions of all agents at the start of the step.
void Crowd::move_others(float dt)
{
    const auto is_other = [&](size_t i) { return agents_.driver[i] != Driver::crowd; };
    std::vector<uint32_t> others;
    for (size_t i = 0; i < agents_.size(); ++i)
        if (is_other(i)) others.push_back(static_cast<uint32_t>(i));
    std::vector<Vec2f> velocity(others.size());
    parallel_for(
        others.size(),
        [&](size_t k) {
            const size_t i = others[k];
            if (agents_.driver[i] == Driver::avoiding) {
                velocity[k] = avoid(i, dt);
                return;
            }
            const Vec2f to = paths_[agents_.goal[i]].at(time_ + static_cast<double>(dt));
            velocity[k] = (continuum_.grid().inside(to) - agents_.x[i]) / dt;
        },
        16);
    parallel_for(
        others.size(),
        [&](size_t k) {
            const size_t i = others[k];
            const Vec2f from = agents_.x[i], to = from + dt * velocity[k];
            agents_.x[i] = agents_.driver[i] == Driver::avoiding ? slide_along_walls(from, to, agents_.radius[i]) : to;
            agents_.v[i] = (agents_.x[i] - from) / dt;
        },
        16);
}

Vec2f Crowd::avoid(size_t i, float dt) const
{
    struct Found {
        float distance2;
        size_t index;
        bool operator<(const Found& o) const { return std::tie(distance2, index) < std::tie(o.distance2, o.index); }
    };
    const AvoidanceParams& rules = params_.avoidance;
    const Vec2f x = agents_.x[i];
    const int low = cells_.column(x.x() - rules.distance), high = cells_.column(x.x() + rules.distance);
    std::vector<Found> found;
    for (int r = cells_.row(x.y() - rules.distance); r <= cells_.row(x.y() + rules.distance); ++r) {
        const auto [begin, end] = cells_.range(r, low, high);
        for (size_t j = begin; j < end; ++j) {
            const float distance2 = (agents_.x[j] - x).squaredNorm();
            if (j != i && distance2 < rules.distance * rules.distance) found.push_back({distance2, j});
        }
    }
    const size_t count = std::min(found.size(), static_cast<size_t>(rules.neighbours));
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end());
    std::vector<AvoidanceNeighbour> others;
    for (size_t n = 0; n < count; ++n) {
        const size_t j = found[n].index;
        // Only avoiding neighbours do their share; it is smaller for those with priority.
        const bool avoids = agents_.driver[j] == Driver::avoiding;
        const float share = avoids ? agents_.priority[j] / (agents_.priority[i] + agents_.priority[j]) : 1;
        others.push_back({agents_.x[j], agents_.v[j], agents_.radius[j], share});
    }
    const Avoider self{x, agents_.v[i], agents_.preferred[i], agents_.radius[i], agents_.speed[i]};
    return avoiding_velocity(self, others, rules.horizon, dt);
}

Vec2f Crowd::slide_along_walls(const Vec2f& from, const Vec2f& to, float radius) const
{
    Vec2f x = continuum_.grid().inside(to);
    if (walls_ && continuum_.near_obstacle(x)) walls_->keep_out({&from, 1}, {&x, 1}, {&radius, 1});
    return continuum_.grid().inside(x);
}

void Crowd::move_crowd(float dt)
{
    parallel_chunks(agents_.size(), kAgentsAtOnce, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            if (agents_.driver[i] != Driver::crowd) continue;
            // (4.3), without exceeding the walking speed
            const Continuum::Sample flow = continuum_.sample(agents_.x[i]);
            const float share = params_.continuum ? (1 - params_.freedom) * flow.fullness : 0;
            Vec2f v = agents_.preferred[i] + share * (flow.velocity - agents_.preferred[i]);
            const float speed = v.norm();
            if (speed > agents_.speed[i]) v *= agents_.speed[i] / speed;
            const Vec2f from = agents_.x[i];
            agents_.x[i] = slide_along_walls(from, from + dt * v, agents_.radius[i]);
            agents_.v[i] = (agents_.x[i] - from) / dt;
        }
    });
}

void Crowd::remove_leaving()
{
    if (!planner_) return;
    std::vector<uint8_t> kept(agents_.size());
    parallel_chunks(agents_.size(), kAgentsAtOnce, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) kept[i] = !planner_->leaves(agents_, i);
    });
    for (size_t i = 0; i < kept.size(); ++i)
        if (!kept[i]) report_.left.push_back(agents_.id[i]);
    if (!report_.left.empty()) keep_only(kept);
}

size_t Crowd::bytes() const { return agents_.bytes() + cells_.bytes() + separation_.bytes() + continuum_.bytes(); }

Crowd::State Crowd::state() const
{
    return {time_, steps_, next_id_, sorted_, largest_radius_, agents_, cells_.sorted_cells(), continuum_.state()};
}

void Crowd::restore(State state)
{
    check_state(state, continuum_.grid(), params_, paths_.size());
    continuum_.restore(std::move(state.continuum)); // may throw; nothing has been changed yet
    make_cells(state.largest_radius);
    time_ = state.time, steps_ = state.steps, next_id_ = state.next_id;
    agents_ = std::move(state.agents);
    if (state.sorted) cells_.restore(std::move(state.sorted_cells));
    sorted_ = state.sorted;
}

} // namespace spindrift
