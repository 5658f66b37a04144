#include "spindrift/plan/triangulation.h"

#include "spindrift/base/error.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace spindrift {

bool in_circle(const GridPoint& a, const GridPoint& b, const GridPoint& c, const GridPoint& d)
{
    const int64_t ax = a.x - d.x, ay = a.y - d.y, bx = b.x - d.x, by = b.y - d.y, cx = c.x - d.x, cy = c.y - d.y;
    __extension__ using Wide = __int128;
    const auto term = [](int64_t lift, int64_t cross) { return static_cast<Wide>(lift) * cross; };
    return term(ax * ax + ay * ay, bx * cy - by * cx) + term(bx * bx + by * by, cx * ay - cy * ax) +
               term(cx * cx + cy * cy, ax * by - ay * bx) >
           0;
}

namespace {

int after(int i) { return i == 2 ? 0 : i + 1; }
int before(int i) { return i == 0 ? 2 : i - 1; }
int sign(int64_t x) { return (x > 0) - (x < 0); }

// Position along a Hilbert curve: consecutive points are close in the plane, so that the walk to the next is short.
uint64_t curve_place(const GridPoint& p)
{
    auto x = static_cast<uint64_t>(p.x + kGridReach), y = static_cast<uint64_t>(p.y + kGridReach);
    uint64_t place = 0;
    for (uint64_t s = uint64_t(1) << 29; s > 0; s >>= 1) {
        const uint64_t rx = (x & s) > 0, ry = (y & s) > 0;
        place = place * 4 + ((3 * rx) ^ ry);
        if (ry == 0) {
            if (rx == 1) x = ~x, y = ~y;
            std::swap(x, y);
        }
    }
    return place;
}

class Mesher {
  public:
    explicit Mesher(std::vector<GridPoint> points) : points_(std::move(points))
    {
        // A square far around everything. No constraint reaches it, so it does not affect the inside of any ring.
        const int first = static_cast<int>(points_.size());
        constexpr int64_t far = 2 * kGridReach;
        for (const GridPoint corner : {GridPoint{-far, -far}, {far, -far}, {far, far}, {-far, far}})
            points_.push_back(corner);
        triangles_ = {{{first, first + 1, first + 2}, {-1, 1, -1}, {}, false},
                      {{first, first + 2, first + 3}, {-1, -1, 0}, {}, false}};
        triangle_of_.assign(points_.size(), 0);
        triangle_of_[first + 3] = 1;
        std::vector<std::pair<uint64_t, int>> order;
        order.reserve(points_.size());
        for (int p = 0; p < first; ++p) order.emplace_back(curve_place(at(p)), p);
        std::sort(order.begin(), order.end());
        for (const auto& [place, p] : order) add_point(p);
    }

    // Returns false if the edge crosses an earlier one.
    bool add_constraint(int from, int to)
    {
        while (from != to && from >= 0) from = constrain_up_to_next_point(from, to);
        return from == to;
    }

    // Triangles reached from outside across an odd number of walls.
    Triangulation inside() const
    {
        std::vector<int> parity(triangles_.size(), -1), pending = {triangle_of_.back()};
        parity[pending[0]] = 0;
        while (!pending.empty()) {
            const int t = pending.back();
            pending.pop_back();
            for (int i = 0; i < 3; ++i) {
                const int u = tri(t).next[i];
                if (u < 0 || parity[u] >= 0) continue;
                parity[u] = parity[t] ^ (tri(t).wall[i] ? 1 : 0);
                pending.push_back(u);
            }
        }
        std::vector<int> number(triangles_.size(), Triangulation::kWall);
        Triangulation result;
        for (size_t t = 0, count = 0; t < triangles_.size(); ++t)
            if (parity[t] == 1) number[t] = static_cast<int>(count++);
        for (size_t t = 0; t < triangles_.size(); ++t) {
            if (parity[t] != 1) continue;
            auto& triangle = result.triangles.emplace_back();
            triangle.corner = triangles_[t].corner;
            for (size_t i = 0; i < 3; ++i)
                triangle.neighbour[i] = triangles_[t].wall[i] ? Triangulation::kWall : number[triangles_[t].next[i]];
        }
        result.points.assign(points_.begin(), points_.end() - 4);
        return result;
    }

  private:
    struct Tri {
        std::array<int, 3> corner, next; // next: across the edge opposite a corner; -1 outside the square
        std::array<bool, 3> wall;
        bool pending; // its edges are not checked yet
    };
    const GridPoint& at(int p) const { return points_[p]; }
    Tri& tri(int t) { return triangles_[t]; }
    const Tri& tri(int t) const { return triangles_[t]; }
    int side(int a, int b, int p) const { return sign(signed_area2(at(a), at(b), at(p))); }
    int corner_index(int t, int p) const { return tri(t).corner[0] == p ? 0 : tri(t).corner[1] == p ? 1 : 2; }
    int neighbour_index(int t, int u) const { return tri(t).next[0] == u ? 0 : tri(t).next[1] == u ? 1 : 2; }

    void set(int t, std::array<int, 3> corner, std::array<int, 3> next, std::array<bool, 3> wall)
    {
        tri(t).corner = corner, tri(t).next = next, tri(t).wall = wall;
        for (const int c : corner) triangle_of_[c] = t;
        if (!tri(t).pending) tri(t).pending = true, pending_.push_back(t);
    }
    int new_triangle()
    {
        triangles_.push_back({});
        return static_cast<int>(triangles_.size()) - 1;
    }
    void relink(int t, int from, int to)
    {
        if (t >= 0) tri(t).next[neighbour_index(t, from)] = to;
    }

    // Flips the edge opposite corner i of t to the other diagonal.
    void flip(int t, int i)
    {
        const int u = tri(t).next[i], j = neighbour_index(u, t);
        const Tri T = tri(t), U = tri(u);
        const int a = T.corner[i], b = T.corner[after(i)], c = T.corner[before(i)], d = U.corner[j];
        const int ab = T.next[before(i)], ca = T.next[after(i)], bd = U.next[after(j)], dc = U.next[before(j)];
        set(t, {a, b, d}, {bd, u, ab}, {U.wall[after(j)], false, T.wall[before(i)]});
        set(u, {a, d, c}, {dc, ca, t}, {U.wall[before(j)], T.wall[after(i)], false});
        relink(bd, u, t);
        relink(ca, t, u);
    }

    // Flips until every edge that is not a wall is Delaunay.
    void settle()
    {
        while (!pending_.empty()) {
            const int t = pending_.back();
            pending_.pop_back();
            tri(t).pending = false;
            for (int i = 0; i < 3; ++i) {
                const int u = tri(t).next[i];
                if (u < 0 || tri(t).wall[i]) continue;
                const int d = tri(u).corner[neighbour_index(u, t)];
                const auto& [a, b, c] = tri(t).corner;
                if (!in_circle(at(a), at(b), at(c), at(d))) continue;
                flip(t, i);
                break;
            }
        }
    }

    void add_point(int p)
    {
        const int t = locate(p);
        const Tri T = tri(t);
        for (int i = 0; i < 3; ++i)
            if (side(T.corner[after(i)], T.corner[before(i)], p) == 0) return split_edge(t, i, p);
        const int u = new_triangle(), w = new_triangle();
        const auto [a, b, c] = T.corner;
        set(t, {p, b, c}, {T.next[0], u, w}, {});
        set(u, {p, c, a}, {T.next[1], w, t}, {});
        set(w, {p, a, b}, {T.next[2], t, u}, {});
        relink(T.next[1], t, u);
        relink(T.next[2], t, w);
        settle();
    }

    void split_edge(int t, int i, int p)
    {
        const int u = tri(t).next[i], j = neighbour_index(u, t), v = new_triangle(), w = new_triangle();
        const Tri T = tri(t), U = tri(u);
        const int a = T.corner[i], b = T.corner[after(i)], c = T.corner[before(i)], d = U.corner[j];
        const int ab = T.next[before(i)], ca = T.next[after(i)], bd = U.next[after(j)], dc = U.next[before(j)];
        set(t, {p, a, b}, {ab, w, v}, {});
        set(v, {p, c, a}, {ca, t, u}, {});
        set(u, {p, d, c}, {dc, v, w}, {});
        set(w, {p, b, d}, {bd, u, t}, {});
        relink(ca, t, v);
        relink(bd, u, w);
        settle();
    }

    // Walks towards the point. Terminates because all triangles are Delaunay while points are inserted.
    int locate(int p)
    {
        int t = last_;
        for (bool moved = true; moved;) {
            moved = false;
            for (int i = 0; i < 3 && !moved; ++i) {
                if (side(tri(t).corner[after(i)], tri(t).corner[before(i)], p) >= 0) continue;
                t = tri(t).next[i];
                moved = true;
            }
        }
        last_ = t;
        return t;
    }

    // Makes the segment from `from` to `to` a wall up to the first point on it, and returns that point; -1 if another
    // wall is in between.
    int constrain_up_to_next_point(int from, int to)
    {
        // Around `from`: find the triangle through whose opposite edge the segment leaves.
        int t = triangle_of_[from];
        for (;;) {
            const int i = corner_index(t, from), right = tri(t).corner[after(i)], left = tri(t).corner[before(i)];
            const int to_right = side(from, right, to), to_left = side(from, left, to);
            if (to_right == 0 && ahead(from, right, to)) return make_wall(t, before(i)), right;
            if (to_left == 0 && ahead(from, left, to)) return make_wall(t, after(i)), left;
            if (to_right > 0 && to_left < 0) break;
            t = tri(t).next[after(i)]; // no constraint starts at the outer square, so there is always a next triangle
        }
        // Collect the edges that the segment crosses, up to the first point on it.
        std::deque<std::pair<int, int>> crossed;
        int right = tri(t).corner[after(corner_index(t, from))], left = tri(t).corner[before(corner_index(t, from))];
        int end = -1;
        while (end < 0) {
            const int i = 3 - corner_index(t, right) - corner_index(t, left);
            if (tri(t).wall[i]) return -1;
            crossed.emplace_back(right, left);
            const int u = tri(t).next[i], point = tri(u).corner[neighbour_index(u, t)], where = side(from, to, point);
            if (where == 0) end = point;
            (where > 0 ? left : right) = point;
            t = u;
        }
        // Flip them until none is left. An edge whose two triangles do not form a convex quadrangle waits for others.
        while (!crossed.empty()) {
            const auto [p, q] = crossed.front();
            crossed.pop_front();
            const auto [v, i] = triangle_at(p, q);
            const int u = tri(v).next[i], a = tri(v).corner[i], d = tri(u).corner[neighbour_index(u, v)];
            const bool convex = side(a, d, p) * side(a, d, q) < 0;
            if (!convex) {
                crossed.emplace_back(p, q);
                continue;
            }
            flip(v, i);
            if (side(from, end, a) * side(from, end, d) < 0) crossed.emplace_back(a, d);
        }
        const auto [v, i] = triangle_at(from, end);
        make_wall(v, i);
        settle();
        return end;
    }

    // Whether a point on the line from a to b lies on b's side of a.
    bool ahead(int a, int point, int b) const
    {
        return (at(point).x - at(a).x) * (at(b).x - at(a).x) + (at(point).y - at(a).y) * (at(b).y - at(a).y) > 0;
    }

    // A triangle with the edge from p to q, and the index of the corner opposite to it.
    std::pair<int, int> triangle_at(int p, int q) const
    {
        int t = triangle_of_[p];
        for (bool back = false;;) {
            const int i = corner_index(t, p);
            if (tri(t).corner[after(i)] == q) return {t, before(i)};
            if (tri(t).corner[before(i)] == q) return {t, after(i)};
            t = tri(t).next[back ? before(i) : after(i)];
            if (t < 0) t = triangle_of_[p],
                       back = true; // at a corner of the square: go around the other way
        }
    }

    void make_wall(int t, int i)
    {
        const int u = tri(t).next[i];
        tri(t).wall[i] = true;
        tri(u).wall[neighbour_index(u, t)] = true;
    }

    std::vector<GridPoint> points_;
    std::vector<Tri> triangles_;
    std::vector<int> triangle_of_; // one of the triangles around each point
    std::vector<int> pending_;
    int last_ = 0;
};

} // namespace

std::optional<Triangulation> triangulate(const std::vector<std::vector<GridPoint>>& rings)
{
    std::vector<GridPoint> points;
    for (const auto& ring : rings)
        for (const GridPoint& p : ring) {
            if (std::max({p.x, -p.x, p.y, -p.y}) > kGridReach) fail("a floor plan's point is beyond the grid");
            points.push_back(p);
        }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    if (points.size() < 3) return Triangulation();
    const auto index = [&](const GridPoint& p) {
        return static_cast<int>(std::lower_bound(points.begin(), points.end(), p) - points.begin());
    };
    std::vector<std::pair<int, int>> edges;
    for (const auto& ring : rings)
        for (size_t i = 0; i < ring.size(); ++i) {
            const int a = index(ring[i]), b = index(ring[i + 1 == ring.size() ? 0 : i + 1]);
            if (a != b) edges.emplace_back(std::min(a, b), std::max(a, b));
        }
    std::sort(edges.begin(), edges.end());
    Mesher mesher(points);
    for (size_t i = 0; i < edges.size();) {
        size_t end = i;
        while (end < edges.size() && edges[end] == edges[i]) ++end;
        if ((end - i) % 2 == 1 && !mesher.add_constraint(edges[i].first, edges[i].second)) return std::nullopt;
        i = end;
    }
    return mesher.inside();
}

} // namespace spindrift
