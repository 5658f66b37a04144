#include "spindrift/liquid/free_surface.h"

#include "spindrift/base/scratch.h"
#include "spindrift/points/splat.h"

namespace spindrift {

namespace {

constexpr float kFullCell = 8;      // particles
constexpr float kNearlyFull = 0.7f; // of the particles of a full cell
constexpr float kInverseRadius2 = 1 / (kSurfaceBand * kSurfaceBand);

// [Zhu 2005, (4.5)] at squared distances in cells, scaled so that it integrates to 1 over space measured in cells. T:
// float, Quad or Row.
template <class T> inline T kernel(T squared_distance)
{
    constexpr float norm = static_cast<float>(315 / (64 * kPi)) / (kSurfaceBand * kSurfaceBand * kSurfaceBand);
    const T t = 1 - squared_distance * kInverseRadius2, inside = t > 0 ? t : T{};
    return norm * (inside * inside * inside);
}

// Inverse table of the share of the kernel that lies in a half-space whose surface is a distance d (in radii, positive
// outside) away from the kernel's centre.
class ShareToDistance {
  public:
    ShareToDistance()
    {
        // A disc of the kernel at height h has a mass proportional to (1 - h^2)^4.
        constexpr int steps = 4096;
        std::vector<double> share(steps + 1, 0.0);
        for (int i = 0; i < steps; ++i) {
            const double h = 1 - (i + 0.5) * 2.0 / steps; // from the far end, where a point just begins to see liquid
            share[i + 1] = share[i] + std::pow(1 - h * h, 4);
        }
        size_t at = 0;
        for (int k = 0; k <= kEntries; ++k) {
            const double wanted = share.back() * k / kEntries;
            while (at + 1 < share.size() && share[at + 1] < wanted) ++at;
            table_[k] = static_cast<float>(1 - static_cast<double>(at) * 2.0 / steps);
        }
        table_[0] = 1, table_[kEntries] = -1;
    }
    float operator()(float share) const
    {
        const float t = std::clamp(share, 0.0f, 1.0f) * kEntries;
        const int k = std::min(static_cast<int>(t), kEntries - 1);
        return mix(table_[k], table_[k + 1], t - static_cast<float>(k));
    }

  private:
    static constexpr int kEntries = 512;
    std::array<float, kEntries + 1> table_{};
};

// The kernel's integral over a cell, by the number of axes along which the cell is off the kernel's centre: 0 to 3.
std::array<float, 4> kernel_by_cell()
{
    constexpr int n = 32;
    std::array<float, 4> sum{};
    for (int off = 0; off <= 3; ++off)
        for (int k = 0; k < n * n * n; ++k) {
            const Vec3f r = (Vec3i(k / (n * n), k / n % n, k % n).cast<float>().array() + 0.5f) / n - 0.5f;
            const Vec3f shift(off > 0, off > 1, off > 2);
            sum[off] += kernel((r + shift).squaredNorm()) / (n * n * n);
        }
    return sum;
}

// The share of the kernel around each cell of a row that lies outside solids.
Row open_share(const Block<float, 1>& volumes, int x, int y)
{
    static const std::array<float, 4> cell_mass = kernel_by_cell();
    Row sum = splat(0);
    for (int dx = -1; dx <= 1; ++dx)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dz = -1; dz <= 1; ++dz)
                sum += cell_mass[std::abs(dx) + std::abs(dy) + std::abs(dz)] *
                       load_row_unaligned(&volumes.at(x + dx, y + dy, dz));
    return sum;
}

// Particle counts around each cell of a tile, and which cells must be measured: those that have particles around, but
// not everywhere.
class Surroundings {
  public:
    // For each cell: the smallest and largest number of particles among the 27 cells around it, ignoring those in
    // solids.
    uint16_t fewest[kTileCells], most[kTileCells];

    void gather(const ParticleIndex& index, const Topology& topology, const SolidCells& solids, int tile)
    {
        for (int x = -1; x <= kTileSize; ++x)
            for (int y = -1; y <= kTileSize; ++y) {
                const int dx = x < 0 ? -1 : x / kTileSize, dy = y < 0 ? -1 : y / kTileSize;
                uint16_t* row = count_ + Block<float, 1>::index(x, y, 0);
                const int offset = offset_in_tile(x & 7, y & 7, 0);
                const auto take = [&](int dz, int from, int to, int n) {
                    const uint32_t* first = index.cell_first(topology.neighbour(tile, dx, dy, dz)) + offset + from;
                    for (int z = 0; z < n; ++z)
                        row[to + z] = static_cast<uint16_t>(std::min(first[z + 1] - first[z], 0xfffeu));
                };
                take(-1, 7, -1, 1), take(0, 0, 0, kTileSize), take(1, 0, kTileSize, 1);
            }
        over_neighbours(count_, most, [](uint16_t a, uint16_t b) { return std::max(a, b); });
        auto& volumes = thread_scratch<Block<float, 1>>();
        if (solids.gather_volumes(topology, tile, volumes))
            for (int i = 0; i < 1000; ++i)
                if (volumes.data[i] < 0.5f) count_[i] = 0xffff;
        over_neighbours(count_, fewest, [](uint16_t a, uint16_t b) { return std::min(a, b); });
    }
    bool deep(int cell) const { return fewest[cell] >= 2; }
    bool far(int cell) const { return most[cell] == 0; }

  private:
    // Combines the values of the 27 cells around each cell of the tile, axis by axis.
    template <class Combine> static void over_neighbours(const uint16_t* from, uint16_t* to, const Combine& combine)
    {
        alignas(64) uint16_t along_z[10 * 10 * 8], along_yz[10 * 8 * 8];
        for (int xy = 0; xy < 100; ++xy)
            for (int z = 0; z < 8; ++z) {
                const uint16_t* f = from + xy * 10 + z;
                along_z[xy * 8 + z] = combine(combine(f[0], f[1]), f[2]);
            }
        for (int x = 0; x < 10; ++x)
            for (int yz = 0; yz < 64; ++yz) {
                const uint16_t* f = along_z + x * 80 + yz;
                along_yz[x * 64 + yz] = combine(combine(f[0], f[8]), f[16]);
            }
        for (int i = 0; i < kTileCells; ++i) to[i] = combine(combine(along_yz[i], along_yz[i + 64]), along_yz[i + 128]);
    }

    alignas(64) uint16_t count_[1000];
};

// The cells of a tile that must be measured: a byte for each row, a bit for each cell.
using CellMask = std::array<uint8_t, 64>;

// Which cells of a tile have such a cell among the 27 around them.
CellMask touching(const std::vector<CellMask>& measured, const Topology& topology, int tile)
{
    uint16_t along_z[10][10]; // bit z + 1 for cell z
    for (int x = -1; x <= kTileSize; ++x)
        for (int y = -1; y <= kTileSize; ++y) {
            const int dx = x < 0 ? -1 : x / kTileSize, dy = y < 0 ? -1 : y / kTileSize;
            const auto row = [&](int dz) {
                const int t = topology.neighbour(tile, dx, dy, dz);
                return measured[t][(x & 7) * 8 + (y & 7)];
            };
            const int bits = row(-1) >> 7 | row(0) << 1 | (row(1) & 1) << 9;
            along_z[x + 1][y + 1] = static_cast<uint16_t>(bits | bits >> 1 | bits << 1);
        }
    CellMask mask;
    for (int x = 0; x < kTileSize; ++x)
        for (int y = 0; y < kTileSize; ++y) {
            int bits = 0;
            for (int k = 0; k < 9; ++k) bits |= along_z[x + k / 3][y + k % 3];
            mask[x * 8 + y] = static_cast<uint8_t>(bits >> 1);
        }
    return mask;
}

// Splats the kernels of the particles of one cell to the 27 cells around it. The contribution of a cell is limited to
// its fill.
void splat_cell(const Vec3f* P, size_t count, const Vec3f& corner, float inverse_voxel, const Vec3i& cell,
                SplatBlock& block)
{
    // Along z the three neighbours and one far away; a row holds the kernels of two neighbours along y.
    Row near[3] = {};
    Quad last[3] = {};
    const Quad center_z = {-0.5f, 0.5f, 1.5f, 100};
    for (size_t i = 0; i < count; ++i) {
        const Vec3f f = P[i] * inverse_voxel - corner;
        const Quad dz = f.z() - center_z, z2 = dz * dz;
        const auto along_y = [&](float center) { return (f.y() - center) * (f.y() - center); };
        const Quad y0 = z2 + along_y(-0.5f), y1 = z2 + along_y(0.5f), y2 = z2 + along_y(1.5f);
        const Row y01 = __builtin_shufflevector(y0, y1, 0, 1, 2, 3, 4, 5, 6, 7);
        for (int k = 0; k < 3; ++k) {
            const float dx = f.x() - (static_cast<float>(k) - 0.5f), x2 = dx * dx;
            near[k] += kernel(y01 + x2), last[k] += kernel(y2 + x2);
        }
    }
    const float share = 1 / std::max(kFullCell, static_cast<float>(count));
    for (int k = 0; k < 3; ++k) {
        float* at = block.values + SplatBlock::index(cell.x() + k - 1, cell.y() - 1, cell.z() - 1);
        const auto add = [&](float* to, Quad q) { store_quad(to, load_quad(to) + share * q); };
        add(at, __builtin_shufflevector(near[k], near[k], 0, 1, 2, 3));
        add(at + SplatBlock::kRow, __builtin_shufflevector(near[k], near[k], 4, 5, 6, 7));
        add(at + 2 * SplatBlock::kRow, last[k]);
    }
}

// The same for a cell next to a sheet: only to cells that the particles see.
void splat_seen(const Vec3f* P, size_t count, const Sight& sight, int tile, int c, const Vec3f& corner,
                float inverse_voxel, SplatBlock& block)
{
    const Vec3i cell = cell_in_tile(c);
    const float share = 1 / std::max(kFullCell, static_cast<float>(count));
    for (size_t i = 0; i < count; ++i) {
        const Vec3f f = P[i] * inverse_voxel - corner;
        const CellMask27 seen = sight.cells(tile, c, P[i]);
        for (int slot = 0; slot < 27; ++slot) {
            if (!(seen >> slot & 1)) continue;
            const Vec3i step(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1), at = cell + step;
            block.values[SplatBlock::index(at.x(), at.y(), at.z())] +=
                share * kernel((f - step.cast<float>() - Vec3f::Constant(0.5f)).squaredNorm());
        }
    }
}

// open_share() for one cell next to a sheet: over the cells visible from its centre.
float seen_share(const Block<float, 1>& volumes, int c, CellMask27 seen)
{
    static const std::array<float, 4> cell_mass = kernel_by_cell();
    const Vec3i cell = cell_in_tile(c);
    float sum = 0;
    for (int slot = 0; slot < 27; ++slot) {
        if (!(seen >> slot & 1)) continue;
        const Vec3i step(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1), at = cell + step;
        sum += cell_mass[step.cwiseAbs().sum()] * volumes.at(at.x(), at.y(), at.z());
    }
    return sum;
}

// A cell whose centre is in a solid has too few particles to measure: it takes the mean of its neighbours farther out,
// weighted by the open share of the faces to them. But if its open part is full, it is liquid in any case: as air it
// would absorb everything that falls on it, without end. `count(cell)` is its number of particles.
template <class Count> void fill_solid_centers(const Topology& topology, const SolidCells& solids,
                                               const Field<float>& phi, int tile, const Count& count, float* out)
{
    constexpr float kFewest = 2; // particles that fill a small part
    const SolidTile& solid = *solids.tile(tile);
    for (int c = 0; c < kTileCells; ++c) {
        if (solid.distance[c] >= 0 || !(solid.volume[c] > 0)) continue;
        float sum = 0, weights = 0;
        for (int a = 0; a < 3; ++a)
            for (int side = -1; side <= 1; side += 2) {
                const auto [t, o] = topology.next_cell(tile, c, a, side);
                if (t == topology.tile_count()) continue;
                const float open = side < 0 ? solid.open[a][c] : solids.open(t, a)[o];
                const SolidTile* there = solids.tile(t);
                if (there && there->distance[o] <= solid.distance[c]) continue;
                sum += open * phi.tile(t)[o], weights += open;
            }
        if (weights > 0) out[c] = sum / weights;
        // The height of the surface above the solid follows from the fill of the open part.
        const float fill = std::min(1.0f, count(c) / std::max(kFullCell * solid.volume[c], kFewest));
        if (fill > kNearlyFull) out[c] = std::min(out[c], solid.volume[c] * (1 - fill) - 0.5f);
    }
}

// A cell enclosed by liquid on nearly all sides is not a bubble, but a place with few particles by chance: it is
// liquid. As air it would draw in the liquid around it at the speed of a burst.
void close_holes(const Topology& topology, const SolidCells& solids, Field<float>& phi)
{
    constexpr float kMostOpen = 0.3f; // to one of six neighbours
    std::vector<CellMask> holes(topology.tile_count());
    for_each_tile(topology, [&](int tile) {
        const TileView p(phi, tile);
        const OpenView open(solids, topology, tile);
        for_each_row([&](int x, int y, int o) {
            const Row zero = splat(0), one = splat(1);
            Row to_air = zero, to_liquid = zero;
            const auto face = [&](Row distance, Row area) {
                to_air += distance >= zero ? area : zero;
                to_liquid += distance < zero ? area : zero;
            };
            face(p.below_x(x, y), open.x.at(x, y)), face(p.above_x(x, y), open.x.above_x(x, y));
            face(p.below_y(x, y), open.y.at(x, y)), face(p.above_y(x, y), open.y.above_y(x, y));
            face(p.below_z(x, y), open.z.at(x, y)), face(p.above_z(x, y), open.z.above_z(x, y));
            const Row shut_in = to_air < kMostOpen * to_liquid ? one : zero;
            const Row hole = p.at(x, y) >= zero ? shut_in : zero;
            int bits = 0;
            for (int z = 0; z < kTileSize; ++z) {
                const bool is_hole = hole[z] > 0;
                bits |= static_cast<int>(is_hole) << z;
            }
            holes[tile][o / 8] = static_cast<uint8_t>(bits);
        });
    });
    for_each_tile(topology, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c)
            if (holes[tile][c / 8] >> c % 8 & 1) phi.tile(tile)[c] = -0.5f;
    });
}

// Counts the particles that belong to each cell of the tiles near sheets.
void count_belonging(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                     const Sight& sight, Field<float>& belonging)
{
    belonging.reset(topology, 0);
    for_each_tile_by_colour(index, topology, [&](int tile) {
        if (!sight.blocked(tile)) return;
        auto& block = thread_scratch<SplatBlock>();
        block.clear();
        for (int c = 0; c < kTileCells; ++c) {
            const size_t begin = index.cell_begin(tile, c), end = index.cell_end(tile, c);
            const Vec3i cell = cell_in_tile(c);
            const auto add = [&](const Vec3i& at, float n) {
                block.values[SplatBlock::index(at.x(), at.y(), at.z())] += n;
            };
            if (sight.clearance(tile, c) > 0)
                add(cell, static_cast<float>(end - begin));
            else
                for (size_t i = begin; i < end; ++i)
                    if (const auto home = sight.home(tile, c, particles.P[i])) add(cell + *home, 1);
        }
        block.add_to(belonging, tile);
    });
}

// In all tiles next to solids; count(tile, cell) is the number of particles.
template <class Count>
void fill_solid_centers(const Topology& topology, const SolidCells& solids, Field<float>& phi, const Count& count)
{
    std::vector<int> near;
    for (int t = 0; t < topology.tile_count(); ++t)
        if (solids.tile(t)) near.push_back(t);
    std::vector<std::array<float, kTileCells>> filled(near.size());
    parallel_for(near.size(), [&](size_t k) {
        std::memcpy(filled[k].data(), phi.tile(near[k]), sizeof filled[k]);
        fill_solid_centers(
            topology, solids, phi, near[k], [&](int c) { return count(near[k], c); }, filled[k].data());
    });
    parallel_for(near.size(), [&](size_t k) { std::memcpy(phi.tile(near[k]), filled[k].data(), sizeof filled[k]); });
}

} // namespace

void distance_to_surface(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
                         const SolidCells& solids, Field<float>& phi, Field<float>* counts)
{
    // Most cells are clearly inside or outside.
    phi.reset_uninitialized(topology, kSurfaceBand);
    std::vector<CellMask> measured(topology.tile_count() + 1, CellMask{});
    for_each_tile(topology, [&](int tile) {
        auto& around = thread_scratch<Surroundings>();
        around.gather(index, topology, solids, tile);
        float* out = phi.tile(tile);
        for (int c = 0; c < kTileCells; ++c) {
            const bool clear = around.deep(c) || around.far(c);
            out[c] = !clear ? 0 : around.far(c) ? kSurfaceBand : -kSurfaceBand;
            measured[tile][c / 8] |= static_cast<uint8_t>(!clear << c % 8);
        }
    });

    // The others sum the kernels of the particles around them.
    const float inverse_voxel = 1 / voxel;
    const Sight* sight = solids.sight();
    const auto looks_around = [&](int tile, int c) { // next to a sheet
        return sight && sight->blocked(tile) &&
               (sight->clearance(tile, c) <= 0 || sight->cells_from_center(tile, c) != kAllCells);
    };
    Field<float> local;
    Field<float>& belonging = counts ? *counts : local;
    if (sight) count_belonging(particles, index, topology, *sight, belonging);
    for_each_tile_by_colour(index, topology, [&](int tile) {
        const CellMask wanted = touching(measured, topology, tile);
        auto& block = thread_scratch<SplatBlock>();
        block.clear();
        const Vec3f first = topology.first_cell(tile).cast<float>();
        bool any = false;
        for (int c = 0; c < kTileCells; ++c) {
            const size_t begin = index.cell_begin(tile, c), count = index.cell_end(tile, c) - begin;
            if (count == 0 || !(wanted[c / 8] >> c % 8 & 1)) continue;
            const Vec3i cell = cell_in_tile(c);
            const Vec3f corner = first + cell.cast<float>();
            if (looks_around(tile, c))
                splat_seen(&particles.P[begin], count, *sight, tile, c, corner, inverse_voxel, block);
            else
                splat_cell(&particles.P[begin], count, corner, inverse_voxel, cell, block);
            any = true;
        }
        if (any) block.add_to(phi, tile);
    });

    static const ShareToDistance to_distance;
    for_each_tile(topology, [&](int tile) {
        auto& volumes = thread_scratch<Block<float, 1>>();
        const bool solids_near = solids.gather_volumes(topology, tile, volumes);
        const CellMask& mask = measured[tile];
        for_each_row([&](int x, int y, int o) {
            float* out = phi.tile(tile) + o;
            const int bits = mask[o / 8];
            const Row room = bits && solids_near ? open_share(volumes, x, y) : splat(1);
            for (int z = 0; z < kTileSize; ++z) {
                if (!(bits >> z & 1)) {
                    out[z] = std::copysign(kSurfaceBand, out[z]); // discards what was splatted
                    continue;
                }
                const bool beside_sheet = looks_around(tile, o + z);
                const float space =
                    beside_sheet ? seen_share(volumes, o + z, sight->cells_from_center(tile, o + z)) : room[z];
                // Deep in a solid the value is irrelevant; its faces are closed.
                out[z] = kSurfaceBand * to_distance(space > 0.02f ? out[z] / space : 0);
                // A nearly full cell has its centre in the liquid, whatever is around it.
                const auto count = static_cast<float>(index.cell_end(tile, o + z) - index.cell_begin(tile, o + z));
                const float full = beside_sheet ? kFullCell * solids.tile(tile)->volume[o + z] : kFullCell;
                const float fill =
                    std::min(1.0f, (beside_sheet ? belonging.tile(tile)[o + z] : count) / std::max(full, 1.0f));
                if (fill > kNearlyFull) out[z] = std::min(out[z], 0.5f - fill);
            }
        });
    });

    fill_solid_centers(topology, solids, phi, [&](int tile, int c) {
        if (looks_around(tile, c)) return belonging.tile(tile)[c];
        return static_cast<float>(index.cell_end(tile, c) - index.cell_begin(tile, c));
    });
    close_holes(topology, solids, phi);
}

} // namespace spindrift
