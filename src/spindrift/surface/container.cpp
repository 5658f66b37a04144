#include "spindrift/surface/container.h"

namespace spindrift {

void add_mirror_images(Particles& particles, const Box3f& container, float reach)
{
    // Images of one wall are mirrored again by the next, which fills edges, corners and narrow tanks.
    for (int axis = 0; axis < 3; ++axis)
        for (const float wall : {container.min[axis], container.max[axis]}) {
            if (!std::isfinite(wall)) continue;
            std::vector<uint32_t> near;
            for (size_t i = 0; i < particles.size(); ++i)
                if (std::abs(particles.P[i][axis] - wall) < reach) near.push_back(static_cast<uint32_t>(i));
            const size_t first = particles.size();
            particles.resize(first + near.size());
            for (size_t k = 0; k < near.size(); ++k) {
                const size_t i = near[k], image = first + k;
                particles.for_each_array([&](const std::string&, auto& array) { array[image] = array[i]; });
                particles.P[image][axis] = 2 * wall - particles.P[i][axis];
                particles.v[image][axis] = -particles.v[i][axis];
            }
        }
}

namespace {

// Samples closer to one wall than `width`, or as far behind it, take the value at that distance if it is lower.
void fill_against_wall(Field<float>& phi, int axis, bool upper, float wall, float width, float depth)
{
    const Topology& topology = phi.topology();
    for_each_tile(topology, [&](int tile) {
        const Vec3i first = topology.first_cell(tile);
        for (int layer = 0; layer < kTileSize; ++layer) {
            const float center = static_cast<float>(first[axis] + layer) + 0.5f;
            const float inwards = upper ? wall - center : center - wall;
            if (inwards >= width || inwards < -width) continue;
            const int step = std::min(static_cast<int>(std::ceil(width - inwards)), kTileSize) * (upper ? -1 : 1);
            Vec3i to_tile = Vec3i::Zero();
            to_tile[axis] = (layer + step) < 0 ? -1 : (layer + step) / kTileSize;
            const float* from = phi.tile(topology.neighbour(tile, to_tile.x(), to_tile.y(), to_tile.z()));
            float* to = phi.tile(tile);
            for (int i = 0; i < kTileSize; ++i)
                for (int j = 0; j < kTileSize; ++j) {
                    Vec3i cell(i, i, i);
                    cell[(axis + 2) % 3] = j, cell[axis] = layer;
                    float& value = to[offset_of_cell(cell)];
                    cell[axis] += step;
                    value = std::min(value, from[offset_of_cell(cell)] + depth);
                }
        }
    });
}

} // namespace

void fill_against_walls(Field<float>& phi, const Box3f& container, float voxel, float width, float depth)
{
    // Wall by wall, so that no sample is read right after it was written, and edges are filled from their sides.
    for (int axis = 0; axis < 3; ++axis)
        for (const bool upper : {false, true}) {
            const float wall = (upper ? container.max : container.min)[axis];
            if (std::isfinite(wall)) fill_against_wall(phi, axis, upper, wall / voxel, width, depth);
        }
}

} // namespace spindrift
