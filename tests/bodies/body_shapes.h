// Helpers that build shapes and bodies.
#pragma once

#include "spindrift/bodies/bodies.h"

namespace spindrift {

template <class Params> std::vector<Shape> shapes_of(const std::vector<Params>& params)
{
    std::vector<Shape> shapes;
    for (const auto& p : params) shapes.emplace_back(p, "a test");
    return shapes;
}

inline std::vector<Bodies::Shapes> body_shapes_of(const std::vector<BodyParams>& bodies)
{
    std::vector<Bodies::Shapes> shapes;
    for (const BodyParams& body : bodies) {
        shapes.push_back({Shape(body, "a test")});
        for (const BodyPartParams& part : body.parts) shapes.back().emplace_back(part, "a test");
    }
    return shapes;
}

inline BodyParams box_body(const Vec3f& center, const Vec3f& size, float density = 500)
{
    BodyParams body;
    body.min = center - 0.5f * size, body.max = center + 0.5f * size;
    body.density = density;
    return body;
}

inline BodyParams ball_body(const Vec3f& center, float radius, float density = 500)
{
    BodyParams body;
    body.shape = ShapeParams::Kind::sphere;
    body.center = center, body.radius = radius, body.density = density;
    return body;
}

} // namespace spindrift
