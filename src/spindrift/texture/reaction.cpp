#include "spindrift/texture/reaction.h"

#include "spindrift/base/noise.h"
#include "spindrift/base/parallel.h"
#include "spindrift/texture/pattern.h"

namespace spindrift {

namespace {

using System = ReactionParams::System;

constexpr float kProduction = 0.01f;    // of (4.1)
constexpr float kDiffusivityRatio = 20; // Db / Da of spots; patterns form above 7.8 for the default decay
constexpr float kLeast = 1e-6f;         // of the inhibitor, which is a divisor
constexpr double kResidual = 0.001;     // of a step's diffusion, far less than the step itself is wrong by
constexpr size_t kVerticesPerReaction = 4096;

struct Diffusivities {
    float a, b; // [m2] per unit of time
};

Diffusivities diffusivities(const ReactionParams& params)
{
    if (params.system == System::spots) {
        // The wave that grows first in a linear analysis about the steady state has k^4 = s^2 p1 p2 / (Da Db). Grown
        // spots are kSpots times as far apart.
        constexpr float kSpots = 1.11f;
        const float wave = params.spacing / (kSpots * static_cast<float>(2 * kPi));
        const float a = params.speed * std::sqrt(std::abs(params.p1 * params.p2) / kDiffusivityRatio) * wave * wave;
        return {a, kDiffusivityRatio * a};
    }
    constexpr float kSpacing = 13; // between spots, in lengths at which Db is 0.16 and Da is 0.08
    const float length = params.spacing / kSpacing;
    return {0.08f * params.speed * length * length, 0.16f * params.speed * length * length};
}

float at(const std::vector<float>* field, float common, size_t i) { return field ? (*field)[i] : common; }

// One step of time dt of the reaction alone.
void react_spots(const ReactionParams& params, const ReactionFields& fields, float dt, Morphogens& values)
{
    parallel_for(
        values.a.size(),
        [&](size_t i) {
            float &a = values.a[i], &b = values.b[i];
            const float p1 = at(fields.p1, params.p1, i), p2 = at(fields.p2, params.p2, i),
                        p3 = at(fields.p3, params.p3, i);
            const float made = kProduction * at(fields.substrate, params.substrate, i) * a * a;
            const float grown_a = a + dt * (made / std::max(b, kLeast) + p3 + std::max(p1, 0.0f) * a);
            const float grown_b = b + dt * (made + std::max(p2, 0.0f) * b);
            constexpr float kMost = 1e6f; // with growth instead of decay there is no steady state
            a = std::clamp(grown_a / (1 + dt * std::max(-p1, 0.0f)), 0.0f, kMost);
            b = std::clamp(grown_b / (1 + dt * std::max(-p2, 0.0f)), kLeast, kMost);
        },
        kVerticesPerReaction);
}

void react_gray_scott(const ReactionParams& params, const ReactionFields& fields, float dt, Morphogens& values)
{
    parallel_for(
        values.a.size(),
        [&](size_t i) {
            float &a = values.a[i], &b = values.b[i];
            const float feed = at(fields.feed, params.feed, i), kill = at(fields.kill, params.kill, i);
            const float eaten = std::min(a * a, 1 / dt) * b; // never more than there is
            b = (b + dt * (feed - eaten)) / (1 + dt * feed);
            a = (a + dt * eaten) / (1 + dt * (feed + kill));
        },
        kVerticesPerReaction);
}

} // namespace

void start_reaction(const ReactionParams& params, const Vec3f& place, float& a, float& b)
{
    const auto seed = static_cast<uint64_t>(params.seed);
    if (params.system == System::gray_scott) { // large patches starve, small ones vanish
        const float seeded = pattern_at(Pattern::spots, place / params.spacing, seed);
        a = 0.25f * seeded, b = 1 - 0.5f * seeded;
        return;
    }
    const float noise = gradient_noise(place / params.spacing, seed).value;
    constexpr float kNoise = 0.2f;
    const float decay_a = std::max(-params.p1, 1e-4f), decay_b = std::max(-params.p2, 1e-4f);
    a = decay_b / decay_a * (1 + kNoise * noise);
    b = std::max(kProduction * params.substrate * decay_b / (decay_a * decay_a), kLeast);
}

ReactionReport react(const Mesh& mesh, const ReactionParams& params, const ReactionFields& fields, int steps,
                     Morphogens& values)
{
    if (values.a.empty() || steps == 0) return {};
    std::vector<float> factors;
    if (fields.spacing)
        for (const float spacing : *fields.spacing) {
            const float ratio = std::clamp(spacing / params.spacing, 1e-3f, 1e3f);
            factors.push_back(ratio * ratio);
        }
    SurfaceDiffusion diffusion(mesh, factors);
    const Diffusivities spread = diffusivities(params);
    const float dt = params.speed;
    const Morphogens start = fields.held ? values : Morphogens();
    int iterations = 0;
    for (int step = 0; step < steps; ++step) {
        if (params.system == System::spots)
            react_spots(params, fields, dt, values);
        else
            react_gray_scott(params, fields, dt, values);
        iterations += diffusion.spread(spread.a, values.a, kResidual) + diffusion.spread(spread.b, values.b, kResidual);
        for (size_t i = 0; i < start.a.size(); ++i)
            if ((*fields.held)[i]) values.a[i] = start.a[i], values.b[i] = start.b[i];
    }
    return {iterations / (2.0 * steps), diffusion.unconverged()};
}

float spot_share(const ReactionParams& params, float a, float b)
{
    // (4.1) compares a and b. The edge is as soft as a mesh can show.
    const float difference = params.system == System::spots ? (a - b) / std::max(a + b, kLeast) : 4 * (a - 0.15f);
    return clamp01(0.5f + 2 * difference);
}

} // namespace spindrift
