// Advection of grid values by a velocity field: semi-Lagrangian [Stam 1999], and two schemes that estimate its error by
// tracing forth and back and subtract it, MacCormack [Selle 2008] and BFECC [Kim 2005]. The last two are clamped to the
// range of the eight samples that the first interpolates, so they create no new extrema.
//
//     advect({.velocity = &u, .cells = dt / voxel}, Advection::maccormack, fields, scratch);
#pragma once

#include "spindrift/field/mac.h"

#include <span>

namespace spindrift {

enum class Advection { semi_lagrangian, maccormack, bfecc };

// The flow, in units of the grid of the advected values.
struct Carrier {
    const MacField* velocity = nullptr; // [m/s]
    float cells = 0;                    // displacement in cells at a velocity of 1 m/s: dt / voxel
    // Closed sides of the flow [cells]; traces are clamped to this box.
    Box3f bounds = {Vec3f::Constant(-kInfinity), Vec3f::Constant(kInfinity)};
    // The grid of the values may be finer than that of the velocity, by 2, 4 or 8. `detail` is then an additional
    // velocity on the fine grid, at cell centres.
    int refine = 1;
    const Field<float>* detail = nullptr; // three components
};

// Maximum displacement in one step [cells]; longer traces are cut.
constexpr float kMaxTraceCells = kTileSize - 1.0f;

// Position of the samples in their cells.
enum class Location { x_face = 0, y_face = 1, z_face = 2, center = -1 };

// One field to advect: `out` receives the values of `in` after the step.
struct AdvectedField {
    Location location = Location::center;
    const Field<float>* in = nullptr;
    Field<float>* out = nullptr;
};

// Working memory of advect().
struct AdvectionScratch {
    std::vector<Field<float>> first;
    // Per field: the lowest and highest of the eight samples around the origin of each cell's value.
    std::vector<Field<float>> low, high;
    size_t bytes() const;
};

// All fields share one topology; with refine = 1 it is that of the velocity. Missing tiles have their field's
// background value, and the nearest existing velocity. The components of the velocity itself may be among the fields.
void advect(const Carrier& carrier, Advection scheme, std::span<const AdvectedField> fields, AdvectionScratch& scratch);

// The largest absolute value of a field, or of the components of a velocity.
float max_abs(const Field<float>& field);
float largest_component(const MacField& velocity);

} // namespace spindrift
