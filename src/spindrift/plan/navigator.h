// How agents find their way and stay in the world. Everything is const and may be asked from many threads; what an
// agent remembers between steps is a few bytes of its own. Same answers for any number of threads.
//
//     Navigator navigator(plan, 0.25);
//     const GoalId exit = navigator.goal("exit");
//     RouteCursor cursor;                                     // one for each agent
//     Vec2f preferred = speed * navigator.direction(x, exit, cursor);
//     x = navigator.keep_out(x, x + dt * velocity);
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

// Where an agent is on its way to a goal: the vertex of the roadmap that it heads for.
struct RouteCursor {
    uint32_t vertex = Roadmap::kNone;
};

// The same for an agent that heads for a point of its own: the next few vertices.
struct PointRoute {
    static constexpr uint32_t kAhead = 14;
    std::array<uint32_t, kAhead> vertices{};
    uint32_t count = 0, at = 0;
};

class Navigator {
  public:
    // `radius`: of the largest agent [m].
    Navigator(const FloorPlan& plan, double radius);
    ~Navigator();
    Navigator(Navigator&&) noexcept;

    const FreeSpace& space() const { return *space_; }
    const Roadmap& roadmap() const { return roadmap_; }
    const EdgeGrid& edges() const { return edges_; }

    // The goal's number; throws bad_input with the nearest name if there is none.
    GoalId goal(const std::string& name) const;
    // Finds the shortest paths to goals at once, in parallel. Otherwise each is found when it is first asked for.
    void prepare(std::span<const GoalId> goals) const;
    const Roadmap::Tree& paths_to(GoalId goal) const;

    // The unit vector towards the farthest visible sub-goal on the shortest path; zero in the goal, and where no way
    // leads there. An agent that was pushed off its path finds a new one.
    Vec2f direction(const Vec2f& position, GoalId goal, RouteCursor& cursor) const;
    // The same for a point of the agent's own. A point in an obstacle stands for the nearest free one.
    Vec2f direction(const Vec2f& position, const Vec2f& target, PointRoute& route) const;
    // Length of the path to a goal over the roadmap; infinite if there is none.
    float distance(const Vec2f& position, GoalId goal) const;
    // Whether an agent that stands there has arrived.
    bool arrived(const Vec2f& position, GoalId goal) const;
    bool reachable(const Vec2f& position, GoalId goal) const;
    bool reachable(const Vec2f& position, const Vec2f& target) const;
    // Where agents may stand in a goal; empty if nobody fits in.
    const std::vector<Polygon>& zone(GoalId goal) const;

    // Whether an agent's centre may be there.
    bool inside(const Vec2f& position) const { return triangles_.find(position.cast<double>()) >= 0; }
    // Number of the part of the free space; -1 outside.
    int part(const Vec2f& position) const;
    // From there one can go this far [m] in any direction: a quick answer that is never wrongly yes.
    bool is_free_around(const Vec2f& x, float distance) const { return room_.is_free_around(x, distance); }
    // Whether an agent can walk from a to b in a straight line, both being inside.
    bool visible(const Vec2f& a, const Vec2f& b) const;
    // Where an agent gets to on its way from `from` to `to`: it slides along walls, and never passes one, however far
    // it wants to go. The result is inside; if `from` is not, the nearest free place is.
    Vec2f keep_out(const Vec2f& from, const Vec2f& to) const;
    // The nearest place inside.
    Vec2f nearest_free(const Vec2f& position) const;
    // Distance of an agent's centre from where it may not be; 0 outside. Its radius more from the nearest wall.
    float clearance(const Vec2f& position) const;

  private:
    struct Goal;
    Vec2f towards(const Vec2d& position, const Vec2d& target) const;
    std::optional<Vec2d> visible_in_zone(const Vec2d& p, const Goal& goal) const;
    uint32_t first_vertex(const Vec2d& p, const Roadmap::Tree& tree) const;
    void find_seeds(Goal& goal) const;
    bool sees(const Vec2d& a, const Vec2d& b) const { return edges_.visible(a, b, 0.5 * skin_); }
    Vec2d beside(int edge, const Vec2d& on_edge) const;

    std::unique_ptr<FreeSpace> space_;
    Roadmap roadmap_;
    EdgeGrid edges_;
    TriangleGrid triangles_;
    ClearanceGrid room_;
    double skin_; // how far from edges agents are kept, so that rounding does not put them outside [m]
    std::vector<std::unique_ptr<Goal>> goals_;
};

} // namespace spindrift
