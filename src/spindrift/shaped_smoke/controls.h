// Control particles: placing them in the smoke and drawing them to their targets [Madill 2013, 4.1, 4.3].
#pragma once

#include "spindrift/shaped_smoke/density.h"
#include "spindrift/shaped_smoke/params.h"

#include <span>

namespace spindrift {

// Dart throwing: a dart hits a random marker, and a control particle is placed there if the ratio of the density of
// control particles to that of markers is below `ratio`, the number of control particles wanted per marker. Each new
// one is added to `control_density` at once. Darts are thrown tile by tile; tiles that run at the same time are a tile
// apart, which is more than the kernels reach. A tile takes no more than its share of the control particles.
struct DartThrow {
    const Particles& markers;
    const ParticleIndex& index; // of the markers
    const ParticleIndex& controls;
    const Field<float>& marker_density;
    const Tent& tent; // of control particles
    float voxel;
    double ratio;
    uint64_t seed;
};
std::vector<Vec3f> throw_controls(const DartThrow& darts, Field<float>& control_density);

// Velocities after dt of attraction to goals that move from `goals` to `goals_after` in that time.
//
// The force is F_a = S_a saturate((|x_t - x| - A_phi) A_rho) towards the target (as printed, the paper's points away
// from it). Force and damping are integrated implicitly, with the force linearised as a spring: control particles come
// to rest at their targets for any strength and step, instead of oscillating around them.
void attract(Particles& controls, std::span<const Vec3f> goals, std::span<const Vec3f> goals_after,
             std::span<const int32_t> target, const AttractionParams& params, float dt);

// The share of control particles that are nearer than `near` to their targets.
double share_arrived(const Particles& controls, std::span<const Vec3f> goals, std::span<const int32_t> target,
                     float near);

} // namespace spindrift
