// Sand on the grid: how full cells and faces are, and how fast it moves there (document 000, section 5.4).
//
// A particle is a point mass that is shared by trilinear weights. Volume fractions are of grains with the air between
// them: 1 is sand at rest, whatever its material (5.5.2). The order of all additions follows the sorting of particles,
// so the bits do not depend on threads.
#pragma once

#include "field/mac.h"
#include "points/sort.h"
#include "sand/params.h"

namespace spindrift {

// Names of what particles carry besides P, v and id.
constexpr const char* kMass = "mass";                    // [kg]
constexpr const char* kMaterial = "material";            // number of its SandMaterialParams
constexpr const char* kShapeDiagonal = "shape_diagonal"; // xx, yy, zz of the ellipsoid A (5.42) [m2]
constexpr const char* kShapeShear = "shape_shear";       // xy, yz, xz

// How large a component of friction may be beside the pressure, for the coefficient alpha of (5.4).
float friction_bound(float alpha);
// Coulomb's coefficient of a wall that is as rough as sand with this bound: about the sine of its angle, which is what
// sand bears that is sheared along a plane.
float rough_wall(float bound);

struct SandGrid {
    Topology topology;
    ParticleIndex index;
    Field<float> filled;   // volume fraction of each cell
    Field<float> friction; // largest stress over pressure, see friction_bound()
    Field<float> heaped;   // share of the cell that is not above all of its particles
    int up = 1;            // the axis along gravity
    float up_sign = 1;     // and where on it up is
    MacField velocity;     // [m/s], weighted by mass
    MacField at_faces;     // volume fraction around each face
    MacField lightness;    // volume over mass around each face, 1 for the first material; only if `several`
    bool several = false;  // materials that differ
    float voxel = 0;

    // A grid of cells of this size around the particles, which are sorted into it.
    void sort(Particles& particles, float cell, const Vec3f& gravity);
    // Adds them up: all of the above, or volumes alone (filled, friction, at_faces, lightness).
    enum class Splat { all, volumes };
    void splat(const Particles& particles, const std::vector<SandMaterialParams>& materials, Splat what = Splat::all);
    size_t bytes() const;

  private:
    float heaped_in_cell(const Particles& particles, size_t begin, size_t end, const Vec3f& corner) const;
};

} // namespace spindrift
