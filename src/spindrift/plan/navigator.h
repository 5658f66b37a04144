// Path finding and collision with walls for agents [Narain 2011, section 4.3.1]. All methods are const and thread-safe;
// an agent keeps only a few bytes between steps. The answers do not depend on the number of threads.
//
//     Navigator navigator(plan, 0.25);
//     const GoalId exit = navigator.goal("exit");
//     RouteCursor cursor;                                     // one for each agent
//     Vec2f preferred = speed * navigator.direction(x, exit, cursor);
//     x = navigator.keep_out(x, x + dt * velocity);
//
// Differences from [Narain 2011]:
// - Visibility is a walk over a grid of edges (edge_grid.h). An agent remembers its sub-goal and tests that and the
//   next one; an agent that is pushed out of sight of it starts again from its triangle.
// - A step shorter than the clearance (clearance_grid.h) needs no test. Others are followed to the first wall and slide
//   along it. The result is inside the free space after rounding to float, not only before.
#pragma once

#include "spindrift/plan/clearance_grid.h"
#include "spindrift/plan/edge_grid.h"
#include "spindrift/plan/free_space.h"
#include "spindrift/plan/roadmap.h"
#include "spindrift/plan/triangle_grid.h"

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace spindrift {

using GoalId = uint32_t; // index of FloorPlan::goals

// The roadmap vertex that an agent is heading for on its path to a goal.
struct RouteCursor {
    uint32_t vertex = Roadmap::kNone;
};

// The same for an agent with a target point of its own: the next few vertices.
struct PointRoute {
    static constexpr uint32_t kAhead = 14;
    std::array<uint32_t, kAhead> vertices{};
    uint32_t count = 0, at = 0;
};

class Navigator {
  public:
    // `radius` is that of the largest agent [m].
    Navigator(const FloorPlan& plan, double radius);
    ~Navigator();
    Navigator(Navigator&&) noexcept;

    const FreeSpace& space() const { return *space_; }
    const Roadmap& roadmap() const { return roadmap_; }
    const EdgeGrid& edges() const { return edges_; }

    // Throws bad_input with the most similar name if there is no such goal.
    GoalId goal(const std::string& name) const;
    // Finds the shortest paths to these goals in parallel. Otherwise each is found on first use.
    void prepare(std::span<const GoalId> goals) const;
    const Roadmap::Tree& paths_to(GoalId goal) const;

    // Unit vector towards the farthest visible sub-goal on the shortest path; zero inside the goal and where there is
    // no path. An agent pushed off its path finds a new one.
    Vec2f direction(const Vec2f& position, GoalId goal, RouteCursor& cursor) const;
    // The same for a target point. A point in an obstacle is replaced by the nearest free one.
    Vec2f direction(const Vec2f& position, const Vec2f& target, PointRoute& route) const;
    // Length of the path to a goal over the roadmap; infinite if there is none.
    float distance(const Vec2f& position, GoalId goal) const;
    // Whether an agent at this place has arrived.
    bool arrived(const Vec2f& position, GoalId goal) const;
    bool reachable(const Vec2f& position, GoalId goal) const;
    bool reachable(const Vec2f& position, const Vec2f& target) const;
    // Where agents may stand in a goal; empty if there is no room.
    const std::vector<Polygon>& zone(GoalId goal) const;

    // Whether an agent's centre may be there.
    bool inside(const Vec2f& position) const { return triangles_.find(position.cast<double>()) >= 0; }
    // Connected part of the free space; -1 outside.
    int part(const Vec2f& position) const;
    // True if an agent can move by `distance` [m] in any direction. Conservative and fast.
    bool is_free_around(const Vec2f& x, float distance) const { return clearance_grid_.is_free_around(x, distance); }
    // Whether an agent can walk straight from a to b, both in the free space.
    bool visible(const Vec2f& a, const Vec2f& b) const;
    // Moves an agent from `from` towards `to`. It slides along walls and never crosses one, however long the step. The
    // result is inside the free space; if `from` is outside, it is the nearest free place.
    Vec2f keep_out(const Vec2f& from, const Vec2f& to) const;
    // The nearest place in the free space.
    Vec2f nearest_free(const Vec2f& position) const;
    // Distance of an agent's centre from the border of the free space; 0 outside. The nearest wall is one radius
    // farther.
    float clearance(const Vec2f& position) const;

  private:
    struct Goal;
    Vec2f towards(const Vec2d& position, const Vec2d& target) const;
    std::optional<Vec2d> visible_in_zone(const Vec2d& p, const Goal& goal) const;
    uint32_t first_vertex(const Vec2d& p, const Roadmap::Tree& tree) const;
    void find_seeds(Goal& goal) const;
    bool sees(const Vec2d& a, const Vec2d& b) const { return edges_.visible(a, b, 0.5 * skin_); }
    Vec2d just_inside(int edge, const Vec2d& on_edge) const;

    std::unique_ptr<FreeSpace> space_;
    Roadmap roadmap_;
    EdgeGrid edges_;
    TriangleGrid triangles_;
    ClearanceGrid clearance_grid_;
    double skin_; // distance of agents from edges, so that rounding does not put them outside [m]
    std::vector<std::unique_ptr<Goal>> goals_;
};

} // namespace spindrift
