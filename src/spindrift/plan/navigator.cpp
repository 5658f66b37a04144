#include "spindrift/plan/navigator.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/plan/plane.h"
#include "spindrift/scene/params.h"

#include <Eigen/Geometry>
#include <fmt/format.h>

namespace spindrift {

namespace {

using Box2d = Eigen::AlignedBox2d;

// Consecutive hidden sub-goals after which the search for a visible one ends.
constexpr int kPatience = 16;

std::vector<Edge> edges_of(const FreeSpace& space)
{
    std::vector<Edge> edges;
    const auto& triangles = space.triangulation().triangles;
    for (size_t t = 0; t < triangles.size(); ++t)
        for (size_t i = 0; i < 3; ++i)
            if (triangles[t].neighbour[i] == Triangulation::kWall)
                edges.push_back({space.point(triangles[t].corner[(i + 1) % 3]),
                                 space.point(triangles[t].corner[(i + 2) % 3]), static_cast<int>(t)});
    return edges;
}

// A function of its own: GCC 12 omits the rounding to float when it vectorizes both coordinates in the caller, and a
// point that is inside before rounding may be outside after it.
[[gnu::noinline]] Vec2f rounded(const Vec2d& x) { return x.cast<float>(); }

// Clips a polygon to the half-plane left of the line from a to b.
Ring clipped(const Ring& ring, const Vec2d& a, const Vec2d& b)
{
    Ring result;
    for (size_t i = 0; i < ring.size(); ++i) {
        const Vec2d &p = ring[i], &q = ring[i + 1 == ring.size() ? 0 : i + 1];
        const double side_p = cross(b - a, p - a), side_q = cross(b - a, q - a);
        if (side_p >= 0) result.push_back(p);
        if ((side_p >= 0) != (side_q >= 0)) result.push_back(p + side_p / (side_p - side_q) * (q - p));
    }
    return result;
}

} // namespace

// Where agents that have arrived may stand.
struct Navigator::Goal {
    std::string name;
    std::vector<Polygon> zone;
    std::vector<Box2d> boxes;  // of the zone's polygons
    std::vector<bool> in_part; // parts of the free space that contain some of the zone
    std::vector<Roadmap::Seed> seeds;
    std::once_flag once; // for the tree
    Roadmap::Tree tree;

    bool contains(const Vec2d& p) const
    {
        for (size_t i = 0; i < zone.size(); ++i)
            if (boxes[i].contains(p) && spindrift::contains(zone[i], p)) return true;
        return false;
    }
    // The nearest point of the zone to a point outside it.
    Vec2d nearest(const Vec2d& p) const
    {
        Vec2d best = p;
        double least = std::numeric_limits<double>::infinity();
        const auto look_at = [&](const Ring& ring) {
            const Vec2d q = nearest_on_ring(p, ring);
            if (const double d = (q - p).squaredNorm(); d < least) least = d, best = q;
        };
        for (size_t i = 0; i < zone.size(); ++i) {
            if (boxes[i].squaredExteriorDistance(p) >= least) continue;
            look_at(zone[i].outer);
            for (const Ring& hole : zone[i].holes) look_at(hole);
        }
        return best;
    }
};

Navigator::~Navigator() = default;
Navigator::Navigator(Navigator&&) noexcept = default;

Navigator::Navigator(const FloorPlan& plan, double radius)
    : space_(std::make_unique<FreeSpace>(plan, radius)), roadmap_(*space_), edges_(edges_of(*space_)),
      triangles_(*space_), clearance_grid_(edges_, triangles_)
{
    double extent = 1;
    for (const Edge& e : edges_.edges()) extent = std::max({extent, e.from.cwiseAbs().maxCoeff()});
    skin_ = std::max(5e-4, 4 * extent * std::numeric_limits<float>::epsilon());
    for (const PlanGoal& from : plan.goals) {
        Goal& goal = *goals_.emplace_back(std::make_unique<Goal>());
        goal.name = from.name;
        std::vector<Region> pieces;
        for (const Polygon& piece : from.pieces) pieces.emplace_back(piece);
        for (const Vec2d& point : from.points) pieces.emplace_back(circle_polygon(point, 0.5 * radius));
        goal.zone = space_->reach(pieces).polygons();
        for (const Polygon& polygon : goal.zone) {
            Box2d& box = goal.boxes.emplace_back();
            for (const Vec2d& p : polygon.outer) box.extend(p);
        }
    }
    parallel_for(goals_.size(), [&](size_t g) { find_seeds(*goals_[g]); });
}

GoalId Navigator::goal(const std::string& name) const
{
    std::vector<std::string> names;
    for (size_t g = 0; g < goals_.size(); ++g) {
        if (goals_[g]->name == name) return static_cast<GoalId>(g);
        names.push_back(goals_[g]->name);
    }
    const std::string nearest = nearest_name(name, names);
    bad_input("the floor plan has no goal '{}'{}", name,
              !nearest.empty() ? fmt::format("; did you mean '{}'?", nearest)
              : !names.empty()
                  ? fmt::format("; it has: {}", fmt::join(names, ", "))
                  : fmt::format("; add a goal of this name, or mark it in the drawing: id=\"goal-{0}\" in SVG, "
                                "\"type\": \"goal\" and \"name\": \"{0}\" in GeoJSON",
                                name));
}

void Navigator::prepare(std::span<const GoalId> goals) const
{
    parallel_for(goals.size(), [&](size_t i) { paths_to(goals[i]); });
}

const Roadmap::Tree& Navigator::paths_to(GoalId id) const
{
    Goal& goal = *goals_[id];
    std::call_once(goal.once, [&] { goal.tree = roadmap_.tree(goal.seeds); });
    return goal.tree;
}

// A seed for each vertex on a triangle that overlaps the zone: straight to the nearest point of that overlap.
void Navigator::find_seeds(Goal& goal) const
{
    goal.in_part.assign(space_->part_count(), false);
    const auto& triangles = space_->triangulation().triangles;
    for (size_t t = 0; t < triangles.size(); ++t) {
        const auto corner = [&](size_t i) { return space_->point(triangles[t].corner[i % 3]); };
        const Box2d box = Box2d(corner(0)).extend(corner(1)).extend(corner(2));
        for (size_t i = 0; i < goal.zone.size(); ++i) {
            if (!box.intersects(goal.boxes[i])) continue;
            Ring share = goal.zone[i].outer;
            for (size_t k = 0; k < 3; ++k) share = clipped(share, corner(k), corner(k + 1));
            if (signed_area(share) < 1e-9) continue;
            goal.in_part[space_->part_of(static_cast<int>(t))] = true;
            for (const uint32_t v : roadmap_.of_triangle(static_cast<int>(t))) {
                if (v == Roadmap::kNone) continue;
                const Vec2d& from = roadmap_.vertex(v);
                const Vec2d entry = goal.contains(from) ? from : nearest_on_ring(from, share);
                goal.seeds.push_back({v, (entry - from).norm(), entry});
            }
        }
    }
}

// -------------------------------------------------------------------------------------------------------- path finding

Vec2f Navigator::towards(const Vec2d& position, const Vec2d& target) const
{
    const Vec2d path = target - position;
    const double length = path.norm();
    return length > 1e-9 ? Vec2f((path / length).cast<float>()) : Vec2f(0, 0);
}

std::optional<Vec2d> Navigator::visible_in_zone(const Vec2d& p, const Goal& goal) const
{
    const Vec2d target = goal.nearest(p);
    if (!sees(p, target)) return std::nullopt;
    return target;
}

// The best vertex on the triangle of p, which is always visible. The nearest vertex might be behind a wall.
uint32_t Navigator::first_vertex(const Vec2d& p, const Roadmap::Tree& tree) const
{
    const int triangle = triangles_.find(p);
    if (triangle < 0) return Roadmap::kNone;
    uint32_t best = Roadmap::kNone;
    double least = std::numeric_limits<double>::infinity();
    for (const uint32_t v : roadmap_.of_triangle(triangle)) {
        if (v == Roadmap::kNone) continue;
        const double length = (roadmap_.vertex(v) - p).norm() + static_cast<double>(tree.distance[v]);
        if (length < least) least = length, best = v;
    }
    return best;
}

Vec2f Navigator::direction(const Vec2f& position, GoalId id, RouteCursor& cursor) const
{
    const Goal& goal = *goals_[id];
    Vec2d p = position.cast<double>();
    if (goal.zone.empty() || !p.allFinite() || goal.contains(p)) return Vec2f(0, 0);
    const Roadmap::Tree& tree = paths_to(id);
    const bool lost = cursor.vertex >= roadmap_.size() || !sees(p, roadmap_.vertex(cursor.vertex));
    if (lost) {
        if (!inside(position)) p = nearest_free(position).cast<double>();
        cursor.vertex = Roadmap::kNone;
        if (const auto target = visible_in_zone(p, goal)) return towards(p, *target);
        cursor.vertex = first_vertex(p, tree);
        if (cursor.vertex == Roadmap::kNone) return Vec2f(0, 0); // no path
    }
    // Advance to the farthest visible vertex. Between steps usually only the next one comes into view.
    int hidden = 0;
    const int patience = lost ? kPatience : 1;
    for (uint32_t v = tree.next[cursor.vertex]; v != Roadmap::kNone && hidden < patience; v = tree.next[v]) {
        if (sees(p, roadmap_.vertex(v)))
            cursor.vertex = v, hidden = 0;
        else
            ++hidden;
    }
    if (tree.next[cursor.vertex] != Roadmap::kNone) return towards(p, roadmap_.vertex(cursor.vertex));
    // From the last vertex into the goal, if visible.
    if (const auto target = visible_in_zone(p, goal)) return towards(p, *target);
    const Vec2d& entry = tree.seed(cursor.vertex).entry;
    return towards(p, sees(p, entry) ? entry : roadmap_.vertex(cursor.vertex));
}

Vec2f Navigator::direction(const Vec2f& position, const Vec2f& target, PointRoute& route) const
{
    if (!position.allFinite() || !target.allFinite()) return Vec2f(0, 0);
    Vec2d p = position.cast<double>(), goal = target.cast<double>();
    int goal_triangle = triangles_.find(goal);
    if (goal_triangle < 0) {
        const Vec2f free = nearest_free(target);
        goal = free.cast<double>(), goal_triangle = triangles_.find(goal);
    }
    if (sees(p, goal)) {
        route.count = route.at = 0;
        return towards(p, goal);
    }
    const auto vertex = [&](uint32_t i) { return roadmap_.vertex(route.vertices[i]); };
    const bool known = route.at < route.count && route.vertices[route.at] < roadmap_.size();
    const bool lost = !known || !sees(p, vertex(route.at));
    const bool used_up = known && route.at + 1 == route.count && route.count == PointRoute::kAhead;
    if (lost || used_up) {
        if (!inside(position)) p = nearest_free(position).cast<double>();
        const int triangle = triangles_.find(p);
        route.count = route.at = 0;
        if (triangle < 0 || goal_triangle < 0 || space_->part_of(triangle) != space_->part_of(goal_triangle))
            return Vec2f(0, 0);
        for (const uint32_t v : roadmap_.path(p, triangle, goal, goal_triangle))
            if (route.count < PointRoute::kAhead) route.vertices[route.count++] = v;
        if (route.count == 0) return Vec2f(0, 0);
    }
    for (uint32_t i = route.at + 1; i < route.count; ++i) {
        if (sees(p, vertex(i)))
            route.at = i;
        else if (!lost && !used_up)
            break;
    }
    return towards(p, vertex(route.at));
}

float Navigator::distance(const Vec2f& position, GoalId id) const
{
    const Goal& goal = *goals_[id];
    const Vec2d p = position.cast<double>();
    if (goal.zone.empty() || !inside(position)) return kInfinity;
    if (goal.contains(p)) return 0;
    if (const auto target = visible_in_zone(p, goal)) return static_cast<float>((*target - p).norm());
    const Roadmap::Tree& tree = paths_to(id);
    const uint32_t v = first_vertex(p, tree);
    return v == Roadmap::kNone ? kInfinity : static_cast<float>((roadmap_.vertex(v) - p).norm()) + tree.distance[v];
}

bool Navigator::arrived(const Vec2f& position, GoalId goal) const
{
    return goals_[goal]->contains(position.cast<double>());
}

int Navigator::part(const Vec2f& position) const
{
    const int triangle = triangles_.find(position.cast<double>());
    return triangle < 0 ? -1 : space_->part_of(triangle);
}

bool Navigator::reachable(const Vec2f& position, GoalId goal) const
{
    const int from = part(position);
    return from >= 0 && goals_[goal]->in_part[from];
}

bool Navigator::reachable(const Vec2f& position, const Vec2f& target) const
{
    const int from = part(position);
    return from >= 0 && from == part(target);
}

const std::vector<Polygon>& Navigator::zone(GoalId goal) const { return goals_[goal]->zone; }

bool Navigator::visible(const Vec2f& a, const Vec2f& b) const { return sees(a.cast<double>(), b.cast<double>()); }

// ------------------------------------------------------------------------------------------------ collision with walls

// A point at right angles to an edge, just inside.
Vec2d Navigator::just_inside(int edge, const Vec2d& on_edge) const
{
    const Vec2d along = edges_.edges()[edge].along();
    return on_edge + 1.5 * skin_ * Vec2d(-along.y(), along.x()).normalized();
}

Vec2f Navigator::nearest_free(const Vec2f& position) const
{
    if (inside(position)) return position;
    const Vec2d p = position.allFinite() ? Vec2d(position.cast<double>()) : edges_.edges().front().from;
    const EdgeGrid::Closest closest = edges_.closest(p);
    if (Vec2f result = rounded(just_inside(closest.edge, closest.point)); inside(result)) return result;
    // In a sharp corner: move towards the centre of the edge's triangle until there is room for a float.
    const auto middle_of = [&](int t) {
        const auto& [a, b, c] = space_->triangulation().triangles[t].corner;
        return Vec2d((space_->point(a) + space_->point(b) + space_->point(c)) / 3);
    };
    const Vec2d middle = middle_of(edges_.edges()[closest.edge].triangle);
    for (double away = skin_, length = (middle - closest.point).norm(); away < length; away *= 2) {
        Vec2f result = rounded(closest.point + away / length * (middle - closest.point));
        if (inside(result)) return result;
    }
    // The triangle is a sliver: take any place.
    for (size_t t = 0; t < space_->triangulation().triangles.size(); ++t)
        if (Vec2f any = rounded(middle_of(static_cast<int>(t))); inside(any)) return any;
    fail("the floor plan has no place with room for an agent");
}

Vec2f Navigator::keep_out(const Vec2f& from, const Vec2f& to) const
{
    if (is_free_around(from, (to - from).norm())) return to;
    if (!inside(from)) return nearest_free(from);
    if (!to.allFinite()) return from;
    Vec2d p = from.cast<double>(), target = to.cast<double>();
    Vec2f reached = from; // on a path that crosses no edge
    const auto free_path_to = [&](const Vec2f& q) {
        return inside(q) && edges_.first_exit(p, q.cast<double>()).edge < 0;
    };
    for (int slide = 0; slide < 4; ++slide) {
        const EdgeGrid::Hit hit = edges_.first_exit(p, target);
        if (hit.edge < 0) {
            const Vec2f end = rounded(target);
            return !edges_.edges_near(target) || inside(end) ? end : reached;
        }
        // Stop at the wall, or just before it in a sharp corner...
        const Edge& edge = edges_.edges()[hit.edge];
        const Vec2d path = target - p, contact = nearest_on_segment(p + hit.share * path, edge.from, edge.to);
        Vec2f stop = rounded(just_inside(hit.edge, contact));
        if (!free_path_to(stop)) {
            stop = rounded(p + std::max(0.0, hit.share - 1.5 * skin_ / path.norm()) * path);
            if (!free_path_to(stop)) return reached;
        }
        reached = stop;
        // ... and slide along it with the rest of the step.
        const Vec2d along = edge.along().normalized();
        p = stop.cast<double>();
        target = p + along * along.dot(target - contact);
    }
    return reached;
}

float Navigator::clearance(const Vec2f& position) const
{
    return inside(position) ? static_cast<float>(edges_.closest(position.cast<double>()).distance) : 0.0f;
}

} // namespace spindrift
