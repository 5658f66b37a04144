// Seeds particles in a source shape. Each cell has eight sites, one per octant; every site that is inside the shape,
// outside solids and free gets a particle:
//
//     Filling filling(shape, frame, domain, voxel);
//     filling.mark_taken(particles, false);
//     for (const Vec3f& x : filling.free_sites(solids, seed)) add_particle(x);
//
// A flowing source carries its sites along with its velocity, on evenly spaced lines, so that its inflow is its
// velocity times its area.
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/points/particles.h"
#include "spindrift/world/solids.h"

namespace spindrift {

class Filling {
  public:
    // Position of a particle within its octant, 0 to 1 along each axis. nullptr: stratified among the octants of a
    // cell, so that all cells have nearly the same mean height.
    using Jitter = Vec3f (*)(Random& random);

    // By default sites are at rest. Sites that a flow has carried by `offset`, mostly along `axis`, lie evenly on lines
    // along that axis, so that cells are filled to the same density for any offset.
    struct Carried {
        Vec3f offset;
        int axis;
    };
    Filling(const Shape& shape, float frame, const DomainParams& domain, float voxel,
            const std::optional<Carried>& carried = {});

    // Marks the sites that particles occupy. With `look_inside`, returns the indices of particles inside the shape.
    std::vector<size_t> mark_taken(const Particles& particles, bool look_inside);
    // All free sites [m], in cell order.
    std::vector<Vec3f> free_sites(const Solids& solids, uint64_t seed, Jitter jitter = nullptr);
    // Free sites of a flow. Moving particles leave some sites doubly occupied and others empty. Filling all empty ones
    // would exceed velocity times area, so this only replaces what has left, upstream first. `present` is the number of
    // particles in the shape.
    std::vector<Vec3f> upstream_sites(const Solids& solids, uint64_t seed, Jitter jitter, const Vec3f& velocity,
                                      size_t present);

  private:
    size_t number_of(const Vec3i& cell) const;
    Vec3f site(const Vec3i& cell, int number, uint64_t seed, Jitter jitter) const;

    const Shape& shape_;
    float frame_, voxel_;
    Vec3f offset_ = Vec3f::Zero();
    std::optional<int> line_;                                                         // axis of the lines of sites
    Vec3i first_ = Vec3i::Zero(), last_ = Vec3i::Constant(-1), size_ = Vec3i::Zero(); // cells; empty if last_ < first_
    std::vector<uint8_t> taken_;                                                      // one bit per site of each cell
    size_t site_count_ = 0;                                                           // inside the shape, free or not
};

// The largest component of the velocity of anything that sources add, and of the sources themselves [m/s].
template <class Source>
float speed_of_sources(const std::vector<Source>& sources, const std::vector<Shape>& shapes, float frame, float fps)
{
    float speed = 0;
    for (const Source& source : sources)
        if (source.mode == FillingParams::Mode::flow) speed = std::max(speed, source.velocity.cwiseAbs().maxCoeff());
    for (const Shape& shape : shapes) speed = std::max(speed, shape.speed(frame, fps));
    return speed;
}

} // namespace spindrift
