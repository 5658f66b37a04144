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

// Where the goals of control particles are, a step apart.
struct MovingGoals {
    std::span<const Vec3f> before, now, after;
};
// Advances the velocities of control particles by dt of attraction to goals that move.
//
// The force is F_a = S_a saturate((|x_t - x| - A_phi) A_rho) towards the target (as printed, the paper's points away
// from it). Force and damping are integrated implicitly, with the force linearised as a spring: control particles come
// to rest at their targets for any strength and step, instead of oscillating around them. With params.follow = 1 all of
// this happens in the frame of the target, which may accelerate: a control particle that has arrived moves with it.
//
// kStepAttribute is the velocity during this step. v is that at its beginning: the one with which (9) moves a particle
// by the same distance. So markers, which (9) moves with the field of v, stay beside control particles that accelerate.
constexpr const char* kStepAttribute = "step";
void attract(Particles& controls, const MovingGoals& goals, std::span<const int32_t> target,
             const AttractionParams& params, float dt);

// The share of control particles that are nearer than `near` to their targets.
double share_arrived(const Particles& controls, std::span<const Vec3f> goals, std::span<const int32_t> target,
                     float near);

} // namespace spindrift
