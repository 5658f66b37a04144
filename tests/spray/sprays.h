// Small sprays for tests.
#pragma once

#include "base/determinism.h"
#include "spindrift/base/random.h"
#include "spindrift/spray/spray.h"

#include <gtest/gtest.h>

namespace spindrift {

inline std::unique_ptr<Spray> make_spray(const SprayParams& params, float fps = 24)
{
    Spray::Shapes shapes;
    for (const EmitterParams& e : params.emitters) shapes.emitters.emplace_back(e.carrier(), "a test");
    for (const SprayColliderParams& c : params.colliders) shapes.colliders.emplace_back(c, "a test");
    return std::make_unique<Spray>(params, std::move(shapes), fps);
}

inline std::unique_ptr<Spray> started_spray(const SprayParams& params, Particles droplets = {}, float fps = 24)
{
    auto spray = make_spray(params, fps);
    spray->start(0);
    droplets.attribute<float>(kRadiusAttribute);
    spray->add(std::move(droplets));
    return spray;
}

inline Particles one_droplet(const Vec3f& x, const Vec3f& v, float radius)
{
    Particles p;
    p.resize(1);
    p.P[0] = x, p.v[0] = v, p.attribute<float>(kRadiusAttribute)[0] = radius;
    return p;
}

inline Vec3f random_in_box(Random& random, const Vec3f& half)
{
    const float x = random.uniform(-1, 1), y = random.uniform(-1, 1);
    return half.cwiseProduct(Vec3f(x, y, random.uniform(-1, 1)));
}

// Droplets in a box with random velocities up to `speed` along each axis, and radii from `radius` / ratio to `radius`,
// uniform in their logarithm.
inline Particles random_droplets(size_t count, float half, float speed, float radius, float ratio, uint64_t seed)
{
    Random random(seed);
    Particles p;
    p.resize(count);
    std::vector<float>& radii = p.attribute<float>(kRadiusAttribute);
    for (size_t i = 0; i < count; ++i) {
        p.P[i] = random_in_box(random, Vec3f::Constant(half));
        p.v[i] = random_in_box(random, Vec3f::Constant(speed));
        radii[i] = radius * std::pow(ratio, -random.uniform());
    }
    return p;
}

inline const std::vector<float>& radii_of(const Particles& p) { return *p.find<float>(kRadiusAttribute); }

inline double volume_of(const Particles& p)
{
    double sum = 0;
    for (const float r : radii_of(p)) sum += std::pow(static_cast<double>(r), 3);
    return sum * 4 * kPi / 3;
}

inline Vec3d momentum_of(const Particles& p)
{
    Vec3d sum = Vec3d::Zero();
    for (size_t i = 0; i < p.size(); ++i)
        sum += std::pow(static_cast<double>(radii_of(p)[i]), 3) * p.v[i].cast<double>();
    return sum * 4 * kPi / 3;
}

} // namespace spindrift
