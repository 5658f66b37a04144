#include "liquid/crowding.h"

#include "field/row.h"
#include "liquid/free_surface.h"

namespace spindrift {

namespace {

constexpr float kRest = 8; // particles in a cell
constexpr float kRate = 0.5f, kMost = 0.5f;
// What is no fault: the jitter of particles, where only an excess would be undone and chance would become a trend; and
// the inexact volumes of cells that solids cut.
constexpr float kToleratedAtSurface = 0.15f, kToleratedAtSolids = 0.3f;

// The trilinear weights that the six faces of a cell collect from each of the 27 cells around it, in shares of the
// whole: along its own axis a pair of faces has the profile (1, 2, 1) / 4, across it (1, 6, 1) / 8.
std::array<float, 27> collected_from()
{
    constexpr float along[3] = {0.25f, 0.5f, 0.25f}, across[3] = {0.125f, 0.75f, 0.125f};
    std::array<float, 27> share{};
    for (int s = 0; s < 27; ++s)
        for (int axis = 0; axis < 3; ++axis) {
            const int place[3] = {s / 9, s / 3 % 3, s % 3};
            float product = 1.0f / 3;
            for (int a = 0; a < 3; ++a) product *= (a == axis ? along : across)[place[a]];
            share[static_cast<size_t>(s)] += product;
        }
    return share;
}

// How much of what a cell's faces collect lies outside solids, and whether a solid cuts one of the cells.
struct OpenShare {
    float share = 1;
    bool cut = false;

    OpenShare() = default;
    OpenShare(const float* volumes, int cell) : share(0)
    {
        static const std::array<float, 27> collected = collected_from();
        for (int s = 0; s < 27; ++s) {
            const float volume = volumes[cell + (s / 9 - 1) * 100 + (s / 3 % 3 - 1) * 10 + s % 3 - 1];
            share += collected[static_cast<size_t>(s)] * volume;
            cut |= volume > 0 && volume < 1;
        }
    }
};

} // namespace

void measure_crowding(const MacField& weight, const Field<float>& phi, const SolidCells& solids, Field<float>& crowding)
{
    const Topology& topology = phi.topology();
    crowding.reset(topology, 0);
    for_each_tile(topology, [&](int tile) {
        const float* distance = phi.tile(tile);
        const TileView w[3] = {{weight.u[0], tile}, {weight.u[1], tile}, {weight.u[2], tile}};
        thread_local float volumes[1000];
        const bool solids_near = solids.gather_volumes(topology, tile, volumes);
        float* out = crowding.tile(tile);
        for_each_row([&](int x, int y, int o) {
            const Row sum = (w[0].at(x, y) + w[0].above_x(x, y)) + (w[1].at(x, y) + w[1].above_y(x, y)) +
                            (w[2].at(x, y) + w[2].above_z(x, y));
            for (int i = 0; i < kTileSize; ++i) {
                if (!(distance[o + i] < 0)) continue;
                const OpenShare open = solids_near ? OpenShare(volumes, volume_index(x, y, i)) : OpenShare();
                const float excess = sum[i] / (6 * kRest * std::max(open.share, 0.1f)) - 1;
                const bool inside = distance[o + i] <= -kSurfaceBand && !open.cut;
                const float tolerated = open.cut ? kToleratedAtSolids : kToleratedAtSurface;
                const float wanted = inside ? excess : std::max(0.0f, excess - tolerated);
                out[o + i] = kRate * std::clamp(wanted, -kMost, kMost);
            }
        });
    });
}

} // namespace spindrift
