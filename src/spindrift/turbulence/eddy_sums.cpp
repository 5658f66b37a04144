#include "spindrift/turbulence/eddy_sums.h"

#include "spindrift/base/scratch.h"
#include "spindrift/turbulence/params.h"

namespace spindrift {

namespace {

constexpr Row kSteps = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr int kRows = 4; // rows summed together: as many as fit into registers

// Tabulates the waves at the samples of a tile. e^(i k.x) is a product of factors in (x, y) and z, so the sum over
// waves is a small matrix product: 19 million samples per second and core with three octaves.
struct WaveTables {
    static constexpr int kParts = 2 * kTileSize; // real and imaginary parts of eight waves
    alignas(64) float xy[kTileSize][kTileSize][kParts];
    Row z[kParts][3]; // times polarization
    float inverse_curl[Waves::kGroups];

    void fill(const Waves& waves, const Vec3f& center, const SampleGrid& grid)
    {
        for (int g = 0; g < Waves::kGroups; ++g) inverse_curl[g] = waves.inverse_curl[g * Waves::kInGroup];
        fill_xy(waves, center, grid);
        const Row along = kSteps * grid.voxel + (grid.first.z() - center.z()), share = averaged(waves, grid);
        for (int w = 0; w < kTileSize; ++w) {
            const Phasor p = phasor(waves.turns.z[w] * along + waves.phase[w]);
            const Row c = share[w] * p.cos, s = share[w] * p.sin;
            const auto polarize = [&](int axis, float one, float two) { // one cos(xy + z) + two sin(xy + z)
                z[w][axis] = one * c + two * s;
                z[w + kTileSize][axis] = two * c - one * s;
            };
            polarize(0, waves.a1.x[w], waves.a2.x[w]);
            polarize(1, waves.a1.y[w], waves.a2.y[w]);
            polarize(2, waves.a1.z[w], waves.a2.z[w]);
        }
    }
    // Sum of a group of waves at rows y to y + 3.
    void sum(int group, int x, int y, Row (&v)[kRows][3]) const
    {
        for (auto& row : v)
            for (Row& component : row) component = splat(0);
        const auto add = [&](int part) {
#pragma GCC unroll 4
            for (int r = 0; r < kRows; ++r) {
                const Row factor = splat(xy[x][y + r][part]);
                v[r][0] = multiply_add(factor, z[part][0], v[r][0]);
                v[r][1] = multiply_add(factor, z[part][1], v[r][1]);
                v[r][2] = multiply_add(factor, z[part][2], v[r][2]);
            }
        };
        const int first = group * Waves::kInGroup;
        for (int w = first; w < first + Waves::kInGroup; ++w) add(w), add(w + kTileSize);
    }

  private:
    void fill_xy(const Waves& waves, const Vec3f& center, const SampleGrid& grid)
    {
        const auto along = [&](Row turns, float from, Phasor(&at)[kTileSize]) {
            const Phasor step = phasor(grid.voxel * turns);
            at[0] = phasor(from * turns);
            for (int i = 1; i < kTileSize; ++i) at[i] = at[i - 1] * step;
        };
        Phasor at_x[kTileSize], at_y[kTileSize];
        along(waves.turns.x, grid.first.x() - center.x(), at_x);
        along(waves.turns.y, grid.first.y() - center.y(), at_y);
        for (int x = 0; x < kTileSize; ++x)
            for (int y = 0; y < kTileSize; ++y) {
                const Phasor p = at_x[x] * at_y[y];
                store_row(xy[x][y], p.cos), store_row(xy[x][y] + kTileSize, p.sin);
            }
    }
    // Attenuation of each wave by averaging over a voxel.
    static Row averaged(const Waves& waves, const SampleGrid& grid)
    {
        if (grid.averaged_along < 0) return splat(1);
        const Row turns[3] = {waves.turns.x, waves.turns.y, waves.turns.z};
        const Row half = static_cast<float>(kPi) * grid.voxel * turns[grid.averaged_along];
        Row share;
        for (int w = 0; w < kTileSize; ++w) share[w] = std::abs(half[w]) > 1e-3f ? std::sin(half[w]) / half[w] : 1;
        return share;
    }
};

// Adds the sum of a group of waves to the velocity, and its inverse curl to the vector potential.
inline void add_group(const Row (&sum)[kRows][3], float inverse_curl, Row (&velocity)[kRows][3],
                      Row (&vector)[kRows][3])
{
    for (int r = 0; r < kRows; ++r)
        for (int a = 0; a < 3; ++a) {
            velocity[r][a] += sum[r][a];
            vector[r][a] = multiply_add(splat(inverse_curl), sum[r][a], vector[r][a]);
        }
}

} // namespace

void EddySums::add(const Eddy& eddy, std::span<const Waves> octaves, const SampleGrid& grid)
{
    auto& tables = thread_scratch<WaveTables[TurbulenceParams::kMaxOctaves]>();
    size_t count = 0; // of octaves with energy
    for (const Waves& waves : octaves)
        if (!waves.silent) tables[count++].fill(waves, eddy.center, grid);

    const float inverse_reach2 = 1 / (eddy.reach * eddy.reach);
    const Vec3f from = grid.first - eddy.center;
    const Row dz = kSteps * grid.voxel + from.z();
    for (int x = 0; x < kTileSize; ++x) {
        const float dx = from.x() + static_cast<float>(x) * grid.voxel;
        for (int y = 0; y < kTileSize; y += kRows) {
            // 1 - r^2 / reach^2.
            Row falloff[kRows], any = splat(0);
            float dy[kRows];
            for (int r = 0; r < kRows; ++r) {
                dy[r] = from.y() + static_cast<float>(y + r) * grid.voxel;
                falloff[r] = max(1 - inverse_reach2 * (dz * dz + (dx * dx + dy[r] * dy[r])), splat(0));
                any += falloff[r];
            }
            if (!(largest(any) > 0)) continue;

            Row velocity[kRows][3], vector[kRows][3]; // vector potential
            for (int r = 0; r < kRows; ++r)
                for (int a = 0; a < 3; ++a) velocity[r][a] = vector[r][a] = splat(0);
            for (size_t t = 0; t < count; ++t)
                for (int g = 0; g < Waves::kGroups; ++g) {
                    Row v[kRows][3];
                    tables[t].sum(g, x, y, v);
                    add_group(v, tables[t].inverse_curl[g], velocity, vector);
                }
            for (int r = 0; r < kRows; ++r) {
                const int o = offset_in_tile(x, y + r, 0);
                const auto add_to = [&](float* sum, Row value) { store_row(sum + o, load_row(sum + o) + value); };
                const Row weight = eddy.presence * falloff[r] * falloff[r];
                const Row factor = (-4 * inverse_reach2 * eddy.presence) * falloff[r];
                const Row3 gradient = {factor * dx, factor * dy[r], factor * dz};
                const Row3 v = {vector[r][0], vector[r][1], vector[r][2]}, turned = cross(gradient, v);
                add_to(curl[0], multiply_add(weight, velocity[r][0], turned.x));
                add_to(curl[1], multiply_add(weight, velocity[r][1], turned.y));
                add_to(curl[2], multiply_add(weight, velocity[r][2], turned.z));
                add_to(potential[0], weight * v.x), add_to(slope[0], weight * gradient.x);
                add_to(potential[1], weight * v.y), add_to(slope[1], weight * gradient.y);
                add_to(potential[2], weight * v.z), add_to(slope[2], weight * gradient.z);
                add_to(square, weight * weight);
            }
        }
    }
}

} // namespace spindrift
