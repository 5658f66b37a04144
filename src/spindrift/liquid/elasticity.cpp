#include "spindrift/liquid/elasticity.h"

#include "spindrift/base/scratch.h"
#include "spindrift/points/attribute_checks.h"
#include "spindrift/points/splat.h"
#include "spindrift/points/transfer.h"

#include <Eigen/LU>

namespace spindrift {

namespace {

// The share of the mean strain around it that a particle adopts in a step. Differences between neighbouring particles
// cause no restoring force, and grow into bumps of the surface.
constexpr float kTakenFromMean = 0.05f;

// Weights of a particle on three samples around it: at the centres of the cells below, at and above its own, or at
// their lower faces. f is the position within the cell, 0 to 1.
struct Shares {
    float w[3];
    Shares(float f, bool faces)
        : w{faces ? 0 : std::max(0.0f, 0.5f - f), faces ? 1 - f : 1 - std::abs(f - 0.5f),
            faces ? f : std::max(0.0f, f - 0.5f)}
    {
    }
};

struct StrainSums {
    SplatBlock diagonal[3], cell_weight, shear[3], edge_weight[3];

    template <class Body> void for_each(const Body& body)
    {
        body(cell_weight);
        for (int a = 0; a < 3; ++a) body(diagonal[a]), body(shear[a]), body(edge_weight[a]);
    }
};

// Splats value and weight of a particle at position f of a cell.
template <size_t N> void splat(const Vec3f& f, const Vec3i& cell, const bool (&faces)[3], SplatBlock* const (&to)[N],
                               const float (&value)[N])
{
    const Shares x(f.x(), faces[0]), y(f.y(), faces[1]), z(f.z(), faces[2]);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const float xy = x.w[i] * y.w[j];
            if (xy == 0) continue;
            const int at = SplatBlock::index(cell.x() + i - 1, cell.y() + j - 1, cell.z() - 1);
            for (int k = 0; k < 3; ++k)
                for (size_t n = 0; n < N; ++n) to[n]->values[at + k] += xy * z.w[k] * value[n];
        }
}

// Liquid shares of cells or edges around a tile, and values multiplied by them.
struct WeightedValues {
    Block<float, 1> share;
    std::vector<Block<float, 1>> values;

    // The mean values around position f of a cell; 0 where there is nearly no liquid.
    std::array<float, 3> mean(const Vec3f& f, const Vec3i& cell, const bool (&faces)[3]) const
    {
        constexpr float kNoLiquid = 0.01f;
        const Shares x(f.x(), faces[0]), y(f.y(), faces[1]), z(f.z(), faces[2]);
        float total = 0;
        std::array<float, 3> sum = {0, 0, 0};
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                for (int k = 0; k < 3; ++k) {
                    const float w = x.w[i] * y.w[j] * z.w[k];
                    if (w == 0) continue;
                    const int at = Block<float, 1>::index(cell.x() + i - 1, cell.y() + j - 1, cell.z() + k - 1);
                    total += w * share.data[at];
                    for (size_t n = 0; n < values.size(); ++n) sum[n] += w * values[n].data[at];
                }
        for (float& s : sum) s = total > kNoLiquid ? s / total : 0;
        return sum;
    }
};

Mat3f strain_of(const Vec3f& diagonal, const Vec3f& shear)
{
    Mat3f e;
    e << diagonal.x(), shear.z(), shear.y(), shear.z(), diagonal.y(), shear.x(), shear.y(), shear.x(), diagonal.z();
    return e;
}

Mat3f deviator(const Mat3f& m) { return m - m.trace() / 3 * Mat3f::Identity(); }

// The rotation in a time dt with spin W (Cayley transform: orthogonal for any step).
Mat3f turned(const Mat3f& spin, float dt)
{
    const Mat3f half = 0.5f * dt * spin;
    return (Mat3f::Identity() - half).inverse() * (Mat3f::Identity() + half);
}

} // namespace

void LiquidShares::reset_uninitialized(const Topology& topology)
{
    cell.reset_uninitialized(topology, 0);
    for (auto& e : edge) e.reset_uninitialized(topology, 0);
}

size_t LiquidShares::bytes() const { return cell.bytes() + edge[0].bytes() + edge[1].bytes() + edge[2].bytes(); }

size_t StrainField::bytes() const
{
    size_t sum = 0;
    for (int a = 0; a < 3; ++a) sum += diagonal[a].bytes() + shear[a].bytes();
    return sum;
}

void strain_to_grid(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
                    StrainField& strain)
{
    const auto &diagonal = required<Vec3f>(particles, kStrainDiagonal),
               &shear = required<Vec3f>(particles, kStrainShear);
    Field<float> cell_weight(topology, 0), edge_weight[3];
    for (int a = 0; a < 3; ++a)
        for (Field<float>* f : {&strain.diagonal[a], &strain.shear[a], &edge_weight[a]}) f->reset(topology, 0);
    const float inverse_voxel = 1 / voxel;
    for_each_tile_by_colour(index, topology, [&](int tile) {
        auto& sums = thread_scratch<StrainSums>();
        sums.for_each([](SplatBlock& block) { block.clear(); });
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = cell_in_tile(c);
            for (size_t i = index.cell_begin(tile, c); i < index.cell_end(tile, c); ++i) {
                const Vec3f f = particles.P[i] * inverse_voxel - first - cell.cast<float>();
                const Vec3f &d = diagonal[i], &s = shear[i];
                splat(f, cell, {false, false, false},
                      {&sums.diagonal[0], &sums.diagonal[1], &sums.diagonal[2], &sums.cell_weight},
                      {d.x(), d.y(), d.z(), 1});
                for (int a = 0; a < 3; ++a)
                    splat(f, cell, {a != 0, a != 1, a != 2}, {&sums.shear[a], &sums.edge_weight[a]}, {s[a], 1});
            }
        }
        sums.cell_weight.add_to(cell_weight, tile);
        for (int a = 0; a < 3; ++a) {
            sums.diagonal[a].add_to(strain.diagonal[a], tile);
            sums.shear[a].add_to(strain.shear[a], tile), sums.edge_weight[a].add_to(edge_weight[a], tile);
        }
    });
    for_each_tile(topology, [&](int tile) {
        const auto divide = [&](Field<float>& sum, const Field<float>& weight) {
            float* s = sum.tile(tile);
            const float* w = weight.tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize)
                store_row(s + o, load_row(s + o) * inverse_or_zero(load_row(w + o)));
        };
        for (int a = 0; a < 3; ++a) divide(strain.diagonal[a], cell_weight), divide(strain.shear[a], edge_weight[a]);
    });
}

namespace {

// The change of particle strain in a step, at cells and edges, multiplied by their shares: the strain rate, and the
// relaxation towards the mean around.
void weighted_changes(const MacField& velocity, const StrainField& mean, const LiquidShares& shares, float step,
                      StrainField& out)
{
    const Topology& topology = velocity.u[0].topology();
    for (int a = 0; a < 3; ++a)
        out.diagonal[a].reset_uninitialized(topology, 0), out.shear[a].reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        const TileView u(velocity.u[0], tile), v(velocity.u[1], tile), w(velocity.u[2], tile);
        for_each_row([&](int x, int y, int o) {
            const auto store = [&](Field<float>& f, const Field<float>& strain, const Field<float>& share, Row rate) {
                const Row change = step * rate + kTakenFromMean * load_row(strain.tile(tile) + o);
                store_row(f.tile(tile) + o, load_row(share.tile(tile) + o) * change);
            };
            store(out.diagonal[0], mean.diagonal[0], shares.cell, u.above_x(x, y) - u.at(x, y));
            store(out.diagonal[1], mean.diagonal[1], shares.cell, v.above_y(x, y) - v.at(x, y));
            store(out.diagonal[2], mean.diagonal[2], shares.cell, w.above_z(x, y) - w.at(x, y));
            store(out.shear[0], mean.shear[0], shares.edge[0],
                  0.5f * ((v.at(x, y) - v.below_z(x, y)) + (w.at(x, y) - w.below_y(x, y))));
            store(out.shear[1], mean.shear[1], shares.edge[1],
                  0.5f * ((w.at(x, y) - w.below_x(x, y)) + (u.at(x, y) - u.below_z(x, y))));
            store(out.shear[2], mean.shear[2], shares.edge[2],
                  0.5f * ((u.at(x, y) - u.below_y(x, y)) + (v.at(x, y) - v.below_x(x, y))));
        });
    });
}

} // namespace

void update_strain(const MacField& velocity, const StrainField& mean, const LiquidShares& shares,
                   const ParticleIndex& index, float voxel, float dt, const PlasticFlow& flow, Particles& particles)
{
    auto &diagonal = particles.attribute<Vec3f>(kStrainDiagonal), &shear = particles.attribute<Vec3f>(kStrainShear);
    const Topology& topology = velocity.u[0].topology();
    const float inverse_voxel = 1 / voxel, kept_above_yield = std::exp(-flow.rate * dt);
    StrainField changes;
    weighted_changes(velocity, mean, shares, dt * inverse_voxel, changes);
    for_each_tile(topology, [&](int tile) {
        if (index.tile_empty(tile)) return;
        auto& block = thread_scratch<MacBlock<1>>();
        auto& cells = thread_scratch<WeightedValues>();
        auto& edges = thread_scratch<WeightedValues[3]>();
        block.gather(velocity, tile, Margin::nearest);
        cells.values.resize(3), cells.share.gather(shares.cell, tile);
        for (int a = 0; a < 3; ++a) {
            cells.values[a].gather(changes.diagonal[a], tile);
            edges[a].values.resize(1), edges[a].values[0].gather(changes.shear[a], tile);
            edges[a].share.gather(shares.edge[a], tile);
        }
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for_each_eight(index, tile, [&](size_t begin, size_t count) {
            const MacBlock<1>::Places places(places_in_tile(&particles.P[begin], count, inverse_voxel, first));
            Vec3f rows[3][kTileSize];
            for (int a = 0; a < 3; ++a) {
                const auto place = places.of(a);
                const MacBlock<1>::Corners corners(block, a, place);
                store_row3(rows[a], inverse_voxel * corners.gradient(place), count);
            }
            for (size_t k = 0; k < count; ++k) {
                Mat3f gradient;
                for (int a = 0; a < 3; ++a) gradient.row(a) = rows[a][k];
                const Mat3f turn = turned(0.5f * (gradient - gradient.transpose()), dt);
                const Vec3i cell = cell_of(particles.P[begin + k], inverse_voxel) - topology.first_cell(tile);
                const Vec3f f = particles.P[begin + k] * inverse_voxel - first - cell.cast<float>();
                const auto normal = cells.mean(f, cell, {false, false, false});
                Vec3f across;
                for (int a = 0; a < 3; ++a) across[a] = edges[a].mean(f, cell, {a != 0, a != 1, a != 2})[0];
                const Mat3f change = strain_of(Vec3f(normal[0], normal[1], normal[2]), across);
                const Mat3f before = strain_of(diagonal[begin + k], shear[begin + k]);
                Mat3f e = deviator(turn * ((1 - kTakenFromMean) * before + change) * turn.transpose());
                if (const float size = e.norm(); size > flow.yield)
                    e *= (flow.yield + (size - flow.yield) * kept_above_yield) / size;
                diagonal[begin + k] = e.diagonal();
                shear[begin + k] = Vec3f(e(1, 2), e(2, 0), e(0, 1));
            }
        });
    });
}

} // namespace spindrift
