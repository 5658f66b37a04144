#include "spindrift/track/contouring.h"

#include "spindrift/base/error.h"
#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"
#include "spindrift/mesh/cube_sheets.h"

namespace spindrift {

namespace {

constexpr float kNotEvaluated = 1e30f;
// Cells are split where the function is smaller than this many edges: it is not quite a distance, and may be smaller
// elsewhere in the cell [Bargteil 2006, 3.3.3].
constexpr float kSplit = 3;
// Of the cells of twice the finest edge, only those can hold surface in which the function is at most half the diagonal
// times its steepness, assumed to be at most two. Where it is steeper, cut faces tell.
constexpr float kReach = 2 * 1.7321f; // [voxels]
// Vertices keep this distance from the ends of their edge [edges], so that no triangle degenerates.
constexpr float kMargin = 1e-3f;
// The secant iteration ends here [voxels].
constexpr float kTolerance = 1e-4f;
constexpr int kMostEvaluations = 8;
constexpr size_t kChunk = 512; // points that are evaluated together

// The cut edges that begin at the corners of a tile, by corner and axis.
struct TileEdges {
    std::array<uint16_t, kTileCells> first{}; // number of the corner's first cut edge in the tile
    std::array<uint8_t, kTileCells> axes{};   // bits
    int number_of(int offset, int axis) const
    {
        return first[offset] + __builtin_popcount(axes[offset] & ((1u << axis) - 1));
    }
};

// An edge between corners of different sign.
struct CutEdge {
    Vec3i corner;
    int axis;
    float low, high; // values at its ends
};

class Contouring {
  public:
    Contouring(const SurfaceFunction& function, float voxel, const Vec3f& origin)
        : function_(function), voxel_(voxel), origin_(origin)
    {
    }
    ContouredMesh run();

  private:
    Vec3f position(const Vec3f& corner) const { return origin_ + voxel_ * corner; }
    std::vector<Vec3i> cells_near_surface() const;
    std::vector<float> values_at_centers(const std::vector<Vec3i>& cells, float edge) const;
    void make_grid(const std::vector<Vec3i>& parents);
    void evaluate_corners();
    std::vector<Vec3i> missing_parents() const;
    void find_cut_edges();
    void place_vertices();
    void place_vertices(size_t begin, size_t end);
    void make_triangles();
    void add_triangles(int tile, std::vector<Vec3i>& triangles, std::vector<Vec3i>& cells) const;
    int vertex_on(int tile, const Vec3i& corner, int axis) const;
    void add_polygon(std::span<int> polygon, std::vector<Vec3i>& triangles) const;

    const SurfaceFunction& function_;
    const float voxel_;
    const Vec3f origin_;
    CellSet cells_;                                 // finest cells
    Field<float> values_;                           // at their lower corners
    std::vector<std::unique_ptr<TileEdges>> edges_; // by tile; null where nothing is cut
    std::vector<int> tile_first_;                   // first vertex of each tile, and the total
    std::vector<CutEdge> cut_;                      // by vertex
    ContouredMesh out_;
};

// ------------------------------------------------------------------------------------------------------------ the grid

std::vector<float> Contouring::values_at_centers(const std::vector<Vec3i>& cells, float edge) const
{
    std::vector<float> values(cells.size());
    parallel_chunks(cells.size(), kChunk, [&](size_t begin, size_t end) {
        auto& points = thread_scratch<std::vector<Vec3f>>();
        points.clear();
        for (size_t i = begin; i < end; ++i)
            points.push_back(position((cells[i].cast<float>() + Vec3f::Constant(0.5f)) * edge));
        function_.estimate(points, std::span(values).subspan(begin, end - begin));
    });
    return values;
}

// The cells of twice the finest edge that may hold surface, found from the root down (3.8), sorted by tile.
std::vector<Vec3i> Contouring::cells_near_surface() const
{
    const Box3f bounds = function_.bounds();
    if (bounds.empty()) return {};
    const Vec3f low = (bounds.min - origin_) / voxel_, high = (bounds.max - origin_) / voxel_;
    constexpr float kFarthest = static_cast<float>(kTileReach) * (kTileSize - 2);
    if (!(low.minCoeff() > -kFarthest && high.maxCoeff() < kFarthest))
        fail("the surface is more than {:.3g} m from the origin; with a voxel of {} m that is too far",
             kFarthest * voxel_, voxel_);
    int level = 1;
    while ((high - low).maxCoeff() > 4 * static_cast<float>(1 << level)) ++level;
    const auto cell_of = [&](const Vec3f& p) {
        const Vec3f q = p / static_cast<float>(1 << level);
        return Vec3i(floor_int(q.x()), floor_int(q.y()), floor_int(q.z()));
    };
    std::vector<Vec3i> cells;
    const Vec3i first = cell_of(low), last = cell_of(high);
    for (int x = first.x(); x <= last.x(); ++x)
        for (int y = first.y(); y <= last.y(); ++y)
            for (int z = first.z(); z <= last.z(); ++z) cells.emplace_back(x, y, z);
    std::sort(cells.begin(), cells.end(),
              [](const Vec3i& a, const Vec3i& b) { return morton_of_tile(a) < morton_of_tile(b); });
    for (;; --level) {
        const auto edge = static_cast<float>(1 << level);
        const std::vector<float> values = values_at_centers(cells, edge);
        const float limit = voxel_ * (level > 1 ? kSplit * edge : kReach);
        std::vector<Vec3i> next;
        for (size_t i = 0; i < cells.size(); ++i) {
            if (!(std::abs(values[i]) < limit)) continue;
            if (level == 1) {
                next.push_back(cells[i]);
                continue;
            }
            for (int c = 0; c < 8; ++c) next.push_back(2 * cells[i] + Vec3i(c >> 2, c >> 1 & 1, c & 1));
        }
        cells = std::move(next);
        if (level == 1) return cells;
    }
}

void Contouring::make_grid(const std::vector<Vec3i>& parents)
{
    std::vector<CellKey> keys;
    keys.reserve(parents.size());
    for (const Vec3i& cell : parents) keys.emplace_back(cell);
    const auto by_tile = [](const CellKey& a, const CellKey& b) { return a.tile < b.tile; };
    if (!std::is_sorted(keys.begin(), keys.end(), by_tile)) std::sort(keys.begin(), keys.end(), by_tile);
    cells_ = children_of(cells_of(keys));
    evaluate_corners();
}

void Contouring::evaluate_corners()
{
    const Topology& topology = *cells_.topology;
    values_.reset_uninitialized(topology, kNotEvaluated);
    for_each_tile(topology, [&](int tile) {
        auto& cells = thread_scratch<Block<uint8_t, 1>>();
        auto& points = thread_scratch<std::vector<Vec3f>>();
        auto& offsets = thread_scratch<std::vector<int>>();
        auto& found = thread_scratch<std::vector<float>>();
        cells.gather(cells_.has, tile);
        points.clear(), offsets.clear();
        const Vec3i from = topology.first_cell(tile);
        float* values = values_.tile(tile);
        for (int o = 0; o < kTileCells; ++o) {
            values[o] = kNotEvaluated;
            const Vec3i at = cell_in_tile(o);
            uint8_t used = 0;
            for (int c = 0; c < 8; ++c) used |= cells.at(at.x() - (c >> 2), at.y() - (c >> 1 & 1), at.z() - (c & 1));
            if (!used) continue;
            offsets.push_back(o);
            points.push_back(position((from + at).cast<float>()));
        }
        found.resize(points.size());
        function_.estimate(points, found);
        for (size_t i = 0; i < offsets.size(); ++i) values[offsets[i]] = found[i];
    });
}

// The surface leaves the grid through a cut edge that does not have four cells around it: their parents.
std::vector<Vec3i> Contouring::missing_parents() const
{
    const Topology& topology = *cells_.topology;
    std::vector<std::vector<Vec3i>> missing(topology.tile_count());
    for_each_tile(topology, [&](int tile) {
        auto& cells = thread_scratch<Block<uint8_t, 1>>();
        auto& values = thread_scratch<Block<float, 1>>();
        cells.gather(cells_.has, tile);
        values.gather(values_, tile);
        const Vec3i from = topology.first_cell(tile);
        for (int o = 0; o < kTileCells; ++o) {
            const Vec3i at = cell_in_tile(o);
            const float low = values.at(at.x(), at.y(), at.z());
            if (low == kNotEvaluated) continue;
            for (int axis = 0; axis < 3; ++axis) {
                const Vec3i next = at + Vec3i::Unit(axis);
                const float high = values.at(next.x(), next.y(), next.z());
                if (high == kNotEvaluated || (low < 0) == (high < 0)) continue;
                for (int c = 0; c < 4; ++c) {
                    Vec3i cell = at;
                    cell[(axis + 1) % 3] -= c & 1, cell[(axis + 2) % 3] -= c >> 1;
                    if (!cells.at(cell.x(), cell.y(), cell.z())) missing[tile].push_back(coarser(from + cell));
                }
            }
        }
    });
    std::vector<Vec3i> all;
    for (const auto& part : missing) all.insert(all.end(), part.begin(), part.end());
    return all;
}

// ------------------------------------------------------------------------------------------------------------ vertices

void Contouring::find_cut_edges()
{
    const Topology& topology = *cells_.topology;
    edges_.resize(topology.tile_count());
    std::vector<std::vector<CutEdge>> cut(topology.tile_count());
    for_each_tile(topology, [&](int tile) {
        auto& values = thread_scratch<Block<float, 1>>();
        values.gather(values_, tile);
        const Vec3i from = topology.first_cell(tile);
        for (int o = 0; o < kTileCells; ++o) {
            const Vec3i at = cell_in_tile(o);
            const float low = values.at(at.x(), at.y(), at.z());
            if (edges_[tile]) edges_[tile]->first[o] = static_cast<uint16_t>(cut[tile].size());
            if (low == kNotEvaluated) continue;
            for (int axis = 0; axis < 3; ++axis) {
                const Vec3i next = at + Vec3i::Unit(axis);
                const float high = values.at(next.x(), next.y(), next.z());
                if (high == kNotEvaluated || (low < 0) == (high < 0)) continue;
                if (!edges_[tile]) edges_[tile] = std::make_unique<TileEdges>();
                edges_[tile]->axes[o] |= static_cast<uint8_t>(1 << axis);
                cut[tile].push_back({from + at, axis, low, high});
            }
        }
    });
    tile_first_.assign(cut.size() + 1, 0);
    for (size_t t = 0; t < cut.size(); ++t) tile_first_[t + 1] = tile_first_[t] + static_cast<int>(cut[t].size());
    cut_.resize(tile_first_.back());
    parallel_for(cut.size(), [&](size_t t) { std::copy(cut[t].begin(), cut[t].end(), cut_.begin() + tile_first_[t]); });
}

void Contouring::place_vertices()
{
    out_.mesh.positions.resize(cut_.size());
    out_.origin.resize(cut_.size());
    parallel_chunks(cut_.size(), kChunk, [&](size_t begin, size_t end) { place_vertices(begin, end); });
}

// The zero crossings of a chunk of edges: a secant iteration that keeps its bracket, halving the value at an end that
// stays ("Illinois") [Dowell 1971].
void Contouring::place_vertices(size_t begin, size_t end)
{
    struct Search {
        size_t vertex;
        float low, high;             // bracket, as a share of the edge
        float value_low, value_high; // of opposite sign
        float at;
        int last = 0; // the end that moved last: -1 or 1
    };
    auto& searches = thread_scratch<std::vector<Search>>();
    auto& points = thread_scratch<std::vector<Vec3f>>();
    auto& results = thread_scratch<std::vector<DistanceTree::Nearest>>();
    searches.clear();
    for (size_t i = begin; i < end; ++i)
        searches.push_back({i, 0, 1, cut_[i].low, cut_[i].high, cut_[i].low / (cut_[i].low - cut_[i].high)});
    for (int evaluation = 0; !searches.empty(); ++evaluation) {
        points.clear();
        for (Search& search : searches) {
            search.at = std::clamp(search.at, kMargin, 1 - kMargin);
            const CutEdge& edge = cut_[search.vertex];
            points.push_back(position(edge.corner.cast<float>() + search.at * Vec3f::Unit(edge.axis)));
        }
        results.resize(points.size());
        function_.evaluate(points, results);
        size_t left = 0;
        for (size_t i = 0; i < searches.size(); ++i) {
            Search s = searches[i];
            const float value = results[i].distance;
            const bool low_side = (value < 0) == (s.value_low < 0);
            const bool at_margin = low_side ? s.at >= 1 - kMargin : s.at <= kMargin;
            if (std::abs(value) <= kTolerance * voxel_ || at_margin || evaluation + 1 >= kMostEvaluations) {
                out_.mesh.positions[s.vertex] = points[i];
                out_.origin[s.vertex] = results[i];
                continue;
            }
            if (low_side) {
                s.low = s.at, s.value_low = value;
                if (s.last == -1) s.value_high *= 0.5f;
                s.last = -1;
            } else {
                s.high = s.at, s.value_high = value;
                if (s.last == 1) s.value_low *= 0.5f;
                s.last = 1;
            }
            s.at = s.low + (s.high - s.low) * s.value_low / (s.value_low - s.value_high);
            searches[left++] = s;
        }
        searches.resize(left);
    }
}

// ----------------------------------------------------------------------------------------------------------- triangles

// The vertex on the edge from a corner, which is given relative to a tile's first, along an axis.
int Contouring::vertex_on(int tile, const Vec3i& corner, int axis) const
{
    const int owner = cells_.topology->neighbour(tile, corner.x() >> 3, corner.y() >> 3, corner.z() >> 3);
    return tile_first_[owner] + edges_[owner]->number_of(offset_of_cell(corner), axis);
}

// Cuts off the corner with the shortest diagonal until a triangle is left.
void Contouring::add_polygon(std::span<int> polygon, std::vector<Vec3i>& triangles) const
{
    size_t count = polygon.size();
    while (count > 3) {
        size_t best = 0;
        float least = kInfinity;
        for (size_t i = 0; i < count; ++i) {
            const Vec3f diagonal =
                out_.mesh.positions[polygon[(i + 1) % count]] - out_.mesh.positions[polygon[(i + count - 1) % count]];
            if (diagonal.squaredNorm() < least) least = diagonal.squaredNorm(), best = i;
        }
        triangles.emplace_back(polygon[(best + count - 1) % count], polygon[best], polygon[(best + 1) % count]);
        std::copy(polygon.begin() + static_cast<long>(best) + 1, polygon.begin() + static_cast<long>(count),
                  polygon.begin() + static_cast<long>(best));
        --count;
    }
    triangles.emplace_back(polygon[0], polygon[1], polygon[2]);
}

void Contouring::add_triangles(int tile, std::vector<Vec3i>& triangles, std::vector<Vec3i>& cells) const
{
    using Values = Block<float, 2>;
    auto& values = thread_scratch<Values>();
    values.gather(values_, tile);
    const auto configuration = [&](const Vec3i& cell) {
        int corners = 0;
        for (int c = 0; c < 8; ++c)
            corners |= (values.at(cell.x() + (c >> 2), cell.y() + (c >> 1 & 1), cell.z() + (c & 1)) < 0) << c;
        return corners;
    };
    const Vec3i from = cells_.topology->first_cell(tile);
    for (int o = 0; o < kTileCells; ++o) {
        if (!cells_.has.tile(tile)[o]) continue;
        const Vec3i cell = cell_in_tile(o);
        const int corners = configuration(cell);
        if (corners == 0 || corners == 255) continue;
        const CubeCase& cube = cube_cases()[corners];
        const CubeSheets* sheets = &cube.normal;
        if (cube.twice >= 0) {
            Vec3i beyond = cell;
            beyond[cube.twice / 2] += cube.twice & 1 ? 1 : -1;
            if (cube_cases()[configuration(beyond)].twice == (cube.twice ^ 1)) sheets = &cube.flipped;
        }
        std::array<bool, 12> done{};
        for (int start = 0; start < 12; ++start) {
            if (sheets->next[start] < 0 || done[start]) continue;
            std::array<int, 12> polygon{};
            size_t count = 0;
            for (int edge = start; !done[edge]; edge = sheets->next[edge]) {
                done[edge] = true;
                const CubeEdge e(edge);
                polygon[count++] = vertex_on(tile, cell + cube_corner_place(e.low), e.axis);
            }
            add_polygon(std::span(polygon).first(count), triangles);
        }
        cells.resize(triangles.size(), from + cell);
    }
}

void Contouring::make_triangles()
{
    const size_t tiles = edges_.size();
    std::vector<std::vector<Vec3i>> triangles(tiles), cells(tiles);
    for_each_tile(*cells_.topology, [&](int tile) { add_triangles(tile, triangles[tile], cells[tile]); });
    std::vector<size_t> first(tiles + 1, 0);
    for (size_t t = 0; t < tiles; ++t) first[t + 1] = first[t] + triangles[t].size();
    out_.mesh.triangles.resize(first.back()), out_.cells.resize(first.back());
    parallel_for(tiles, [&](size_t t) {
        std::copy(triangles[t].begin(), triangles[t].end(), out_.mesh.triangles.begin() + static_cast<long>(first[t]));
        std::copy(cells[t].begin(), cells[t].end(), out_.cells.begin() + static_cast<long>(first[t]));
    });
}

ContouredMesh Contouring::run()
{
    std::vector<Vec3i> parents = cells_near_surface();
    make_grid(parents);
    for (std::vector<Vec3i> missing = missing_parents(); !missing.empty(); missing = missing_parents()) {
        parents.insert(parents.end(), missing.begin(), missing.end());
        make_grid(parents);
    }
    find_cut_edges();
    place_vertices();
    make_triangles();
    return std::move(out_);
}

} // namespace

ContouredMesh contour(const SurfaceFunction& function, float voxel, const Vec3f& origin)
{
    return Contouring(function, voxel, origin).run();
}

} // namespace spindrift
