// By how much the surface stands too high for the volume of the particles below it.
//
// The share of space that the surface encloses minus the share that particles fill, smoothed over about a spacing,
// depends at a flat surface only on the height that is too much. Whole layers of particles have a say in it, and it is
// this share that the liquid's pressure levels: where particles have come to rest it is far less noisy than the heights
// of the outermost particles, which the surface follows.
#pragma once

#include "spindrift/points/sort.h"

namespace spindrift {

// A surface and the particles that it was made of.
struct FilledSurface {
    const Field<float>& phi; // [cells of `voxel`]; the surface is its zero level
    float voxel;             // [m]
    // Sorted into cells of one spacing, of a topology that covers all within two cells of them.
    const Particles& particles;
    const ParticleIndex& index;
    const Topology& topology;
    float spacing; // [m]
};

class VolumeExcess {
  public:
    // `wanted` says in which tiles of the particles it will be asked for.
    VolumeExcess(const FilledSurface& surface, const std::vector<uint8_t>& wanted);
    // At a place [m] on the surface, in spacings.
    float height(const Vec3f& x) const;

  private:
    Field<float> smooth_;
    float inverse_spacing_;
};

} // namespace spindrift
