#include "spindrift/mesh/simplify.h"

#include <Eigen/Geometry>
#include <queue>
#include <utility>

namespace spindrift {

namespace {

// Quadric error: the sum of squared distances to planes n.x + d = 0, as x'Ax + 2 b.x + c.
struct Quadric {
    double xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0, c = 0;
    Vec3d b = Vec3d::Zero();

    void add_plane(const Vec3d& n, double d)
    {
        xx += n.x() * n.x(), xy += n.x() * n.y(), xz += n.x() * n.z();
        yy += n.y() * n.y(), yz += n.y() * n.z(), zz += n.z() * n.z();
        b += d * n, c += d * d;
    }
    void add(const Quadric& q)
    {
        xx += q.xx, xy += q.xy, xz += q.xz, yy += q.yy, yz += q.yz, zz += q.zz;
        b += q.b, c += q.c;
    }
    double at(const Vec3d& x) const
    {
        const Vec3d ax(xx * x.x() + xy * x.y() + xz * x.z(), xy * x.x() + yy * x.y() + yz * x.z(),
                       xz * x.x() + yz * x.y() + zz * x.z());
        return std::max(x.dot(ax) + 2 * b.dot(x) + c, 0.0);
    }
};

class Simplification {
  public:
    Simplification(Mesh& mesh, float tolerance, const std::optional<Box3f>& container)
        : mesh_(mesh), container_(container), limit2_(static_cast<double>(tolerance) * tolerance),
          origin_(bounds_of(mesh).center().cast<double>()), quadrics_(mesh.positions.size()),
          first_(mesh.positions.size(), -1), next_(3 * mesh.triangles.size()), version_(mesh.positions.size(), 0),
          gone_(mesh.triangles.size(), 0)
    {
    }
    void run();

  private:
    // Collapse of one vertex into another; stale once either has changed.
    struct Collapse {
        double order;
        int from, to;
        uint32_t from_version, to_version;
        bool operator<(const Collapse& other) const // the priority queue returns its largest first
        {
            return std::tie(order, from, to) > std::tie(other.order, other.from, other.to);
        }
    };

    Vec3d at(int vertex) const { return mesh_.positions[vertex].cast<double>() - origin_; }
    template <class Body> void for_each_triangle(int vertex, const Body& body) const;
    void find_neighbours(int vertex, std::vector<int>& around) const;
    int triangle_count(int vertex) const;
    void consider(int a, int b);
    bool stays_on_walls(int from, int to) const;
    bool keeps_topology(int from, int to);
    bool keeps_shape(int from, int to) const;
    void collapse(int from, int to);

    Mesh& mesh_;
    const std::optional<Box3f>& container_;
    const double limit2_;
    const Vec3d origin_; // near the mesh, to reduce rounding errors
    std::vector<Quadric> quadrics_;
    // Linked lists of the corners (3 triangle + corner) at each vertex; corners of removed triangles stay in them.
    std::vector<int> first_, next_;
    std::vector<uint32_t> version_;
    std::vector<uint8_t> gone_;
    std::priority_queue<Collapse> queue_;
    std::vector<int> around_from_, around_to_, common_; // working memory
};

template <class Body> void Simplification::for_each_triangle(int vertex, const Body& body) const
{
    for (int c = first_[vertex]; c >= 0; c = next_[c])
        if (!gone_[c / 3]) body(mesh_.triangles[c / 3], c);
}

void Simplification::find_neighbours(int vertex, std::vector<int>& around) const
{
    // In a closed mesh, every edge at a vertex leaves it in exactly one triangle.
    around.clear();
    for_each_triangle(vertex, [&](const Vec3i& t, int c) { around.push_back(t[(c % 3 + 1) % 3]); });
    std::sort(around.begin(), around.end());
}

int Simplification::triangle_count(int vertex) const
{
    int count = 0;
    for_each_triangle(vertex, [&](const Vec3i&, int) { ++count; });
    return count;
}

// Queues the cheaper of the two collapses of an edge.
void Simplification::consider(int a, int b)
{
    Quadric both = quadrics_[a];
    both.add(quadrics_[b]);
    const auto cost = [&](int from, int to) { return stays_on_walls(from, to) ? both.at(at(to)) : kInfinity; };
    const double onto_a = cost(b, a), onto_b = cost(a, b);
    const int from = onto_a <= onto_b ? b : a, to = from == a ? b : a;
    const double least = std::min(onto_a, onto_b);
    if (least > limit2_) return;
    // Among edges of zero error, collapse short ones first: triangles stay well shaped.
    constexpr double kLength = 1e-3;
    queue_.push({least + kLength * (at(a) - at(b)).squaredNorm(), from, to, version_[from], version_[to]});
}

bool Simplification::stays_on_walls(int from, int to) const
{
    if (!container_) return true;
    const Vec3f &x = mesh_.positions[from], &y = mesh_.positions[to];
    for (int a = 0; a < 3; ++a)
        if ((x[a] == container_->min[a] || x[a] == container_->max[a]) && y[a] != x[a]) return false;
    return true;
}

// Link condition: only the two vertices opposite the edge are neighbours of both ends, and each of these keeps at least
// three triangles.
bool Simplification::keeps_topology(int from, int to)
{
    find_neighbours(from, around_from_), find_neighbours(to, around_to_);
    common_.clear();
    std::set_intersection(around_from_.begin(), around_from_.end(), around_to_.begin(), around_to_.end(),
                          std::back_inserter(common_));
    if (common_.size() != 2 || common_[0] == common_[1]) return false;
    return triangle_count(common_[0]) > 3 && triangle_count(common_[1]) > 3;
}

// No triangle may turn by more than about 60 degrees or become a needle.
bool Simplification::keeps_shape(int from, int to) const
{
    constexpr double kTurn = 0.5, kNeedle = 0.02; // kNeedle: twice the area over the squared longest edge
    bool good = true;
    for_each_triangle(from, [&](const Vec3i& t, int) {
        if (!good || t[0] == to || t[1] == to || t[2] == to) return;
        const Vec3d before = (at(t[1]) - at(t[0])).cross(at(t[2]) - at(t[0]));
        const auto moved = [&](int k) { return at(t[k] == from ? to : t[k]); };
        const Vec3d e0 = moved(1) - moved(0), e1 = moved(2) - moved(1), e2 = moved(0) - moved(2);
        const Vec3d after = e0.cross(-e2);
        const double longest2 = std::max({e0.squaredNorm(), e1.squaredNorm(), e2.squaredNorm()});
        good = after.norm() > kNeedle * longest2 && before.dot(after) > kTurn * before.norm() * after.norm();
    });
    return good;
}

void Simplification::collapse(int from, int to)
{
    for_each_triangle(from, [&](Vec3i& t, int c) {
        if (t[0] == to || t[1] == to || t[2] == to)
            gone_[c / 3] = 1;
        else
            t[c % 3] = to;
    });
    int* end = &first_[from];
    while (*end >= 0) end = &next_[*end];
    *end = std::exchange(first_[to], std::exchange(first_[from], -1));
    quadrics_[to].add(quadrics_[from]);
    ++version_[from], ++version_[to];
    find_neighbours(to, around_to_);
    for (const int other : around_to_) consider(other, to);
}

void Simplification::run()
{
    for (size_t t = 0; t < mesh_.triangles.size(); ++t) {
        const Vec3i& triangle = mesh_.triangles[t];
        const Vec3d normal =
            (at(triangle[1]) - at(triangle[0])).cross(at(triangle[2]) - at(triangle[0])).stableNormalized();
        for (int k = 0; k < 3; ++k) {
            const size_t v = triangle[k];
            quadrics_[v].add_plane(normal, -normal.dot(at(triangle[0])));
            next_[3 * t + k] = std::exchange(first_[v], static_cast<int>(3 * t) + k);
        }
    }
    for (const Vec3i& t : mesh_.triangles)
        for (int k = 0; k < 3; ++k)
            if (t[k] < t[(k + 1) % 3]) consider(t[k], t[(k + 1) % 3]);
    while (!queue_.empty()) {
        const Collapse next = queue_.top();
        queue_.pop();
        if (next.from_version != version_[next.from] || next.to_version != version_[next.to]) continue;
        if (keeps_topology(next.from, next.to) && keeps_shape(next.from, next.to)) collapse(next.from, next.to);
    }
    std::vector<uint8_t> used(mesh_.positions.size(), 0);
    size_t kept = 0;
    for (size_t t = 0; t < mesh_.triangles.size(); ++t) {
        if (gone_[t]) continue;
        mesh_.triangles[kept++] = mesh_.triangles[t];
        for (int k = 0; k < 3; ++k) used[mesh_.triangles[t][k]] = 1;
    }
    mesh_.triangles.resize(kept);
    keep_vertices(mesh_, used);
}

} // namespace

void simplify(Mesh& mesh, float tolerance, const std::optional<Box3f>& container)
{
    if (tolerance > 0 && !mesh.triangles.empty()) Simplification(mesh, tolerance, container).run();
}

} // namespace spindrift
