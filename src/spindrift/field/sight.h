// What can be seen from where on a grid that thin walls part.
//
// A wall thinner than a cell has no cells of its own: both of its sides fall into the same cells, and whatever looks at
// the cells around it, a particle or a value that is carried along, would mix the two sides. Each kernel therefore asks
// which samples lie on its own side. Away from walls it need not ask: room() says how far.
#pragma once

#include "spindrift/field/tiles.h"

#include <optional>

namespace spindrift {

// The faces that the particles of a cell can reach: of each component the lower and upper face of the cell and of the
// eight cells beside it. A bit for each.
using FaceMask = uint64_t;
constexpr FaceMask kAllFaces = (FaceMask(1) << 54) - 1;
// `step` leads from the cell to the one whose lower face is meant.
inline bool in_face_mask(int axis, const Vec3i& step)
{
    return step[axis] >= 0 && step[axis] <= 1 && std::abs(step[(axis + 1) % 3]) <= 1 &&
           std::abs(step[(axis + 2) % 3]) <= 1;
}
inline int face_bit(int axis, const Vec3i& step)
{
    return axis * 18 + step[axis] * 9 + (step[(axis + 1) % 3] + 1) * 3 + step[(axis + 2) % 3] + 1;
}

// The centres of the 27 cells around a cell: bit neighbour_slot().
using CellMask27 = uint32_t;
constexpr CellMask27 kAllCells = (1u << 27) - 1;

// The same faces, or cells, as seen from another cell, from which `step` leads to the one that the mask is about.
FaceMask shifted(FaceMask mask, const Vec3i& step);
CellMask27 shifted(CellMask27 mask, const Vec3i& step);

class Sight {
  public:
    virtual ~Sight() = default;
    // False if nothing is hidden from any place within two tiles.
    virtual bool blocked(int tile) const = 0;
    // From every place in a cell everything that is nearer than this can be seen [cells].
    virtual float room(int tile, int cell) const = 0;
    // What can be seen from a place [m] in a cell.
    virtual FaceMask faces(int tile, int cell, const Vec3f& x) const = 0;
    virtual CellMask27 cells(int tile, int cell, const Vec3f& x) const = 0;
    // The way from a cell to the one that a place in it belongs to: the nearest whose centre can be seen from there.
    // Nothing if there is none next to it.
    virtual std::optional<Vec3i> home(int tile, int cell, const Vec3f& x) const = 0;
    // What can be seen from the centre of a cell.
    virtual FaceMask faces_from_center(int tile, int cell) const = 0;
    virtual CellMask27 cells_from_center(int tile, int cell) const = 0;
    // For each lower face of a tile's cells along an axis, which of the same faces of the six cells beside can be seen
    // from it: bit 2 a for the one below along axis a, 2 a + 1 for the one above. nullptr: all of them.
    virtual const uint8_t* links(int tile, int axis) const = 0;
    // How far each of those faces is from the nearest wall [cells]; nullptr where none is near.
    virtual const float* face_distances(int tile, int axis) const = 0;
    // The nearest wall to a place: how far it is [cells], where it faces the place, and how it moves [m/s].
    struct Wall {
        float distance;
        Vec3f normal, velocity;
    };
    virtual Wall wall(const Vec3f& x) const = 0;
    // True if two places [m] cannot see each other.
    virtual bool parted(const Vec3f& a, const Vec3f& b) const = 0;
};

} // namespace spindrift
