// How particles come to where a source is: a cell has eight places, one in each eighth of it, and those that are in the
// shape, outside of solids and free get a particle.
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/points/particles.h"
#include "spindrift/world/solids.h"

namespace spindrift {

class Filling {
  public:
    // Where in its eighth of a cell a particle is put, 0 to 1 along each axis. nullptr: anywhere, but evenly among
    // those of its cell, so that no cell has its particles higher than the next.
    using Jitter = Vec3f (*)(Random& random);

    // Places lie at rest. Or a flow has carried them so far, most of it along this axis: then they lie on lines along
    // that, evenly, and cells are as full as they should be wherever the places have come to.
    struct Carried {
        Vec3f way;
        int axis;
    };
    Filling(const Shape& shape, float frame, const DomainParams& domain, float voxel,
            const std::optional<Carried>& carried = {});

    // Which places particles take. Returns those that are in the shape, if `look_inside`.
    std::vector<size_t> mark_taken(const Particles& particles, bool look_inside);
    // All that are free, in the order of cells [m].
    std::vector<Vec3f> free_places(const Solids& solids, uint64_t seed, Jitter jitter = nullptr);
    // The same for a flow. Where particles have moved on, some places hold two and others none. A flow must not fill
    // all of those, or it would pour out more than its velocity times its area: it makes up for what has left, from
    // where the flow comes from. `present` is how many particles there are in the shape.
    std::vector<Vec3f> places_upstream(const Solids& solids, uint64_t seed, Jitter jitter, const Vec3f& velocity,
                                       size_t present);

  private:
    size_t number_of(const Vec3i& cell) const;
    Vec3f place(const Vec3i& cell, int number, uint64_t seed, Jitter jitter) const;

    const Shape& shape_;
    float frame_, voxel_;
    Vec3f way_ = Vec3f::Zero();
    std::optional<int> line_; // the axis that lines of places are along
    Vec3i first_ = Vec3i::Zero(), last_ = Vec3i::Constant(-1), size_ = Vec3i::Zero(); // cells; none for an empty box
    std::vector<uint8_t> taken_;                                                      // a bit for each place of a cell
    size_t places_ = 0;                                                               // in the shape, free or not
};

} // namespace spindrift
