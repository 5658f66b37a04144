// Signed distances as level sets, and OpenVDB's filters for them; OpenVDB does not appear in the interface. A filter
// copies the distance into a level set and back, on the cells that it has: the surface must not leave them, so a margin
// is needed.
//
// Limits: smoothing removes volume from drops and thins sheets; use the limits on curvature and speed to protect them.
// Eroding opens the small voids that spheres leave between them, unless they were dilated before.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/scene/params.h"

#include <optional>

namespace spindrift {

// Applied in this order: dilate, smooth, erode. Dilating and eroding by the same length closes gaps and holes.
struct SurfaceFilter {
    float dilate = 0;                   // [m]
    int smooth = 0;                     // passes of a mean over 3 x 3 x 3 cells
    std::optional<float> max_curvature; // [1/m]: smoothing fades out between this mean curvature and twice it
    std::optional<float> max_speed;     // [m/s]: and between this speed and twice it
    float erode = 0;                    // [m]

    bool any() const { return dilate > 0 || smooth > 0 || erode > 0; }
    void visit(ParamVisitor& v);
};

// Half-width of the band in which phi is a distance afterwards [cells].
constexpr float kLevelSetBand = 3;

// phi is in cells, with a positive background. `velocity` [m/s] has the same cells.
void filter_level_set(Field<float>& phi, const Field<Vec3f>& velocity, float voxel, const SurfaceFilter& filter);

// Makes phi [cells] a distance in the whole band, given only its sign and the values next to the surface: these stay as
// they are, and the rest follows from them to first order.
void make_distance(Field<float>& phi);

} // namespace spindrift
