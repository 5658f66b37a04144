#include "spindrift/texture/patches.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"

#include <Eigen/Geometry>
#include <queue>
#include <tbb/parallel_sort.h>
#include <unordered_map>

namespace spindrift {

namespace {

float cross(const Vec2f& a, const Vec2f& b) { return a.x() * b.y() - a.y() * b.x(); }

// Triangles of a patch by the square of the plane that they meet, to find what a new one would cover.
class PlaneIndex {
  public:
    explicit PlaneIndex(float half)
        : half_(half + 3), across_(static_cast<int>(2 * half_ / kCell) + 1),
          first_(static_cast<size_t>(across_) * across_, -1)
    {
    }
    using Triangle = std::array<Vec2f, 3>;
    bool overlaps(const Triangle& t)
    {
        bool found = false;
        for_each_cell(t, [&](int& first) {
            for (int e = first; e >= 0 && !found; e = entries_[e].next)
                found = overlap(t, triangles_[entries_[e].triangle]);
        });
        return found;
    }
    void add(const Triangle& t)
    {
        for_each_cell(t, [&](int& first) {
            entries_.push_back({static_cast<int>(triangles_.size()), first});
            first = static_cast<int>(entries_.size()) - 1;
        });
        triangles_.push_back(t);
    }

  private:
    static constexpr float kCell = 2; // texels
    template <class Body> void for_each_cell(const Triangle& t, const Body& body)
    {
        const Vec2f low = t[0].cwiseMin(t[1]).cwiseMin(t[2]), high = t[0].cwiseMax(t[1]).cwiseMax(t[2]);
        const auto index = [&](float x) { return std::clamp(static_cast<int>((x + half_) / kCell), 0, across_ - 1); };
        for (int j = index(low.y()); j <= index(high.y()); ++j)
            for (int i = index(low.x()); i <= index(high.x()); ++i) body(first_[static_cast<size_t>(j) * across_ + i]);
    }
    // True unless a line along one of their edges separates them. Triangles may touch.
    static bool overlap(const Triangle& a, const Triangle& b) { return !separated(a, b) && !separated(b, a); }
    static bool separated(const Triangle& a, const Triangle& b)
    {
        constexpr float kTouch = 1e-3f; // texels
        for (int k = 0; k < 3; ++k) {
            const Vec2f edge = a[(k + 1) % 3] - a[k];
            const float most = std::max({cross(edge, b[0] - a[k]), cross(edge, b[1] - a[k]), cross(edge, b[2] - a[k])});
            if (most <= kTouch * edge.norm()) return true;
        }
        return false;
    }

    float half_;
    int across_;
    struct Entry {
        int triangle, next;
    };
    std::vector<int> first_; // entry of each cell, a list; -1: none
    std::vector<Entry> entries_;
    std::vector<Triangle> triangles_;
};

// The numbers of a patch's vertices by their numbers in the mesh: a hash table.
class LocalNumbers {
  public:
    explicit LocalNumbers(size_t expected)
    {
        size_t size = 16;
        while (size < 2 * expected) size *= 2;
        table_.assign(size, {-1, -1});
    }
    int operator()(int vertex) const { return table_[slot(vertex)].second; } // -1 for none
    void add(int vertex, int number)
    {
        if (2 * ++count_ > table_.size()) {
            std::vector<std::pair<int, int>> old(2 * table_.size(), {-1, -1});
            old.swap(table_);
            for (const auto& entry : old)
                if (entry.first >= 0) table_[slot(entry.first)] = entry;
        }
        table_[slot(vertex)] = {vertex, number};
    }

  private:
    size_t slot(int vertex) const
    {
        size_t at = hash64(static_cast<uint64_t>(vertex)) & (table_.size() - 1);
        while (table_[at].first >= 0 && table_[at].first != vertex) at = (at + 1) & (table_.size() - 1);
        return at;
    }
    std::vector<std::pair<int, int>> table_;
    size_t count_ = 0;
};

// The place of corner k of a triangle whose other two are flattened, so that it keeps its shape.
Vec2f unfolded(const Vec3f& a, const Vec3f& b, const Vec3f& c, const Vec2f& pa, const Vec2f& pb, float texel)
{
    const Vec3f ab = b - a, ac = c - a;
    const float length = ab.norm();
    if (!(length > 0)) return pa;
    const Vec2f along = (pb - pa).normalized(), across(-along.y(), along.x());
    return pa + (ab.dot(ac) / length * along + ab.cross(ac).norm() / length * across) / texel;
}

class Growth {
  public:
    Growth(const Mesh& mesh, const MeshLinks& links, const PatchSettings& settings)
        : mesh_(mesh), links_(links), settings_(settings), half_(0.5f * static_cast<float>(settings.size - 1)),
          plane_(half_), local_(static_cast<size_t>((settings.size + 3) * (settings.size + 3)))
    {
    }
    Patch grow(int seed, const Vec3f& direction);

  private:
    struct Candidate {
        float order;
        int vertex;
        bool operator<(const Candidate& other) const
        {
            return std::tie(order, vertex) > std::tie(other.order, other.vertex);
        }
    };
    const Vec3f& x(int vertex) const { return mesh_.positions[vertex]; }
    int place_vertex(int vertex, const Vec2f& at)
    {
        local_.add(vertex, static_cast<int>(patch_.vertices.size()));
        patch_.vertices.push_back(vertex), patch_.places.push_back(at);
        return static_cast<int>(patch_.vertices.size()) - 1;
    }
    bool begin(int seed, const Vec3f& direction);
    void add_triangle(const Vec3i& corners);
    void queue_around(int vertex);
    bool try_vertex(int vertex);

    const Mesh& mesh_;
    const MeshLinks& links_;
    const PatchSettings& settings_;
    const float half_;
    PlaneIndex plane_;
    Patch patch_;
    LocalNumbers local_;
    std::priority_queue<Candidate> queue_;
};

void Growth::add_triangle(const Vec3i& corners)
{
    const Vec3i t(local_(corners[0]), local_(corners[1]), local_(corners[2]));
    patch_.triangles.push_back(t);
    plane_.add({patch_.places[t[0]], patch_.places[t[1]], patch_.places[t[2]]});
}

// Flattens the first triangle at the seed that has an area.
bool Growth::begin(int seed, const Vec3f& direction)
{
    patch_.seed = seed;
    for (const int t : links_.triangles_at(seed)) {
        const Vec3i& c = mesh_.triangles[t];
        const Vec3f n = triangle_normal(mesh_, t);
        const Vec3f u = (direction - n.dot(direction) * n).normalized(), v = n.cross(u);
        const auto flat = [&](int vertex) {
            const Vec3f way = (x(vertex) - x(seed)) / settings_.texel;
            return Vec2f(u.dot(way), v.dot(way));
        };
        const float distortion =
            distortion_of(x(c[0]), x(c[1]), x(c[2]), flat(c[0]), flat(c[1]), flat(c[2]), settings_.texel);
        if (!(distortion < settings_.distortion)) continue;
        place_vertex(seed, Vec2f::Zero());
        for (const int vertex : c)
            if (vertex != seed) place_vertex(vertex, flat(vertex));
        add_triangle(c);
        for (const int vertex : c) queue_around(vertex);
        return true;
    }
    return false;
}

// Vertices opposite the edges at a vertex whose ends are flattened.
void Growth::queue_around(int vertex)
{
    for (const int t : links_.triangles_at(vertex)) {
        const Vec3i& c = mesh_.triangles[t];
        for (int k = 0; k < 3; ++k) {
            const int a = local_(c[(k + 1) % 3]), b = local_(c[(k + 2) % 3]);
            if (local_(c[k]) >= 0 || a < 0 || b < 0) continue;
            const Vec2f at = unfolded(x(c[(k + 1) % 3]), x(c[(k + 2) % 3]), x(c[k]), patch_.places[a], patch_.places[b],
                                      settings_.texel);
            queue_.push({at.squaredNorm(), c[k]});
        }
    }
}

bool Growth::try_vertex(int vertex)
{
    Vec2f sum = Vec2f::Zero();
    std::vector<int> added;
    for (const int t : links_.triangles_at(vertex)) {
        const Vec3i& c = mesh_.triangles[t];
        const int k = c[0] == vertex ? 0 : c[1] == vertex ? 1 : 2;
        const int a = local_(c[(k + 1) % 3]), b = local_(c[(k + 2) % 3]);
        if (a < 0 || b < 0) continue;
        sum += unfolded(x(c[(k + 1) % 3]), x(c[(k + 2) % 3]), x(vertex), patch_.places[a], patch_.places[b],
                        settings_.texel);
        added.push_back(t);
    }
    const Vec2f at = sum / static_cast<float>(added.size());
    if (at.cwiseAbs().maxCoeff() > half_ + 1.5f) return false;
    const auto flat = [&](int corner) { return corner == vertex ? at : patch_.places[local_(corner)]; };
    for (const int t : added) {
        const Vec3i& c = mesh_.triangles[t];
        const PlaneIndex::Triangle triangle = {flat(c[0]), flat(c[1]), flat(c[2])};
        if (!(distortion_of(x(c[0]), x(c[1]), x(c[2]), triangle[0], triangle[1], triangle[2], settings_.texel) <
              settings_.distortion))
            return false;
        if (plane_.overlaps(triangle)) return false;
    }
    place_vertex(vertex, at);
    for (const int t : added) add_triangle(mesh_.triangles[t]);
    return true;
}

Patch Growth::grow(int seed, const Vec3f& direction)
{
    if (!begin(seed, direction)) return std::move(patch_);
    while (!queue_.empty()) {
        const int vertex = queue_.top().vertex;
        queue_.pop();
        if (local_(vertex) < 0 && try_vertex(vertex)) queue_around(vertex);
    }
    return std::move(patch_);
}

// --------------------------------------------------------------------------------------------------------------------

// Least squares of the directions: over the triangles, |grad s - u|^2 + |grad t - v|^2.
class Alignment {
  public:
    Alignment(const Mesh& mesh, const std::vector<Vec3f>& directions, float texel, const Patch& patch);
    // Improves places, by conjugate gradients for both coordinates.
    void solve(std::vector<Vec2f>& places) const;

  private:
    std::vector<Vec2f> multiplied(const std::vector<Vec2f>& x) const;
    const Patch& patch_;
    std::vector<Eigen::Matrix3f> products_; // of the gradients of the corners of each triangle
    std::vector<Vec2f> wanted_;
};

Alignment::Alignment(const Mesh& mesh, const std::vector<Vec3f>& directions, float texel, const Patch& patch)
    : patch_(patch), wanted_(patch.vertices.size(), Vec2f::Zero())
{
    for (const Vec3i& t : patch.triangles) {
        Vec3f q[3], mean = Vec3f::Zero();
        for (int k = 0; k < 3; ++k) {
            q[k] = mesh.positions[patch.vertices[t[k]]] / texel;
            mean += directions[patch.vertices[t[k]]];
        }
        const Vec3f area = (q[1] - q[0]).cross(q[2] - q[0]);
        const float twice = area.norm();
        const Vec3f n = area / twice;
        Vec3f u = mean - n.dot(mean) * n;
        if (u.squaredNorm() < 1e-6f) u = q[1] - q[0]; // around a place where directions meet
        u.normalize();
        const Vec3f v = n.cross(u);
        Eigen::Matrix3f gradients;
        for (int k = 0; k < 3; ++k) gradients.col(k) = n.cross(q[(k + 2) % 3] - q[(k + 1) % 3]) / twice;
        products_.emplace_back(gradients.transpose() * gradients);
        for (int k = 0; k < 3; ++k) wanted_[t[k]] += Vec2f(gradients.col(k).dot(u), gradients.col(k).dot(v));
    }
}

std::vector<Vec2f> Alignment::multiplied(const std::vector<Vec2f>& x) const
{
    std::vector<Vec2f> out(x.size(), Vec2f::Zero());
    for (size_t f = 0; f < products_.size(); ++f) {
        const Vec3i& t = patch_.triangles[f];
        for (int k = 0; k < 3; ++k)
            out[t[k]] += products_[f](k, 0) * x[t[0]] + products_[f](k, 1) * x[t[1]] + products_[f](k, 2) * x[t[2]];
    }
    return out;
}

void Alignment::solve(std::vector<Vec2f>& places) const
{
    constexpr int kMostIterations = 60;
    constexpr float kResidual = 1e-2f;
    const size_t count = places.size();
    std::vector<Vec2f> r = multiplied(places), p;
    Eigen::Array2f rho = Eigen::Array2f::Zero();
    for (size_t i = 0; i < count; ++i) r[i] = wanted_[i] - r[i], rho += r[i].array().square();
    p = r;
    const Eigen::Array2f enough = kResidual * kResidual * rho;
    for (int iteration = 0; iteration < kMostIterations && (rho > enough).any(); ++iteration) {
        const std::vector<Vec2f> q = multiplied(p);
        Eigen::Array2f pq = Eigen::Array2f::Zero(), next = Eigen::Array2f::Zero();
        for (size_t i = 0; i < count; ++i) pq += p[i].array() * q[i].array();
        const Eigen::Array2f alpha = (pq > 0).select(rho / pq, 0);
        for (size_t i = 0; i < count; ++i) {
            places[i].array() += alpha * p[i].array(), r[i].array() -= alpha * q[i].array();
            next += r[i].array().square();
        }
        const Eigen::Array2f beta = (rho > 0).select(next / rho, 0);
        for (size_t i = 0; i < count; ++i) p[i] = (r[i].array() + beta * p[i].array()).matrix();
        rho = next;
    }
    const Vec2f origin = places.front(); // the seed
    for (Vec2f& place : places) place -= origin;
}

bool has_overlaps(const Patch& patch, float half)
{
    PlaneIndex plane(half);
    return std::ranges::any_of(patch.triangles, [&](const Vec3i& t) {
        const PlaneIndex::Triangle triangle = {patch.places[t[0]], patch.places[t[1]], patch.places[t[2]]};
        if (plane.overlaps(triangle)) return true;
        plane.add(triangle);
        return false;
    });
}

// Moves towards the aligned places as far as no triangle is distorted too much, flips, or covers another.
void align(const Mesh& mesh, const std::vector<Vec3f>& directions, const PatchSettings& settings, Patch& patch)
{
    const std::vector<Vec2f> grown = patch.places;
    std::vector<Vec2f> aligned = grown;
    Alignment(mesh, directions, settings.texel, patch).solve(aligned);
    const auto& x = mesh.positions;
    for (const float share : {1.0f, 0.75f, 0.5f, 0.25f, 0.0f}) {
        for (size_t i = 0; i < grown.size(); ++i) patch.places[i] = grown[i] + share * (aligned[i] - grown[i]);
        const bool fits = std::ranges::all_of(patch.triangles, [&](const Vec3i& t) {
            return distortion_of(x[patch.vertices[t[0]]], x[patch.vertices[t[1]]], x[patch.vertices[t[2]]],
                                 patch.places[t[0]], patch.places[t[1]], patch.places[t[2]],
                                 settings.texel) < settings.distortion;
        });
        if (fits && !has_overlaps(patch, 0.5f * static_cast<float>(settings.size - 1))) return;
    }
}

// --------------------------------------------------------------------------------------------------------------------

// Chooses seeds at least `apart` from each other until none can be added, the preferred ones first. Vertices are
// visited by cells of that edge, in 27 groups of cells that are far enough from each other to be visited in parallel
// [Wei 2008], and in a random order within a cell.
class SeedChoice {
  public:
    SeedChoice(const Mesh& mesh, const std::vector<int>& from, float apart, uint64_t seed);
    std::vector<int> choose(const std::vector<uint8_t>& preferred);

  private:
    struct Visit {
        uint64_t cell, order;
        int vertex;
    };
    Vec3i cell_of(const Vec3f& x) const { return (x / apart_).array().floor().cast<int>(); }
    static uint64_t key(const Vec3i& c)
    {
        const auto part = [](int i) { return static_cast<uint64_t>(static_cast<uint32_t>(i) & 0x1fffff); };
        return part(c.x()) << 42 | part(c.y()) << 21 | part(c.z());
    }
    void visit(size_t cell, const std::vector<uint8_t>& preferred, bool first);
    bool free(int vertex) const;

    const Mesh& mesh_;
    const float apart_;
    std::vector<Visit> visits_;              // by cell
    std::vector<size_t> begin_;              // of each cell's visits
    std::unordered_map<uint64_t, int> cell_; // by key
    std::vector<std::vector<int>> chosen_;   // by cell
    std::vector<std::vector<size_t>> groups_;
};

SeedChoice::SeedChoice(const Mesh& mesh, const std::vector<int>& from, float apart, uint64_t seed)
    : mesh_(mesh), apart_(apart), visits_(from.size()), groups_(27)
{
    parallel_for(
        from.size(),
        [&](size_t i) {
            visits_[i] = {key(cell_of(mesh.positions[from[i]])), hash64(seed, static_cast<uint64_t>(from[i])), from[i]};
        },
        1024);
    tbb::parallel_sort(visits_.begin(), visits_.end(), [](const Visit& a, const Visit& b) {
        return std::tie(a.cell, a.order, a.vertex) < std::tie(b.cell, b.order, b.vertex);
    });
    for (size_t i = 0; i < visits_.size(); ++i) {
        if (i > 0 && visits_[i].cell == visits_[i - 1].cell) continue;
        const Vec3i c = cell_of(mesh.positions[visits_[i].vertex]);
        const auto third = [](int k) { return (k % 3 + 3) % 3; };
        groups_[third(c.x()) * 9 + third(c.y()) * 3 + third(c.z())].push_back(begin_.size());
        cell_[visits_[i].cell] = static_cast<int>(begin_.size());
        begin_.push_back(i);
    }
    chosen_.resize(begin_.size());
    begin_.push_back(visits_.size());
}

bool SeedChoice::free(int vertex) const
{
    const Vec3f& x = mesh_.positions[vertex];
    const Vec3i cell = cell_of(x);
    for (int dx = -1; dx <= 1; ++dx)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dz = -1; dz <= 1; ++dz) {
                const auto found = cell_.find(key(cell + Vec3i(dx, dy, dz)));
                if (found == cell_.end()) continue;
                for (const int other : chosen_[found->second]) // the other side of a sheet is somewhere else
                    if ((mesh_.positions[other] - x).norm() <= apart_ &&
                        mesh_.normals[other].dot(mesh_.normals[vertex]) >= 0)
                        return false;
            }
    return true;
}

void SeedChoice::visit(size_t cell, const std::vector<uint8_t>& preferred, bool first)
{
    for (size_t i = begin_[cell]; i < begin_[cell + 1]; ++i) {
        const int vertex = visits_[i].vertex;
        if ((preferred[vertex] != 0) == first && free(vertex)) chosen_[cell].push_back(vertex);
    }
}

std::vector<int> SeedChoice::choose(const std::vector<uint8_t>& preferred)
{
    const bool any = std::ranges::any_of(preferred, [](uint8_t p) { return p != 0; });
    const std::vector<uint8_t> none(any ? 0 : mesh_.positions.size(), 0);
    for (const bool first : {true, false}) {
        if (first && !any) continue;
        for (const std::vector<size_t>& group : groups_)
            parallel_for(
                group.size(), [&](size_t k) { visit(group[k], any ? preferred : none, first); }, 8);
    }
    std::vector<int> seeds;
    for (const std::vector<int>& own : chosen_) seeds.insert(seeds.end(), own.begin(), own.end());
    return seeds;
}

// --------------------------------------------------------------------------------------------------------------------

// Seeds patches until every vertex is covered: first everywhere, then where patches did not reach as far as they
// should; at last every vertex by itself. `make` returns the patch of a seed.
template <class Make> std::vector<Patch> covering_patches(const Mesh& mesh, const MeshLinks& links,
                                                          const PatchSettings& settings, uint64_t seed,
                                                          const std::vector<uint8_t>& preferred, const Make& make)
{
    const float half = 0.5f * static_cast<float>(settings.size - 1);
    std::vector<int> bare; // vertices that are not covered yet
    for (int i = 0; i < static_cast<int>(mesh.positions.size()); ++i)
        if (!links.triangles_at(i).empty()) bare.push_back(i);
    std::vector<Patch> patches;
    std::vector<uint8_t> covered(mesh.positions.size(), 0);
    for (float apart = settings.overlap * half; !bare.empty(); apart *= 0.5f) {
        const bool last = apart < 0.5f;
        const std::vector<int> seeds =
            last ? bare : SeedChoice(mesh, bare, apart * settings.texel, seed).choose(preferred);
        const size_t first = patches.size();
        patches.resize(first + seeds.size());
        parallel_for(seeds.size(), [&](size_t i) { patches[first + i] = make(seeds[i]); });
        const float inner = std::max(last ? 2 * half : std::min(1.1f * settings.overlap, 1.0f) * half, 1.0f);
        for (size_t i = first; i < patches.size(); ++i)
            for (size_t k = 0; k < patches[i].vertices.size(); ++k)
                if (patches[i].places[k].cwiseAbs().maxCoeff() <= inner) covered[patches[i].vertices[k]] = 1;
        std::erase_if(bare, [&](int i) { return covered[i] != 0; });
        if (last) break; // vertices of degenerate triangles alone
    }
    std::erase_if(patches, [](const Patch& patch) { return patch.triangles.empty(); });
    return patches;
}

// The part of a patch around one of its vertices.
Patch cut_out(const Patch& large, int vertex, float half)
{
    const Vec2f origin = large.places[vertex];
    auto& number = thread_scratch<std::vector<int>>(); // in the part; -1: not there
    number.assign(large.vertices.size(), -1);
    Patch part;
    const auto add = [&](int i) {
        number[i] = static_cast<int>(part.vertices.size());
        part.vertices.push_back(large.vertices[i]), part.places.emplace_back(large.places[i] - origin);
    };
    part.seed = large.vertices[vertex];
    add(vertex);
    for (int i = 0; i < static_cast<int>(large.vertices.size()); ++i)
        if (i != vertex && (large.places[i] - origin).cwiseAbs().maxCoeff() <= half + 1.5f) add(i);
    for (const Vec3i& t : large.triangles) {
        const Vec3i own(number[t[0]], number[t[1]], number[t[2]]);
        if (own.minCoeff() >= 0) part.triangles.push_back(own);
    }
    return part;
}

} // namespace

float distortion_of(const Vec3f& q1, const Vec3f& q2, const Vec3f& q3, const Vec2f& p1, const Vec2f& p2,
                    const Vec2f& p3, float texel)
{
    const float twice = cross(p2 - p1, p3 - p1);
    if (!(twice > 0)) return kInfinity;
    const Vec3f s = (q1 * (p2.y() - p3.y()) + q2 * (p3.y() - p1.y()) + q3 * (p1.y() - p2.y())) / (twice * texel);
    const Vec3f t = (q1 * (p3.x() - p2.x()) + q2 * (p1.x() - p3.x()) + q3 * (p2.x() - p1.x())) / (twice * texel);
    const float a = s.dot(s), b = s.dot(t), c = t.dot(t);
    const float root = std::sqrt((a - c) * (a - c) + 4 * b * b);
    const float largest = std::sqrt(0.5f * (a + c + root)), smallest = std::sqrt(std::max(0.5f * (a + c - root), 0.0f));
    return std::max(largest, smallest > 0 ? 1 / smallest : kInfinity);
}

std::vector<Patch> make_patches(const Mesh& mesh, const MeshLinks& links, const std::vector<Vec3f>& directions,
                                const PatchSettings& settings, uint64_t seed, const std::vector<uint8_t>& preferred)
{
    return covering_patches(mesh, links, settings, seed, preferred, [&](int vertex) {
        Patch patch = Growth(mesh, links, settings).grow(vertex, directions[vertex]);
        if (settings.align && patch.triangles.size() > 1) align(mesh, directions, settings, patch);
        return patch;
    });
}

std::vector<Patch> smaller_patches(const Mesh& mesh, const MeshLinks& links, const std::vector<Patch>& large,
                                   const PatchSettings& settings, uint64_t seed, const std::vector<uint8_t>& preferred)
{
    // The patch of each vertex where it is nearest to the middle.
    struct Home {
        float off = kInfinity;
        int patch = -1, vertex = -1;
    };
    std::vector<Home> home(mesh.positions.size());
    for (size_t p = 0; p < large.size(); ++p)
        for (size_t k = 0; k < large[p].vertices.size(); ++k) {
            Home& best = home[large[p].vertices[k]];
            const float off = large[p].places[k].cwiseAbs().maxCoeff();
            if (off < best.off) best = {off, static_cast<int>(p), static_cast<int>(k)};
        }
    const float half = 0.5f * static_cast<float>(settings.size - 1);
    return covering_patches(mesh, links, settings, seed, preferred, [&](int vertex) {
        const Home& at = home[vertex];
        return at.patch >= 0 ? cut_out(large[at.patch], at.vertex, half) : Patch();
    });
}

} // namespace spindrift
