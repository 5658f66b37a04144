// Makes the mesh enclose the volume of its particles.
//
// The surface follows the outermost particles. Where these are disturbed, as they are in moving water, it lies above
// their mean by a tenth of a spacing or so, which is 1% of a pool ten spacings deep; where particles keep away from a
// solid, it lies too far inside. Vertices move along their normals by the excess of the volume around them
// (volume_excess.h), averaged over blocks of several spacings, so that the shape within a block is unchanged.
//
// Limits: where the volume is off by more than a third of a spacing, the particles do not represent it, and nothing
// moves: sheets, which are drawn too thick, and points of uneven density. Surfaces with radii below a dozen spacings,
// drops and threads are unchanged too.
#pragma once

#include "spindrift/surface/contour.h"
#include "spindrift/surface/volume_excess.h"

namespace spindrift {

// `strength` says how far each vertex may follow, 0 to 1.
void keep_volume(Contour& contour, const std::vector<float>& strength, const FilledSurface& surface,
                 const VolumeExcess& excess);

} // namespace spindrift
