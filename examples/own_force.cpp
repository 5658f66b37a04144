// Adds a custom force to a liquid: a hook in its step makes a block of water swirl about its axis.
//
//     example_own_force        prints the angular momentum about the axis, frame by frame
#include "spindrift/liquid/liquid.h"

#include <cstdio>

using namespace spindrift;

namespace {

// Accelerates particles around the vertical axis through (0.5, 0, 0.5), by 10 m/s2 at a distance of one metre.
void swirl(Particles& particles, float /*frame*/, float dt)
{
    const Vec3f axis(0.5f, 0, 0.5f);
    for (size_t i = 0; i < particles.size(); ++i) {
        const Vec3f away = particles.P[i] - axis;
        particles.v[i] += dt * 10 * Vec3f(away.z(), 0, -away.x());
    }
}

// Angular momentum about the axis, with unit mass per particle [m2/s].
double angular_momentum(const Particles& particles)
{
    double sum = 0;
    for (size_t i = 0; i < particles.size(); ++i) {
        const Vec3f away = particles.P[i] - Vec3f(0.5f, 0, 0.5f), &v = particles.v[i];
        sum += static_cast<double>(away.z() * v.x() - away.x() * v.z());
    }
    return sum / static_cast<double>(particles.size());
}

} // namespace

int main()
{
    LiquidParams params;
    params.voxel = 0.06f, params.transfer = Transfer::apic;
    params.domain.min = Vec3f(0, 0, 0), params.domain.max = Vec3f(1, 1, 1);
    SourceParams water;
    water.max = Vec3f(1, 0.4f, 1);
    params.sources = {water};

    Liquid liquid(params, 24);
    liquid.set_hooks({/*after_forces=*/swirl, /*after_advection=*/{}});
    liquid.start(1);
    double before = angular_momentum(liquid.particles());
    for (int frame = 2; frame <= 8; ++frame) {
        liquid.advance();
        const double now = angular_momentum(liquid.particles());
        std::printf("frame %d: %.4f m2/s\n", frame, now);
        if (!(now > before)) return std::puts("the liquid did not gain spin"), 1;
        before = now;
    }
}
