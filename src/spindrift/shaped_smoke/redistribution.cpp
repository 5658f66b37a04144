#include "spindrift/shaped_smoke/redistribution.h"

#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"
#include "spindrift/field/row.h"
#include "spindrift/turbulence/sampler.h"

namespace spindrift {

namespace {

// Largest share of a cell's surplus that is moved in a frame.
constexpr float kSurplusRate = 0.5f;

// The points where a field, interpolated between the centres of cells, is at least a threshold.
class Region {
  public:
    Region(const Field<float>& values, float least) : values_(values), least_(least)
    {
        const Topology& topology = values.topology();
        inside_.reset_uninitialized(topology, 0);
        for_each_tile(topology, [&](int tile) {
            auto& block = thread_scratch<Block<float, 1>>();
            block.gather(values, tile);
            for_each_row([&](int x, int y, int o) {
                Row count = splat(0);
                for (int octant = 0; octant < 8; ++octant) {
                    const int sx = octant >> 2 ? 1 : -1, sy = octant >> 1 & 1 ? 1 : -1, sz = octant & 1 ? 1 : -1;
                    const auto along_z = [&](int px, int py) {
                        const float* at = &block.at(px, py, 0);
                        return 0.75f * load_row_unaligned(at) + 0.25f * load_row_unaligned(at + sz);
                    };
                    const Row value = 0.75f * (0.75f * along_z(x, y) + 0.25f * along_z(x, y + sy)) +
                                      0.25f * (0.75f * along_z(x + sx, y) + 0.25f * along_z(x + sx, y + sy));
                    count += value >= splat(least) ? splat(0.125f) : splat(0);
                }
                store_row(inside_.tile(tile) + o, count);
            });
        });
    }
    // Share of a cell that is inside.
    float in_cell(int tile, int c) const { return inside_.tile(tile)[c]; }
    const Field<float>& in_cells() const { return inside_; }
    // A point, in cells. Cells that are wholly inside or outside need no interpolation.
    bool contains(const Vec3f& point, Sampler& sampler) const
    {
        const auto [tile, c] = sampler.cell_at(point);
        const float share = in_cell(tile, c);
        if (share <= 0 || share >= 1) return share > 0;
        float sum = 0;
        sampler.for_each_sample(point, Vec3f::Constant(0.5f),
                                [&](int t, int o, float weight) { sum += weight * values_.tile(t)[o]; });
        return sum >= least_;
    }

  private:
    const Field<float>& values_;
    float least_;
    Field<float> inside_;
};

// The markers that each cell should have: their total, shared in proportion to the density of control particles, up to
// `full` of what it will be in the shape.
class WantedMarkers {
  public:
    WantedMarkers(const RedistributionInput& input, const Region& region)
    {
        const Topology& topology = input.marker_density.topology();
        wanted_.reset_uninitialized(topology, 0);
        const double sum = parallel_sum(topology.tile_count(), [&](size_t t) {
            const auto tile = static_cast<int>(t);
            double in_tile = 0;
            for (int c = 0; c < kTileCells; ++c) {
                const float in_shape = input.shape_density ? input.shape_density->tile(tile)[c] : input.in_shape;
                const float density = std::min(input.controls.density.tile(tile)[c], input.full * in_shape);
                const float here = wanted_.tile(tile)[c] = region.in_cell(tile, c) * density;
                in_tile += static_cast<double>(here);
            }
            return in_tile;
        });
        const float scale = sum > 0 ? static_cast<float>(static_cast<double>(input.markers) / sum) : 0;
        for_each_tile(topology, [&](int tile) {
            for_each_row(
                [&](int, int, int o) { store_row(wanted_.tile(tile) + o, scale * load_row(wanted_.tile(tile) + o)); });
        });
        Field<float> scratch;
        blurred_.copy_from(wanted_), blur(blurred_, input.marker_tent, scratch);
    }
    // Zero outside of the region.
    float in_cell(int tile, int c) const { return wanted_.tile(tile)[c]; }
    // As the density of markers is: blurred.
    float density(int tile, int c) const { return blurred_.tile(tile)[c]; }

  private:
    Field<float> wanted_, blurred_;
};

float missing_in(const RedistributionInput& input, const WantedMarkers& wanted, int tile, int c)
{
    return std::max(0.0f, wanted.density(tile, c) - input.marker_density.tile(tile)[c]);
}

// Draws random places in the region, in cells by weight: first a tile, then one of its cells.
class PlaceSampler {
  public:
    PlaceSampler(const RedistributionInput& input, const WantedMarkers& wanted, const Region& region, float even)
        : region_(region), voxel_(input.voxel)
    {
        constexpr float kLeast = 1e-3f; // for when nothing is missing
        const Topology& topology = input.marker_density.topology();
        until_cell_.reset_uninitialized(topology, 0);
        for_each_tile(topology, [&](int tile) {
            float sum = 0;
            for (int c = 0; c < kTileCells; ++c) {
                const float missing = region.in_cell(tile, c) * missing_in(input, wanted, tile, c);
                until_cell_.tile(tile)[c] = sum +=
                    even * missing + std::max(1 - even, kLeast) * wanted.in_cell(tile, c);
            }
        });
        double total = 0;
        for (int tile = 0; tile < topology.tile_count(); ++tile)
            until_tile_.push_back(total += static_cast<double>(until_cell_.tile(tile)[kTileCells - 1]));
    }
    double total() const { return until_tile_.empty() ? 0 : until_tile_.back(); }
    Vec3f draw(Random random, Sampler& sampler) const
    {
        // 53 random bits: with 24, some of millions of markers would be placed at the same point.
        const double at = total() * static_cast<double>(random.bits() >> 11) * 0x1p-53;
        const auto found = std::upper_bound(until_tile_.begin(), until_tile_.end() - 1, at);
        const auto tile = static_cast<int>(found - until_tile_.begin());
        const auto left = static_cast<float>(at - (tile > 0 ? until_tile_[tile - 1] : 0));
        const float* cells = until_cell_.tile(tile);
        // The first cell whose sum is above; that of the last cell with a weight may be rounded below.
        auto c = std::upper_bound(cells, cells + kTileCells, left) - cells;
        if (c == kTileCells) c = std::lower_bound(cells, cells + kTileCells, cells[kTileCells - 1]) - cells;
        const Vec3f corner =
            (until_cell_.topology().first_cell(tile) + cell_in_tile(static_cast<int>(c))).cast<float>();
        constexpr int kTries = 8; // at least an eighth of the cell is inside
        Vec3f point;
        for (int k = 0; k < kTries; ++k) {
            const float x = random.uniform(), y = random.uniform(), z = random.uniform();
            point = corner + Vec3f(x, y, z);
            if (region_.contains(point, sampler)) break;
        }
        return voxel_ * point;
    }

  private:
    const Region& region_;
    float voxel_;
    Field<float> until_cell_;        // sums of weights within each tile, up to and including each cell
    std::vector<double> until_tile_; // and up to and including each tile
};

// The share of the surplus of crowded cells that fills what is missing elsewhere, besides the markers outside.
float share_of_surplus(const RedistributionInput& input, const WantedMarkers& wanted, const Region& region)
{
    struct Sums {
        double missing = 0, surplus = 0;
    };
    const Topology& topology = input.marker_density.topology();
    const Sums all = parallel_reduce(
        topology.tile_count(), Sums{},
        [&](size_t t) {
            Sums in_tile;
            const auto tile = static_cast<int>(t);
            const uint32_t* first = input.index.cell_first(tile);
            for (int c = 0; c < kTileCells; ++c) {
                const float inside = region.in_cell(tile, c), density = input.marker_density.tile(tile)[c];
                const auto markers = static_cast<float>(first[c + 1] - first[c]);
                in_tile.missing -= static_cast<double>(input.share * (1 - inside) * markers);
                if (inside <= 0) continue;
                in_tile.missing += static_cast<double>(inside * missing_in(input, wanted, tile, c));
                in_tile.surplus += static_cast<double>(std::max(0.0f, density - wanted.density(tile, c)));
            }
            return in_tile;
        },
        [](const Sums& a, const Sums& b) {
            return Sums{a.missing + b.missing, a.surplus + b.surplus};
        });
    if (!(all.missing > 0) || !(all.surplus > 0)) return 0;
    return std::min(kSurplusRate * input.share, static_cast<float>(all.missing / all.surplus));
}

} // namespace

MovedMarkers redistribute(const RedistributionInput& input, const RedistributionParams& params,
                          const Particles& markers, float left)
{
    const Topology& topology = input.marker_density.topology();
    const Region region(input.controls.fill, input.least), after(input.fill_after, input.least);
    const WantedMarkers wanted(input, region);
    const PlaceSampler places(input, wanted, region, params.even);
    if (!(places.total() > 0)) return {};
    MovedMarkers moved(topology.tile_count());
    const float surplus_share = input.surplus * params.even * share_of_surplus(input, wanted, region);
    for_each_tile(topology, [&](int tile) {
        if (input.index.tile_empty(tile)) return;
        auto& out = moved[tile];
        Sampler tested(topology), drawn(topology);
        for (int c = 0; c < kTileCells; ++c) {
            const float enough = wanted.density(tile, c), density = input.marker_density.tile(tile)[c];
            const bool crowded = density > enough && region.in_cell(tile, c) > 0;
            const float surplus = crowded ? surplus_share * (1 - enough / density) : 0;
            for (size_t i = input.index.cell_begin(tile, c), end = input.index.cell_end(tile, c); i < end; ++i) {
                const bool lost = !after.contains((markers.P[i] + left * markers.v[i]) / input.voxel, tested);
                const float share = lost ? input.share : surplus;
                if (share <= 0) continue;
                Random random(input.seed, i);
                if (random.uniform() < share) out.push_back({static_cast<uint32_t>(i), places.draw(random, drawn)});
            }
        }
    });
    return moved;
}

} // namespace spindrift
