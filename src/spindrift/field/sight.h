// Visibility on a grid with thin walls.
//
// A wall thinner than a cell has no cells of its own: samples of both of its sides lie in the same cells, and any
// stencil around it would mix the two sides. Kernels next to walls therefore ask which samples are visible, that is, on
// their own side. clearance() tells how far away the next wall is, so that kernels elsewhere need not ask.
#pragma once

#include "spindrift/field/tiles.h"

#include <optional>

namespace spindrift {

// Bit mask of the faces in reach of a cell's particles: per component, the lower and upper faces of the cell and of its
// eight neighbours across the component's axis.
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

// Bit mask of the 27 cell centres around a cell: bit neighbour_slot().
using CellMask27 = uint32_t;
constexpr CellMask27 kAllCells = (1u << 27) - 1;

// Re-indexes a mask for another reference cell, from which `step` leads to the mask's own cell.
FaceMask shifted(FaceMask mask, const Vec3i& step);
CellMask27 shifted(CellMask27 mask, const Vec3i& step);

class Sight {
  public:
    virtual ~Sight() = default;
    // False if nothing is occluded within two tiles.
    virtual bool blocked(int tile) const = 0;
    // Every position in the cell sees everything nearer than this [cells].
    virtual float clearance(int tile, int cell) const = 0;
    // Samples visible from a position [m] in a cell.
    virtual FaceMask faces(int tile, int cell, const Vec3f& x) const = 0;
    virtual CellMask27 cells(int tile, int cell, const Vec3f& x) const = 0;
    // Step from a cell to the one that a position [m] in it belongs to: the nearest cell whose centre it sees. Nothing
    // if no adjacent cell qualifies.
    virtual std::optional<Vec3i> home(int tile, int cell, const Vec3f& x) const = 0;
    // Samples visible from a cell's centre.
    virtual FaceMask faces_from_center(int tile, int cell) const = 0;
    virtual CellMask27 cells_from_center(int tile, int cell) const = 0;
    // For each lower face of a tile's cells along an axis, which of the six adjacent faces of the same component it
    // sees: bit 2 a for the one below along axis a, 2 a + 1 for the one above. nullptr: all of them.
    virtual const uint8_t* links(int tile, int axis) const = 0;
    // Distance of those faces to the nearest wall [cells]; nullptr if no wall is near.
    virtual const float* face_distances(int tile, int axis) const = 0;
    // Wall nearest to a position [m]: distance [cells], normal towards the position, velocity [m/s].
    struct Wall {
        float distance;
        Vec3f normal, velocity;
    };
    virtual Wall wall(const Vec3f& x) const = 0;
    // True if a wall separates two positions [m].
    virtual bool parted(const Vec3f& a, const Vec3f& b) const = 0;
};

} // namespace spindrift
