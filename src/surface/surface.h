// From particles to the water that is rendered: a smooth, closed triangle mesh around them.
//
// The distance to the surface comes from the weighted centre of the particles around each sample (Zhu and Bridson 2005,
// document 001 chapter 4), with these changes:
//   - The fixed radius is replaced by the relation between the centre's offset and the distance that is exact for a
//   flat
//     surface, so that a pool stands at its true height (particle_distance.h).
//   - A sample far from every particle is outside, wherever the centre lies: no stray blobs in concave places.
//   - Bumps are removed by filters that keep curvature, and therefore volume: one on the grid (smoothing.h), one along
//     the mesh (fairing.h), which leave thin parts and drops alone.
//   - Lone particles become drops of their own volume, centred on them.
//   - Walls are mirrors: particles near them are reflected, so that the surface continues behind the wall, and it is
//   cut
//     exactly there (container.h, contour.h).
//   - Voids smaller than a cell of the simulation are closed (interior.h, parts.h).
//
// Where it is weak: sheets come out at least one and a half spacings thick; the surface meets walls at a right angle;
// phi is a distance only near the surface and has not been through the fairing of the mesh.
#pragma once

#include "base/timing.h"
#include "field/tiles.h"
#include "mesh/mesh.h"
#include "points/particles.h"
#include "scene/params.h"

#include <optional>

namespace spindrift {

struct SurfaceParams {
    std::optional<float> voxel; // [m]; left out: the particle spacing
    float radius = 2.5f;        // of influence, in particle spacings
    float drop = 0.62f;         // radius of a lone particle, in spacings: this value keeps its volume
    int smoothing = 2;          // passes
    bool sdf = false;           // whether the stage also writes phi

    void visit(ParamVisitor& v);
};

struct Surface {
    std::unique_ptr<Topology> topology;
    Field<float> phi; // signed distance [m] at cell centres, limited to a band around the surface
    float voxel = 0;  // [m]
    Mesh mesh;        // with normals and velocities
    PhaseTimes times;
};

// `spacing` is the mean distance of particles [m]: half the liquid's voxel at eight particles a cell. `container` is
// the box whose walls hold the liquid; a side at infinity is open.
Surface make_surface(Particles particles, float spacing, const SurfaceParams& params,
                     const std::optional<Box3f>& container = {});

} // namespace spindrift
