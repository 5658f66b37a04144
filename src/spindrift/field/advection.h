// Values on a grid that a flow carries along: looked up where the flow comes from (semi-Lagrangian, Stam 1999), with
// the error of that estimated by going back and taken off (MacCormack, Selle et al. 2008; BFECC, Kim et al. 2005). The
// last two are limited to the values that the first found: no new extremes.
#pragma once

#include "spindrift/field/mac.h"

#include <span>

namespace spindrift {

enum class Advection { semi_lagrangian, maccormack, bfecc };

// The flow, in steps of the grid that the values live on.
struct Carrier {
    const MacField* velocity = nullptr; // [m/s]
    float cells = 0;                    // that a velocity of 1 m/s moves values in the step: dt / voxel
    Box3f bounds = {Vec3f::Constant(-kInfinity), Vec3f::Constant(kInfinity)}; // of the flow, in cells: its closed sides
    // The values' grid may be finer than that of the velocity, by 2, 4 or 8, and the velocity have another part there,
    // at cell centres.
    int refine = 1;
    const Field<float>* detail = nullptr; // three of them
};

// No value moves farther than this in a step; what is faster is cut short.
constexpr float kMostReach = kTileSize - 1.0f;

// Where values lie in their cells.
enum class Location { x_face = 0, y_face = 1, z_face = 2, center = -1 };

// `out` becomes what `in` is after a step.
struct AdvectedField {
    Location location = Location::center;
    const Field<float>* in = nullptr;
    Field<float>* out = nullptr;
};

// Fields that a step needs for a while.
struct AdvectionScratch {
    std::vector<Field<float>> first;
    // Of each field, the lowest and the highest of the eight values that the flow brings to a cell.
    std::vector<Field<float>> low, high;
    size_t bytes() const;
};

// All fields are on one topology; that of the velocity if refine is 1. Where there is no tile, values are their field's
// background, and velocities those nearby. The velocity itself may be among the fields.
void advect(const Carrier& carrier, Advection scheme, std::span<const AdvectedField> fields, AdvectionScratch& scratch);

// The largest absolute value of a field, or of the components of a velocity.
float largest_size(const Field<float>& field);
float largest_component(const MacField& velocity);

} // namespace spindrift
