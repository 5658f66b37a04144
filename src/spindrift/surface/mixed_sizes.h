// Surfaces of particles with individual radii, such as spray: each is a ball of its radius where it is alone. Grids and
// contouring are shared with blobs.h.
//
//     spheres              a sphere of each particle's radius
//     ellipsoids           stretched along neighbours, which are weighted by volume, so that mist does not bend a large
//     drop averaged, corrected  phi = |x - xbar| - rbar, the weighted means of positions and radii [Zhu 2005, chapter
//     4], each
//                          particle with a kernel of four radii; lone ones are spheres
//
// Limits: particles smaller than a voxel are sampled as if they had its size, and corrected in the mesh; where they
// overlap others they stay too large.
#pragma once

#include "spindrift/surface/blob_distance.h"

namespace spindrift {

// Lengths in metres.
struct MixedScale {
    float spacing;  // edge of the cells that particles are sorted into
    float voxel;    // of the surface's grid
    float size;     // of an ellipsoid before stretching, in the particle's own spacings
    float search;   // search radius for neighbours, in the same unit
    float flattest; // see BlobScale
    int droplet;
    float centring;
};

// The spacing at which particles of this radius would fill space: a cube of that edge has the particle's volume.
inline float spacing_of_radius(float radius) { return radius * 1.6119920f; } // (4 pi / 3)^(1/3)

// A spacing for particles of these radii: that of the median, but not so small that the largest would cover too many
// cells. The default voxel is half the radius of that spacing.
float spacing_of_radii(std::vector<float> radii);

// `radii` are those of the particles, which are sorted into cells of one spacing.
enum class MixedShape { spheres, ellipsoids, weighted };
Blobs make_mixed_blobs(MixedShape shape, const Particles& particles, const std::vector<float>& radii,
                       const ParticleIndex& index, const Topology& topology, const Interior& interior,
                       const MixedScale& scale);

} // namespace spindrift
