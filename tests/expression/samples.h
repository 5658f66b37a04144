// Sample particles for expressions, and the error message of an expression.
#pragma once

#include "io/temp_folder.h"
#include "points/random_particles.h"
#include "spindrift/expression/expression.h"

#include <gtest/gtest.h>

namespace spindrift {

// Particles within half a metre of the origin, with a float "age", a float "rad", an int "kind" and a vector "Cd".
inline Particles sample_particles(size_t count = 1000, uint64_t seed = 7)
{
    Random random(seed);
    Particles particles;
    particles.resize(count);
    auto& age = particles.attribute<float>("age");
    auto& rad = particles.attribute<float>("rad");
    auto& kind = particles.attribute<int32_t>("kind");
    auto& colour = particles.attribute<Vec3f>("Cd");
    for (size_t i = 0; i < count; ++i) {
        particles.P[i] = random_vector(random, -0.49f, 0.49f);
        particles.v[i] = random_vector(random, -3, 3);
        particles.id[i] = static_cast<int32_t>(i);
        age[i] = random.uniform(0, 4);
        rad[i] = random.uniform(0.1f, 0.2f);
        kind[i] = static_cast<int32_t>(random.bits() % 11) - 5;
        colour[i] = random_vector(random, 0, 1);
    }
    return particles;
}

inline Particles run(const std::string& text, Particles particles = sample_particles(),
                     const ExpressionContext& context = {}, const ExpressionOptions& options = {})
{
    Expression("test", text, options).run(particles, context);
    return particles;
}

// The error of an expression, from its constructor or from run().
inline std::string complaint(const std::string& text, const ExpressionContext& context = {},
                             const ExpressionOptions& options = {})
{
    return error_of(ExitCode::bad_input, [&] { run(text, sample_particles(10), context, options); });
}

} // namespace spindrift
