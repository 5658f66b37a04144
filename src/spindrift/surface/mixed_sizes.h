// Surfaces of particles that have radii of their own, such as spray: each is a ball of its radius where it is alone.
// They share grids and contouring with blobs.h; what differs is here.
//
//   spheres              a sphere of each particle's radius
//   ellipsoids           stretched along neighbours; these count by their volume, so that mist does not bend a large
//                        drop
//   averaged, corrected  phi = |x - xbar| - rbar, the weighted means of places and radii (Zhu and Bridson 2005), each
//                        particle with a kernel of four radii; lone ones are spheres
//
// Where it is weak: particles smaller than a voxel are sampled as if they had its size, and put right in the mesh;
// where they overlap others they stay too large.
#pragma once

#include "spindrift/surface/blob_distance.h"

namespace spindrift {

// Lengths in metres.
struct MixedScale {
    float spacing;  // edge of the cells that particles are sorted into
    float voxel;    // of the surface's grid
    float size;     // of an ellipsoid before it is stretched, in spacings of its own
    float search;   // how far it looks for neighbours, in the same
    float flattest; // see BlobScale
    int droplet;
    float centring;
};

// The spacing at which a particle of the radius would fill space: a cube of that edge has its volume.
inline float spacing_of_radius(float radius) { return radius * 1.6119920f; } // (4 pi / 3)^(1/3)

// A spacing for particles of these radii: that of the median, but not so small that the largest would take too many
// cells. The voxel is half the radius that belongs to it.
float spacing_of_radii(std::vector<float> radii);

// `radii` are those of the particles, which are sorted into cells of one spacing.
enum class MixedShape { spheres, ellipsoids, weighted };
Blobs make_mixed_blobs(MixedShape shape, const Particles& particles, const std::vector<float>& radii,
                       const ParticleIndex& index, const Topology& topology, const Interior& interior,
                       const MixedScale& scale);

} // namespace spindrift
