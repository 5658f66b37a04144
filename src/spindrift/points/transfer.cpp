#include "spindrift/points/transfer.h"

#include "spindrift/base/scratch.h"
#include "spindrift/points/splat.h"

namespace spindrift {

namespace {

// Sums of weighted velocities and of weights around one tile, per component.
struct VelocitySums {
    SplatBlock sum[3], weight[3];

    void clear()
    {
        for (int a = 0; a < 3; ++a) sum[a].clear(), weight[a].clear();
    }
};

// Trilinear weights of a particle along one axis: `tent` for samples at the centres of the cells below, at and above
// its own, `face` for samples at the lower and upper face of its cell. f is the position within the cell, 0 to 1.
struct AxisWeights {
    float tent[3], face[2];
    explicit AxisWeights(float f)
        : tent{std::max(0.0f, 0.5f - f), 1 - std::abs(f - 0.5f), std::max(0.0f, f - 0.5f)}, face{1 - f, f}
    {
    }
};

// Adds the particles [begin, end), all in the cell (cx, cy, cz) of the tile, to one component of the block.
template <int Axis, bool Affine> void splat_cell(const Vec3f* P, const Vec3f* v, const Vec3f* affine, size_t begin,
                                                 size_t end, const Vec3f& corner, float inverse_voxel, float voxel,
                                                 int cx, int cy, int cz, VelocitySums& block)
{
    constexpr int nx = Axis == 0 ? 2 : 3, ny = Axis == 1 ? 2 : 3;
    constexpr int x0 = Axis == 0 ? 0 : -1, y0 = Axis == 1 ? 0 : -1, z0 = Axis == 2 ? 0 : -1;
    Row total[nx * ny] = {}; // low half: weighted velocities of four samples along z; high half: their weights
    for (size_t i = begin; i < end; ++i) {
        const Vec3f f = P[i] * inverse_voxel - corner;
        const AxisWeights wx(f.x()), wy(f.y()), wz(f.z());
        const float u = v[i][Axis];
        Quad along_z;
        if constexpr (Axis == 2)
            along_z = Quad{wz.face[0], wz.face[1], 0, 0};
        else
            along_z = Quad{wz.tent[0], wz.tent[1], wz.tent[2], 0};
        Quad slope_z = {};
        if constexpr (Affine) {
            // The affine velocity at a sample is u + c . (x_sample - x_particle).
            constexpr float first_z = Axis == 2 ? 0.0f : -0.5f;
            const float dz = first_z - f.z();
            slope_z = along_z * (affine[i].z() * voxel) * Quad{dz, dz + 1, dz + 2, 0};
        }
        const Row plain = __builtin_shufflevector(along_z * u, along_z, 0, 1, 2, 3, 4, 5, 6, 7);
        for (int a = 0; a < nx; ++a)
            for (int b = 0; b < ny; ++b) {
                const float w = (Axis == 0 ? wx.face[a] : wx.tent[a]) * (Axis == 1 ? wy.face[b] : wy.tent[b]);
                if constexpr (Affine) {
                    const float dx = static_cast<float>(a) + (Axis == 0 ? 0.0f : -0.5f) - f.x();
                    const float dy = static_cast<float>(b) + (Axis == 1 ? 0.0f : -0.5f) - f.y();
                    const float extra = voxel * (affine[i].x() * dx + affine[i].y() * dy);
                    const Quad sloped = along_z * extra + slope_z;
                    total[a * ny + b] += w * (plain + __builtin_shufflevector(sloped, Quad{}, 0, 1, 2, 3, 4, 5, 6, 7));
                } else
                    total[a * ny + b] += w * plain;
            }
    }
    for (int a = 0; a < nx; ++a)
        for (int b = 0; b < ny; ++b) {
            const Row t = total[a * ny + b];
            const int at = SplatBlock::index(cx + x0 + a, cy + y0 + b, cz + z0);
            float *sum = block.sum[Axis].values + at, *weight = block.weight[Axis].values + at;
            store_quad(sum, load_quad(sum) + __builtin_shufflevector(t, t, 0, 1, 2, 3));
            store_quad(weight, load_quad(weight) + __builtin_shufflevector(t, t, 4, 5, 6, 7));
        }
}

// True if all particles of a cell see all faces around it.
bool sees_everything(const Sight& sight, int tile, int cell)
{
    return sight.clearance(tile, cell) > 0 && sight.faces_from_center(tile, cell) == kAllFaces;
}

// Visible faces of one component around a particle next to a sheet, with their weights.
struct SeenFaces {
    struct Face {
        Vec3i step; // from the particle's cell to the face's cell
        float weight;
        Vec3f way; // from the particle to the face [cells]
    };
    Face face[8];
    int count = 0;
    float weights = 0; // sum of the weights

    // `f` is the position within the cell, 0 to 1.
    SeenFaces(const Vec3f& f, int axis, FaceMask seen)
    {
        Vec3f among = f - Vec3f::Constant(0.5f);
        among[axis] += 0.5f;
        const Vec3i first(floor_int(among.x()), floor_int(among.y()), floor_int(among.z()));
        const Vec3f share = among - first.cast<float>();
        for (int k = 0; k < 8; ++k) {
            const Vec3i up(k >> 2, k >> 1 & 1, k & 1), step = first + up;
            if (!in_face_mask(axis, step) || !(seen >> face_bit(axis, step) & 1)) continue;
            float w = 1;
            for (int b = 0; b < 3; ++b) w *= up[b] ? share[b] : 1 - share[b];
            face[count++] = {step, w, up.cast<float>() - share};
            weights += w;
        }
    }
};

// Like splat_cell(), for particles next to a sheet.
void splat_seen(const Particles& particles, const Vec3f* const affine[3], size_t begin, size_t end, const Sight& sight,
                int tile, int cell, const Vec3f& corner, float voxel, VelocitySums& block)
{
    const Vec3i at = cell_in_tile(cell);
    for (size_t i = begin; i < end; ++i) {
        const Vec3f f = particles.P[i] / voxel - corner;
        const FaceMask seen = sight.faces(tile, cell, particles.P[i]);
        for (int a = 0; a < 3; ++a) {
            const SeenFaces faces(f, a, seen);
            for (int k = 0; k < faces.count; ++k) {
                const auto& [step, w, way] = faces.face[k];
                const int to = SplatBlock::index(at.x() + step.x(), at.y() + step.y(), at.z() + step.z());
                const float u = particles.v[i][a] + (affine[a] ? voxel * affine[a][i].dot(way) : 0.0f);
                block.sum[a].values[to] += w * u, block.weight[a].values[to] += w;
            }
        }
    }
}

template <bool Affine> void splat_tile(const Particles& particles, const Vec3f* const affine[3],
                                       const ParticleIndex& index, const Topology& topology, float voxel, int tile,
                                       const Sight* sight, VelocitySums& block)
{
    block.clear();
    const float inverse_voxel = 1 / voxel;
    const Vec3f first = topology.first_cell(tile).cast<float>();
    const Vec3f *P = particles.P.data(), *v = particles.v.data();
    for (int c = 0; c < kTileCells; ++c) {
        const size_t begin = index.cell_begin(tile, c), end = index.cell_end(tile, c);
        if (begin == end) continue;
        const Vec3i cell = cell_in_tile(c);
        const Vec3f corner = first + cell.cast<float>();
        if (sight && !sees_everything(*sight, tile, c)) {
            splat_seen(particles, affine, begin, end, *sight, tile, c, corner, voxel, block);
            continue;
        }
        const int x = cell.x(), y = cell.y(), z = cell.z();
        splat_cell<0, Affine>(P, v, affine[0], begin, end, corner, inverse_voxel, voxel, x, y, z, block);
        splat_cell<1, Affine>(P, v, affine[1], begin, end, corner, inverse_voxel, voxel, x, y, z, block);
        splat_cell<2, Affine>(P, v, affine[2], begin, end, corner, inverse_voxel, voxel, x, y, z, block);
    }
}

} // namespace

void to_grid(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
             Transfer transfer, MacField& velocity, MacField& weight, const Sight* sight)
{
    velocity.reset(topology, 0), weight.reset(topology, 0);
    const Vec3f* affine[3] = {};
    if (transfer == Transfer::apic)
        for (int a = 0; a < 3; ++a) affine[a] = particles.find<Vec3f>(kAffine[a])->data();
    for_each_tile_by_colour(index, topology, [&](int tile) {
        auto& block = thread_scratch<VelocitySums>();
        const Sight* here = sight && sight->blocked(tile) ? sight : nullptr;
        if (transfer == Transfer::apic)
            splat_tile<true>(particles, affine, index, topology, voxel, tile, here, block);
        else
            splat_tile<false>(particles, affine, index, topology, voxel, tile, here, block);
        for (int a = 0; a < 3; ++a) block.sum[a].add_to(velocity.u[a], tile), block.weight[a].add_to(weight.u[a], tile);
    });
    for_each_tile(topology, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            float* u = velocity.u[a].tile(tile);
            const float* w = weight.u[a].tile(tile);
            for_each_row(
                [&](int, int, int o) { store_row(u + o, load_row(u + o) * inverse_or_zero(load_row(w + o))); });
        }
    });
}

namespace {

// Like to_particles(), for a particle next to a sheet with velocity `v`; keeps `v` if no face is visible. The FLIP
// fraction falls with the visible weight, because velocity on occluded faces cannot be corrected.
Vec3f velocity_in_sight(const MacField& velocity, const MacField& before, Transfer transfer, float flip,
                        const Sight& sight, float voxel, const Vec3f& x, const Vec3f& v)
{
    const auto now = sample_seen(velocity, sight, voxel, x);
    if (!now) return v;
    if (transfer != Transfer::flip) return now->u;
    const auto then = sample_seen(before, sight, voxel, x);
    return now->u + now->share * flip * (v - then->u);
}

} // namespace

void to_particles(const MacField& velocity, const MacField& before, Transfer transfer, float flip,
                  const ParticleIndex& index, float voxel, Particles& particles, const Sight* sight)
{
    const Topology& topology = velocity.u[0].topology();
    const float inverse_voxel = 1 / voxel;
    Vec3f* affine[3] = {};
    if (transfer == Transfer::apic)
        for (int a = 0; a < 3; ++a) affine[a] = particles.attribute<Vec3f>(kAffine[a]).data();
    for_each_tile(topology, [&](int tile) {
        if (index.tile_empty(tile)) return;
        auto& now = thread_scratch<MacBlock<1>>();
        auto& then = thread_scratch<MacBlock<1>>();
        now.gather(velocity, tile, Margin::nearest);
        if (transfer == Transfer::flip) { // (2.20): u + flip (v - u before); subtract the grid part before sampling
            then.gather(before, tile, Margin::nearest);
            for (int a = 0; a < 3; ++a) now.u[a].subtract(flip, then.u[a]);
        }
        const Vec3f first = topology.first_cell(tile).cast<float>();
        const bool blocked = sight && sight->blocked(tile);
        std::vector<Vec3f> old;
        if (blocked)
            old.assign(particles.v.begin() + static_cast<long>(index.tile_begin(tile)),
                       particles.v.begin() + static_cast<long>(index.tile_end(tile)));
        for_each_eight(index, tile, [&](size_t begin, size_t count) {
            const MacBlock<1>::Places places(places_in_tile(&particles.P[begin], count, inverse_voxel, first));
            Row u[3];
            for (int a = 0; a < 3; ++a) {
                const auto place = places.of(a);
                const MacBlock<1>::Corners corners(now, a, place);
                u[a] = corners.value(place);
                if (transfer == Transfer::apic)
                    store_row3(affine[a] + begin, inverse_voxel * corners.gradient(place), count);
            }
            Row3 v{u[0], u[1], u[2]};
            if (transfer == Transfer::flip) v = v + flip * load_row3(&particles.v[begin], count);
            store_row3(&particles.v[begin], v, count);
        });
        if (!blocked) return;
        for (int c = 0; c < kTileCells; ++c) {
            const size_t begin = index.cell_begin(tile, c), end = index.cell_end(tile, c);
            if (begin == end || sees_everything(*sight, tile, c)) continue;
            for (size_t i = begin; i < end; ++i) {
                const Vec3f& v = old[i - index.tile_begin(tile)];
                particles.v[i] = velocity_in_sight(velocity, before, transfer, flip, *sight, voxel, particles.P[i], v);
                if (transfer == Transfer::apic) // no gradient across a wall
                    for (Vec3f* gradient : affine) gradient[i] = Vec3f::Zero();
            }
        }
    });
}

namespace {

// Like advect(), for a particle next to a sheet: no stage samples around or behind the sheet.
Vec3f advected_in_sight(const MacField& velocity, const Sight& sight, float voxel, float dt, int order, const Vec3f& x,
                        const Vec3f& v)
{
    const auto look = [&](const Vec3f& way, const Vec3f& otherwise) {
        if (sight.parted(x, x + way)) return otherwise;
        const auto seen = sample_seen(velocity, sight, voxel, x + way);
        return seen ? seen->u : otherwise;
    };
    const Vec3f k1 = look(Vec3f::Zero(), v);
    const Vec3f k2 = look(0.5f * dt * k1, k1);
    if (order != 3) return x + dt * k2;
    const Vec3f k3 = look(0.75f * dt * k2, k2);
    return x + dt * (2.0f / 9 * k1 + 3.0f / 9 * k2 + 4.0f / 9 * k3);
}

} // namespace

void advect(Particles& particles, const ParticleIndex& index, const MacField& velocity, float voxel, float dt,
            int order, const Sight* sight)
{
    const Topology& topology = velocity.u[0].topology();
    const float inverse_voxel = 1 / voxel, step = dt * inverse_voxel;
    // The last stage of RK3 samples three quarters of the displacement ahead.
    constexpr int kMargin = 5;
    constexpr float kReach = kMargin - 1.01f;
    for_each_tile(topology, [&](int tile) {
        if (index.tile_empty(tile)) return;
        auto& block = thread_scratch<MacBlock<kMargin>>();
        block.gather(velocity, tile, Margin::nearest);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        const auto look = [&](const Row3& x) { return block.sample(clamp(x, -kReach, kTileSize + kReach)); };
        const bool blocked = sight && sight->blocked(tile);
        for_each_eight(index, tile, [&](size_t begin, size_t count) {
            Vec3f* P = &particles.P[begin];
            Vec3f from[kTileSize];
            if (blocked) std::copy_n(P, count, from);
            const Row3 x = places_in_tile(P, count, inverse_voxel, first);
            const Row3 k1 = block.sample(x), k2 = look(x + 0.5f * step * k1);
            Row3 moved = dt * k2;
            if (order == 3) { // [Ralston 1962]
                const Row3 k3 = look(x + 0.75f * step * k2);
                moved = dt * (2.0f / 9 * k1 + 3.0f / 9 * k2 + 4.0f / 9 * k3);
            }
            store_row3(P, load_row3(P, count) + moved, count);
            for (size_t i = 0; blocked && i < count; ++i) {
                const int cell = offset_of_cell(cell_of(from[i], inverse_voxel));
                constexpr float kKernel = 1; // half-width of the interpolation stencil, in cells
                const float way = (P[i] - from[i]).norm() * inverse_voxel;
                if (sight->clearance(tile, cell) > way + kKernel) continue;
                P[i] = advected_in_sight(velocity, *sight, voxel, dt, order, from[i], particles.v[begin + i]);
            }
        });
    });
}

} // namespace spindrift
