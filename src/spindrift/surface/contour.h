// The zero level of a distance as a closed triangle mesh: dual contouring on tiles (surface nets, Gibson 1998), with
// one vertex for each sheet of surface that passes through a cube of eight samples, so that every edge of the mesh has
// exactly two triangles (Schaefer, Ju and Warren 2007).
//
// A container cuts the surface exactly at its walls, with sharp edges: a wall is not sampled, vertices are put on it.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/mesh/mesh.h"

#include <optional>

namespace spindrift {

// What a vertex lies on: bit `axis` for a wall across that axis, and whether the liquid's own surface passes.
namespace VertexKind {
constexpr uint8_t free = 8;
}

struct Contour {
    Mesh mesh;                        // with normals from the gradient of phi
    std::vector<uint8_t> kinds;       // of the vertices
    std::vector<uint32_t> tile_first; // first vertex of each tile, and their number
};

// Inside is negative. `phi` is in cells at cell centres, its background positive, and every cell next to one that is
// inside has a tile.
Contour contour(const Field<float>& phi, float voxel, const std::optional<Box3f>& container = {});

} // namespace spindrift
