#include "spindrift/track/distance_tree.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"
#include "spindrift/mesh/triangle_distance.h"

namespace spindrift {

#pragma GCC diagnostic ignored "-Wpsabi" // see mesh/triangle_distance.h

namespace {

constexpr float kUnknown = 1e30f;
constexpr int kMostLevels = 24;
// An interpolated distance differs from the true one by at most the distance to the farthest corner, weighted: this
// many voxels in the middle of a cell.
constexpr float kInterpolationError = 0.8661f;

} // namespace

DistanceTree::DistanceTree(Mesh mesh, const Settings& settings, const std::vector<Vec3i>* cells)
    : mesh_(std::move(mesh)), settings_(settings), links_(mesh_), bounds_(bounds_of(mesh_))
{
    pseudonormals_ = angle_weighted_normals(mesh_, links_);
    mesh_.normals = sphere_normals(mesh_, links_);
    if (mesh_.triangles.empty()) return;
    list_triangles(cells);
    listed_corners_.resize(listed_.size());
    parallel_for(
        listed_.size(),
        [&](size_t i) {
            for (int k = 0; k < 3; ++k)
                Eigen::Map<Vec3f>(listed_corners_[i].at + 3 * k) = mesh_.positions[mesh_.triangles[listed_[i]][k]];
        },
        4096);
    make_levels();
    find_distances();
}

Vec3f DistanceTree::position(const Vec3i& corner, int level) const
{
    return settings_.origin + settings_.voxel * static_cast<float>(1 << level) * corner.cast<float>();
}

Vec3i DistanceTree::cell_at(const Vec3f& x) const
{
    constexpr float kFarthest = static_cast<float>(kTileReach - 2) * kTileSize;
    const Vec3f p = ((x - settings_.origin) / settings_.voxel).cwiseMax(-kFarthest).cwiseMin(kFarthest);
    return {floor_int(p.x()), floor_int(p.y()), floor_int(p.z())};
}

// ------------------------------------------------------------------------------------------------------------ building

namespace {

// Whether a triangle meets a cube, by separating axes [Akenine-Moller 2001]. Corners are relative to the cube's centre.
bool triangle_meets_cube(const Vec3f (&corners)[3], float half)
{
    const Vec3f edges[3] = {corners[1] - corners[0], corners[2] - corners[1], corners[0] - corners[2]};
    const auto separates = [&](const Vec3f& axis) {
        const float p[3] = {axis.dot(corners[0]), axis.dot(corners[1]), axis.dot(corners[2])};
        const float reach = half * axis.cwiseAbs().sum();
        return std::min({p[0], p[1], p[2]}) > reach || std::max({p[0], p[1], p[2]}) < -reach;
    };
    for (int a = 0; a < 3; ++a) {
        if (separates(Vec3f::Unit(a))) return false;
        for (const Vec3f& edge : edges)
            if (separates(Vec3f::Unit(a).cross(edge))) return false;
    }
    return !separates(edges[0].cross(edges[1]));
}

} // namespace

// Lists the triangles in the cells that they meet, sorted by cell.
void DistanceTree::list_triangles(const std::vector<Vec3i>* cells)
{
    const size_t count = mesh_.triangles.size();
    if (cells) {
        keys_.reserve(count);
        for (const Vec3i& cell : *cells) keys_.emplace_back(cell);
        listed_.resize(count);
        for (size_t t = 0; t < count; ++t) listed_[t] = static_cast<int>(t);
        return;
    }
    struct Listed {
        CellKey key;
        int triangle;
    };
    const float slack = 1.001f; // against rounding
    std::vector<std::vector<Listed>> lists(count);
    parallel_for(count, [&](size_t t) {
        Box3f box;
        for (int k = 0; k < 3; ++k) box.add(mesh_.positions[mesh_.triangles[t][k]]);
        const float margin = 1e-3f * settings_.voxel;
        const Vec3i low = cell_at(box.min.array() - margin), high = cell_at(box.max.array() + margin);
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z) {
                    const Vec3f center = position({x, y, z}, 0).array() + 0.5f * settings_.voxel;
                    Vec3f corners[3];
                    for (int k = 0; k < 3; ++k) corners[k] = mesh_.positions[mesh_.triangles[t][k]] - center;
                    if (triangle_meets_cube(corners, 0.5f * slack * settings_.voxel))
                        lists[t].push_back({CellKey({x, y, z}), static_cast<int>(t)});
                }
    });
    std::vector<Listed> all;
    for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
    std::sort(all.begin(), all.end(), [](const Listed& a, const Listed& b) {
        return a.key < b.key || (a.key == b.key && a.triangle < b.triangle);
    });
    for (const Listed& listed : all) keys_.push_back(listed.key), listed_.push_back(listed.triangle);
}

// The cells of each level are the children of the cells of the next that are near the surface.
void DistanceTree::make_levels()
{
    std::vector<CellSet> near; // by level: cells with triangles and those next to them
    CellSet with_triangles = cells_of(keys_);
    for (int level = 0; level < kMostLevels; ++level) {
        const auto [first, last] = with_triangles.bounds();
        near.push_back(grown(with_triangles));
        if ((last - first).maxCoeff() <= 3) break;
        with_triangles = parents_of(with_triangles);
    }
    const auto [first, last] = near.back().bounds();
    levels_.resize(near.size());
    levels_.back().cells = cells_of_box(first, last);
    for (size_t level = near.size() - 1; level > 0; --level) levels_[level - 1].cells = children_of(near[level]);

    const Topology& finest = *levels_[0].cells.topology;
    lists_.reset(finest, Range());
    for_each_tile(finest, [&](int tile) {
        const uint64_t code = finest.codes()[tile];
        const auto before = [](const CellKey& key, uint64_t of) { return key.tile < of; };
        auto key = std::lower_bound(keys_.begin(), keys_.end(), code, before);
        for (; key != keys_.end() && key->tile == code; ++key) {
            Range& range = lists_.tile(tile)[key->offset];
            if (range.count++ == 0) range.first = static_cast<uint32_t>(key - keys_.begin());
        }
    });
    keys_ = {};
    near_.assign(static_cast<size_t>(finest.tile_count()) + 1, 0);
    for_each_tile(finest, [&](int tile) {
        for (int neighbour : finest.neighbours(tile))
            for (int o = 0; o < kTileCells && !near_[tile]; ++o) near_[tile] = lists_.tile(neighbour)[o].count > 0;
    });
}

void DistanceTree::find_distances()
{
    for (Level& level : levels_) level.phi.reset(*level.cells.topology, kUnknown);
    find_exact_corners();
    for (int level = 0; level < level_count(); ++level) {
        if (level > 0) copy_from_finer(level);
        continue_outwards(level);
    }
}

void DistanceTree::find_exact_corners()
{
    const Topology& finest = *levels_[0].cells.topology;
    for_each_tile(finest, [&](int tile) {
        if (!near_[tile]) return;
        const Vec3i from = finest.first_cell(tile);
        float* phi = levels_[0].phi.tile(tile);
        for (int o = 0; o < kTileCells; ++o) {
            // A corner belongs to the cell above it and to seven others.
            const Vec3i corner = cell_in_tile(o);
            bool touched = false;
            for (int c = 0; c < 8 && !touched; ++c) {
                const Vec3i cell = corner - Vec3i(c >> 2, c >> 1 & 1, c & 1);
                const int owner = finest.neighbour(tile, cell.x() >> 3, cell.y() >> 3, cell.z() >> 3);
                touched = lists_.tile(owner)[offset_of_cell(cell)].count > 0;
            }
            Nearest nearest;
            if (touched && find_in_lists(position(from + corner, 0), from + corner, tile, nearest))
                phi[o] = nearest.distance;
        }
    });
}

// Every second corner of a finer level is a corner of this one.
void DistanceTree::copy_from_finer(int level)
{
    const Topology& topology = *levels_[level].cells.topology;
    const Topology& finer = *levels_[level - 1].cells.topology;
    for_each_tile(topology, [&](int tile) {
        for (int octant = 0; octant < 8; ++octant) {
            const Vec3i side(octant >> 2, octant >> 1 & 1, octant & 1);
            const int source = finer.find(2 * topology.tile(tile) + side);
            if (source == finer.tile_count()) continue;
            const float* from = levels_[level - 1].phi.tile(source);
            for (int x = 0; x < kTileSize; x += 2)
                for (int y = 0; y < kTileSize; y += 2)
                    for (int z = 0; z < kTileSize; z += 2) {
                        const Vec3i at = side * (kTileSize / 2) + Vec3i(x, y, z) / 2;
                        levels_[level].phi.tile(tile)[offset_of_cell(at)] = from[offset_in_tile(x, y, z)];
                    }
        }
    });
}

namespace {

// Solves |gradient| = 1 upwind for a distance from the smallest known ones along each axis.
float eikonal(float a, float b, float c, float edge)
{
    if (a > b) std::swap(a, b);
    if (b > c) std::swap(b, c);
    if (a > b) std::swap(a, b);
    float d = a + edge;
    if (d <= b) return d;
    d = 0.5f * (a + b + std::sqrt(std::max(0.0f, 2 * edge * edge - (a - b) * (a - b))));
    if (d <= c) return d;
    const float sum = a + b + c;
    const float root = sum * sum - 3 * (a * a + b * b + c * c - edge * edge);
    return root > 0 ? (sum + std::sqrt(root)) / 3 : d;
}

} // namespace

// Layer by layer, each corner next to a known one takes its distance from those. The surface passes between known
// corners only, so that the sign is that of any neighbour.
void DistanceTree::continue_outwards(int number)
{
    Level& level = levels_[number];
    const Topology& topology = *level.cells.topology;
    const float edge = settings_.voxel * static_cast<float>(1 << number);
    struct Corner {
        int offset;
        float distance; // kUnknown until it is found
    };
    std::vector<std::vector<Corner>> unknown(topology.tile_count());
    for_each_tile(topology, [&](int tile) {
        auto& cells = thread_scratch<Block<uint8_t, 1>>();
        cells.gather(level.cells.has, tile);
        for (int o = 0; o < kTileCells; ++o) {
            if (level.phi.tile(tile)[o] != kUnknown) continue;
            const Vec3i at = cell_in_tile(o);
            uint8_t used = 0;
            for (int c = 0; c < 8; ++c) used |= cells.at(at.x() - (c >> 2), at.y() - (c >> 1 & 1), at.z() - (c & 1));
            if (used) unknown[tile].push_back({o, kUnknown});
        }
    });
    std::vector<int> tiles;
    for (int tile = 0; tile < topology.tile_count(); ++tile)
        if (!unknown[tile].empty()) tiles.push_back(tile);
    while (!tiles.empty()) {
        parallel_for(tiles.size(), [&](size_t i) {
            using Around = Block<float, 1>;
            auto& block = thread_scratch<Around>();
            block.gather(level.phi, tiles[i]);
            for (Corner& corner : unknown[tiles[i]]) {
                const Vec3i at = cell_in_tile(corner.offset);
                const float* p = &block.at(at.x(), at.y(), at.z());
                float along[3], nearest = kUnknown;
                const int strides[3] = {Around::kStrideX, Around::kStrideY, 1};
                for (int a = 0; a < 3; ++a) {
                    const float low = p[-strides[a]], high = p[strides[a]];
                    const float value = std::abs(low) < std::abs(high) ? low : high;
                    along[a] = std::abs(value);
                    if (along[a] < std::abs(nearest)) nearest = value;
                }
                if (nearest != kUnknown)
                    corner.distance = std::copysign(eikonal(along[0], along[1], along[2], edge), nearest);
            }
        });
        const double found = parallel_sum(tiles.size(), [&](size_t i) {
            return static_cast<double>(std::erase_if(unknown[tiles[i]], [&](const Corner& corner) {
                if (corner.distance == kUnknown) return false;
                level.phi.tile(tiles[i])[corner.offset] = corner.distance;
                return true;
            }));
        });
        if (found == 0) return; // the others are not connected with the surface
        std::erase_if(tiles, [&](int tile) { return unknown[tile].empty(); });
    }
}

// ------------------------------------------------------------------------------------------------------------- queries

float DistanceTree::interpolate(const Level& level, int tile, const Vec3i& cell, const Vec3f& share) const
{
    const Topology& topology = *level.cells.topology;
    const Vec3i local(cell.x() & 7, cell.y() & 7, cell.z() & 7);
    float value = 0;
    for (int c = 0; c < 8; ++c) {
        const Vec3i step(c >> 2, c >> 1 & 1, c & 1), at = local + step;
        const int owner = topology.neighbour(tile, at.x() >> 3, at.y() >> 3, at.z() >> 3);
        const Vec3f weight = step.cast<float>().cwiseProduct(2 * share - Vec3f::Ones()) + Vec3f::Ones() - share;
        value += weight.prod() * level.phi.tile(owner)[offset_of_cell(at)];
    }
    return value;
}

DistanceTree::Nearest DistanceTree::find(const Vec3f& x, bool exact) const
{
    Nearest nearest;
    const Vec3i cell = cell_at(x);
    const Vec3f place = (x - settings_.origin) / settings_.voxel;
    for (int number = 0; number < level_count(); ++number) {
        const Level& level = levels_[number];
        const Vec3i at = coarser(cell, number);
        const int tile = level.cells.topology->find(tile_of_cell(at));
        if (!level.cells.has.tile(tile)[offset_of_cell(at)]) continue;
        const auto interpolated = [&] {
            const Vec3f share = place / static_cast<float>(1 << number) - at.cast<float>();
            return interpolate(level, tile, at, share.cwiseMax(0.0f).cwiseMin(1.0f));
        };
        const bool near = number == 0 && near_[tile];
        if (!near || !exact) nearest.distance = interpolated();
        const bool certain = !near || (!exact && std::abs(nearest.distance) > kInterpolationError * settings_.voxel);
        if (!certain && !find_in_lists(x, cell, tile, nearest) && exact) nearest.distance = interpolated();
        return nearest;
    }
    const Vec3f gap = (bounds_.min - x).cwiseMax(x - bounds_.max).cwiseMax(0.0f);
    nearest.distance = std::max(gap.norm(), settings_.voxel);
    return nearest;
}

float DistanceTree::smooth_distance(const Vec3f& x) const
{
    if (levels_.empty()) return distance(x);
    const Vec3i cell = cell_at(x);
    const Level& finest = levels_[0];
    const int tile = finest.cells.topology->find(tile_of_cell(cell));
    const Vec3i local(cell.x() & 7, cell.y() & 7, cell.z() & 7);
    // Catmull-Rom weights of four corners along each axis.
    float weights[3][4];
    for (int a = 0; a < 3; ++a) {
        const float t = clamp01((x[a] - settings_.origin[a]) / settings_.voxel - static_cast<float>(cell[a]));
        const float t2 = t * t, t3 = t2 * t;
        weights[a][0] = 0.5f * (-t3 + 2 * t2 - t), weights[a][1] = 0.5f * (3 * t3 - 5 * t2 + 2);
        weights[a][2] = 0.5f * (-3 * t3 + 4 * t2 + t), weights[a][3] = 0.5f * (t3 - t2);
    }
    float sum = 0;
    for (int corner = 0; corner < 64; ++corner) {
        const Vec3i step(corner >> 4, corner >> 2 & 3, corner & 3), at = local + step - Vec3i::Ones();
        const int owner = tile == finest.cells.topology->tile_count()
                              ? tile
                              : finest.cells.topology->neighbour(tile, at.x() >> 3, at.y() >> 3, at.z() >> 3);
        const float value = finest.phi.tile(owner)[offset_of_cell(at)];
        if (value == kUnknown) return distance(x);
        sum += weights[0][step.x()] * weights[1][step.y()] * weights[2][step.z()] * value;
    }
    return sum;
}

// The nearest of the listed triangles that are offered, eight at a time.
class DistanceTree::Candidates {
  public:
    Candidates(const std::vector<Corners>& corners, const Vec3f& x) : corners_(corners), x_(x) {}

    void add(uint32_t listed)
    {
        waiting_[count_++] = listed;
        if (count_ == lanes::kLanes) look();
    }
    void look()
    {
        using namespace lanes;
        if (count_ == 0) return;
        float corners[3][3][kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            const float* at = corners_[waiting_[lane < count_ ? lane : 0]].at;
            for (int k = 0; k < 9; ++k) corners[k / 3][k % 3][lane] = at[k];
        }
        const Vec3Lanes p{all(x_.x()), all(x_.y()), all(x_.z())};
        const Lanes d2 = triangle_distance2(p, load(corners[0]), load(corners[1]), load(corners[2]));
        for (int lane = 0; lane < count_; ++lane)
            if (d2[lane] < distance2_) distance2_ = d2[lane], nearest_ = static_cast<int>(waiting_[lane]);
        count_ = 0;
    }
    float distance2() const { return distance2_; }
    // Its place in the list; -1 if none was offered.
    int nearest() const { return nearest_; }

  private:
    const std::vector<Corners>& corners_;
    const Vec3f x_;
    uint32_t waiting_[lanes::kLanes];
    int count_ = 0, nearest_ = -1;
    float distance2_ = kInfinity;
};

namespace {

// The 27 cells around a cell: itself, then across faces, edges and corners.
struct CellsAround {
    std::array<Vec3i, 27> steps;
    CellsAround()
    {
        size_t count = 0;
        for (int axes = 0; axes <= 3; ++axes)
            for (int slot = 0; slot < 27; ++slot) {
                const Vec3i step(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1);
                if (step.cwiseAbs().sum() == axes) steps[count++] = step;
            }
    }
};
constexpr int kAcrossFaces = 7;

} // namespace

bool DistanceTree::find_in_lists(const Vec3f& x, const Vec3i& cell, int tile, Nearest& nearest) const
{
    static const CellsAround around;
    const Topology& topology = *levels_[0].cells.topology;
    const Vec3i local(cell.x() & 7, cell.y() & 7, cell.z() & 7);
    // Squared distance to the neighbouring cells along each axis.
    float gap2[3][3];
    for (int a = 0; a < 3; ++a) {
        const float low = x[a] - settings_.origin[a] - settings_.voxel * static_cast<float>(cell[a]);
        const float high = settings_.voxel - low;
        gap2[a][0] = low > 0 ? low * low : 0, gap2[a][1] = 0, gap2[a][2] = high > 0 ? high * high : 0;
    }
    Candidates candidates(listed_corners_, x);
    for (int i = 0; i < 27; ++i) {
        if (i == kAcrossFaces) candidates.look();
        const Vec3i& step = around.steps[i];
        const float gap = gap2[0][step.x() + 1] + gap2[1][step.y() + 1] + gap2[2][step.z() + 1];
        if (gap >= candidates.distance2()) continue;
        const Vec3i at = local + step;
        const int owner = topology.neighbour(tile, at.x() >> 3, at.y() >> 3, at.z() >> 3);
        const Range range = lists_.tile(owner)[offset_of_cell(at)];
        for (uint32_t k = 0; k < range.count; ++k) candidates.add(range.first + k);
    }
    candidates.look();
    if (candidates.nearest() < 0) return false;
    nearest.triangle = listed_[candidates.nearest()];
    const Vec3i& corners = mesh_.triangles[nearest.triangle];
    nearest.weights =
        nearest_on_triangle(x, mesh_.positions[corners[0]], mesh_.positions[corners[1]], mesh_.positions[corners[2]]);
    nearest.distance = signed_distance(x, nearest);
    return true;
}

float DistanceTree::signed_distance(const Vec3f& x, const SurfacePoint& at) const
{
    const Vec3i& corners = mesh_.triangles[at.triangle];
    Vec3f on = Vec3f::Zero();
    for (int k = 0; k < 3; ++k) on += at.weights[k] * mesh_.positions[corners[k]];

    // The normal of the face, edge or vertex that is nearest.
    Vec3f normal;
    int largest = 0;
    at.weights.maxCoeff(&largest);
    const int zeros = static_cast<int>((at.weights.array() == 0).count());
    if (zeros == 2) {
        normal = pseudonormals_[corners[largest]];
    } else {
        normal = triangle_normal(mesh_, at.triangle);
        if (zeros == 1) {
            const int opposite = at.weights[0] == 0 ? 0 : at.weights[1] == 0 ? 1 : 2;
            const int other = links_.across(mesh_, at.triangle, (opposite + 1) % 3);
            if (other >= 0) normal += triangle_normal(mesh_, other);
        }
        if (normal.squaredNorm() == 0) normal = pseudonormals_[corners[largest]];
    }
    const Vec3f offset = x - on;
    const float distance = offset.dot(normal) < 0 ? -offset.norm() : offset.norm();
    if (!settings_.curved) return distance;

    // The quadratic surface that has the vertices' normals lies halfway between the triangle and the tangent planes at
    // the vertices, weighted.
    constexpr float kEdge = 0.8f, kSmooth = 0.95f; // cosines
    Vec3f mean = Vec3f::Zero();
    for (int k = 0; k < 3; ++k) mean += at.weights[k] * mesh_.normals[corners[k]];
    mean.normalize();
    float height = 0;
    for (int k = 0; k < 3; ++k) {
        const Vec3f& n = mesh_.normals[corners[k]];
        const float smooth = clamp01((n.dot(mean) - kEdge) / (kSmooth - kEdge));
        height += at.weights[k] * smooth * (mesh_.positions[corners[k]] - on).dot(n);
    }
    return distance - 0.5f * height;
}

// ------------------------------------------------------------------------------------------------------- for
// inspection

DistanceTree::Leaf DistanceTree::leaf(const Vec3f& x) const
{
    const Vec3i cell = cell_at(x);
    for (int number = 0; number < level_count(); ++number) {
        const Vec3i at = coarser(cell, number);
        if (levels_[number].cells.contains(at)) return {number, at * (1 << number)};
    }
    return {};
}

size_t DistanceTree::cell_count() const
{
    size_t count = 0;
    for (const Level& level : levels_)
        count += static_cast<size_t>(parallel_sum(level.cells.topology->tile_count(), [&](size_t tile) {
            const uint8_t* has = level.cells.has.tile(static_cast<int>(tile));
            return static_cast<double>(std::count(has, has + kTileCells, 1));
        }));
    return count;
}

size_t DistanceTree::bytes() const
{
    size_t bytes = links_.bytes() + listed_.capacity() * (sizeof(int) + sizeof(Corners)) + lists_.bytes() +
                   (pseudonormals_.capacity() + mesh_.normals.capacity() + mesh_.positions.capacity() +
                    mesh_.triangles.capacity()) *
                       sizeof(Vec3f);
    for (const Level& level : levels_)
        bytes += level.cells.topology->bytes() + level.cells.has.bytes() + level.phi.bytes();
    return bytes;
}

} // namespace spindrift
