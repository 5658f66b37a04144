// Particles in the air, farther from the surface than the grid can tell, fly ballistically. The grid's velocity around
// a body of liquid extrapolates the liquid's; a drop that followed it would hover over a pool, or ride along with a
// wave below it.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/liquid/free_surface.h"
#include "spindrift/world/forces.h"

#include <functional>

namespace spindrift {

class Strays {
  public:
    // Finds the strays among the particles. A liquid that holds together keeps those nearby: the reconstructed surface
    // is rounder than the edges of a block, and the particles there would crumble off. hold(particle) says how
    // strongly, from 0 to 1.
    using Hold = std::function<float(size_t)>;
    void find(const Particles& particles, const ParticleIndex& index, const Field<float>& phi, float voxel,
              const Hold& hold, const Sight* sight);
    // Gives particles that are kept the velocity of the grid, so that none leaves by FLIP noise.
    void keep(Particles& particles, const MacField& velocity, float voxel) const;
    // Moves strays with their velocity accelerated(P, v) after the step, and by cohesion towards liquid within reach
    // [m/s2], over a step, or up to the first position on their path, sampled cell by cell, where stopped(x, time since
    // the start of the step) holds.
    template <class Accelerated, class Stopped> void fly(Particles& particles, const Accelerated& accelerated,
                                                         float cohesion, float voxel, float dt,
                                                         const Stopped& stopped) const
    {
        parallel_for(in_tile_.size(), [&](size_t t) {
            for (const Stray& s : in_tile_[t]) {
                const Vec3f v = accelerated(s.P, s.v) - dt * cohesion * s.outwards;
                const float steps = std::ceil(dt * v.norm() / voxel);
                float time = dt;
                for (float k = 1; k < steps; ++k)
                    if (stopped(s.P + k / steps * dt * v, k / steps * dt)) {
                        time = k / steps * dt;
                        break;
                    }
                particles.P[s.particle] = s.P + time * v, particles.v[s.particle] = v;
            }
        });
    }

  private:
    struct Stray {
        uint32_t particle;
        Vec3f P, v;
        Vec3f outwards; // away from the liquid, if there is any near
    };
    std::vector<std::vector<Stray>> in_tile_; // in particle order
    std::vector<std::vector<uint32_t>> kept_; // by tile
};

} // namespace spindrift
