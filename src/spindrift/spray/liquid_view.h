// A frame of a liquid as spray sees it: what is around a place. A particle counts within `reach`, two mean distances of
// the liquid's particles, in which full liquid has 33 of them.
#pragma once

#include "spindrift/points/sort.h"

namespace spindrift {

class LiquidView {
  public:
    // Particles with a mean distance of `spacing` [m]. Their velocities are those of `late_by` [s] before.
    LiquidView(Particles particles, float spacing, float late_by = 0);

    const Particles& particles() const { return particles_; } // in the order of their cells
    float spacing() const { return spacing_; }
    float reach() const { return reach_; }
    float velocities_late_by() const { return late_by_; }

    // Calls f(i, distance) for each particle within the reach of x.
    template <class F> void for_each_near(const Vec3f& x, const F& f) const
    {
        const Vec3i cell = cell_of(x, 1 / reach_);
        const int tile = topology_.find(tile_of_cell(cell));
        if (tile == topology_.tile_count()) return; // tiles reach a cell beyond the particles
        const Vec3i here = cell_in_tile(offset_of_cell(cell));
        for (int dx = -1; dx <= 1; ++dx)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dz = -1; dz <= 1; ++dz) {
                    const Vec3i c = here + Vec3i(dx, dy, dz);
                    const int t = topology_.neighbour(tile, c.x() >> 3, c.y() >> 3, c.z() >> 3), o = offset_of_cell(c);
                    if (t == topology_.tile_count()) continue;
                    for (size_t i = index_.cell_begin(t, o), end = index_.cell_end(t, o); i < end; ++i)
                        if (const float d2 = (particles_.P[i] - x).squaredNorm(); d2 < reach_ * reach_)
                            f(i, std::sqrt(d2));
                }
    }
    // A particle's weight at a distance: one at its own place, none at the reach.
    float weight(float distance) const { return 1 - distance / reach_; }

    struct Around {
        float share = 0; // of the particles that full liquid would have there
        Vec3f velocity = Vec3f::Zero();
    };
    Around around(const Vec3f& x) const;

  private:
    float spacing_, reach_, late_by_;
    Particles particles_;
    Topology topology_;
    ParticleIndex index_;
};

} // namespace spindrift
