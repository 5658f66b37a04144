#include "spindrift/sand/sand_grid.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/seen_samples.h"
#include "spindrift/points/splat.h"
#include "spindrift/points/transfer.h"
#include "spindrift/world/solids.h"

namespace spindrift {

namespace {

// Trilinear weights of a particle on the cells below, at and above its own, for samples at cell centres (`tent`), and
// for samples at the lower and upper face of the cell (`face`). f is the position within the cell, 0 to 1.
struct AxisWeights {
    float tent[3], face[2];
    explicit AxisWeights(float f)
        : tent{std::max(0.0f, 0.5f - f), 1 - std::abs(f - 0.5f), std::max(0.0f, f - 0.5f)}, face{1 - f, f}
    {
    }
};

struct Sums {
    SplatBlock value, weight;
    void clear() { value.clear(), weight.clear(); }
};

// A particle's value for splatting, with its difference from cell to cell around the particle.
struct Affine {
    float value;
    Vec3f slope;
};

// Adds weight * value and weight of the particles [begin, end), all in one cell of the tile.
template <int Axis, class Value, class Weight> void splat_cell(const Vec3f* P, const Value& value, const Weight& weight,
                                                               size_t begin, size_t end, const Vec3f& corner,
                                                               float inverse_voxel, const Vec3i& cell, Sums& block)
{
    constexpr int nx = Axis == 0 ? 2 : 3, ny = Axis == 1 ? 2 : 3;
    constexpr int x0 = Axis == 0 ? 0 : -1, y0 = Axis == 1 ? 0 : -1, z0 = Axis == 2 ? 0 : -1;
    constexpr bool affine = std::is_same_v<decltype(value(size_t{})), Affine>;
    // Position of the first sample along each axis.
    constexpr float first_x = Axis == 0 ? 0 : -0.5f, first_y = Axis == 1 ? 0 : -0.5f, first_z = Axis == 2 ? 0 : -0.5f;
    Row total[nx * ny] = {}; // lower half: weighted values of four samples along z; upper half: their weights
    for (size_t i = begin; i < end; ++i) {
        const Vec3f f = P[i] * inverse_voxel - corner;
        const AxisWeights wx(f.x()), wy(f.y()), wz(f.z());
        Quad along_z;
        if constexpr (Axis == 2)
            along_z = Quad{wz.face[0], wz.face[1], 0, 0};
        else
            along_z = Quad{wz.tent[0], wz.tent[1], wz.tent[2], 0};
        along_z *= weight(i);
        const auto add = [&](int a, int b, Quad values) {
            const Row both = __builtin_shufflevector(along_z * values, along_z, 0, 1, 2, 3, 4, 5, 6, 7);
            total[a * ny + b] += (Axis == 0 ? wx.face[a] : wx.tent[a]) * (Axis == 1 ? wy.face[b] : wy.tent[b]) * both;
        };
        if constexpr (affine) {
            const Affine v = value(i);
            const float z = first_z - f.z();
            const Quad values = v.value + v.slope.x() * (first_x - f.x()) + v.slope.y() * (first_y - f.y()) +
                                v.slope.z() * Quad{z, z + 1, z + 2, z + 3};
            for (int a = 0; a < nx; ++a)
                for (int b = 0; b < ny; ++b)
                    add(a, b, values + (v.slope.x() * static_cast<float>(a) + v.slope.y() * static_cast<float>(b)));
        } else {
            const Quad values = value(i) + Quad{};
            for (int a = 0; a < nx; ++a)
                for (int b = 0; b < ny; ++b) add(a, b, values);
        }
    }
    for (int a = 0; a < nx; ++a)
        for (int b = 0; b < ny; ++b) {
            const Row t = total[a * ny + b];
            const int at = SplatBlock::index(cell.x() + x0 + a, cell.y() + y0 + b, cell.z() + z0);
            float *v = block.value.values + at, *w = block.weight.values + at;
            store_quad(v, load_quad(v) + __builtin_shufflevector(t, t, 0, 1, 2, 3));
            store_quad(w, load_quad(w) + __builtin_shufflevector(t, t, 4, 5, 6, 7));
        }
}

// The same for particles next to a sheet, restricted to the samples that each of them sees.
template <int Axis, class Value, class Weight>
void splat_seen(const Vec3f* P, const Value& value, const Weight& weight, size_t begin, size_t end,
                const SeenSamples* seen, const Vec3f& corner, float inverse_voxel, const Vec3i& cell, Sums& block)
{
    for (size_t i = begin; i < end; ++i) {
        const Vec3f f = P[i] * inverse_voxel - corner;
        const auto v = value(i);
        const float all = weight(i);
        for_each_seen(seen[i - begin], Axis, f, [&](const Vec3i& step, float share, const Vec3f& way) {
            const Vec3i at = cell + step;
            const int to = SplatBlock::index(at.x(), at.y(), at.z());
            float u;
            if constexpr (std::is_same_v<decltype(value(size_t{})), Affine>)
                u = v.value + v.slope.dot(way);
            else
                u = v;
            block.value.values[to] += all * share * u, block.weight.values[to] += all * share;
        });
    }
}

// What the particles of one tile see, in its cells next to sheets.
class SeenInTile {
  public:
    void look(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel, int tile,
              const SandGrid::Sides& sides)
    {
        first_ = index.tile_begin(tile);
        blocked_ = sides.sight && sides.sight->blocked(tile);
        if (!blocked_) return;
        seen_.resize(index.tile_end(tile) - first_);
        for (int c = 0; c < kTileCells; ++c) {
            const size_t begin = index.cell_begin(tile, c), end = index.cell_end(tile, c);
            limited_[c] = begin != end && !sees_all_samples(*sides.sight, tile, c);
            const Vec3i cell = topology.first_cell(tile) + cell_in_tile(c);
            for (size_t i = begin; limited_[c] && i < end; ++i) {
                const Vec3f x = sides.moved ? sides.moved->moved_with_sheet(particles.P[i]) : particles.P[i];
                seen_[i - first_] = seen_samples(*sides.sight, topology, voxel, x, cell);
            }
        }
    }
    bool limited(int cell) const { return blocked_ && limited_[cell]; }
    const SeenSamples& of(size_t particle) const { return seen_[particle - first_]; }

  private:
    size_t first_ = 0;
    bool blocked_ = false, limited_[kTileCells];
    std::vector<SeenSamples> seen_;
};

// Volume fraction of a kilogram in a cell.
float share_of_cell(float density, float voxel) { return 1 / (density * voxel * voxel * voxel); }

// Divides sums by their weights where they are positive.
void divide(Field<float>& sum, const Field<float>& weight)
{
    for_each_tile(sum.topology(), [&](int tile) {
        float* s = sum.tile(tile);
        const float* w = weight.tile(tile);
        for (int o = 0; o < kTileCells; o += kTileSize)
            store_row(s + o, load_row(s + o) * inverse_or_zero(load_row(w + o)));
    });
}

} // namespace

void SandGrid::sort(Particles& particles, float cell, const Vec3f& gravity)
{
    voxel = cell;
    gravity.cwiseAbs().maxCoeff(&up);
    up_sign = gravity[up] > 0 ? -1.0f : 1.0f;
    topology = tiles_around(particles, voxel, SandTuning::grid_reach);
    sort_by_tile(particles, topology, voxel, index);
    added_beside_.clear();
}

void SandGrid::splat(const Particles& particles, const std::vector<SandMaterialParams>& materials, Splat what,
                     const Sides& sides)
{
    filled.reset(topology, 0), friction.reset(topology, 0), heaped.reset(topology, 0);
    velocity.reset(topology, 0), at_faces.reset(topology, 0);
    several = materials.size() > 1;
    if (several) lightness.reset(topology, 0);

    const float* mass = particles.find<float>(kMass)->data();
    const int32_t* material = particles.find<int32_t>(kMaterial)->data();
    const Vec3f* slopes[3]; // null for particles from a cache
    for (int a = 0; a < 3; ++a) {
        const auto* row = particles.find<Vec3f>(kAffine[a]);
        slopes[a] = row ? row->data() : nullptr;
    }
    const float inverse_voxel = 1 / voxel;
    std::vector<float> per_mass, bounds; // volume fraction of a kilogram in a cell, by material; bounds of friction
    for (const SandMaterialParams& m : materials)
        per_mass.push_back(share_of_cell(m.density, voxel)), bounds.push_back(friction_bound(m.friction));
    const auto volume = [&](size_t i) { return mass[i] * per_mass[material[i]]; };
    const auto weight = [&](size_t i) { return mass[i] * per_mass[0]; };

    for_each_tile_by_colour(index, topology, [&](int tile) {
        auto& block = thread_scratch<Sums>();
        auto& seen = thread_scratch<SeenInTile>();
        seen.look(particles, index, topology, voxel, tile, sides);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        const auto add = [&]<int Axis>(const auto& value, const auto& share, Field<float>& sums,
                                       Field<float>& weights) {
            block.clear();
            for (int c = 0; c < kTileCells; ++c) {
                const size_t begin = index.cell_begin(tile, c), end = index.cell_end(tile, c);
                if (begin == end) continue;
                const Vec3i cell = cell_in_tile(c);
                const Vec3f corner = first + cell.cast<float>();
                const Vec3f* P = particles.P.data();
                if (seen.limited(c))
                    splat_seen<Axis>(P, value, share, begin, end, &seen.of(begin), corner, inverse_voxel, cell, block);
                else
                    splat_cell<Axis>(P, value, share, begin, end, corner, inverse_voxel, cell, block);
            }
            block.value.add_to(sums, tile), block.weight.add_to(weights, tile);
        };
        const auto along = [&]<int Axis>() {
            const auto u = [&](size_t i) -> Affine {
                return {particles.v[i][Axis], slopes[Axis] ? Vec3f(voxel * slopes[Axis][i]) : Vec3f::Zero()};
            };
            const auto nothing = [](size_t) { return 0.0f; };
            Field<float>& nowhere = friction; // dummy: the values are zero
            // With several materials, `lightness` holds the mass until the volume is divided by it.
            Field<float>& masses = several ? lightness.u[Axis] : at_faces.u[Axis];
            if (what == Splat::all)
                add.template operator()<Axis>(u, weight, velocity.u[Axis], masses);
            else
                add.template operator()<Axis>(nothing, weight, nowhere, masses);
            if (several) add.template operator()<Axis>(nothing, volume, nowhere, at_faces.u[Axis]);
        };
        along.template operator()<0>(), along.template operator()<1>(), along.template operator()<2>();
        for (int c = 0; what == Splat::all && c < kTileCells; ++c)
            if (const size_t begin = index.cell_begin(tile, c), end = index.cell_end(tile, c); begin != end) {
                const auto belongs = [&](size_t i) {
                    return !seen.limited(c) || (seen.of(i).home && seen.of(i).home->isZero());
                };
                const Vec3f corner = first + cell_in_tile(c).cast<float>();
                heaped.tile(tile)[c] = heaped_in_cell(particles, begin, end, corner, belongs);
            }
        const auto bound = [&](size_t i) { return bounds[material[i]]; };
        add.template operator()<kCenters>(bound, volume, friction, filled);
    });
    divide(friction, filled);
    for (int a = 0; a < 3; ++a) divide(velocity.u[a], several ? lightness.u[a] : at_faces.u[a]);
    if (!several) return;
    for_each_tile(topology, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            float* m = lightness.u[a].tile(tile);
            const float* v = at_faces.u[a].tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize)
                store_row(m + o, load_row(v + o) * inverse_or_zero(load_row(m + o)));
        }
    });
}

void SandGrid::refill(const Particles& particles, const std::vector<SandMaterialParams>& materials, const Sight* sight)
{
    filled.reset(topology, 0);
    const float* mass = particles.find<float>(kMass)->data();
    const int32_t* material = particles.find<int32_t>(kMaterial)->data();
    const float inverse_voxel = 1 / voxel;
    std::vector<float> per_mass;
    per_mass.reserve(materials.size());
    for (const SandMaterialParams& m : materials) per_mass.push_back(share_of_cell(m.density, voxel));
    for_each_tile_by_colour(index, topology, [&](int tile) {
        auto& block = thread_scratch<SplatBlock>();
        block.clear();
        // The sample at or below a particle, relative to that of the tile's first cell, is at least -1.
        const Vec3f first = topology.first_cell(tile).cast<float>().array() + 0.5f;
        // Returns false for a particle that is not next to a sheet.
        const auto add_seen = [&](size_t i) {
            const Vec3f& x = particles.P[i];
            const Vec3i cell = cell_of(x, inverse_voxel), from_first = cell - topology.first_cell(tile);
            const int there = topology.find(tile_of_cell(cell));
            if (there == topology.tile_count() || sees_all_samples(*sight, there, offset_of_cell(cell))) return false;
            const float volume = mass[i] * per_mass[material[i]];
            const Vec3f f = x * inverse_voxel - cell.cast<float>();
            for_each_seen(seen_samples(*sight, topology, voxel, x, cell), kCenters, f,
                          [&](const Vec3i& step, float share, const Vec3f&) {
                              const Vec3i at = (from_first + step).cwiseMax(-1).cwiseMin(kTileSize);
                              block.values[SplatBlock::index(at.x(), at.y(), at.z())] += share * volume;
                          });
            return true;
        };
        const bool blocked = sight && sight->blocked(tile);
        const auto add = [&](size_t i) {
            constexpr float kLast = static_cast<float>(kTileSize) - 0.001f;
            const Vec3f p = (particles.P[i] * inverse_voxel - first).cwiseMax(-1.0f).cwiseMin(kLast);
            const int x = floor_int(p.x()), y = floor_int(p.y()), z = floor_int(p.z());
            const float fx = p.x() - static_cast<float>(x), fy = p.y() - static_cast<float>(y);
            const float fz = p.z() - static_cast<float>(z);
            const float volume = mass[i] * per_mass[material[i]];
            const float share[2] = {volume * (1 - fx), volume * fx};
            for (int a = 0; a < 2; ++a)
                for (int b = 0; b < 2; ++b) {
                    const float w = share[a] * (b == 0 ? 1 - fy : fy);
                    float* at = block.values + SplatBlock::index(x + a, y + b, z);
                    at[0] += w * (1 - fz), at[1] += w * fz;
                }
        };
        for_particles(tile, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i)
                if (!blocked || !add_seen(i)) add(i);
        });
        block.add_to(filled, tile);
    });
}

// In four columns, each with two halves in height.
template <class Counts> float SandGrid::heaped_in_cell(const Particles& particles, size_t begin, size_t end,
                                                       const Vec3f& corner, const Counts& counts) const
{
    uint8_t height[4] = {};
    for (size_t i = begin; i < end; ++i) {
        if (!counts(i)) continue;
        const Vec3f f = particles.P[i] / voxel - corner;
        const int a = f[(up + 1) % 3] >= 0.5f, b = f[(up + 2) % 3] >= 0.5f;
        const bool upper = (f[up] >= 0.5f) == (up_sign > 0);
        uint8_t& h = height[2 * a + b];
        h = std::max(h, static_cast<uint8_t>(upper ? 2 : 1));
    }
    return 0.125f * static_cast<float>(height[0] + height[1] + height[2] + height[3]);
}

size_t SandGrid::bytes() const
{
    return topology.bytes() + index.bytes() + filled.bytes() + friction.bytes() + heaped.bytes() + velocity.bytes() +
           at_faces.bytes() + lightness.bytes();
}

} // namespace spindrift
