#include "spindrift/solvers/tile_matrix.h"

namespace spindrift {

namespace {

constexpr float kDamping = 0.8f; // of a Jacobi step
constexpr int kLastSweeps = 6;   // Jacobi steps on the coarsest level
constexpr size_t kTilesAtOnce = 4;

template <class Body> void for_tiles(const Topology& topology, const Body& body)
{
    const size_t count = topology.tile_count();
    if (count <= kTilesAtOnce)
        for (size_t t = 0; t < count; ++t) body(static_cast<int>(t));
    else
        parallel_for(
            count, [&](size_t t) { body(static_cast<int>(t)); }, kTilesAtOnce);
}

alignas(64) constexpr float kNothing[kTileCells] = {};

// View of a tile in a plain array with the layout of a field; zero where tiles are missing.
TileView view_of(const float* values, const Topology& topology, int tile)
{
    const auto& n = topology.neighbours(tile);
    const auto at = [&](int slot) {
        const int t = n[slot];
        return t == topology.tile_count() ? kNothing : values + static_cast<size_t>(t) * kTileCells;
    };
    return {at(neighbour_slot(0, 0, 0)),  at(neighbour_slot(-1, 0, 0)), at(neighbour_slot(1, 0, 0)),
            at(neighbour_slot(0, -1, 0)), at(neighbour_slot(0, 1, 0)),  at(neighbour_slot(0, 0, -1)),
            at(neighbour_slot(0, 0, 1))};
}

// Sum of w x over the neighbours of each cell, by rows of a tile.
class Neighbours {
  public:
    Neighbours(const Field<float>* const face[3], const float* x, const Topology& topology, int tile)
        : x_(view_of(x, topology, tile)), w_{view_of(face[0]->tile(0), topology, tile),
                                             view_of(face[1]->tile(0), topology, tile),
                                             view_of(face[2]->tile(0), topology, tile)}
    {
    }
    template <bool X, bool Y, bool Z> Row sum(int x, int y) const
    {
        Row s = splat(0);
        if constexpr (X) s += w_[0].at(x, y) * x_.below_x(x, y) + w_[0].above_x(x, y) * x_.above_x(x, y);
        if constexpr (Y) s += w_[1].at(x, y) * x_.below_y(x, y) + w_[1].above_y(x, y) * x_.above_y(x, y);
        if constexpr (Z) s += w_[2].at(x, y) * x_.below_z(x, y) + w_[2].above_z(x, y) * x_.above_z(x, y);
        return s;
    }

  private:
    TileView x_, w_[3];
};

// Calls body.template operator()<X, Y, Z>() with the coupled axes as compile-time constants.
template <class Body> void with_axes(const TileMatrix::Axes& axes, const Body& body)
{
    switch (axes[0] * 4 + axes[1] * 2 + axes[2]) {
    case 1:
        return body.template operator()<false, false, true>();
    case 2:
        return body.template operator()<false, true, false>();
    case 3:
        return body.template operator()<false, true, true>();
    case 4:
        return body.template operator()<true, false, false>();
    case 5:
        return body.template operator()<true, false, true>();
    case 6:
        return body.template operator()<true, true, false>();
    case 7:
        return body.template operator()<true, true, true>();
    default:
        return;
    }
}

} // namespace

void TileMatrix::reset(const Topology& topology, Axes axes)
{
    if (levels_.empty() || axes != axes_ || topology.codes() != codes_) {
        axes_ = axes, codes_ = topology.codes();
        build_levels(topology);
    }
    levels_[0].topology = &topology;
    for (size_t n = 0; n < levels_.size(); ++n) {
        Level& l = levels_[n];
        for (int a = 0; a < 3; ++a) {
            l.face[a].reset_uninitialized(*l.topology, 0);
            if (n == 0) l.joined[a].reset_uninitialized(*l.topology, 0);
        }
        for (auto* field : {&l.diagonal, &l.inverse, &l.r, &l.z, &l.scratch})
            field->reset_uninitialized(*l.topology, 0);
        if (n == 0) continue;
        for (auto* field : {&l.diagonal, &l.inverse, &l.r, &l.z, &l.face[0], &l.face[1], &l.face[2]})
            std::fill_n(field->tile(0), l.topology->cell_count(), 0.0f); // where no fine tile writes
    }
    steps_.reset_uninitialized(topology, 0);
}

void TileMatrix::build_levels(const Topology& topology)
{
    levels_.clear();
    levels_.emplace_back().topology = &topology;
    for (bool within_a_tile = false; !within_a_tile;) {
        const Topology& fine = *levels_.back().topology;
        if (fine.tile_count() == 0) return;
        Vec3i low = fine.tile(0), high = low;
        for (int t = 0; t < fine.tile_count(); ++t)
            low = low.cwiseMin(fine.tile(t)), high = high.cwiseMax(fine.tile(t));
        within_a_tile = true; // its eight cells become four, which is the last level
        for (int a = 0; a < 3; ++a) within_a_tile &= !axes_[a] || low[a] == high[a];
        levels_.back().low = low; // offset of the coarse grid: tiles on both sides of the origin must merge too
        std::vector<uint64_t> codes;
        const auto coarse_of = [&](int t) {
            Vec3i tile = fine.tile(t) - low;
            for (int a = 0; a < 3; ++a)
                if (axes_[a]) tile[a] >>= 1;
            return tile;
        };
        codes.reserve(fine.tile_count());
        for (int t = 0; t < fine.tile_count(); ++t) codes.push_back(morton_of_tile(coarse_of(t)));
        auto coarse = std::make_unique<Topology>(std::move(codes));
        for (int t = 0; t < fine.tile_count(); ++t) levels_.back().coarse_tile.push_back(coarse->find(coarse_of(t)));
        Level next;
        next.topology = coarse.get();
        next.own = std::move(coarse);
        levels_.push_back(std::move(next));
    }
}

void TileMatrix::prepare()
{
    const Level& l = levels_[0];
    for_tiles(*l.topology, [&](int tile) {
        const float* d = l.diagonal.tile(tile);
        float* s = steps_.tile(tile);
        for (int o = 0; o < kTileCells; o += kTileSize) store_row(s + o, 0.5f * inverse_or_zero(load_row(d + o)));
    });
}

void TileMatrix::multiply(std::span<const float> x, std::span<float> out)
{
    const Level& l = levels_[0];
    const Field<float>* face[3] = {&l.face[0], &l.face[1], &l.face[2]};
    with_axes(axes_, [&]<bool X, bool Y, bool Z>() {
        for_tiles(*l.topology, [&](int tile) {
            const Neighbours neighbours(face, x.data(), *l.topology, tile);
            const size_t first = static_cast<size_t>(tile) * kTileCells;
            const float *d = l.diagonal.tile(tile), *here = x.data() + first;
            float* q = out.data() + first;
            for_each_row([&](int i, int j, int o) {
                store_row(q + o, load_row(d + o) * load_row(here + o) - neighbours.sum<X, Y, Z>(i, j));
            });
        });
    });
}

// Computes the weights between free cells and the inverse diagonal.
void TileMatrix::mask(std::span<const uint8_t> free)
{
    Level& l = levels_[0];
    for_tiles(*l.topology, [&](int tile) {
        const uint8_t* f = free.data() + static_cast<size_t>(tile) * kTileCells;
        const float* step = steps_.tile(tile);
        float* inverse = l.inverse.tile(tile);
        for (int o = 0; o < kTileCells; o += kTileSize) {
            typedef uint8_t Bytes __attribute__((vector_size(8)));
            Bytes bytes;
            std::memcpy(&bytes, f + o, sizeof bytes);
            store_row(inverse + o, 2 * load_row(step + o) * __builtin_convertvector(bytes, Row));
        }
    });
    for_tiles(*l.topology, [&](int tile) {
        const TileView has(l.inverse, tile);
        const Row zero = splat(0);
        for_each_row([&](int x, int y, int o) {
            const Row here = has.at(x, y);
            const Row below[3] = {has.below_x(x, y), has.below_y(x, y), has.below_z(x, y)};
            for (int a = 0; a < 3; ++a)
                if (axes_[a])
                    store_row(l.joined[a].tile(tile) + o,
                              here * below[a] > zero ? load_row(l.face[a].tile(tile) + o) : zero);
        });
    });
}

// First cell of the coarse tile's part that a fine tile covers.
Vec3i TileMatrix::place_in_coarse(const Level& level, int tile) const
{
    const Vec3i at = level.topology->tile(tile) - level.low;
    Vec3i place;
    for (int a = 0; a < 3; ++a) place[a] = axes_[a] ? (at[a] & 1) * (kTileSize / 2) : 0;
    return place;
}

// Builds the next level's matrix. Each tile writes the part of its coarse tile that it covers.
void TileMatrix::coarsen(size_t number)
{
    const Level& fine = levels_[number];
    Level& coarse = levels_[number + 1];
    with_axes(axes_, [&]<bool X, bool Y, bool Z>() {
        for_tiles(*fine.topology, [&](int tile) {
            const Vec3i origin = place_in_coarse(fine, tile);
            const int to = fine.coarse_tile[tile];
            const auto rows = [&](const auto& body) { // of the coarse tile
                for (int x = 0; x < kTileSize >> X; ++x)
                    for (int y = 0; y < kTileSize >> Y; ++y)
                        body(offset_in_tile(origin.x() + x, origin.y() + y, origin.z()));
            };
            constexpr int kCells = kTileSize >> Z; // per row
            const auto clear = [&](Field<float>& field) {
                rows([&](int o) { std::fill_n(field.tile(to) + o, kCells, 0.0f); });
            };
            const auto add = [&](Field<float>& field, int o, Row values) {
                float* out = field.tile(to) + o;
                if constexpr (Z)
                    store_quad(out, load_quad(out) + __builtin_shufflevector(values, values, 0, 2, 4, 6) +
                                        __builtin_shufflevector(values, values, 1, 3, 5, 7));
                else
                    store_row(out, load_row(out) + values);
            };
            clear(coarse.diagonal);
            if constexpr (X) clear(coarse.face[0]);
            if constexpr (Y) clear(coarse.face[1]);
            if constexpr (Z) clear(coarse.face[2]);
            for_each_row([&](int x, int y, int o) {
                const auto at = [&](const Field<float>& field) { return load_row(field.tile(tile) + o); };
                const auto between = [&](int axis) { return at(fine.between(axis, number == 0)); };
                const int out = offset_in_tile(origin.x() + (x >> X), origin.y() + (y >> Y), origin.z());
                const Row zero = splat(0);
                Row own = at(fine.inverse) > zero ? at(fine.diagonal) : zero;
                // A face within a coarse cell, or between two of them.
                const auto join = [&](int axis, bool inner) {
                    if (inner)
                        own -= 2 * between(axis);
                    else
                        add(coarse.face[axis], out, 0.5f * between(axis));
                };
                if constexpr (X) join(0, x & 1);
                if constexpr (Y) join(1, y & 1);
                if constexpr (Z) {
                    const Row w = between(2);
                    own -= w * Row{0, 2, 0, 2, 0, 2, 0, 2};
                    add(coarse.face[2], out, w * Row{0.5f, 0, 0.5f, 0, 0.5f, 0, 0.5f, 0});
                }
                add(coarse.diagonal, out, 0.5f * own);
            });
            rows([&](int o) {
                const float* d = coarse.diagonal.tile(to) + o;
                float* inverse = coarse.inverse.tile(to) + o;
                for (int k = 0; k < kCells; ++k) inverse[k] = d[k] > 1e-12f ? 1 / d[k] : 0;
            });
        });
    });
}

void TileMatrix::precondition(std::span<const float> r, std::span<const uint8_t> free, bool face_changed,
                              std::span<float> z)
{
    if (face_changed) {
        mask(free);
        for (size_t n = 0; n + 1 < levels_.size(); ++n) coarsen(n);
    }
    cycle(0, r.data(), z.data());
}

// out = x + damping D^-1 (r - A x), on free cells.
void TileMatrix::smooth(const Level& l, bool finest, const float* r, const float* x, float* out) const
{
    const Field<float>* face[3] = {&l.between(0, finest), &l.between(1, finest), &l.between(2, finest)};
    with_axes(axes_, [&]<bool X, bool Y, bool Z>() {
        for_tiles(*l.topology, [&](int tile) {
            const Neighbours neighbours(face, x, *l.topology, tile);
            const size_t first = static_cast<size_t>(tile) * kTileCells;
            const float *d = l.diagonal.tile(tile), *inverse = l.inverse.tile(tile);
            for_each_row([&](int i, int j, int o) {
                const Row here = load_row(x + first + o);
                const Row left = load_row(r + first + o) - load_row(d + o) * here + neighbours.sum<X, Y, Z>(i, j);
                store_row(out + first + o, here + kDamping * load_row(inverse + o) * left);
            });
        });
    });
}

// z ~ A^-1 r: a Jacobi step before and after the coarse correction, which makes the cycle symmetric.
void TileMatrix::cycle(size_t number, const float* r, float* z)
{
    Level& l = levels_[number];
    const bool finest = number == 0;
    float* scratch = l.scratch.tile(0);
    for_tiles(*l.topology, [&](int tile) {
        const size_t first = static_cast<size_t>(tile) * kTileCells;
        const float* inverse = l.inverse.tile(tile);
        for (int o = 0; o < kTileCells; o += kTileSize)
            store_row(scratch + first + o, kDamping * load_row(inverse + o) * load_row(r + first + o));
    });
    if (number + 1 == levels_.size()) {
        for (int sweep = 0; sweep < kLastSweeps; ++sweep)
            smooth(l, finest, r, sweep % 2 ? z : scratch, sweep % 2 ? scratch : z);
        if (kLastSweeps % 2 == 0) std::copy_n(scratch, l.topology->cell_count(), z);
        return;
    }
    Level& coarse = levels_[number + 1];
    const int shift[3] = {axes_[0], axes_[1], axes_[2]};
    const Field<float>* face[3] = {&l.between(0, finest), &l.between(1, finest), &l.between(2, finest)};
    with_axes(axes_, [&]<bool X, bool Y, bool Z>() {
        for_tiles(*l.topology, [&](int tile) { // restrict the residual: sum over coarse cells
            const Neighbours neighbours(face, scratch, *l.topology, tile);
            const size_t first = static_cast<size_t>(tile) * kTileCells;
            const float *d = l.diagonal.tile(tile), *inverse = l.inverse.tile(tile);
            const Vec3i origin = place_in_coarse(l, tile);
            float* to = coarse.r.tile(l.coarse_tile[tile]);
            for (int x = 0; x < kTileSize >> shift[0]; ++x)
                for (int y = 0; y < kTileSize >> shift[1]; ++y)
                    std::fill_n(to + offset_in_tile(origin.x() + x, origin.y() + y, origin.z()), kTileSize >> shift[2],
                                0.0f);
            const Row zero = splat(0);
            for_each_row([&](int x, int y, int o) {
                const Row left = load_row(r + first + o) - load_row(d + o) * load_row(scratch + first + o) +
                                 neighbours.sum<X, Y, Z>(x, y);
                const Row kept = load_row(inverse + o) > zero ? left : zero;
                float* out =
                    to + offset_in_tile(origin.x() + (x >> shift[0]), origin.y() + (y >> shift[1]), origin.z());
                if constexpr (Z) {
                    for (int k = 0; k < kTileSize / 2; ++k) out[k] += kept[2 * k] + kept[2 * k + 1];
                } else
                    store_row(out, load_row(out) + kept);
            });
        });
        cycle(number + 1, coarse.r.tile(0), coarse.z.tile(0));
        for_tiles(*l.topology, [&](int tile) { // prolong the coarse solution
            const size_t first = static_cast<size_t>(tile) * kTileCells;
            const float* inverse = l.inverse.tile(tile);
            const Vec3i origin = place_in_coarse(l, tile);
            const float* from = coarse.z.tile(l.coarse_tile[tile]);
            const Row zero = splat(0);
            for_each_row([&](int x, int y, int o) {
                const float* in =
                    from + offset_in_tile(origin.x() + (x >> shift[0]), origin.y() + (y >> shift[1]), origin.z());
                Row up;
                if constexpr (Z) {
                    const Quad q = load_quad(in);
                    up = __builtin_shufflevector(q, q, 0, 0, 1, 1, 2, 2, 3, 3);
                } else
                    up = load_row(in);
                float* s = scratch + first + o;
                store_row(s, load_row(inverse + o) > zero ? load_row(s) + up : zero);
            });
        });
    });
    smooth(l, finest, r, scratch, z);
}

size_t TileMatrix::bytes() const
{
    size_t sum = steps_.bytes();
    for (const Level& l : levels_) {
        for (int a = 0; a < 3; ++a) sum += l.face[a].bytes() + l.joined[a].bytes();
        sum += l.diagonal.bytes() + l.inverse.bytes() + l.r.bytes() + l.z.bytes() + l.scratch.bytes();
    }
    return sum;
}

} // namespace spindrift
