#include "spindrift/surface/contour.h"

#include "spindrift/base/scratch.h"
#include "spindrift/surface/tile_samples.h"

namespace spindrift {

namespace {

// The vertices of one tile's cubes, and the first vertex of each cube.
struct TileVertices {
    std::vector<Vec3f> positions, normals;
    std::vector<uint8_t> kinds;
    std::array<uint16_t, kTileCells> first;
};

uint8_t kind_of(const TileSamples::Vertex& vertex)
{
    int kind = vertex.free ? VertexKind::free : 0;
    for (int a = 0; a < 3; ++a) kind |= (vertex.wall[a] != 0) << a;
    return static_cast<uint8_t>(kind);
}

class Contouring {
  public:
    Contouring(const Field<float>& phi, float voxel, const std::optional<Box3f>& container)
        : phi_(phi), topology_(phi.topology()), voxel_(voxel), container_(container)
    {
    }
    Contour run();

  private:
    void find_signs();
    bool may_be_cut(int tile) const;
    void make_vertices(int tile);
    Vec3f position(int tile, const TileSamples::Vertex& vertex) const;
    void collect_vertices();
    void make_triangles(int tile);
    int vertex_number(int tile, const TileSamples& samples, const Vec3i& cube, int edge) const;
    void add_quad(int tile, const TileSamples& samples, const Vec3i& at, int axis, std::vector<Vec3i>& triangles) const;
    void collect_triangles();

    const Field<float>& phi_;
    const Topology& topology_;
    const float voxel_;
    const std::optional<Box3f>& container_;
    std::vector<uint8_t> signs_;                          // of the values in each tile: 1 inside, 2 outside, 3 both
    std::vector<std::unique_ptr<TileVertices>> vertices_; // by tile, null where nothing is cut
    std::vector<std::vector<Vec3i>> triangles_;           // by tile
    Contour out_;
};

void Contouring::find_signs()
{
    signs_.assign(topology_.tile_count() + 1, 2);
    for_each_tile(topology_, [&](int tile) {
        const float* phi = phi_.tile(tile);
        uint8_t signs = 0;
        for (int i = 0; i < kTileCells; ++i) signs |= phi[i] < 0 ? 1 : 2;
        signs_[tile] = signs;
    });
}

// Cubes extend into the next tiles. Most tiles lie entirely inside or outside, together with their neighbours.
bool Contouring::may_be_cut(int tile) const
{
    uint8_t signs = 0;
    for (int c = 0; c < 8; ++c) signs |= signs_[topology_.neighbour(tile, c >> 2, c >> 1 & 1, c & 1)];
    if (signs == 2) return false;
    if (signs == 3 || !container_) return signs == 3;
    const Vec3f first = topology_.first_cell(tile).cast<float>() * voxel_;
    const Vec3f last = first + Vec3f::Constant(voxel_ * (kTileSize + 1));
    return !container_->contains(first) || !container_->contains(last);
}

void Contouring::make_vertices(int tile)
{
    if (!may_be_cut(tile)) return;
    auto& samples = thread_scratch<TileSamples>();
    samples.gather(phi_, tile, voxel_, container_);
    auto& out = vertices_[tile];
    out = std::make_unique<TileVertices>();
    for (int o = 0; o < kTileCells; ++o) {
        out->first[o] = static_cast<uint16_t>(out->positions.size());
        const Vec3i cube = cell_in_tile(o);
        const int configuration = samples.configuration(cube);
        if (configuration == 0 || configuration == 255) continue;
        const CubeSheets& sheets = samples.sheets(cube, configuration);
        for (int s = 0; s < sheets.count; ++s) {
            const auto vertex = samples.vertex(cube, configuration, sheets, s);
            out->positions.push_back(position(tile, vertex));
            out->normals.push_back(vertex.normal);
            out->kinds.push_back(kind_of(vertex));
        }
    }
}

Vec3f Contouring::position(int tile, const TileSamples::Vertex& vertex) const
{
    Vec3f x = voxel_ * (topology_.first_cell(tile).cast<float>() + vertex.place + Vec3f::Constant(0.5f));
    for (int a = 0; a < 3; ++a) // exactly on the wall, without rounding through cell coordinates
        if (vertex.wall[a] != 0) x[a] = vertex.wall[a] > 0 ? container_->max[a] : container_->min[a];
    return x;
}

void Contouring::collect_vertices()
{
    std::vector<uint32_t>& first = out_.tile_first;
    first.assign(vertices_.size() + 1, 0);
    for (size_t t = 0; t < vertices_.size(); ++t)
        first[t + 1] = first[t] + static_cast<uint32_t>(vertices_[t] ? vertices_[t]->positions.size() : 0);
    out_.mesh.positions.resize(first.back()), out_.mesh.normals.resize(first.back());
    out_.kinds.resize(first.back());
    parallel_for(vertices_.size(), [&](size_t t) {
        if (!vertices_[t]) return;
        TileVertices& v = *vertices_[t];
        std::copy(v.positions.begin(), v.positions.end(), out_.mesh.positions.begin() + first[t]);
        std::copy(v.normals.begin(), v.normals.end(), out_.mesh.normals.begin() + first[t]);
        std::copy(v.kinds.begin(), v.kinds.end(), out_.kinds.begin() + first[t]);
        v.positions = {}, v.normals = {};
    });
}

// Every cut edge of the grid becomes a quad between the four cubes around it.
void Contouring::make_triangles(int tile)
{
    if (!vertices_[tile]) return;
    auto& samples = thread_scratch<TileSamples>();
    samples.gather(phi_, tile, voxel_, container_);
    for (int o = 0; o < kTileCells; ++o) {
        const Vec3i at = cell_in_tile(o);
        for (int axis = 0; axis < 3; ++axis) {
            Vec3i next = at;
            ++next[axis];
            if (samples.inside(at) != samples.inside(next)) add_quad(tile, samples, at, axis, triangles_[tile]);
        }
    }
}

// The vertex of the sheet that cuts an edge of a cube.
int Contouring::vertex_number(int tile, const TileSamples& samples, const Vec3i& cube, int edge) const
{
    const int sheet = samples.sheets(cube, samples.configuration(cube)).of_edge[edge];
    const auto step = [](int c) { return c < 0 ? -1 : 0; };
    const size_t owner = topology_.neighbour(tile, step(cube.x()), step(cube.y()), step(cube.z()));
    return static_cast<int>(out_.tile_first[owner]) + vertices_[owner]->first[offset_of_cell(cube)] + sheet;
}

void Contouring::add_quad(int tile, const TileSamples& samples, const Vec3i& at, int axis,
                          std::vector<Vec3i>& triangles) const
{
    // Counter-clockwise as seen from the edge's upper end: the position of the edge in each cube along the axes that
    // follow its own.
    constexpr int kPlaces[4][2] = {{1, 1}, {0, 1}, {0, 0}, {1, 0}};
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    int q[4];
    for (int k = 0; k < 4; ++k) {
        const int in_u = kPlaces[k][0], in_v = kPlaces[k][1];
        Vec3i cube = at;
        cube[u] -= in_u, cube[v] -= in_v;
        q[k] = vertex_number(tile, samples, cube, 4 * axis + (u < v ? 2 * in_u + in_v : 2 * in_v + in_u));
    }
    if (!samples.inside(at)) std::swap(q[1], q[3]);
    // Split along the shorter diagonal.
    const auto length2 = [&](int i, int j) { return (out_.mesh.positions[i] - out_.mesh.positions[j]).squaredNorm(); };
    if (length2(q[0], q[2]) <= length2(q[1], q[3]))
        triangles.insert(triangles.end(), {Vec3i(q[0], q[1], q[2]), Vec3i(q[0], q[2], q[3])});
    else
        triangles.insert(triangles.end(), {Vec3i(q[1], q[2], q[3]), Vec3i(q[1], q[3], q[0])});
}

void Contouring::collect_triangles()
{
    std::vector<size_t> first(triangles_.size() + 1, 0);
    for (size_t t = 0; t < triangles_.size(); ++t) first[t + 1] = first[t] + triangles_[t].size();
    out_.mesh.triangles.resize(first.back());
    parallel_for(triangles_.size(), [&](size_t t) {
        std::copy(triangles_[t].begin(), triangles_[t].end(),
                  out_.mesh.triangles.begin() + static_cast<std::ptrdiff_t>(first[t]));
    });
}

Contour Contouring::run()
{
    vertices_.resize(topology_.tile_count());
    triangles_.resize(vertices_.size());
    find_signs();
    for_each_tile(topology_, [&](int tile) { make_vertices(tile); });
    collect_vertices();
    for_each_tile(topology_, [&](int tile) { make_triangles(tile); });
    collect_triangles();
    return std::move(out_);
}

} // namespace

Contour contour(const Field<float>& phi, float voxel, const std::optional<Box3f>& container)
{
    return Contouring(phi, voxel, container).run();
}

} // namespace spindrift
