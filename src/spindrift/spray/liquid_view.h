// A frame of a liquid for the spray: share of liquid and mean velocity around a place. Counts particles within `reach`,
// twice their spacing, where full liquid has 33 of them.
#pragma once

#include "spindrift/points/sort.h"

#include <functional>

namespace spindrift {

// Solids that hide liquid from a place on their other side; without functions there are none.
struct Barriers {
    std::function<float(const Vec3f& x)> distance; // to the nearest [m]
    std::function<bool(const Vec3f& a, const Vec3f& b)> part;
};

class LiquidView {
  public:
    // `spacing` is the mean distance of particles [m]. Their velocities lag behind their positions by `late_by` [s].
    LiquidView(Particles particles, float spacing, float late_by = 0);

    const Particles& particles() const { return particles_; } // sorted by cell
    float spacing() const { return spacing_; }
    float reach() const { return reach_; }
    float velocities_late_by() const { return late_by_; }

    // Calls f(i, distance) for each particle within reach of x.
    template <class F> void for_each_near(const Vec3f& x, const F& f) const
    {
        const Vec3i cell = cell_of(x, 1 / reach_);
        const int tile = topology_.find(tile_of_cell(cell));
        if (tile == topology_.tile_count()) return; // tiles extend one cell beyond the particles
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
    // The same for those that no barrier hides.
    template <class F> void for_each_near(const Vec3f& x, const Barriers& barriers, const F& f) const
    {
        const bool open = !barriers.part || barriers.distance(x) > reach_;
        for_each_near(x, [&](size_t i, float distance) {
            if (open || !barriers.part(x, particles_.P[i])) f(i, distance);
        });
    }
    // Weight of a particle at a distance: one at zero, zero at the reach.
    float weight(float distance) const { return 1 - distance / reach_; }

    struct Around {
        float share = 0; // number of particles over that of full liquid
        Vec3f velocity = Vec3f::Zero();
    };
    Around around(const Vec3f& x, const Barriers& barriers = {}) const;

  private:
    float spacing_, reach_, late_by_;
    Particles particles_;
    Topology topology_;
    ParticleIndex index_;
};

} // namespace spindrift
