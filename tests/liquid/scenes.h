// Small liquid scenes for tests.
#pragma once

#include "base/determinism.h"
#include "bodies/body_shapes.h"
#include "spindrift/base/error.h"
#include "spindrift/liquid/liquid.h"

namespace spindrift {

inline SourceParams box_source(const Vec3f& min, const Vec3f& max)
{
    SourceParams s;
    s.min = min, s.max = max;
    return s;
}

// All liquid below a height.
inline SourceParams pool_source(float height)
{
    SourceParams s;
    s.shape = ShapeParams::Kind::half_space;
    s.point = Vec3f(0, height, 0);
    return s;
}

inline DomainParams closed_domain(const Vec3f& min, const Vec3f& max)
{
    DomainParams d;
    d.min = min, d.max = max;
    return d;
}

constexpr float kFps = 24;

inline std::unique_ptr<Liquid> make_liquid(const LiquidParams& params, float fps = kFps)
{
    return std::make_unique<Liquid>(params,
                                    Liquid::Shapes{shapes_of(params.sources), shapes_of(params.sinks),
                                                   shapes_of(params.colliders), body_shapes_of(params.bodies)},
                                    fps);
}

inline std::unique_ptr<Liquid> started_liquid(const LiquidParams& params, int frame = 0, float fps = kFps)
{
    auto liquid = make_liquid(params, fps);
    liquid->start(frame);
    return liquid;
}

// The particles after some frames; checks that they are the same for any number of threads.
inline Particles same_for_any_threads(const LiquidParams& params, int frames)
{
    const auto run = [&](int threads) {
        return with_threads(threads, [&] {
            const auto liquid = started_liquid(params);
            for (int frame = 0; frame < frames; ++frame) liquid->advance();
            return liquid->particles();
        });
    };
    Particles one = run(1);
    for (const int threads : {2, 7})
        if (!same_bits(one, run(threads))) fail("the result differs with {} threads", threads);
    return one;
}

// A column of water in a corner of a closed unit box.
inline LiquidParams dam_break(int cells)
{
    LiquidParams p;
    p.voxel = 1.0f / static_cast<float>(cells);
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1));
    p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(0.4f, 0.6f, 1))};
    return p;
}

// Means over particles, in double precision.
template <class Value> double mean_of(const Particles& particles, const Value& value)
{
    return parallel_sum(particles.size(), value) / static_cast<double>(particles.size());
}
inline double kinetic_energy(const Particles& particles) // per mass
{
    return mean_of(particles, [&](size_t i) { return 0.5 * particles.v[i].cast<double>().squaredNorm(); });
}
inline double mean_height(const Particles& particles)
{
    return mean_of(particles, [&](size_t i) { return static_cast<double>(particles.P[i].y()); });
}
inline Vec3d center_of(const Particles& particles)
{
    Vec3d sum = Vec3d::Zero();
    for (const Vec3f& x : particles.P) sum += x.cast<double>();
    return sum / static_cast<double>(particles.size());
}

} // namespace spindrift
