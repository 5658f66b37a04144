#include "spindrift/surface/thin_walls.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

constexpr float kHair = 0.02f; // [voxels]
constexpr size_t kWallVerticesPerTask = 256;
constexpr uint32_t kNoParticle = ~0u;

Vec3f along_container(Vec3f v, uint8_t kind)
{
    for (int a = 0; a < 3; ++a)
        if (kind >> a & 1) v[a] = 0;
    return v;
}

// At a wall the liquid's own surface is shaded as if mirrored; on the wall, normals are the wall's.
void update_normals(const std::vector<Vec3f>& outwards, Contour& contour)
{
    Mesh& mesh = contour.mesh;
    const auto moved = [&](int i) { return !outwards[i].isZero(); };
    std::vector<Vec3f> sums(mesh.positions.size(), Vec3f::Zero());
    for (const Vec3i& t : mesh.triangles) {
        const int count = moved(t[0]) + moved(t[1]) + moved(t[2]);
        if (count == 0 || count == 3) continue;
        const size_t a = t[0], b = t[1], c = t[2];
        const Vec3f area = (mesh.positions[b] - mesh.positions[a]).cross(mesh.positions[c] - mesh.positions[a]);
        sums[a] += area, sums[b] += area, sums[c] += area;
    }
    for (size_t i = 0; i < sums.size(); ++i) {
        if (outwards[i].isZero()) continue;
        Vec3f free = along_container(sums[i], contour.kinds[i]);
        free -= free.dot(outwards[i]) * outwards[i];
        const bool at_waterline = free.norm() > 0.1f * sums[i].norm() && free.norm() > 0;
        mesh.normals[i] = at_waterline ? free.normalized() : outwards[i];
    }
}

} // namespace

// A position, or the one that it is the mirror image of: walls have no images.
Vec3f ThinWalls::origin_of(const Vec3f& image) const
{
    Vec3f x = image;
    if (container_)
        for (int a = 0; a < 3; ++a) {
            if (x[a] < container_->min[a]) x[a] = 2 * container_->min[a] - x[a];
            if (x[a] > container_->max[a]) x[a] = 2 * container_->max[a] - x[a];
        }
    return x;
}

// The new position of a vertex that is hidden from its particle, and the direction out of the liquid there.
std::optional<Vec3f> ThinWalls::cut(const Vec3f& x, uint8_t kind, const Vec3f& particle, float voxel,
                                    Vec3f& outwards) const
{
    if (!solids_.parted(particle, x)) return {};
    const float distance = (x - particle).norm();
    outwards = solids_.normal(x, 0.1f * voxel);
    if (outwards.dot(x - particle) < 0) outwards = -outwards; // from inside the wall, the near side may be nearest
    const float depth = outwards.dot(x - particle);
    outwards = along_container(outwards, kind).normalized();
    // Moving straight back through the wall keeps the liquid's height there; fall back if that path misses the wall.
    Vec3f start = particle;
    for (const float back : {depth, distance, 2 * distance}) {
        const Vec3f end = x - back * outwards;
        if (solids_.parted(particle, end) || !solids_.parted(end, x)) continue;
        start = end;
        break;
    }
    const Vec3f way = x - start;
    float seen = 0, hidden = 1;
    for (int halving = 0; halving < 20; ++halving) {
        const float middle = 0.5f * (seen + hidden);
        (solids_.parted(start, start + middle * way) ? hidden : seen) = middle;
    }
    const float hair = kHair * voxel / std::max(way.norm(), kHair * voxel);
    const Vec3f at = start + std::max(seen - hair, 0.5f * seen) * way;
    return x + along_container(at - x, kind);
}

void ThinWalls::cut(const Particles& particles, const std::vector<uint32_t>& nearest, float voxel,
                    Contour& contour) const
{
    std::vector<Vec3f> outwards(nearest.size(), Vec3f::Zero()); // of the moved vertices
    parallel_for(
        nearest.size(),
        [&](size_t i) {
            if (nearest[i] >= particles.size()) return;
            Vec3f& x = contour.mesh.positions[i];
            const Vec3f particle = origin_of(particles.P[nearest[i]]);
            if (const auto moved = cut(x, contour.kinds[i], particle, voxel, outwards[i])) x = *moved;
        },
        kWallVerticesPerTask);
    update_normals(outwards, contour);
}

void ThinWalls::cut(const Particles& particles, const Field<uint32_t>& nearest, float voxel, Field<float>& phi) const
{
    const Topology& topology = phi.topology();
    for_each_tile(topology, [&](int tile) {
        const Vec3f first = topology.first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
        for (int c = 0; c < kTileCells; ++c) {
            float& here = phi.tile(tile)[c];
            const uint32_t particle = nearest.tile(tile)[c];
            if (here >= phi.background() || particle >= particles.size()) continue;
            const Vec3f x = (first + cell_in_tile(c).cast<float>()) * voxel;
            if (!hidden(x, particles.P[particle])) continue;
            here = std::clamp(std::max(distance(x) / voxel, kHair), here, phi.background());
        }
    });
}

uint32_t ThinWalls::nearest(const Sorted& sorted, const Vec3f& x, float reach, VertexWeights& scratch) const
{
    if (!near(x, reach)) return kNoParticle;
    scratch.clear();
    weights_around(x, reach, sorted.particles, sorted.index, sorted.topology, sorted.cell, scratch);
    const auto found = std::ranges::max_element(scratch, {}, &VertexWeight::weight);
    return found == scratch.end() ? kNoParticle : found->particle;
}

std::vector<uint32_t> ThinWalls::nearest(const Sorted& sorted, const std::vector<Vec3f>& vertices, float reach) const
{
    std::vector<uint32_t> found(vertices.size());
    parallel_chunks(vertices.size(), kWallVerticesPerTask, [&](size_t begin, size_t end) {
        VertexWeights scratch;
        for (size_t i = begin; i < end; ++i) found[i] = nearest(sorted, vertices[i], reach, scratch);
    });
    return found;
}

Field<uint32_t> ThinWalls::nearest(const Sorted& sorted, const Field<float>& phi, float voxel, float reach) const
{
    const Topology& topology = phi.topology();
    Field<uint32_t> found;
    found.reset(topology, kNoParticle);
    for_each_tile(topology, [&](int tile) {
        const Vec3f first = topology.first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
        const Vec3f middle = (first + Vec3f::Constant(0.5f * (kTileSize - 1))) * voxel;
        if (!near(middle, reach + kTileSize * voxel)) return; // farther than the tile's corners
        VertexWeights scratch;
        for (int c = 0; c < kTileCells; ++c)
            if (phi.tile(tile)[c] < phi.background())
                found.tile(tile)[c] = nearest(sorted, (first + cell_in_tile(c).cast<float>()) * voxel, reach, scratch);
    });
    return found;
}

void ThinWalls::drop_hidden(const Vec3f& x, const Particles& particles, VertexWeights& weights) const
{
    std::erase_if(weights, [&](const VertexWeight& w) { return hidden(x, particles.P[w.particle]); });
}

} // namespace spindrift
