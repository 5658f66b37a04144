#include "spindrift/shaped_smoke/containment.h"

#include "spindrift/field/row.h"

namespace spindrift {

namespace {

constexpr float kBand = 4;       // cells on either side with exact distances
constexpr float kOnset = 2;      // cells inside the surface at which the outward velocity begins to vanish
constexpr float kReturnRate = 4; // inward velocity per distance [1/s]

} // namespace

void Containment::find_distances(const Targets& targets, const Topology& topology, float voxel)
{
    distance_.reset_uninitialized(topology, kBand);
    constexpr int kSub = 4; // cells along a block that is tested first
    const float half_diagonal = 0.5f * std::sqrt(3.0f) * kSub;
    const auto distance = [&](const Vec3f& cells) { return targets.distance(voxel * cells) / voxel; };
    for_each_tile(topology, [&](int tile) {
        float* out = distance_.tile(tile);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (int b = 0; b < 8; ++b) {
            const Vec3i corner(b & 4, b << 1 & 4, b << 2 & 4);
            const float coarse = distance(first + corner.cast<float>() + Vec3f::Constant(0.5f * kSub));
            const bool exact = std::abs(coarse) < half_diagonal + kBand;
            for (int c = 0; c < kSub * kSub * kSub; ++c) {
                const Vec3i cell = corner + Vec3i(c >> 4, c >> 2 & 3, c & 3);
                const float d = exact ? distance(first + cell.cast<float>() + Vec3f::Constant(0.5f)) : coarse;
                out[offset_of_cell(cell)] = std::clamp(d, -kBand, kBand);
            }
        }
    });
}

void Containment::apply(const Targets& targets, float voxel, Field<float> (&u)[3])
{
    const Topology& topology = u[0].topology();
    find_distances(targets, topology, voxel);
    for_each_tile(topology, [&](int tile) {
        const TileView d(distance_, tile);
        for_each_row([&](int x, int y, int o) {
            const Row here = d.at(x, y);
            const Row share = min(max((here + kOnset) / kOnset, splat(0)), splat(1));
            Row3 n{d.above_x(x, y) - d.below_x(x, y), d.above_y(x, y) - d.below_y(x, y),
                   d.above_z(x, y) - d.below_z(x, y)};
            const Row length = sqrt_row(n.x * n.x + n.y * n.y + n.z * n.z), inverse = inverse_or_zero(length);
            n = {n.x * inverse, n.y * inverse, n.z * inverse};
            float* at[3] = {u[0].tile(tile) + o, u[1].tile(tile) + o, u[2].tile(tile) + o};
            const Row outward = load_row(at[0]) * n.x + load_row(at[1]) * n.y + load_row(at[2]) * n.z;
            const Row inward = kReturnRate * voxel * max(here, splat(0));
            const Row change = share * max(outward, splat(0)) + inward;
            store_row(at[0], load_row(at[0]) - change * n.x);
            store_row(at[1], load_row(at[1]) - change * n.y);
            store_row(at[2], load_row(at[2]) - change * n.z);
        });
    });
}

} // namespace spindrift
