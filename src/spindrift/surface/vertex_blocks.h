// The vertices of a mesh, sorted into cubic blocks of space, for quantities that vary slowly along a surface.
#pragma once

#include "spindrift/surface/contour.h"

#include <array>

namespace spindrift {

// Vertices of the liquid's own surface with a strength above 0.
std::vector<uint32_t> movable_vertices(const Contour& contour, const std::vector<float>& strength);

class VertexBlocks {
  public:
    // `edge` of a block [m].
    VertexBlocks(const std::vector<Vec3f>& positions, const std::vector<uint32_t>& vertices, float edge);

    size_t size() const { return vertices_.size(); }
    const std::vector<uint32_t>& vertices(size_t block) const { return vertices_[block]; }
    Vec3i place(size_t block) const { return places_.tile(static_cast<int>(block)); }
    // The block at a place, or size().
    size_t find(const Vec3i& place) const { return static_cast<size_t>(places_.find(place)); }

  private:
    Topology places_; // each tile is a block
    std::vector<std::vector<uint32_t>> vertices_;
};

// The eight corners of a block, and their trilinear weights at a position in it, given as a share of its edge.
inline Vec3i corner_step(int corner) { return {corner >> 2, corner >> 1 & 1, corner & 1}; }
inline float corner_weight(const Vec3f& share, int corner)
{
    return (corner & 4 ? share.x() : 1 - share.x()) * (corner & 2 ? share.y() : 1 - share.y()) *
           (corner & 1 ? share.z() : 1 - share.z());
}

} // namespace spindrift
