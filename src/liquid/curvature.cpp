#include "liquid/curvature.h"

#include "liquid/free_surface.h"

namespace spindrift {

namespace {

// The distance comes from particles and is rough on the scale of their spacing. Each pass widens what curvature is
// measured over; more passes take away what holds short waves down, and noise grows where particles keep it (FLIP).
constexpr int kPasses = 2;
// How far they move a surface inwards, times its curvature [cells]: each is a quarter of the Laplacian.
constexpr float kInwards = 0.25f * kPasses;
// A surface more curved than this is beyond the grid [1 / cell].
constexpr float kMost = 1.5f;

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
    const Row both = min(max(sum * inverse2 * inverse, splat(-kMost)), splat(kMost));
    // From the surface through the cell's centre to the liquid's, which is parallel to it. Without this a small bump,
    // which the smooth distance does not show, would meet the lower curvature farther out, and grow.
    const Row half = 0.5f * both, apart = sqrt_row(max(half * half - gauss * inverse2 * inverse2, zero));
    const Row distance = c * inverse - kInwards * both;
    const auto at_surface = [&](Row k) { return k / max(one - distance * k, splat(0.5f)); };
    return min(max(at_surface(half + apart) + at_surface(half - apart), splat(-kMost)), splat(kMost));
}

// In solids the distance takes on what it is farther out, so that the surface goes on at the contact angle: along the
// solid's normal it changes by the angle's cosine. Layer by layer, as deep as smoothing reaches.
void continue_into_solids(const SolidCells& solids, float cosine, Field<float>& phi, Field<float>& scratch)
{
    constexpr int kLayers = 4;
    const Topology& topology = phi.topology();
    const std::vector<int>& near = solids.near();
    if (near.empty()) return;
    scratch.reset_uninitialized(topology, kSurfaceBand);
    for (int layer = 0; layer < kLayers; ++layer) {
        parallel_for(near.size(), [&](size_t k) {
            thread_local Block<float, 1> kept_value, kept_depth;
            auto &value = kept_value, &distance = kept_depth;
            value.gather(phi, near[k]);
            solids.gather_distances(topology, near[k], distance);
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3i cell = cell_in_tile(c);
                const int at = Block<float, 1>::index(cell.x(), cell.y(), cell.z());
                scratch.tile(near[k])[c] = value.data[at];
                const float d = distance.data[at];
                if (d >= -static_cast<float>(layer) || d < -static_cast<float>(layer + 1)) continue;
                float sum = 0, weights = 0;
                for (const int step : {1, 10, 100})
                    for (const int other : {at - step, at + step}) {
                        const float nearer = distance.data[other] - d;
                        if (!(nearer > 0)) continue;
                        sum += nearer * nearer * (value.data[other] - nearer * cosine), weights += nearer * nearer;
                    }
                if (weights > 0) scratch.tile(near[k])[c] = std::clamp(sum / weights, -kSurfaceBand, kSurfaceBand);
            }
        });
        parallel_for(near.size(), [&](size_t k) {
            std::memcpy(phi.tile(near[k]), scratch.tile(near[k]), sizeof(float) * kTileCells);
        });
    }
}

} // namespace

void Curvature::measure(const Field<float>& phi, const SolidCells& solids, float contact_angle)
{
    const Topology& topology = phi.topology();
    smooth_.copy_from(phi);
    continue_into_solids(solids, std::cos(contact_angle), smooth_, scratch_);
    for (int pass = 0; pass < kPasses; ++pass) {
        scratch_.reset_uninitialized(topology, kSurfaceBand);
        for_each_tile(topology, [&](int tile) {
            thread_local Block<float, 1> kept;
            auto& block = kept;
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
        thread_local Block<float, 1> kept;
        auto& block = kept;
        block.gather(smooth_, tile, Margin::nearest);
        for_each_row(
            [&](int x, int y, int o) { store_row(curvature_.tile(tile) + o, curvature_next_to(block, x, y)); });
    });
}

} // namespace spindrift
