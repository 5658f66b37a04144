#include "spindrift/surface/keep_volume.h"

#include "spindrift/base/parallel.h"
#include "spindrift/surface/vertex_blocks.h"

namespace spindrift {

namespace {

// Lengths are in spacings.
constexpr float kBlock = 8; // edge of a block
// How far a vertex may move, and from where on it does not move at all.
constexpr float kMostMove = 0.2f, kUnusual = 0.35f;

// Length of the mean normal around a corner: below the first the surface is too curved for the excess to be a height,
// from the second on it counts fully.
constexpr float kCurved = 0.92f, kFlat = 0.95f;
// Area around a corner: a plane through it has 64; below the first value it may be a drop, from the second on it counts
// fully.
constexpr float kSmall = 8, kLarge = 16;

struct Mean {
    float height = 0, weight = 0;
    Vec3f normal = Vec3f::Zero();

    void add(float h, const Vec3f& n, float w) { height += w * h, weight += w, normal += w * n; }
    void add(const Mean& other) { height += other.height, weight += other.weight, normal += other.normal; }
    // The distance to move down.
    float move(float vertex_area) const
    {
        const float large = clamp01((weight * vertex_area - kSmall) / (kLarge - kSmall));
        if (large == 0) return 0;
        const float mean = height / weight, flat = clamp01((normal.norm() / weight - kCurved) / (kFlat - kCurved));
        return large * flat * clamp01((kUnusual - std::abs(mean)) / (kUnusual - kMostMove)) *
               std::clamp(mean, -kMostMove, kMostMove);
    }
};

// The sides of a slab or at an edge are averaged apart: by the axis that the normal is nearest to.
constexpr int kSides = 6;
int side_of(const Vec3f& normal)
{
    int axis = 0;
    normal.cwiseAbs().maxCoeff(&axis);
    return 2 * axis + (normal[axis] < 0);
}
using Corners = std::array<Mean, 8>;

} // namespace

void keep_volume(Contour& contour, const std::vector<float>& strength, const FilledSurface& surface,
                 const VolumeExcess& excess)
{
    const float spacing = surface.spacing, voxels = surface.voxel / spacing, vertex_area = voxels * voxels;
    Mesh& mesh = contour.mesh;
    const VertexBlocks blocks(mesh.positions, movable_vertices(contour, strength), kBlock * spacing);
    const auto share_of = [&](uint32_t i, const Vec3i& block) -> Vec3f {
        return mesh.positions[i] / (kBlock * spacing) - block.cast<float>();
    };

    std::vector<std::array<Corners, kSides>> at_corners(blocks.size());
    parallel_for(blocks.size(), [&](size_t b) {
        for (const uint32_t i : blocks.vertices(b)) {
            // Fairing has moved vertices off the zero level of phi, for which the excess is measured.
            const Vec3f& x = mesh.positions[i];
            const float height = excess.height(x) + voxels * sample_trilinear(surface.phi, x / surface.voxel);
            const Vec3f share = share_of(i, blocks.place(b));
            Corners& corners = at_corners[b][side_of(mesh.normals[i])];
            for (int c = 0; c < 8; ++c) corners[c].add(height, mesh.normals[i], strength[i] * corner_weight(share, c));
        }
    });
    parallel_for(blocks.size(), [&](size_t b) {
        std::array<std::array<float, 8>, kSides> moves;
        for (int c = 0; c < 8; ++c) {
            std::array<Mean, kSides> means;
            for (int d = 0; d < 8; ++d)
                if (const size_t n = blocks.find(blocks.place(b) + corner_step(c) - corner_step(d)); n < blocks.size())
                    for (int side = 0; side < kSides; ++side) means[side].add(at_corners[n][side][d]);
            for (int side = 0; side < kSides; ++side) moves[side][c] = means[side].move(vertex_area);
        }
        for (const uint32_t i : blocks.vertices(b)) {
            const Vec3f share = share_of(i, blocks.place(b));
            float move = 0;
            for (int c = 0; c < 8; ++c) move -= corner_weight(share, c) * moves[side_of(mesh.normals[i])][c];
            move *= strength[i] * spacing;
            for (int a = 0; a < 3; ++a)
                if (!(contour.kinds[i] >> a & 1)) mesh.positions[i][a] += move * mesh.normals[i][a];
        }
    });
}

} // namespace spindrift
