// By how much the surface is too high for the volume of the particles below it.
//
// The share of space that the surface encloses minus the share that particles fill, smoothed over a few spacings,
// depends at a flat surface only on the excess height. Whole layers of particles contribute to it, and it is this share
// that the liquid's pressure levels: for particles at rest it is far less noisy than the heights of the outermost
// particles, which the surface follows.
#pragma once

#include "spindrift/points/sort.h"

namespace spindrift {

// A surface and the particles that it was made from.
struct FilledSurface {
    const Field<float>& phi; // [cells of `voxel`]; the surface is its zero level
    float voxel;             // [m]
    // Sorted into cells of one spacing, of a topology that covers everything within two cells of them.
    const Particles& particles;
    const ParticleIndex& index;
    const Topology& topology;
    float spacing; // [m]
};

// Trilinear interpolation between cell centres, at a position in cells.
float sample_trilinear(const Field<float>& field, const Vec3f& x);

class VolumeExcess {
  public:
    // For positions within a spacing of these [m].
    VolumeExcess(const FilledSurface& surface, const std::vector<Vec3f>& positions);
    // At a position [m] on the surface, in spacings.
    float height(const Vec3f& x) const;

  private:
    Field<float> smooth_;
    float inverse_spacing_;
};

} // namespace spindrift
