#include "spindrift/surface/particle_distance.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/row.h"
#include "spindrift/surface/interior.h"
#include "spindrift/surface/neighbourhood.h"
#include "spindrift/surface/thin_walls.h"

#include <Eigen/Eigenvalues>

namespace spindrift {

namespace {

// The integral of the kernel (1 - r^2)^3 over the unit ball.
constexpr float kKernelVolume = static_cast<float>(4 * kPi * 16 / 315);

// A half-space filled with particles as seen by a sample at distance d from its surface (in radii, positive outside):
// the offset of the weighted centre, tabulated as d over the offset, and the fullness over d.
class HalfSpace {
  public:
    HalfSpace()
    {
        // Weight and moment beyond each height h: a disc there has weight pi * integral of (1 - h^2 - q)^3 dq over the
        // squared disc radius q = pi (1 - h^2)^4 / 4.
        constexpr int kSteps = 64 * kEntries;
        double weight = 0, moment = 0, last_offset = 1, last_d = 1;
        int k = kEntries;
        for (int i = 0; i < kSteps; ++i) {
            const double h = 1 - (i + 0.5) * 2.0 / kSteps, d = h - 1.0 / kSteps, disc = std::pow(1 - h * h, 4);
            weight += disc, moment += h * disc;
            const double offset = moment / weight; // falls from 1 to 0
            for (; k >= 0 && offset <= static_cast<double>(k) / kEntries; --k) {
                const double t = (last_offset - static_cast<double>(k) / kEntries) / (last_offset - offset);
                distance_[k] = static_cast<float>(last_d + t * (d - last_d));
            }
            last_offset = offset, last_d = d;
            if ((i + 1) % 64 == 0)
                fullness_[kEntries - (i + 1) / 64] = static_cast<float>(weight / kSteps * 2 * 315 / 256);
        }
        for (; k >= 0; --k) distance_[k] = -1;
    }
    float distance(float offset) const { return look_up(distance_, offset); }
    float fullness(float distance) const { return look_up(fullness_, 0.5f + 0.5f * distance); }

  private:
    static constexpr int kEntries = 512;
    using Table = std::array<float, kEntries + 1>;
    static float look_up(const Table& table, float at)
    {
        const float t = clamp01(at) * kEntries;
        const int k = std::min(static_cast<int>(t), kEntries - 1);
        return mix(table[k], table[k + 1], t - static_cast<float>(k));
    }
    Table distance_{}, fullness_{};
};

const HalfSpace& half_space()
{
    static const HalfSpace tables;
    return tables;
}

// Thickness below which a particle is alone, and above which it is not.
constexpr float kLone = 0.35f, kCrowd = 0.5f;
// A sample farther than this from every particle, in spacings, is outside; and the slope of that transition. The lower
// bound holds between two parts of the liquid, where fewer particles are near than inside; the upper where there are as
// many as inside, and a gap is only unevenness.
constexpr float kFarthestThin = 1.2f, kFarthestThick = 1.7f, kSteepness = 3;
// Uneven particles also shift the centre sideways, which makes it look farther away: the mean error, in spacings.
constexpr float kUnevenness = 0.06f;

// Up to how far from its surface liquid touches a thin wall, in spacings.
constexpr float kTouch = 0.7f;
constexpr float kHalfDiagonal = 0.87f * kTileSize; // of a tile

// rbar in radii of influence where xbar is corrected: places the surface of a flat bed correctly.
constexpr float kCorrectedRadius = 0.26f;

// Sums over the particles around the eight samples of a row.
struct RowSums {
    Row mass = {}, moment_x = {}, moment_y = {}, moment_z = {};
    Row nearest2 = splat(1e30f); // squared distance of the nearest particle
    // For the gradient of the centre: sums of t^2 d and t^2 d d^T, with t = 1 - (|d| / R)^2 and w = t^3.
    Row first[3] = {}, second[6] = {};

    // hide(i, r2) moves particle i out of range of the samples that do not see it.
    template <bool kGradient, class Hide>
    void add(const Neighbourhood& around, float x, float y, float radius, const Hide& hide)
    {
        const float *px = around.position(0), *py = around.position(1), *pz = around.position(2);
        const float radius2 = radius * radius;
        const Row inverse_radius2 = splat(1 / radius2);
        const Row z = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f};
        around.for_each_span(x, y, radius, [&](Neighbourhood::Span span) {
            for (size_t i = span.begin; i < span.end; ++i) {
                const float dx = px[i] - x, dy = py[i] - y, q = dx * dx + dy * dy;
                if (q >= radius2) continue;
                const Row dz = splat(pz[i]) - z;
                Row r2 = splat(q) + dz * dz;
                hide(i, r2);
                const Row t = max(splat(1) - r2 * inverse_radius2, splat(0));
                const Row w = t * t * t; // (4.5)
                mass += w;
                moment_x += w * dx, moment_y += w * dy, moment_z += w * dz;
                nearest2 = min(nearest2, r2);
                if constexpr (kGradient) {
                    const Row t2 = t * t, tx = t2 * dx, ty = t2 * dy, tz = t2 * dz;
                    first[0] += tx, first[1] += ty, first[2] += tz;
                    second[0] += tx * dx, second[1] += tx * dy, second[2] += tx * dz;
                    second[3] += ty * dy, second[4] += ty * dz, second[5] += tz * dz;
                }
            }
        });
    }
};

// f of [Solenthaler 2008] at sample k; `offset` is xbar - x.
float correction(const RowSums& sums, int k, const Vec3f& offset, float radius)
{
    // The gradient of xbar is the sum of (x_i - xbar) (grad w_i)^T over the mass, with grad w_i = 6 t^2 d_i / R^2. It
    // is nearly symmetric, since its second part is the product of two nearly parallel vectors.
    const auto s = [&](int i) { return sums.second[i][k]; };
    Mat3f gradient;
    gradient << s(0), s(1), s(2), s(1), s(3), s(4), s(2), s(4), s(5);
    const Vec3f first(sums.first[0][k], sums.first[1][k], sums.first[2][k]);
    gradient -= 0.5f * (offset * first.transpose() + first * offset.transpose());
    Eigen::SelfAdjointEigenSolver<Mat3f> solver;
    solver.computeDirect(gradient * (6 / (radius * radius * sums.mass[k])), Eigen::EigenvaluesOnly);
    constexpr float kLow = 0.4f, kHigh = 2.0f; // not tuned; they depend on the kernel
    const float largest = solver.eigenvalues()[2];
    if (largest < kLow) return 1;
    const float g = (kHigh - largest) / (kHigh - kLow);
    return g * g * g - 3 * g * g + 3 * g;
}

inline float smoothstep(float from, float to, float x)
{
    const float t = clamp01((x - from) / (to - from));
    return t * t * (3 - 2 * t);
}

// What the weighted centre implies about a position.
struct Reading {
    float offset;    // of the centre [cells]
    float flat;      // distance from a flat surface that would give this offset [cells]
    float thickness; // see measure_distance()
    float lone;      // 1 in a drop, 0 in a larger body

    Reading(float centre_offset, float mass, const SurfaceScale& scale) : offset(centre_offset)
    {
        const float distance = half_space().distance(offset / scale.radius), ratio = scale.radius / scale.spacing;
        const float fullness = mass / (kKernelVolume * ratio * ratio * ratio);
        flat = distance * scale.radius;
        thickness = fullness / std::max(half_space().fullness(distance), 1e-3f);
        lone = 1 - smoothstep(kLone, kCrowd, thickness);
    }
};

// The distance [cells] and thickness at sample k of a row.
float distance_of(const RowSums& sums, int k, const SurfaceScale& scale, float& thickness)
{
    const float mass = sums.mass[k];
    thickness = 0;
    if (!(mass > 1e-6f)) return scale.band;
    const Vec3f moment(sums.moment_x[k], sums.moment_y[k], sums.moment_z[k]);
    const Reading reading(moment.norm() / mass, mass, scale);
    thickness = reading.thickness;
    // A lone particle becomes a drop, (4.1).
    if (scale.corrected) {
        const float f = correction(sums, k, moment / mass, scale.radius);
        return mix(reading.offset - f * kCorrectedRadius * scale.radius, reading.offset - scale.sampled_drop,
                   reading.lone);
    }
    const float phi =
        mix(reading.flat - kUnevenness * scale.spacing, reading.offset - scale.sampled_drop, reading.lone);
    // Between two parts of the liquid the centre may lie next to the sample: require a particle nearby.
    const float farthest = scale.spacing * mix(kFarthestThin, kFarthestThick, smoothstep(0.5f, 0.9f, thickness));
    const float beyond = std::sqrt(sums.nearest2[k]) - std::max(farthest, scale.sampled_drop);
    return std::max(phi, kSteepness * beyond);
}

// The sums of a row of samples at (x, y), in cells from the tile's corner.
template <class Hide>
RowSums sums_of(const Neighbourhood& around, float x, float y, const SurfaceScale& scale, const Hide& hide)
{
    RowSums sums;
    if (scale.corrected)
        sums.add<true>(around, x, y, scale.radius, hide);
    else
        sums.add<false>(around, x, y, scale.radius, hide);
    return sums;
}

void measure_tile(const Neighbourhood& around, const SurfaceScale& scale, const InteriorMask& interior, float* phi,
                  float* thickness)
{
    for_each_row([&](int x, int y, int o) {
        const uint32_t deep = interior.row(x, y);
        RowSums sums;
        const float at_x = static_cast<float>(x) + 0.5f, at_y = static_cast<float>(y) + 0.5f;
        if (deep != 0xff) sums = sums_of(around, at_x, at_y, scale, [](size_t, Row&) {});
        for (int k = 0; k < kTileSize; ++k) {
            if (deep >> k & 1)
                phi[o + k] = -scale.band, thickness[o + k] = 1;
            else
                phi[o + k] = std::clamp(distance_of(sums, k, scale, thickness[o + k]), -scale.band, scale.band);
        }
    });
}

// Measures the samples of a tile that have a wall within the radius again, from visible particles only. What is hidden
// from them is at least as far away as the wall.
void measure_at_walls(const Neighbourhood& around, const SurfaceScale& scale, const ThinWalls& walls,
                      const Vec3i& first_cell, float* phi, float* thickness)
{
    const Vec3f first = first_cell.cast<float>();
    for_each_row([&](int x, int y, int o) {
        Vec3f samples[kTileSize]; // [m]
        Row wall;                 // [cells]
        for (int k = 0; k < kTileSize; ++k) {
            samples[k] = (first + cell_in_tile(o + k).cast<float>() + Vec3f::Constant(0.5f)) * scale.voxel;
            wall[k] = walls.distance(samples[k]) / scale.voxel;
        }
        const Row wall2 = wall * wall, radius2 = splat(scale.radius * scale.radius);
        const auto hide = [&](size_t i, Row& r2) {
            const Vec3f cells(around.position(0)[i], around.position(1)[i], around.position(2)[i]);
            const Vec3f particle = (first + cells) * scale.voxel;
            for (int k = 0; k < kTileSize; ++k)
                if (r2[k] < radius2[k] && r2[k] > wall2[k] && walls.hidden(samples[k], particle)) r2[k] = 1e30f;
        };
        RowSums sums;
        bool any = false;
        for (int k = 0; k < kTileSize; ++k) {
            if (wall2[k] > radius2[k]) continue;
            if (!any) sums = sums_of(around, static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, scale, hide);
            any = true;
            float seen_thickness = 0;
            const float seen = std::clamp(distance_of(sums, k, scale, seen_thickness), -scale.band, scale.band);
            const float hidden = std::clamp(wall[k], phi[o + k], scale.band);
            // Liquid that touches a wall on both sides has no gap there.
            const float share = smoothstep(0, kTouch * scale.spacing, seen);
            if (seen < hidden) thickness[o + k] = mix(thickness[o + k], seen_thickness, share);
            phi[o + k] = mix(phi[o + k], std::min(seen, hidden), share);
        }
    });
}

typedef float UnalignedRow __attribute__((vector_size(32), aligned(4)));
inline Row load_anywhere(const float* p) { return *reinterpret_cast<const UnalignedRow*>(p); }
inline float sum_of(Row r) { return ((r[0] + r[4]) + (r[1] + r[5])) + ((r[2] + r[6]) + (r[3] + r[7])); }

// Weighted sums over the particles around a point, eight at a time.
struct PointSums {
    float mass = 0;
    Vec3f centre = Vec3f::Zero(), velocity = Vec3f::Zero(); // means
    size_t nearest = 0;                                     // index in the neighbourhood, if the mass is positive

    PointSums(const Neighbourhood& around, const Vec3f& x, float radius)
    {
        const float inverse_radius2 = 1 / (radius * radius);
        const RowMask lane = {0, 1, 2, 3, 4, 5, 6, 7};
        Row weight = {}, moment[3] = {}, momentum[3] = {}, most = {};
        RowMask most_at = {};
        around.for_each_span(x.x(), x.y(), radius, [&](Neighbourhood::Span span) {
            for (size_t i = span.begin; i < span.end; i += kTileSize) {
                Row d[3], t = splat(1);
                for (int a = 0; a < 3; ++a) {
                    d[a] = load_anywhere(around.position(a) + i) - x[a];
                    t -= d[a] * d[a] * inverse_radius2;
                }
                const RowMask within = (t > splat(0)) & (lane < static_cast<int>(span.end - i));
                const Row w = within ? t * t * t : splat(0);
                weight += w;
                const RowMask nearer = w > most;
                most = nearer ? w : most;
                most_at = nearer ? lane + static_cast<int>(i) : most_at;
                for (int a = 0; a < 3; ++a)
                    moment[a] += w * d[a], momentum[a] += w * load_anywhere(around.velocity(a) + i);
            }
        });
        mass = sum_of(weight);
        if (!(mass > 1e-6f)) return;
        for (int k = 0, best = 0; k < kTileSize; ++k)
            if (most[k] >= most[best]) best = k, nearest = most_at[k];
        for (int a = 0; a < 3; ++a)
            centre[a] = x[a] + sum_of(moment[a]) / mass, velocity[a] = sum_of(momentum[a]) / mass;
    }
};

} // namespace

void measure_distance(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                      const SurfaceScale& scale, Field<float>& phi, Field<float>& thickness, const ThinWalls* walls)
{
    phi.reset_uninitialized(topology, scale.band);
    thickness.reset_uninitialized(topology, 0);
    const Interior interior(index, topology, scale.spacing);
    for_each_tile(topology, [&](int tile) {
        auto& around = thread_scratch<Neighbourhood>();
        const InteriorMask mask = interior.mask(tile);
        const Vec3i first = topology.first_cell(tile);
        const Vec3f middle = (first.cast<float>() + Vec3f::Constant(0.5f * kTileSize)) * scale.voxel;
        const bool at_walls = walls && walls->near(middle, (scale.radius + kHalfDiagonal) * scale.voxel);
        if (!mask.all() || at_walls) around.gather(particles, index, topology, scale.voxel, tile, scale.reach());
        measure_tile(around, scale, mask, phi.tile(tile), thickness.tile(tile));
        if (at_walls) measure_at_walls(around, scale, *walls, first, phi.tile(tile), thickness.tile(tile));
    });
}

Field<uint32_t> nearest_particles(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                                  const SurfaceScale& scale)
{
    Field<uint32_t> nearest;
    nearest.reset_uninitialized(topology, static_cast<uint32_t>(particles.size()));
    for_each_tile(topology, [&](int tile) {
        auto& around = thread_scratch<Neighbourhood>();
        around.gather(particles, index, topology, scale.voxel, tile, scale.reach());
        around.gather_velocities(particles);
        for (int i = 0; i < kTileCells; ++i) {
            const PointSums sums(around, cell_in_tile(i).cast<float>() + Vec3f::Constant(0.5f), scale.radius);
            nearest.tile(tile)[i] =
                sums.mass > 1e-6f ? around.particle(sums.nearest) : static_cast<uint32_t>(particles.size());
        }
    });
    return nearest;
}

std::vector<uint32_t> settle_vertices(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                                      const SurfaceScale& scale, Contour& contour)
{
    Mesh& mesh = contour.mesh;
    mesh.velocities.resize(mesh.positions.size());
    std::vector<uint32_t> nearest(mesh.positions.size(), static_cast<uint32_t>(particles.size()));
    const float inverse_voxel = 1 / scale.voxel;
    for_each_tile(topology, [&](int tile) {
        const size_t begin = contour.tile_first[tile];
        const size_t end = contour.tile_first[tile + 1];
        if (begin == end) return;
        auto& around = thread_scratch<Neighbourhood>();
        // Vertices may lie up to a cell beyond the tile.
        around.gather(particles, index, topology, scale.voxel, tile, scale.reach() + 1);
        around.gather_velocities(particles);
        const Vec3f corner = topology.first_cell(tile).cast<float>();
        for (size_t v = begin; v < end; ++v) {
            const Vec3f x = mesh.positions[v] * inverse_voxel - corner;
            const PointSums sums(around, x, scale.radius);
            mesh.velocities[v] = sums.velocity;
            if (sums.mass > 1e-6f) nearest[v] = around.particle(sums.nearest);
            const Vec3f out = x - sums.centre;
            const float offset = out.norm();
            if (!(sums.mass > 1e-6f) || offset < 0.1f * scale.drop) continue;
            const float lone = Reading(offset, sums.mass, scale).lone;
            if (lone == 0) continue;
            Vec3f move = lone * (scale.drop / offset - 1) * out;
            for (int a = 0; a < 3; ++a)
                if (contour.kinds[v] >> a & 1) move[a] = 0;
            mesh.positions[v] += scale.voxel * move;
        }
    });
    return nearest;
}

} // namespace spindrift
