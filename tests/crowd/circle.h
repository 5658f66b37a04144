// Agents on a circle who all cross to its opposite side [Narain 2011, figure 4.5], and measures of their motion.
#pragma once

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/crowd/crowd.h"

#include <set>

namespace spindrift {

// Walks straight to each agent's own goal.
class StraightPlanner : public CrowdPlanner {
  public:
    std::vector<Vec2f> goals; // indexed by the agents' `goal`
    float near = 0.3f;        // an agent this close to its goal [m] stays there or leaves
    bool leave = false;

    Vec2f direction(Agents& agents, size_t i) const override
    {
        const Vec2f to = goals[agents.goal[i]] - agents.x[i];
        const float way = to.norm();
        return way > near ? Vec2f(to / way) : Vec2f(Vec2f::Zero());
    }
    bool leaves(const Agents& agents, size_t i) const override { return leave && distance(agents, i) <= near; }
    float distance(const Agents& agents, size_t i) const { return (goals[agents.goal[i]] - agents.x[i]).norm(); }
};

inline void add_agent(Agents& agents, const Vec2f& x, float radius, float speed, int goal,
                      Driver driver = Driver::crowd)
{
    agents.resize(agents.size() + 1);
    agents.x.back() = x, agents.radius.back() = radius, agents.speed.back() = speed, agents.priority.back() = 1;
    agents.goal.back() = goal, agents.driver.back() = driver;
}

// The rings of a circle, filled to 40% of the greatest density, with room for everyone in its centre. 40 cells across
// for 10000 agents, and cells of the same size for other counts.
struct Circle {
    CrowdParams params;
    CrowdGrid grid;
    StraightPlanner planner;
    Agents start;
    float outer = 0, full_radius = 0; // of the circle, and of a full disc of all agents [m]

    explicit Circle(int count, CrowdParams p = {}, float speed_variation = 0.1f) : params(p)
    {
        const float area = static_cast<float>(count) / params.densest();
        const float pi = static_cast<float>(kPi);
        full_radius = std::sqrt(area / pi);
        const float inner = 1.6f * full_radius;
        outer = std::sqrt(inner * inner + area / (0.4f * pi));
        const int cells = std::max(4, static_cast<int>(std::lround(40 * std::sqrt(static_cast<float>(count) / 10000))));
        grid.cell = 2.1f * outer / static_cast<float>(cells);
        grid.nx = grid.ny = cells;
        grid.origin = Vec2f::Constant(-0.5f * grid.cell * static_cast<float>(cells));
        // Rings as far apart as the agents in them, each rotated by a random angle.
        const float spacing = std::sqrt(1 / (0.4f * params.densest()));
        Random random(1);
        int added = 0;
        for (float r = outer - 0.5f * spacing; added < count && r > 0; r -= spacing) {
            const int in_ring = std::min(count - added, static_cast<int>(2 * pi * r / spacing));
            const float turn = random.uniform(0, 2 * pi);
            for (int k = 0; k < in_ring; ++k, ++added) {
                const float angle = turn + 2 * pi * static_cast<float>(k) / static_cast<float>(in_ring);
                const Vec2f x(r * std::cos(angle), r * std::sin(angle));
                const float speed = 1.3f * random.uniform(1 - speed_variation, 1 + speed_variation);
                add_agent(start, x, params.radius, speed, static_cast<int>(planner.goals.size()));
                planner.goals.push_back(-x);
            }
        }
    }
};

// Distances to the nearest neighbour, by brute force over small cells of its own.
inline std::vector<float> nearest_distances(const Agents& agents, float reach)
{
    std::vector<std::pair<std::pair<int, int>, size_t>> sorted;
    const auto cell = [&](const Vec2f& x) {
        return std::pair(static_cast<int>(std::floor(x.y() / reach)), static_cast<int>(std::floor(x.x() / reach)));
    };
    for (size_t i = 0; i < agents.size(); ++i) sorted.push_back({cell(agents.x[i]), i});
    std::sort(sorted.begin(), sorted.end());
    std::vector<float> nearest(agents.size(), reach);
    parallel_for(
        agents.size(),
        [&](size_t i) {
            const auto [row, column] = cell(agents.x[i]);
            for (int r = row - 1; r <= row + 1; ++r) {
                auto at = std::lower_bound(sorted.begin(), sorted.end(),
                                           std::pair(std::pair(r, column - 1), static_cast<size_t>(0)));
                for (; at != sorted.end() && at->first <= std::pair(r, column + 1); ++at)
                    if (at->second != i) nearest[i] = std::min(nearest[i], (agents.x[at->second] - agents.x[i]).norm());
            }
        },
        64);
    return nearest;
}

// Measures taken while a circle runs.
struct CircleFigures {
    std::set<int32_t> ever_too_close;      // at some time closer than d_min
    double too_close = 0, looked_at = 0;   // agents closer than d_min, and all, summed over steps
    double dense_sum = 0, dense_count = 0; // nearest distances where the crowd is full
    float closest = kInfinity;             // relative to d_min
    double most_turning = 0;               // largest mean angular velocity in the centre [1/s]
    double turned = 0;                     // total angle by which the centre has turned [rad]
    size_t most_dense = 0;                 // largest number of agents in full regions at once

    double dense_mean() const { return dense_count > 0 ? dense_sum / dense_count : 0; }
    double ever_share(size_t agents) const
    {
        return static_cast<double>(ever_too_close.size()) / static_cast<double>(agents);
    }

    void look(const Crowd& crowd, float middle, float dt)
    {
        const Agents& a = crowd.agents();
        const float d_min = crowd.params().least_distance();
        const std::vector<float> nearest = nearest_distances(a, 2 * d_min);
        size_t dense = 0;
        double moment = 0, inertia = 0;
        for (size_t i = 0; i < a.size(); ++i) {
            looked_at += 1;
            closest = std::min(closest, nearest[i] / d_min);
            if (nearest[i] < d_min * (1 - 1e-5f)) too_close += 1, ever_too_close.insert(a.id[i]);
            if (crowd.continuum().sample(a.x[i]).fullness > 0.95f)
                ++dense, dense_sum += static_cast<double>(nearest[i] / d_min), dense_count += 1;
            if (a.x[i].norm() < middle) {
                moment += static_cast<double>(a.x[i].x() * a.v[i].y() - a.x[i].y() * a.v[i].x());
                inertia += static_cast<double>(a.x[i].squaredNorm());
            }
        }
        most_dense = std::max(most_dense, dense);
        const double turning = inertia > 0 ? moment / inertia : 0;
        if (std::abs(turning) > std::abs(most_turning) && dense > a.size() / 20) most_turning = turning;
        turned += turning * static_cast<double>(dt);
    }
};

} // namespace spindrift
