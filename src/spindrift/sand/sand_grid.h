// Sand on the grid: how full cells and faces are, and how fast it moves there (document 000, section 5.4).
//
// A particle is a point mass that is shared by trilinear weights. Volume fractions are of grains with the air between
// them: 1 is sand at rest, whatever its material (5.5.2). The order of all additions follows the sorting of particles,
// so the bits do not depend on threads.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/points/sort.h"
#include "spindrift/sand/params.h"

namespace spindrift {

class Sight;
class Solids;

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
    // Next to sheets, particles count for what is on their own side.
    struct Sides {
        const Sight* sight = nullptr; // none: there are no sheets
        // If sheets have moved to where `sight` has them, from where they were beside the particles.
        const Solids* moved = nullptr;
    };
    // Adds them up: all of the above, or volumes alone (filled, friction, at_faces, lightness).
    enum class Splat { all, volumes };
    void splat(const Particles& particles, const std::vector<SandMaterialParams>& materials, Splat what,
               const Sides& sides);
    void splat(const Particles& particles, const std::vector<SandMaterialParams>& materials, Splat what = Splat::all)
    {
        splat(particles, materials, what, {});
    }
    // How full cells are now that particles have moved, by no more than half a cell since they were sorted.
    void refill(const Particles& particles, const std::vector<SandMaterialParams>& materials,
                const Sight* sight = nullptr);
    // Those from `first` on have been added since, one beside each of these.
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
