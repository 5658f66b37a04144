// A twisted cylinder of jelly on the floor: its sections rotate relative to each other without warping, and its side is
// traction-free, so that the lowest frequency is exactly sqrt(G / density) / (4 height).
#pragma once

#include "liquid/scenes.h"

namespace spindrift {

struct TwistedJelly {
    static constexpr float kHeight = 0.2f, kRadius = 0.15f, kModulus = 1000, kDensity = 1000, kFps = 100;

    static double exact_frequency()
    {
        return std::sqrt(static_cast<double>(kModulus / kDensity)) / (4 * static_cast<double>(kHeight));
    }
    // From the first and third zero of the angular momentum; 0 if there are not three within three seconds.
    static double measured_frequency(int cells_high)
    {
        LiquidParams p;
        p.voxel = kHeight / static_cast<float>(cells_high), p.transfer = Transfer::apic;
        p.density = kDensity, p.elasticity = kModulus, p.gravity = Vec3f(0, -1e-3f, 0);
        p.domain = closed_domain(Vec3f(-1, 0, -1), Vec3f(1, 1, 1));
        p.sources = {box_source(Vec3f(-kRadius, 0, -kRadius), Vec3f(kRadius, kHeight, kRadius))};
        const auto liquid = started_liquid(p, 0, kFps);
        Liquid::State state = liquid->state();
        std::vector<uint8_t> keep;
        for (const Vec3f& x : state.particles.P) keep.push_back(Vec2f(x.x(), x.z()).norm() < kRadius);
        remove_particles(state.particles, keep);
        for (size_t i = 0; i < state.particles.size(); ++i) {
            const Vec3f& x = state.particles.P[i];
            state.particles.v[i] = 0.3f * twist(x) * Vec3f(-x.z(), 0, x.x());
        }
        state.speed = 0.05f;
        liquid->restore(std::move(state));
        double last = 0;
        std::vector<double> crossings;
        for (int frame = 1; crossings.size() < 3 && static_cast<float>(frame) <= 3 * kFps; ++frame) {
            liquid->advance();
            const double now = momentum(liquid->particles());
            if (now * last < 0) crossings.push_back((frame - now / (now - last)) / static_cast<double>(kFps));
            last = now;
        }
        return crossings.size() < 3 ? 0 : 1 / (crossings[2] - crossings[0]);
    }

  private:
    static float twist(const Vec3f& x) { return std::sin(static_cast<float>(kPi) / 2 * x.y() / kHeight); }
    static double momentum(const Particles& all)
    {
        return parallel_sum(all.size(), [&](size_t i) {
            const Vec3f &x = all.P[i], &v = all.v[i];
            return static_cast<double>(twist(x) * (x.x() * v.z() - x.z() * v.x()));
        });
    }
};

} // namespace spindrift
