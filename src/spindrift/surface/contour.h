// The zero level of a distance as a closed triangle mesh: dual contouring on tiles (surface nets [Gibson 1998]), with
// one vertex for each sheet of surface in a cube of eight samples, so that every edge of the mesh has exactly two
// triangles [Schaefer 2007].
//
// A container clips the surface exactly at its walls, with sharp edges: walls are not sampled, vertices are placed on
// them.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/mesh/mesh.h"

#include <optional>

namespace spindrift {

// What a vertex lies on: bit `axis` for a wall across that axis, and whether it is on the liquid's own surface.
namespace VertexKind {
constexpr uint8_t free = 8;
}

struct Contour {
    Mesh mesh;                        // with normals from the gradient of phi
    std::vector<uint8_t> kinds;       // by vertex
    std::vector<uint32_t> tile_first; // first vertex of each tile, and the total
};

// Inside is negative. `phi` is in cells at cell centres, its background is positive, and every cell next to an inside
// cell must have a tile.
Contour contour(const Field<float>& phi, float voxel, const std::optional<Box3f>& container = {});

} // namespace spindrift
