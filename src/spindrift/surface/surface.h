// Surface reconstruction: a smooth, closed triangle mesh around particles. Four methods for the distance:
//
//     spheres     a sphere around every particle [Jones 2018, (5.1)]: fast and bumpy
//     ellipsoids  spheres stretched along their neighbours [Jones 2018, chapter 5] (blobs.h)
//     averaged    the weighted centre of the particles around each sample [Zhu 2005, chapter 4],
//                 changed so that a pool has its true height (particle_distance.h)
//     corrected   the weighted centre, with the radius reduced where the centre jumps, which removes
//                 stray surface in concave regions [Solenthaler 2008]
//
// Usage:
//
//     SurfaceParams params;
//     params.mode = SurfaceMode::ellipsoids;
//     const Surface surface = make_surface(particles, 0.5f * liquid_voxel, params);
//     write(surface.mesh);
//
// Common to all:
//
// - Bumps are removed by filters that keep curvature, and therefore volume: along the mesh (fairing.h) and, for
//   weighted centres, on the grid (smoothing.h). They do not change thin parts and drops.
// - Flat parts are moved so that they enclose the volume of their particles (keep_volume.h), and calm water is
//   flattened (calm_water.h), except with weighted centres.
// - Walls are mirrors: particles near them are reflected, so that the surface continues behind the wall, and it is
//   clipped exactly there (container.h, contour.h).
// - The surface ends at thin colliders (thin_walls.h).
// - Voids smaller than a cell of the simulation are closed (interior.h, parts.h).
// - Particles of mixed sizes, such as spray, keep their radii (mixed_sizes.h).
// - On request the distance is filtered before the mesh is made (level_set.h), and the mesh is simplified where it is
//   flat (mesh/simplify.h).
//
// Limits: sheets become one and a half to two spacings thick; the surface meets walls at a right angle; phi includes
// neither the fairing nor the flattening of the mesh.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/field/tiles.h"
#include "spindrift/mesh/mesh.h"
#include "spindrift/points/particles.h"
#include "spindrift/scene/params.h"
#include "spindrift/surface/level_set.h"

#include <optional>

namespace spindrift {

class Solids;

enum class SurfaceMode { spheres, averaged, ellipsoids, corrected };

struct SurfaceParams {
    std::string name = "surface"; // of the stage, for messages
    SurfaceMode mode = SurfaceMode::ellipsoids;
    std::optional<float> voxel;  // [m]; default: the particle spacing
    std::optional<float> radius; // of influence, in spacings; default: 3 for ellipsoids, 2.5 for weighted centres
    std::optional<float> size;   // of a sphere, before stretching, in spacings; default: keeps the volume
    float drop = 0.62f;          // radius of a lone particle, in spacings: the default keeps its volume
    float radius_scale = 1;      // factor on the radii of particles that have their own
    int droplet = 8;             // groups of up to this many particles are drops
    float flattest = 0.3f;       // lower bound of the ratio of an ellipsoid's axes
    float centring = 0.78f;      // how far ellipsoids move towards the mean of their neighbours
    float global = 0;            // 0 to 1: from keeping each ellipsoid's volume to keeping their mean
    std::optional<float> scale;  // k_s [1/m^2] for all ellipsoids, instead
    int smoothing = 2;           // passes
    SurfaceFilter filter;        // of phi, before the mesh is made
    float adaptivity = 0;        // how far the simplified mesh may deviate [voxels]
    std::string attributes;      // particle attributes that vertices carry: names separated by spaces
    bool sdf = false;            // whether the stage also writes phi and the velocity
    bool obj = false;            // and the mesh as OBJ

    void visit(ParamVisitor& v);
};

struct Surface {
    std::unique_ptr<Topology> topology;
    // Signed distance [m] at cell centres, clamped to a band around the surface; with params.sdf it is a distance
    // throughout the band, otherwise near the surface only.
    Field<float> phi;
    Field<Vec3f> velocity; // [m/s] of the nearest particle or ellipsoid, in the band; with params.sdf only
    float voxel = 0;       // [m]
    Mesh mesh;             // with normals and velocities
    float least_scale = 0, mean_scale = 0, most_scale = 0; // of ellipsoids: k_s of (5.7) [1/m^2]
    PhaseTimes times;
};

// `spacing` is the mean distance of particles [m]: half the liquid's voxel at eight particles per cell. `container` is
// the box whose walls hold the liquid; a side at infinity is open. Particles of mixed sizes have `radii` [m]; the
// spacing then only determines the resolution of the grids (mixed_sizes.h). No part of the mesh is on the other side of
// a sheet of `solids` than the particle that it belongs to.
Surface make_surface(Particles particles, float spacing, const SurfaceParams& params,
                     const std::optional<Box3f>& container = {}, std::vector<float> radii = {},
                     const Solids* solids = nullptr);

} // namespace spindrift
