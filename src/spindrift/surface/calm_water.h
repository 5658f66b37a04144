// Makes calm water flat.
//
// The outermost particles of a pool at rest lie up to a third of a spacing above or below each other, and the surface
// around them has lumps that no filter can tell from ripples by their wavelength. Their height does: where the surface
// stays within a tenth of a spacing, rms, of a plane over dozens of spacings, it is replaced by that plane.
//
// Space is divided into blocks. At each corner of a block a plane is fitted to the vertices around, with weights that
// fall off linearly towards the next corners; vertices move to the mean of the planes around them. Heights are first
// corrected by the volume below them (volume_excess.h), since the mean over a block of the outermost particles is still
// noisy. The move fades out where water is less calm; rougher water, drops, edges and sheets whose two sides lie in one
// block are unchanged to the bit.
//
// Limits: ripples lower than about a tenth of a spacing are flattened along with the lumps, and water less than a block
// deep over a collider, whose underside is surface too, stays lumpy.
#pragma once

#include "spindrift/surface/contour.h"
#include "spindrift/surface/volume_excess.h"

namespace spindrift {

struct SurfaceResolution {
    float voxel, spacing; // [m] of the mesh, and of the particles
};

// `strength` is above 0 for the vertices that may move. Call update_normals() afterwards.
void flatten_calm_water(Contour& contour, const std::vector<float>& strength, const VolumeExcess& excess,
                        const SurfaceResolution& resolution, const std::optional<Box3f>& container);

} // namespace spindrift
