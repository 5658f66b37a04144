// Helpers that set up smoke.
#pragma once

#include "spindrift/smoke/smoke.h"

namespace spindrift {

inline void close_all_sides(DomainParams& domain)
{
    for (auto* side : {&domain.x_min, &domain.x_max, &domain.y_min, &domain.y_max, &domain.z_min, &domain.z_max})
        *side = DomainParams::Side::closed;
}

inline SmokeSourceParams ball_source(const Vec3f& center, float radius, float temperature)
{
    SmokeSourceParams source;
    source.shape = ShapeParams::Kind::sphere;
    source.center = center, source.radius = radius, source.temperature = temperature;
    return source;
}

// A warm ball at the bottom of a box 1 m wide and 1.5 m high.
inline SmokeParams warm_ball(int cells)
{
    SmokeParams p;
    p.voxel = 1.0f / static_cast<float>(cells);
    p.domain.min = Vec3f(0, 0, 0), p.domain.max = Vec3f(1, 1.5f, 1);
    p.sources = {ball_source(Vec3f(0.5f, 0.3f, 0.5f), 0.15f, 150)};
    return p;
}

inline std::unique_ptr<Smoke> make_smoke(const SmokeParams& params, float fps = 24)
{
    Smoke::Shapes shapes;
    for (const auto& s : params.sources) shapes.sources.emplace_back(s, "a test");
    for (const auto& c : params.colliders) shapes.colliders.emplace_back(c, "a test");
    return std::make_unique<Smoke>(params, std::move(shapes), fps);
}

inline std::unique_ptr<Smoke> started_smoke(const SmokeParams& params, float fps = 24)
{
    auto smoke = make_smoke(params, fps);
    smoke->start(1);
    return smoke;
}

} // namespace spindrift
