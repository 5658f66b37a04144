// A signed distance from particles by weighted centres.
//
// xbar, the mean position of the particles around a sample with the weights of [Zhu 2005, (4.5)], lies below a flat
// surface by an amount that depends only on the sample's distance d from it. phi = |x - xbar| - rbar of (4.2) is
// replaced by the inverse of that relation: exact for a flat surface at any particle density. Where few particles are
// near, it blends into a distance from drops.
//
// Alternatively, as in [Solenthaler 2008], phi = |x - xbar| - f rbar, where f falls from 1 as the largest eigenvalue of
// the gradient of xbar grows: where xbar moves faster than the sample, it jumps between parts of the liquid.
#pragma once

#include "spindrift/points/sort.h"
#include "spindrift/surface/contour.h"

namespace spindrift {

class ThinWalls;

// Lengths in cells of the surface's grid.
struct SurfaceScale {
    float voxel;        // [m]
    float spacing;      // mean distance of particles
    float radius;       // R: radius of influence
    float drop;         // radius of the drop that a lone particle becomes in the mesh,
    float sampled_drop; // and on the grid, where it must not fall between samples
    bool corrected;     // use the second method
    float band;         // phi is clamped to this on either side
    int reach() const { return static_cast<int>(std::ceil(radius)); }
};

// phi [cells] and thickness at every cell centre of the topology. Thickness is the weight of the particles around
// relative to a half-space at the same distance: about 1 in bulk liquid, less in sheets, least in drops. What a wall
// hides from a sample is at least as far away as the wall.
void measure_distance(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                      const SurfaceScale& scale, Field<float>& phi, Field<float>& thickness,
                      const ThinWalls* walls = nullptr);

// The particle nearest to each cell centre; the number of particles where none is within the radius.
Field<uint32_t> nearest_particles(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                                  const SurfaceScale& scale);

// Gives every vertex the mean velocity of the particles around it, with the same weights, and moves the vertices of
// lone drops, which the grid hardly resolves, onto a sphere around their particle: a small drop neither jumps nor
// flickers as it moves. Returns the particle nearest to each vertex.
std::vector<uint32_t> settle_vertices(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                                      const SurfaceScale& scale, Contour& contour);

} // namespace spindrift
