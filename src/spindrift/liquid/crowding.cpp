#include "spindrift/liquid/crowding.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/row.h"
#include "spindrift/liquid/free_surface.h"

namespace spindrift {

namespace {

constexpr float kRest = 8; // particles per cell at rest
constexpr float kRate = 0.5f, kMostCrowding = 0.5f;
// Tolerated excess: at the surface the jitter of particles, where only excess would be corrected and noise would become
// a drift; at solids the inexact volumes of cut cells.
constexpr float kToleratedAtSurface = 0.15f, kToleratedAtSolids = 0.3f;

// The trilinear weights that the six faces of a cell gather from each of the 27 cells around it, normalised: along its
// own axis a pair of faces has the profile (1, 2, 1) / 4, across it (1, 6, 1) / 8.
std::array<float, 27> collected_from()
{
    constexpr float along[3] = {0.25f, 0.5f, 0.25f}, across[3] = {0.125f, 0.75f, 0.125f};
    std::array<float, 27> share{};
    for (int s = 0; s < 27; ++s)
        for (int axis = 0; axis < 3; ++axis) {
            const int place[3] = {s / 9, s / 3 % 3, s % 3};
            float product = 1.0f / 3;
            for (int a = 0; a < 3; ++a) product *= (a == axis ? along : across)[place[a]];
            share[s] += product;
        }
    return share;
}

// The share of what the faces of a row of cells gather that lies outside solids, and whether a solid cuts one of the
// cells around (1) or not (0).
struct OpenShare {
    Row share = splat(1), cut = splat(0);

    OpenShare() = default;
    OpenShare(const Block<float, 1>& volumes, int x, int y) : share(splat(0))
    {
        static const std::array<float, 27> collected = collected_from();
        const Row zero = splat(0), one = splat(1);
        for (int s = 0; s < 27; ++s) {
            const Row volume = load_row_unaligned(&volumes.at(x + s / 9 - 1, y + s / 3 % 3 - 1, s % 3 - 1));
            share += collected[s] * volume;
            const Row partly = volume > zero ? one : zero;
            cut = max(cut, volume < one ? partly : zero);
        }
    }
};

// The same excess for a cell next to a sheet, from the cells visible from its centre: particles and volume are both
// counted by the cell that they belong to, however a sheet cuts it, with the weights (1, 2, 1) / 4 along each axis.
float excess_seen(const Block<float, 1>& volumes, const Block<float, 1>& belonging, int c, CellMask27 seen)
{
    const Vec3i cell = cell_in_tile(c);
    float particles = 0, room = 0;
    for (int slot = 0; slot < 27; ++slot) {
        if (!(seen >> slot & 1)) continue;
        const Vec3i step(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1), at = cell + step;
        const auto weight = static_cast<float>(8 >> step.cwiseAbs().sum());
        particles += weight * belonging.at(at.x(), at.y(), at.z()), room += weight * volumes.at(at.x(), at.y(), at.z());
    }
    return room > 0 ? particles / (kRest * room) - 1 : 0;
}

} // namespace

void measure_crowding(const MacField& weight, const Field<float>& phi, const SolidCells& solids,
                      const Field<float>& belonging, Field<float>& crowding)
{
    const Topology& topology = phi.topology();
    crowding.reset_uninitialized(topology, 0);
    const Sight* sight = solids.sight();
    for_each_tile(topology, [&](int tile) {
        const float* distance = phi.tile(tile);
        const TileView w[3] = {{weight.u[0], tile}, {weight.u[1], tile}, {weight.u[2], tile}};
        auto& volumes = thread_scratch<Block<float, 1>>();
        const bool solids_near = solids.gather_volumes(topology, tile, volumes);
        const bool blocked = solids_near && sight && sight->blocked(tile);
        auto& counts = thread_scratch<Block<float, 1>>();
        if (blocked) counts.gather(belonging, tile);
        float* out = crowding.tile(tile);
        for_each_row([&](int x, int y, int o) {
            const Row zero = splat(0), here = load_row(distance + o);
            const Row sum = (w[0].at(x, y) + w[0].above_x(x, y)) + (w[1].at(x, y) + w[1].above_y(x, y)) +
                            (w[2].at(x, y) + w[2].above_z(x, y));
            OpenShare open = solids_near ? OpenShare(volumes, x, y) : OpenShare();
            Row excess = sum / (6 * kRest * max(open.share, splat(0.1f))) - 1;
            for (int z = 0; blocked && z < kTileSize; ++z)
                if (const CellMask27 seen = sight->cells_from_center(tile, o + z); seen != kAllCells)
                    open.cut[z] = 0, excess[z] = excess_seen(volumes, counts, o + z, seen);
            const Row tolerated = open.cut > zero ? splat(kToleratedAtSolids) : splat(kToleratedAtSurface);
            const Row inside = here <= splat(-kSurfaceBand) ? splat(1) - open.cut : zero;
            const Row wanted = inside > zero ? excess : max(zero, excess - tolerated);
            const Row bounded = kRate * min(max(wanted, splat(-kMostCrowding)), splat(kMostCrowding));
            store_row(out + o, here < zero ? bounded : zero);
        });
    });
}

} // namespace spindrift
