#include "spindrift/mesh/remesh.h"

#include "spindrift/base/parallel.h"
#include "spindrift/field/tiles.h"
#include "spindrift/mesh/distance.h"

#include <Eigen/Geometry>
#include <tbb/parallel_sort.h>

namespace spindrift {

namespace {

constexpr float kLongest = 4.0f / 3, kShortest = 4.0f / 5; // in units of the edge that is wanted [Botsch 2004]
constexpr size_t kVerticesPerRemesh = 1024;

// Half-edge h = 3 t + k runs from corner k of triangle t to the next. Removed triangles keep their place, with -1.
class EdgeMesh {
  public:
    EdgeMesh(const Mesh& mesh, float edge);

    void split_long();
    void collapse_short();
    void flip_to_six();
    // Where vertices should move, without the part along the normal.
    std::vector<Vec3f> smoothed() const;
    std::vector<Vec3f>& positions() { return x_; }
    Mesh result() const;

  private:
    static int next(int h) { return h % 3 == 2 ? h - 2 : h + 1; }
    static int before(int h) { return h % 3 == 0 ? h + 2 : h - 1; }
    int from(int h) const { return corner_[h]; }
    int to(int h) const { return corner_[next(h)]; }
    int apex(int h) const { return corner_[before(h)]; }
    bool alive(int h) const { return corner_[h] >= 0; }
    float length2(int h) const { return (x_[from(h)] - x_[to(h)]).squaredNorm(); }
    void pair(int g, int h)
    {
        if (g >= 0) twin_[g] = h;
        if (h >= 0) twin_[h] = g;
    }
    void set_triangle(int t, int a, int b, int c);
    // Calls body(h) for each half-edge that leaves a vertex, in order around it.
    template <class Body> void for_each_leaving(int vertex, const Body& body) const;
    bool on_boundary(int vertex) const { return boundary_[vertex] != 0; }
    bool adjacent(int a, int b) const;
    int valence(int vertex) const;
    void link_twins();
    void separate_fans();
    void split(int h);
    bool can_collapse(int h) const;
    bool keeps_shape(int vertex, int other, const Vec3f& place) const;
    void collapse(int h);
    bool can_flip(int h) const;
    void flip(int h);

    float edge_;
    std::vector<Vec3f> x_;
    std::vector<int> corner_, twin_;
    std::vector<int> leaving_; // a half-edge from each vertex: at a boundary the first around it; -1 for none
    std::vector<uint8_t> boundary_;
};

Vec3f normal_of(const Vec3f& a, const Vec3f& b, const Vec3f& c) { return (b - a).cross(c - a); }

EdgeMesh::EdgeMesh(const Mesh& mesh, float edge) : edge_(edge), x_(mesh.positions)
{
    for (const Vec3i& t : mesh.triangles)
        if (t[0] != t[1] && t[1] != t[2] && t[2] != t[0]) corner_.insert(corner_.end(), t.begin(), t.end());
    link_twins();
    separate_fans();
}

// Pairs the half-edges of each edge; those of edges with more than two triangles stay alone.
void EdgeMesh::link_twins()
{
    struct Side {
        uint64_t edge;
        int h;
    };
    std::vector<Side> sides;
    for (int h = 0; h < static_cast<int>(corner_.size()); ++h) {
        const int low = std::min(from(h), to(h)), high = std::max(from(h), to(h));
        sides.push_back({static_cast<uint64_t>(low) << 32 | static_cast<uint32_t>(high), h});
    }
    std::sort(sides.begin(), sides.end(),
              [](const Side& a, const Side& b) { return std::tie(a.edge, a.h) < std::tie(b.edge, b.h); });
    twin_.assign(corner_.size(), -1);
    for (size_t i = 0, end = 0; i < sides.size(); i = end) {
        for (end = i + 1; end < sides.size() && sides[end].edge == sides[i].edge;) ++end;
        if (end == i + 2 && from(sides[i].h) == to(sides[i + 1].h)) pair(sides[i].h, sides[i + 1].h);
    }
}

// Gives each fan of triangles at a vertex a vertex of its own.
void EdgeMesh::separate_fans()
{
    const int count = static_cast<int>(corner_.size());
    std::vector<uint8_t> seen(corner_.size(), 0);
    const std::vector<int> old = corner_;
    leaving_.assign(x_.size(), -1), boundary_.assign(x_.size(), 0);
    for (int h = 0; h < count; ++h) {
        if (seen[h]) continue;
        int first = h; // go back to the start of the fan, if it has one
        bool open = false;
        for (int at = h;;) {
            const int across = twin_[at];
            if (across < 0) {
                first = at, open = true;
                break;
            }
            at = next(across);
            if (at == h) break;
        }
        int vertex = old[h];
        if (leaving_[vertex] >= 0) {
            vertex = static_cast<int>(x_.size());
            x_.push_back(Vec3f(x_[old[h]]));
            leaving_.push_back(-1), boundary_.push_back(0);
        }
        leaving_[vertex] = first, boundary_[vertex] = open;
        for (int at = first;;) {
            seen[at] = 1, corner_[at] = vertex;
            at = twin_[before(at)];
            if (at < 0 || at == first) break;
        }
    }
}

// Around a vertex: the half-edge into it of the same triangle, and across that.
template <class Body> void EdgeMesh::for_each_leaving(int vertex, const Body& body) const
{
    const int first = leaving_[vertex];
    for (int h = first; h >= 0;) {
        body(h);
        h = twin_[before(h)];
        if (h == first) break;
    }
}

bool EdgeMesh::adjacent(int a, int b) const
{
    bool found = false;
    for_each_leaving(a, [&](int h) { found |= to(h) == b || apex(h) == b; });
    return found;
}

int EdgeMesh::valence(int vertex) const
{
    int count = on_boundary(vertex) ? 1 : 0;
    for_each_leaving(vertex, [&](int) { ++count; });
    return count;
}

void EdgeMesh::set_triangle(int t, int a, int b, int c)
{
    corner_[3 * t] = a, corner_[3 * t + 1] = b, corner_[3 * t + 2] = c;
}

// (a b c) and (b a d) become (a m c), (m b c), (b m d) and (m a d).
void EdgeMesh::split(int h)
{
    const int g = twin_[h], m = static_cast<int>(x_.size());
    x_.push_back(0.5f * (x_[from(h)] + x_[to(h)]));
    // Divides the triangle of a half-edge. Returns the half-edge from m to where that one ended.
    const auto divide = [&](int side) {
        const int end = to(side), top = apex(side), added = static_cast<int>(corner_.size());
        corner_.insert(corner_.end(), {m, end, top}), twin_.insert(twin_.end(), {-1, -1, -1});
        pair(added + 1, twin_[next(side)]);
        pair(added + 2, next(side));
        if (leaving_[end] == next(side)) leaving_[end] = added + 1;
        corner_[next(side)] = m;
        return added;
    };
    const int rest = divide(h);
    leaving_.push_back(rest), boundary_.push_back(g < 0);
    if (g < 0) return;
    pair(h, divide(g)), pair(rest, g);
}

// Only edges that are the longest of their triangles, as often as there are any: splitting others makes slivers, whose
// halves are no shorter, without end.
void EdgeMesh::split_long()
{
    const float longest = kLongest * kLongest * edge_ * edge_;
    const auto is_longest = [&](int h) { return length2(h) >= std::max(length2(next(h)), length2(before(h))); };
    for (bool again = true; again;) {
        again = false;
        for (int h = 0; h < static_cast<int>(corner_.size()); ++h) {
            if (!alive(h) || !(length2(h) > longest) || !is_longest(h)) continue;
            if (twin_[h] >= 0 && !is_longest(twin_[h])) continue;
            split(h), again = true;
        }
    }
}

// True if no triangle at a vertex flips or gets a long edge when the vertex moves; those with `other` are left out.
bool EdgeMesh::keeps_shape(int vertex, int other, const Vec3f& place) const
{
    const float longest = kLongest * kLongest * edge_ * edge_;
    bool keeps = true;
    for_each_leaving(vertex, [&](int h) {
        const int b = to(h), c = apex(h);
        if (b == other || c == other) return;
        const Vec3f was = normal_of(x_[vertex], x_[b], x_[c]), is = normal_of(place, x_[b], x_[c]);
        constexpr float kTurned = 0.5f;
        keeps &= was.dot(is) > kTurned * was.norm() * is.norm();
        keeps &= (x_[b] - place).squaredNorm() < longest && (x_[c] - place).squaredNorm() < longest;
    });
    return keeps;
}

bool EdgeMesh::can_collapse(int h) const
{
    const int a = from(h), b = to(h), g = twin_[h];
    if (g < 0 || on_boundary(a) || on_boundary(b)) return false;
    const int c = apex(h), d = apex(g);
    if (valence(c) <= 3 || valence(d) <= 3) return false;
    int common = 0; // the neighbours of both must be c and d alone
    for_each_leaving(b, [&](int e) { common += to(e) != a && adjacent(a, to(e)); });
    if (common != 2) return false;
    const Vec3f place = 0.5f * (x_[a] + x_[b]);
    return keeps_shape(a, b, place) && keeps_shape(b, a, place);
}

// Removes the triangles on both sides of the edge, and its end; its start moves to the middle.
void EdgeMesh::collapse(int h)
{
    const int a = from(h), b = to(h), g = twin_[h];
    x_[a] = 0.5f * (x_[a] + x_[b]);
    std::vector<int> leaving;
    for_each_leaving(b, [&](int e) { leaving.push_back(e); });
    for (const int e : leaving) corner_[e] = a;
    for (const int side : {h, g}) {
        const int top = apex(side), left = twin_[next(side)], right = twin_[before(side)];
        pair(left, right);
        if (leaving_[top] == before(side)) leaving_[top] = left;
        leaving_[a] = right;
    }
    leaving_[b] = -1;
    for (const int side : {h, g})
        for (int k = 0; k < 3; ++k) corner_[side / 3 * 3 + k] = -1;
}

void EdgeMesh::collapse_short()
{
    const float shortest = kShortest * kShortest * edge_ * edge_;
    for (int h = 0; h < static_cast<int>(corner_.size()); ++h)
        if (alive(h) && length2(h) < shortest && can_collapse(h)) collapse(h);
}

bool EdgeMesh::can_flip(int h) const
{
    const int g = twin_[h];
    if (g < 0) return false;
    const int a = from(h), b = to(h), c = apex(h), d = apex(g);
    if (c == d || valence(a) <= 3 || valence(b) <= 3 || adjacent(c, d)) return false;
    const Vec3f old_t = normal_of(x_[a], x_[b], x_[c]), old_u = normal_of(x_[b], x_[a], x_[d]);
    const Vec3f new_t = normal_of(x_[a], x_[d], x_[c]), new_u = normal_of(x_[d], x_[b], x_[c]);
    const Vec3f mean = old_t.normalized() + old_u.normalized();
    constexpr float kTurned = 0.5f;
    const float length = mean.norm();
    return old_t.dot(old_u) > 0.8f * old_t.norm() * old_u.norm() && new_t.dot(mean) > kTurned * length * new_t.norm() &&
           new_u.dot(mean) > kTurned * length * new_u.norm();
}

// (a b c) and (b a d) become (a d c) and (d b c).
void EdgeMesh::flip(int h)
{
    const int g = twin_[h];
    const int a = from(h), b = to(h), c = apex(h), d = apex(g);
    const int bc = twin_[next(h)], ca = twin_[before(h)], ad = twin_[next(g)], db = twin_[before(g)];
    const int t = h / 3, u = g / 3;
    set_triangle(t, a, d, c), set_triangle(u, d, b, c);
    pair(3 * t, ad), pair(3 * t + 1, 3 * u + 2), pair(3 * t + 2, ca);
    pair(3 * u, db), pair(3 * u + 1, bc);
    // At a boundary a vertex keeps its first half-edge, wherever that is now.
    const auto leave = [&](int vertex, int inside) {
        int first = inside;
        for (int at = inside;;) {
            const int across = twin_[at];
            if (across < 0) {
                first = at;
                break;
            }
            at = next(across);
            if (at == inside) break;
        }
        leaving_[vertex] = first;
    };
    leave(a, 3 * t), leave(d, 3 * t + 1), leave(b, 3 * u + 1), leave(c, 3 * u + 2);
}

void EdgeMesh::flip_to_six()
{
    const auto excess = [&](int vertex, int change) {
        const int off = valence(vertex) + change - (on_boundary(vertex) ? 4 : 6);
        return off * off;
    };
    for (int h = 0; h < static_cast<int>(corner_.size()); ++h) {
        if (!alive(h) || twin_[h] < h) continue;
        const int a = from(h), b = to(h), c = apex(h), d = apex(twin_[h]);
        const int before_flip = excess(a, 0) + excess(b, 0) + excess(c, 0) + excess(d, 0);
        const int after = excess(a, -1) + excess(b, -1) + excess(c, 1) + excess(d, 1);
        if (after < before_flip && can_flip(h)) flip(h);
    }
}

std::vector<Vec3f> EdgeMesh::smoothed() const
{
    std::vector<Vec3f> moved = x_;
    parallel_for(
        x_.size(),
        [&](size_t i) {
            const int vertex = static_cast<int>(i);
            if (leaving_[vertex] < 0 || on_boundary(vertex)) return;
            Vec3f center = Vec3f::Zero(), normal = Vec3f::Zero();
            float sum = 0;
            for_each_leaving(vertex, [&](int h) { // centroids, weighted with areas
                const Vec3f n = normal_of(x_[vertex], x_[to(h)], x_[apex(h)]);
                const float area = n.norm();
                center += area / 3 * (x_[vertex] + x_[to(h)] + x_[apex(h)]), normal += n, sum += area;
            });
            if (!(sum > 0) || !(normal.squaredNorm() > 0)) return;
            const Vec3f way = center / sum - x_[vertex], n = normal.normalized();
            moved[i] = x_[i] + way - n.dot(way) * n;
        },
        kVerticesPerRemesh);
    return moved;
}

Mesh EdgeMesh::result() const
{
    Mesh mesh;
    std::vector<int> number(x_.size(), -1);
    for (size_t i = 0; i < x_.size(); ++i) {
        if (leaving_[i] < 0) continue;
        number[i] = static_cast<int>(mesh.positions.size());
        mesh.positions.push_back(x_[i]);
    }
    for (size_t h = 0; h < corner_.size(); h += 3)
        if (corner_[h] >= 0)
            mesh.triangles.emplace_back(number[corner_[h]], number[corner_[h + 1]], number[corner_[h + 2]]);
    return mesh;
}

// The same mesh with what is near in space near in memory, which makes large meshes several times as fast to work on.
Mesh in_spatial_order(const Mesh& mesh, float cell, std::vector<int>& old_triangle)
{
    std::vector<std::pair<uint64_t, int>> order(mesh.positions.size());
    parallel_for(
        order.size(),
        [&](size_t i) {
            constexpr float kFarthest = 1 << 19; // cells
            const Vec3f place = (mesh.positions[i] / cell).cwiseMax(-kFarthest).cwiseMin(kFarthest);
            order[i] = {morton_of_tile(place.array().floor().cast<int>()), static_cast<int>(i)};
        },
        kVerticesPerRemesh);
    tbb::parallel_sort(order.begin(), order.end()); // entries differ, so their order is unique
    Mesh sorted;
    std::vector<int> number(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        number[order[i].second] = static_cast<int>(i);
        sorted.positions.push_back(mesh.positions[order[i].second]);
    }
    std::vector<std::pair<int, int>> first(mesh.triangles.size());
    for (size_t t = 0; t < first.size(); ++t) {
        const Vec3i& c = mesh.triangles[t];
        first[t] = {std::min({number[c[0]], number[c[1]], number[c[2]]}), static_cast<int>(t)};
    }
    tbb::parallel_sort(first.begin(), first.end());
    old_triangle.resize(first.size());
    for (size_t t = 0; t < first.size(); ++t) {
        old_triangle[t] = first[t].second;
        const Vec3i& c = mesh.triangles[first[t].second];
        sorted.triangles.emplace_back(number[c[0]], number[c[1]], number[c[2]]);
    }
    return sorted;
}

} // namespace

Remeshed remeshed(const Mesh& given, float edge, int passes)
{
    Remeshed out;
    if (given.triangles.empty()) return out;
    std::vector<int> old_triangle, unused;
    const Mesh mesh = in_spatial_order(given, edge, old_triangle);
    const MeshDistance surface(mesh, is_closed(mesh));
    EdgeMesh edges(mesh, edge);
    const auto place_of = [&](const MeshDistance::Nearest& at) {
        const Vec3i& t = mesh.triangles[at.triangle];
        return Vec3f(at.weights[0] * mesh.positions[t[0]] + at.weights[1] * mesh.positions[t[1]] +
                     at.weights[2] * mesh.positions[t[2]]);
    };
    for (int pass = 0; pass < passes; ++pass) {
        edges.split_long(), edges.collapse_short(), edges.flip_to_six();
        std::vector<Vec3f> moved = edges.smoothed();
        parallel_for(
            moved.size(), [&](size_t i) { moved[i] = place_of(surface.nearest(moved[i])); }, kVerticesPerRemesh);
        edges.positions() = std::move(moved);
    }
    out.mesh = in_spatial_order(edges.result(), edge, unused);
    const size_t count = out.mesh.positions.size();
    out.triangle.resize(count), out.weights.resize(count);
    parallel_for(
        count,
        [&](size_t i) {
            const MeshDistance::Nearest at = surface.nearest(out.mesh.positions[i]);
            out.mesh.positions[i] = place_of(at);
            out.triangle[i] = old_triangle[at.triangle], out.weights[i] = at.weights;
        },
        kVerticesPerRemesh);
    compute_normals(out.mesh);
    return out;
}

} // namespace spindrift
