#include "spindrift/liquid/curvature.h"

#include "spindrift/base/scratch.h"
#include "spindrift/liquid/free_surface.h"

namespace spindrift {

namespace {

// The distance comes from particles and is rough at the scale of their spacing. Each pass widens the stencil of
// curvature; more passes remove what damps short waves, and noise grows where particles keep it (FLIP).
constexpr int kPasses = 2;
// How far they move a surface inwards, divided by its curvature [cells]: each is a quarter of the Laplacian.
constexpr float kInwards = 0.25f * kPasses;
// Larger curvatures are not resolved by the grid [1 / cell].
constexpr float kMostCurvature = 1.5f;

// (1, 2, 1) / 4 along each axis.
void smooth_tile(const Block<float, 1>& in, float* out)
{
    alignas(64) float along_z[100 * 8], along_yz[80 * 8];
    for (int xy = 0; xy < 100; ++xy) {
        const float* f = in.data + xy * 10;
        const Row r = load_row_unaligned(f) + 2 * load_row_unaligned(f + 1) + load_row_unaligned(f + 2);
        store_row(along_z + xy * 8, r);
    }
    for (int x = 0; x < 10; ++x)
        for (int y = 0; y < 8; ++y) {
            const float* f = along_z + (x * 10 + y) * 8;
            store_row(along_yz + (x * 8 + y) * 8, load_row(f) + 2 * load_row(f + 8) + load_row(f + 16));
        }
    for (int x = 0; x < 8; ++x)
        for (int y = 0; y < 8; ++y) {
            const float* f = along_yz + (x * 8 + y) * 8;
            store_row(out + offset_in_tile(x, y, 0),
                      (1.0f / 64) * (load_row(f) + 2 * load_row(f + 64) + load_row(f + 128)));
        }
}

// Twice the mean curvature of the surface next to each cell of a row.
Row curvature_next_to(const Block<float, 1>& f, int x, int y)
{
    const auto at = [&](int i, int j, int k) { return load_row_unaligned(&f.at(x + i, y + j, k)); };
    const Row c = at(0, 0, 0);
    const Row fx = 0.5f * (at(1, 0, 0) - at(-1, 0, 0)), fy = 0.5f * (at(0, 1, 0) - at(0, -1, 0)),
              fz = 0.5f * (at(0, 0, 1) - at(0, 0, -1));
    const Row fxx = at(1, 0, 0) + at(-1, 0, 0) - 2 * c, fyy = at(0, 1, 0) + at(0, -1, 0) - 2 * c,
              fzz = at(0, 0, 1) + at(0, 0, -1) - 2 * c;
    const Row fxy = 0.25f * ((at(1, 1, 0) - at(1, -1, 0)) - (at(-1, 1, 0) - at(-1, -1, 0)));
    const Row fxz = 0.25f * ((at(1, 0, 1) - at(1, 0, -1)) - (at(-1, 0, 1) - at(-1, 0, -1)));
    const Row fyz = 0.25f * ((at(0, 1, 1) - at(0, 1, -1)) - (at(0, -1, 1) - at(0, -1, -1)));
    const Row length2 = fx * fx + fy * fy + fz * fz;
    const Row sum = fxx * (fy * fy + fz * fz) + fyy * (fx * fx + fz * fz) + fzz * (fx * fx + fy * fy) -
                    2 * (fx * fy * fxy + fx * fz * fxz + fy * fz * fyz);
    const Row gauss =
        fx * fx * (fyy * fzz - fyz * fyz) + fy * fy * (fxx * fzz - fxz * fxz) + fz * fz * (fxx * fyy - fxy * fxy) +
        2 * (fx * fy * (fxz * fyz - fxy * fzz) + fy * fz * (fxy * fxz - fyz * fxx) + fx * fz * (fxy * fyz - fxz * fyy));
    const Row zero = splat(0), one = splat(1), valid = length2 > splat(1e-8f) ? one : zero;
    const Row inverse2 = inverse_or_zero(valid * length2), inverse = sqrt_row(inverse2);
    const Row both = min(max(sum * inverse2 * inverse, splat(-kMostCurvature)), splat(kMostCurvature));
    // Extrapolate from the isosurface through the cell's centre to the liquid's surface, which is parallel to it.
    // Otherwise a small bump that the smooth distance does not show would meet the lower curvature farther out, and
    // grow.
    const Row half = 0.5f * both, apart = sqrt_row(max(half * half - gauss * inverse2 * inverse2, zero));
    const Row distance = c * inverse - kInwards * both;
    const auto at_surface = [&](Row k) { return k / max(one - distance * k, splat(0.5f)); };
    return min(max(at_surface(half + apart) + at_surface(half - apart), splat(-kMostCurvature)), splat(kMostCurvature));
}

// The offset of the centre of mass of the kernel of free_surface.h, if a wall cuts it off at a distance [cells]: of a
// ball in which a disc at height h has the mass (1 - h^2)^4.
float seen_farther_out(float wall)
{
    const float d = std::min(wall / kSurfaceBand, 1.0f), e = 1 - d * d;
    const auto mass_below = [](float h) { // relative to the centre
        const float q = h * h;
        return h * (1 + q * (-4.0f / 3 + q * (6.0f / 5 + q * (-4.0f / 7 + q / 9))));
    };
    return kSurfaceBand * 0.1f * e * e * e * e * e / (mass_below(1) + mass_below(d));
}

// The surface meets walls at the contact angle: along a wall's normal the distance changes by the angle's cosine. Cells
// in front of a wall see only liquid farther out, and have the distance there. In solids the distance is that of the
// mirrored position, continued by the cosine: second-order accurate, for flat and for curved surfaces.
void continue_into_solids(const SolidCells& solids, float cosine, const Field<float>& phi, Field<float>& out)
{
    constexpr float kDepth = 4, kFarAway = 10; // [cells]: as deep as smoothing reaches; and where no wall is known
    const Topology& topology = phi.topology();
    const auto wall_distance = [&](const Vec3i& cell) {
        const SolidTile* solid = solids.tile(topology.find(tile_of_cell(cell)));
        return solid ? solid->distance[offset_of_cell(cell)] : kFarAway;
    };
    const auto value = [&](const Vec3i& cell, float wall) {
        const float distance = phi.at(cell);
        return std::abs(distance) < kSurfaceBand ? distance - cosine * seen_farther_out(wall) : distance;
    };
    struct Seen {
        float distance = 0, wall = 0, weights = 0;
    };
    const auto in_front_of_walls = [&](const Vec3f& place) {
        const Vec3i low = cell_of(place, 1);
        const Vec3f share = place - low.cast<float>();
        Seen seen;
        for (int corner = 0; corner < 8; ++corner) {
            const Vec3i step(corner >> 2, corner >> 1 & 1, corner & 1);
            float weight = 1;
            for (int a = 0; a < 3; ++a) weight *= step[a] ? share[a] : 1 - share[a];
            const float wall = weight > 0 ? wall_distance(low + step) : -1;
            if (wall < 0) continue;
            seen.distance += weight * value(low + step, wall);
            seen.wall += weight * wall, seen.weights += weight;
        }
        return seen;
    };
    const std::vector<int>& near = solids.near();
    parallel_for(near.size(), [&](size_t k) {
        const int tile = near[k];
        auto& walls = thread_scratch<Block<float, 1>>();
        solids.gather_distances(topology, tile, walls);
        const Vec3i first = topology.first_cell(tile);
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i in_tile = cell_in_tile(c), cell = first + in_tile;
            const auto wall_at = [&](const Vec3i& step) {
                const Vec3i at = in_tile + step;
                return walls.at(at.x(), at.y(), at.z());
            };
            const float wall = wall_at(Vec3i::Zero());
            if (wall >= 0) {
                out.tile(tile)[c] = value(cell, wall);
                continue;
            }
            if (wall < -kDepth) continue;
            Vec3f normal;
            for (int a = 0; a < 3; ++a) normal[a] = wall_at(Vec3i::Unit(a)) - wall_at(-Vec3i::Unit(a));
            normal.stableNormalize();
            // Beyond the band the distance is unknown: use the next position towards the wall that has one.
            for (float height = -wall; height > 0; height -= 1) {
                const Seen seen = in_front_of_walls(cell.cast<float>() + (height - wall) * normal);
                if (!(seen.weights > 0)) continue;
                const float distance = seen.distance / seen.weights, way = seen.wall / seen.weights - wall;
                out.tile(tile)[c] = std::clamp(distance - way * cosine, -kSurfaceBand, kSurfaceBand);
                if (std::abs(distance) < kSurfaceBand) break;
            }
        }
    });
}

} // namespace

void Curvature::measure(const Field<float>& phi, const SolidCells& solids, float contact_angle)
{
    const Topology& topology = phi.topology();
    smooth_.copy_from(phi);
    continue_into_solids(solids, std::cos(contact_angle), phi, smooth_);
    for (int pass = 0; pass < kPasses; ++pass) {
        scratch_.reset_uninitialized(topology, kSurfaceBand);
        for_each_tile(topology, [&](int tile) {
            auto& block = thread_scratch<Block<float, 1>>();
            block.gather(smooth_, tile, Margin::nearest);
            smooth_tile(block, scratch_.tile(tile));
        });
        std::swap(smooth_, scratch_);
    }
    curvature_.reset(topology, 0);
    for_each_tile(topology, [&](int tile) {
        bool near = false;
        const float* distance = phi.tile(tile);
        for (int c = 0; c < kTileCells; ++c) near |= std::abs(distance[c]) < kSurfaceBand;
        if (!near) return;
        auto& block = thread_scratch<Block<float, 1>>();
        block.gather(smooth_, tile, Margin::nearest);
        for_each_row(
            [&](int x, int y, int o) { store_row(curvature_.tile(tile) + o, curvature_next_to(block, x, y)); });
    });
}

} // namespace spindrift
