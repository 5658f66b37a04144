// Sand on the grid: volume fractions of cells and faces, and velocity at faces [Narain 2011, section 5.4].
//
// A particle is a point mass, splatted with trilinear weights. Volume fractions include the air between grains: 1 is
// sand at rest, for any material (5.5.2). All sums run in the order of sorted particles, so results are bit-identical
// for any number of threads.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/points/sort.h"
#include "spindrift/sand/params.h"

namespace spindrift {

class Sight;
class Solids;

// Attributes of particles besides P, v and id.
constexpr const char* kMass = "mass";                    // [kg]
constexpr const char* kMaterial = "material";            // index of its SandMaterialParams
constexpr const char* kShapeDiagonal = "shape_diagonal"; // xx, yy, zz of the ellipsoid A (5.42) [m2]
constexpr const char* kShapeShear = "shape_shear";       // xy, yz, xz

// The largest component of friction relative to the pressure, for the coefficient alpha of (5.4).
float friction_bound(float alpha);
// Coulomb's coefficient of a wall as rough as sand with this bound: about the sine of its friction angle, which is what
// sand bears when sheared along a plane.
float rough_wall(float bound);

struct SandGrid {
    Topology topology;
    ParticleIndex index;
    Field<float> filled;   // volume fraction of each cell
    Field<float> friction; // largest stress over pressure, see friction_bound()
    Field<float> heaped;   // share of the cell that is not above all of its particles
    int up = 1;            // the axis along gravity
    float up_sign = 1;     // the direction of up on that axis
    MacField velocity;     // [m/s], mass-weighted
    MacField at_faces;     // volume fraction around each face
    MacField lightness;    // volume over mass around each face, 1 for the first material; only if `several`
    bool several = false;  // there are materials that differ
    float voxel = 0;

    // Builds a grid with this cell size around the particles, and sorts them into it.
    void sort(Particles& particles, float cell, const Vec3f& gravity);
    // Next to sheets, particles are splatted to their own side only.
    struct Sides {
        const Sight* sight = nullptr; // none: there are no sheets
        // Set if sheets have moved since the particles were placed, to where `sight` has them.
        const Solids* moved = nullptr;
    };
    // Splats particles: all of the above, or volumes alone (filled, friction, at_faces, lightness).
    enum class Splat { all, volumes };
    void splat(const Particles& particles, const std::vector<SandMaterialParams>& materials, Splat what,
               const Sides& sides);
    void splat(const Particles& particles, const std::vector<SandMaterialParams>& materials, Splat what = Splat::all)
    {
        splat(particles, materials, what, {});
    }
    // Recomputes `filled` after particles have moved by at most half a cell since they were sorted.
    void refill(const Particles& particles, const std::vector<SandMaterialParams>& materials,
                const Sight* sight = nullptr);
    // Particles from `first` on were added since, one beside each of these.
    void add(std::vector<size_t> beside, size_t first) { added_beside_ = std::move(beside), added_first_ = first; }
    // Calls body(begin, end) for the particles that were sorted into a tile, and for those added beside them.
    template <class Body> void for_particles(int tile, const Body& body) const
    {
        const size_t begin = index.tile_begin(tile), end = index.tile_end(tile);
        body(begin, end);
        const auto added = [&](size_t i) {
            const auto at = std::lower_bound(added_beside_.begin(), added_beside_.end(), i);
            return added_first_ + static_cast<size_t>(at - added_beside_.begin());
        };
        if (const size_t a = added(begin), b = added(end); a < b) body(a, b);
    }
    size_t bytes() const;

  private:
    std::vector<size_t> added_beside_;
    size_t added_first_ = 0;
    template <class Counts> float heaped_in_cell(const Particles& particles, size_t begin, size_t end,
                                                 const Vec3f& corner, const Counts& counts) const;
};

} // namespace spindrift
