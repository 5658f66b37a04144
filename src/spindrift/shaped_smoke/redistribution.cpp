#include "spindrift/shaped_smoke/redistribution.h"

#include "spindrift/base/random.h"

namespace spindrift {

namespace {

// Smoke that is less than this much thinner than wanted is left alone: random counts vary.
constexpr float kSlack = 0.1f;
// Largest share of a cell's surplus that is moved in a frame.
constexpr float kSurplusRate = 0.5f;

// The markers that each cell should have: their total, shared in proportion to the control density up to `full`.
class WantedMarkers {
  public:
    explicit WantedMarkers(const RedistributionInput& input) : input_(input)
    {
        const double sum = parallel_sum(input.control_density.topology().tile_count(), [&](size_t t) {
            double in_tile = 0;
            for (int c = 0; c < kTileCells; ++c) in_tile += static_cast<double>(in(static_cast<int>(t), c));
            return in_tile;
        });
        scale_ = sum > 0 ? static_cast<float>(static_cast<double>(input.markers) / sum) : 0;
    }
    // Zero outside of the control particles.
    float operator()(int tile, int c) const { return scale_ * in(tile, c); }

  private:
    float in(int tile, int c) const
    {
        const float controls = input_.control_density.tile(tile)[c];
        return controls < input_.least ? 0 : std::min(controls, input_.full);
    }
    const RedistributionInput& input_;
    float scale_ = 0;
};

float missing_in(const RedistributionInput& input, float wanted, int tile, int c)
{
    return std::max(0.0f, (1 - kSlack) * wanted - input.marker_density.tile(tile)[c]);
}

// Draws random places in cells by weight: first a tile, then one of its cells.
class PlaceSampler {
  public:
    PlaceSampler(const RedistributionInput& input, const WantedMarkers& wanted, float even) : voxel_(input.voxel)
    {
        constexpr float kLeast = 1e-3f; // for when nothing is missing
        const Topology& topology = input.control_density.topology();
        until_cell_.reset_uninitialized(topology, 0);
        for_each_tile(topology, [&](int tile) {
            float sum = 0;
            for (int c = 0; c < kTileCells; ++c) {
                const float enough = wanted(tile, c), missing = missing_in(input, enough, tile, c);
                until_cell_.tile(tile)[c] = sum += even * missing + std::max(1 - even, kLeast) * enough;
            }
        });
        double total = 0;
        for (int tile = 0; tile < topology.tile_count(); ++tile)
            until_tile_.push_back(total += static_cast<double>(until_cell_.tile(tile)[kTileCells - 1]));
    }
    double total() const { return until_tile_.empty() ? 0 : until_tile_.back(); }
    Vec3f draw(Random random) const
    {
        // 53 random bits: with 24, some of millions of markers would be placed at the same point.
        const double at = total() * static_cast<double>(random.bits() >> 11) * 0x1p-53;
        const auto found = std::upper_bound(until_tile_.begin(), until_tile_.end() - 1, at);
        const auto tile = static_cast<int>(found - until_tile_.begin());
        const auto left = static_cast<float>(at - (tile > 0 ? until_tile_[static_cast<size_t>(tile) - 1] : 0));
        const float* cells = until_cell_.tile(tile);
        // The first cell whose sum is above; that of the last cell with a weight may be rounded below.
        auto c = std::upper_bound(cells, cells + kTileCells, left) - cells;
        if (c == kTileCells) c = std::lower_bound(cells, cells + kTileCells, cells[kTileCells - 1]) - cells;
        const Vec3i cell = until_cell_.topology().first_cell(tile) + cell_in_tile(static_cast<int>(c));
        const float x = random.uniform(), y = random.uniform(), z = random.uniform();
        return voxel_ * (cell.cast<float>() + Vec3f(x, y, z));
    }

  private:
    float voxel_;
    Field<float> until_cell_;        // sums of weights within each tile, up to and including each cell
    std::vector<double> until_tile_; // and up to and including each tile
};

// The share of the surplus of crowded cells that fills what is missing elsewhere, besides the markers outside.
float share_of_surplus(const RedistributionInput& input, const WantedMarkers& wanted)
{
    struct Sums {
        double missing = 0, surplus = 0;
    };
    const Topology& topology = input.control_density.topology();
    const Sums all = parallel_reduce(
        topology.tile_count(), Sums{},
        [&](size_t t) {
            Sums in_tile;
            const auto tile = static_cast<int>(t);
            for (int c = 0; c < kTileCells; ++c) {
                const float enough = wanted(tile, c), density = input.marker_density.tile(tile)[c];
                in_tile.missing += static_cast<double>(missing_in(input, enough, tile, c));
                if (enough > 0)
                    in_tile.surplus += static_cast<double>(std::max(0.0f, density - enough));
                else
                    in_tile.missing -= static_cast<double>(input.share * density);
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

std::vector<MovedMarker> redistribute(const RedistributionInput& input, const RedistributionParams& params,
                                      const Particles& markers, float left)
{
    const WantedMarkers wanted(input);
    const PlaceSampler places(input, wanted, params.even);
    if (!(places.total() > 0)) return {};
    const Topology& topology = input.control_density.topology();
    std::vector<std::vector<MovedMarker>> moved(topology.tile_count());
    const float surplus_share = input.surplus * params.even * share_of_surplus(input, wanted);
    for_each_tile(topology, [&](int tile) {
        if (input.index.tile_empty(tile)) return;
        auto& out = moved[tile];
        const Vec3i first = topology.first_cell(tile);
        const auto controls_at = [&](const Vec3f& x) {
            const Vec3i cell = cell_of(x, 1 / input.voxel), step = tile_of_cell(cell - first);
            const bool near = step.cwiseAbs().maxCoeff() <= 1;
            const int t =
                near ? topology.neighbour(tile, step.x(), step.y(), step.z()) : topology.find(tile_of_cell(cell));
            return input.control_density_after.tile(t)[offset_of_cell(cell)];
        };
        for (int c = 0; c < kTileCells; ++c) {
            const float enough = wanted(tile, c), density = input.marker_density.tile(tile)[c];
            const float surplus = density > enough && enough > 0 ? surplus_share * (1 - enough / density) : 0;
            for (size_t i = input.index.cell_begin(tile, c), end = input.index.cell_end(tile, c); i < end; ++i) {
                const bool lost = controls_at(markers.P[i] + left * markers.v[i]) < input.least;
                const float share = lost ? input.share : surplus;
                if (share <= 0) continue;
                Random random(input.seed, i);
                if (random.uniform() < share) out.push_back({static_cast<uint32_t>(i), places.draw(random)});
            }
        }
    });
    std::vector<MovedMarker> all;
    for (const auto& part : moved) all.insert(all.end(), part.begin(), part.end());
    return all;
}

} // namespace spindrift
