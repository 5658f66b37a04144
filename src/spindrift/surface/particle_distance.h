// A signed distance from particles.
//
// xbar, the mean position of the particles around a sample with the weights of document 001 (4.5), lies below a flat
// surface by an amount that depends only on the sample's distance d from it. phi = |x - xbar| - rbar of (4.2) is
// replaced by the inverse of that relation: exact for a flat surface however dense the particles lie. Where few
// particles are near, it passes into a distance from drops.
//
// Or, as Solenthaler and Pajarola 2008 have it, phi = |x - xbar| - f rbar, where f falls from 1 as the largest
// eigenvalue of the gradient of xbar grows: where xbar runs ahead of the sample it jumps between parts of the liquid.
#pragma once

#include "spindrift/points/sort.h"
#include "spindrift/surface/contour.h"

namespace spindrift {

class ThinWalls;

// Lengths in cells of the surface's grid.
struct SurfaceScale {
    float voxel;        // [m]
    float spacing;      // mean distance of particles
    float radius;       // R: of influence
    float drop;         // radius of the drop that a lone particle becomes in the mesh,
    float sampled_drop; // and on the grid, where it must not fall between samples
    bool corrected;     // the second of the two
    float band;         // phi is limited to this on either side
    int reach() const { return static_cast<int>(std::ceil(radius)); }
};

// phi [cells] and the thickness at every cell centre of the topology. Thickness is the weight of the particles around,
// as a share of what a half-space at the same distance has: about 1 where much liquid is, less in sheets, least in
// drops. What a wall hides from a sample is as far away as the wall at least.
void measure_distance(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                      const SurfaceScale& scale, Field<float>& phi, Field<float>& thickness,
                      const ThinWalls* walls = nullptr);

// The particle nearest to each cell centre; their number where none is within the radius.
Field<uint32_t> nearest_particles(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                                  const SurfaceScale& scale);

// Gives every vertex the mean velocity of the particles around it, with the same weights, and puts those of lone drops,
// which the grid hardly resolves, around their particle: a small drop neither jumps nor flickers as it moves. Returns
// the particle nearest to each vertex.
std::vector<uint32_t> settle_vertices(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                                      const SurfaceScale& scale, Contour& contour);

} // namespace spindrift
