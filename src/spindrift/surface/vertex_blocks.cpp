#include "spindrift/surface/vertex_blocks.h"

#include "spindrift/points/sort.h"

#include <limits>

namespace spindrift {

std::vector<uint32_t> movable_vertices(const Contour& contour, const std::vector<float>& strength)
{
    std::vector<uint32_t> movable;
    for (size_t i = 0; i < strength.size(); ++i)
        if ((contour.kinds[i] & VertexKind::free) && strength[i] > 0) movable.push_back(static_cast<uint32_t>(i));
    return movable;
}

VertexBlocks::VertexBlocks(const std::vector<Vec3f>& positions, const std::vector<uint32_t>& vertices, float edge)
{
    const auto place_of = [&](uint32_t i) { return cell_of(positions[i], 1 / edge); };
    // Most vertices lie in the same block as the previous one.
    const Vec3i none = Vec3i::Constant(std::numeric_limits<int>::max());
    Vec3i last = none;
    std::vector<uint64_t> codes;
    for (const uint32_t i : vertices)
        if (const Vec3i at = place_of(i); at != last) last = at, codes.push_back(morton_of_tile(at));
    places_ = Topology(std::move(codes));
    vertices_.resize(places_.tile_count());
    last = none;
    size_t block = 0;
    for (const uint32_t i : vertices) {
        if (const Vec3i at = place_of(i); at != last) last = at, block = find(at);
        vertices_[block].push_back(i);
    }
}

} // namespace spindrift
