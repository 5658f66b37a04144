// The viscous operator K on one tile (solvers/viscous.h), plane by plane, with the weights of a general tile or of a
// uniform one inside the liquid.
#pragma once

#include "spindrift/solvers/viscous.h"

namespace spindrift::viscous {

constexpr size_t kViscousTilesPerTask = 4;

constexpr int other_axis(int a, int b) { return 3 - a - b; }

// A tile of velocities and its 26 neighbours, see neighbour_slot().
template <class T> struct TilesAround {
    const T* u[3][27];
    template <class Velocity> TilesAround(const Velocity& field, int tile)
    {
        const auto& neighbours = field.u[0].topology().neighbours(tile);
        for (int a = 0; a < 3; ++a)
            for (size_t n = 0; n < 27; ++n) u[a][n] = field.u[a].tile(neighbours[n]);
    }
};

template <class Velocity> TilesAround(const Velocity& field, int tile)
    -> TilesAround<std::remove_cvref_t<decltype(*field.u[0].tile(0))>>;

inline float to_float(float x) { return x; }

// One x plane of a tile's velocity with a margin of one face. Rows start at multiples of a cache line with the margin
// around them, so that few loads cross a line and a row is gathered together with its two ends.
struct VelocityPlane {
    static constexpr int kStride = 16;
    alignas(64) float u[3][10 * kStride + kTileSize];

    // Index of a row's first cell, y in [-1, 8].
    static constexpr int index(int y) { return (y + 1) * kStride + kTileSize; }

    // x in [-1, 8].
    template <class T> [[gnu::always_inline]] void gather(const TilesAround<T>& tiles, int x)
    {
        const int plane = offset_in_tile(x & 7, 0, 0);
        for (int a = 0; a < 3; ++a) {
            const T* const* beside = tiles.u[a] + neighbour_slot(x >> 3, -1, -1);
            const auto copy = [&](int dy, int y, float* to) {
                const T* const* along_z = beside + 3 * (dy + 1);
                const int from = plane + y * kTileSize;
                store_row(to, load_row(along_z[1] + from));
                to[-1] = to_float(along_z[0][from + 7]), to[kTileSize] = to_float(along_z[2][from]);
            };
            copy(-1, 7, u[a] + index(-1));
            for (int y = 0; y < kTileSize; ++y) copy(0, y, u[a] + index(y));
            copy(1, 0, u[a] + index(8));
        }
    }
};

// Weighted stress in the cells and at the edges of one plane. A cell's stress acts on the faces on both sides, an
// edge's on two components. A row's neighbours along z come from the row itself and one number more.
struct StressPlane {
    Row xx[8], xy[9], xz[8]; // between this plane of faces and the one below
    Row yy[9], yz[9], zz[8]; // in this plane
    float xz_above[8], yz_above[8], zz_below[8];

    // Computes plane x in [0, 8]. `weight` has rows cell(x, y) and edge(axis, x, y), and their values beyond the tile
    // along z: cell_below_z(x, y) and edge_above_z(axis, x, y).
    template <class Weight> [[gnu::always_inline]] void compute(const VelocityPlane& below, const VelocityPlane& here,
                                                                const Weight& weight, int x)
    {
        constexpr int kY = VelocityPlane::kStride;
        const auto at = [](const float* p) { return load_row_unaligned(p); };
        for (int y = 0; y <= kTileSize; ++y) {
            const int i = VelocityPlane::index(y);
            const float *u = here.u[0] + i, *v = here.u[1] + i, *w = here.u[2] + i;
            if (y < kTileSize) {
                xx[y] = weight.cell(x - 1, y) * (at(u) - at(below.u[0] + i));
                xz[y] = weight.edge(1, x, y) * ((at(u) - at(u - 1)) + (at(w) - at(below.u[2] + i)));
            }
            if (x + y < 2 * kTileSize)
                xy[y] = weight.edge(2, x, y) * ((at(u) - at(u - kY)) + (at(v) - at(below.u[1] + i)));
            if (x == kTileSize) continue;
            yy[y] = weight.cell(x, y - 1) * (at(v) - at(v - kY));
            yz[y] = weight.edge(0, x, y) * ((at(v) - at(v - 1)) + (at(w) - at(w - kY)));
            if (y == kTileSize) continue;
            xz_above[y] = weight.edge_above_z(1, x, y) * ((u[8] - u[7]) + (w[8] - below.u[2][i + 8]));
            yz_above[y] = weight.edge_above_z(0, x, y) * ((v[8] - v[7]) + (w[8] - w[8 - kY]));
            zz[y] = weight.cell(x, y) * (at(w + 1) - at(w));
            zz_below[y] = weight.cell_below_z(x, y) * (w[0] - w[-1]);
        }
    }
    // K u for the rows of this plane; `next` is the plane above.
    Row force_x(const StressPlane& next, int y) const
    {
        return (xx[y] - next.xx[y]) + (xy[y] - xy[y + 1]) + (xz[y] - shifted_from_above(xz[y], xz_above[y]));
    }
    Row force_y(const StressPlane& next, int y) const
    {
        return (yy[y] - yy[y + 1]) + (xy[y] - next.xy[y]) + (yz[y] - shifted_from_above(yz[y], yz_above[y]));
    }
    Row force_z(const StressPlane& next, int y) const
    {
        return (shifted_from_below(zz[y], zz_below[y]) - zz[y]) + (xz[y] - next.xz[y]) + (yz[y] - yz[y + 1]);
    }
};

struct UniformWeight {
    float cell_weight, edge_weight;
    Row cell(int, int) const { return splat(cell_weight); }
    Row edge(int, int, int) const { return splat(edge_weight); }
    float cell_below_z(int, int) const { return cell_weight; }
    float edge_above_z(int, int, int) const { return edge_weight; }
};

struct TileWeight {
    TileView cells, edges[3];
    TileWeight(const ViscousMatrix& m, int tile)
        : cells(m.cell, tile), edges{{m.edge[0], tile}, {m.edge[1], tile}, {m.edge[2], tile}}
    {
    }
    // x or y may be one below the tile.
    Row cell(int x, int y) const
    {
        return load_row(x < 0   ? cells.x_low + offset_in_tile(7, y, 0)
                        : y < 0 ? cells.y_low + offset_in_tile(x, 7, 0)
                                : cells.center + offset_in_tile(x, y, 0));
    }
    // x or y may be one above the tile.
    Row edge(int axis, int x, int y) const
    {
        const TileView& e = edges[axis];
        return load_row(x > 7   ? e.x_high + offset_in_tile(0, y, 0)
                        : y > 7 ? e.y_high + offset_in_tile(x, 0, 0)
                                : e.center + offset_in_tile(x, y, 0));
    }
    float cell_below_z(int x, int y) const { return cells.z_low[offset_in_tile(x, y, 7)]; }
    float edge_above_z(int axis, int x, int y) const { return edges[axis].z_high[offset_in_tile(x, y, 0)]; }
};

// Weights around the faces of component A of one row: cells below and above the face, edges below and above along the
// two other axes.
struct Weights {
    Row cell_low, cell_high;
    Row edge_low[2], edge_high[2];
};

inline Row below(const TileView& v, int axis, int x, int y)
{
    return axis == 0 ? v.below_x(x, y) : axis == 1 ? v.below_y(x, y) : v.below_z(x, y);
}
inline Row above(const TileView& v, int axis, int x, int y)
{
    return axis == 0 ? v.above_x(x, y) : axis == 1 ? v.above_y(x, y) : v.above_z(x, y);
}

struct MatrixTile {
    TileView cell, edge[3];
    MatrixTile(const ViscousMatrix& m, int tile)
        : cell(m.cell, tile), edge{{m.edge[0], tile}, {m.edge[1], tile}, {m.edge[2], tile}}
    {
    }
    template <int A> [[gnu::always_inline]] Weights at(int x, int y) const
    {
        Weights w;
        w.cell_low = below(cell, A, x, y), w.cell_high = cell.at(x, y);
        for (int n = 0; n < 2; ++n) {
            const int b = (A + 1 + n) % 3;
            const TileView& e = edge[other_axis(A, b)];
            w.edge_low[n] = e.at(x, y), w.edge_high[n] = above(e, b, x, y);
        }
        return w;
    }
};

// Sum of magnitudes in a row of K: a cell's term couples two faces with equal weights, an edge's term four.
inline Row sum_of_magnitudes(const Weights& w)
{
    return 2 * (w.cell_low + w.cell_high) + 4 * ((w.edge_low[0] + w.edge_high[0]) + (w.edge_low[1] + w.edge_high[1]));
}

// Calls body.operator()<0>(), <1>() and <2>().
template <class Body> [[gnu::always_inline]] inline void for_each_axis(const Body& body)
{
    body.template operator()<0>(), body.template operator()<1>(), body.template operator()<2>();
}

// Calls body(axis, offset, K u) for the rows of a tile, plane by plane, keeping only the planes in use. ahead(x) is
// called before each plane.
template <class Velocity, class Weight, class Ahead, class Body> [[gnu::always_inline]] inline void
for_each_force(const Velocity& u, int tile, const Weight& weight, const Ahead& ahead, const Body& body)
{
    VelocityPlane velocity[2];
    StressPlane stress[2];
    const TilesAround tiles(u, tile);
    velocity[1].gather(tiles, -1);
    for (int x = 0; x <= kTileSize; ++x) {
        const int now = x & 1, before = 1 - now;
        velocity[now].gather(tiles, x);
        stress[now].compute(velocity[before], velocity[now], weight, x);
        if (x == 0) continue;
        ahead(x - 1);
        for (int y = 0; y < kTileSize; ++y) {
            const int o = offset_in_tile(x - 1, y, 0);
            body(0, o, stress[before].force_x(stress[now], y));
            body(1, o, stress[before].force_y(stress[now], y));
            body(2, o, stress[before].force_z(stress[now], y));
        }
    }
}

// Calls body(axis, offset, K x, mass, inverse) for the rows of a tile.
template <class Velocity, class Ahead, class Body> inline void
multiply_tile(const ViscousMatrix& m, bool uniform, const Velocity& x, int tile, const Ahead& ahead, const Body& body)
{
    if (uniform) {
        const Row one = splat(1), inverse = splat(m.inverse[0].tile(tile)[0]);
        for_each_force(x, tile, UniformWeight{m.cell.tile(tile)[0], m.edge[0].tile(tile)[0]}, ahead,
                       [&](int a, int o, Row force) { body(a, o, force, one, inverse); });
        return;
    }
    const float* mass[3] = {m.mass[0].tile(tile), m.mass[1].tile(tile), m.mass[2].tile(tile)};
    const float* inverse[3] = {m.inverse[0].tile(tile), m.inverse[1].tile(tile), m.inverse[2].tile(tile)};
    for_each_force(x, tile, TileWeight(m, tile), ahead, [&](int a, int o, Row force) {
        body(a, o, force, load_row(mass[a] + o), load_row(inverse[a] + o));
    });
}

// Prefetches a plane of a tile into the cache.
template <class T> inline void prefetch_plane(const T* tile, int x)
{
    constexpr int line = 64 / sizeof(T);
    for (int c = 0; c < offset_in_tile(1, 0, 0); c += line)
        __builtin_prefetch(tile + offset_in_tile(x, 0, 0) + c, 0, 2);
}

template <class Velocity> void clear_tile(Velocity& field, int tile)
{
    for (auto& u : field.u) std::memset(u.tile(tile), 0, kTileCells * sizeof *u.tile(tile));
}

} // namespace spindrift::viscous
