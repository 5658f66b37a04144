// Whitewater from the cache of a liquid [Ihmsen 2012]: where a fast liquid traps air or its wave crests break, it emits
// droplets. A droplet in the air is spray and flies like any other (spray.h); at the surface it is foam, which drifts
// with the liquid and bursts; below it is a bubble, which rises.
//
// Differences from [Ihmsen 2012]: sums over neighbours are means, and limits of kinetic energy are given as speeds, so
// that all limits are speeds and angles, independent of the particles' spacing and mass.
#pragma once

#include "spindrift/points/particles.h"
#include "spindrift/scene/params.h"
#include "spindrift/spray/liquid_view.h"

#include <functional>

namespace spindrift {

// Kind of a droplet by its place.
enum class WaterKind : int32_t { spray, foam, bubble };
constexpr const char* kKindAttribute = "kind";
// Seconds until foam bursts. Not "life", which elsewhere is the total lifetime of a particle.
constexpr const char* kLifeAttribute = "foam_left";

// Maps a value to a potential: 0 up to `low`, 1 from `high` on.
struct PotentialRange {
    float low = 0, high = 1;
    float operator()(float value) const { return clamp01((value - low) / (high - low)); }
};

struct WhitewaterParams {
    float trapped_air = 0, wave_crests = 0; // droplets per second and liquid particle at full potential
    PotentialRange approach{0.5f, 4}, crest{0.08f, 0.4f}, speed{1, 4};
    float droplet_radius = 1e-3f, droplet_variation = 0.5f;
    float scatter = 0.1f;
    float life_low = 1, life_high = 4;
    float buoyancy = 2, drag = 0.3f;
    float foam_share = 0.18f, bubble_share = 0.6f;
    bool handover = false;
    float isolated_share = 0.1f;

    bool emits() const { return trapped_air > 0 || wave_crests > 0; }
    bool reads_liquid() const { return emits() || handover; }
    void visit(ParamVisitor& v);
};

// Potentials of a liquid particle, 0 to 1.
struct Potentials {
    float trapped_air = 0, wave_crest = 0, energy = 0;
};

// For every particle of the view, in its order.
std::vector<Potentials> find_potentials(const LiquidView& liquid, const WhitewaterParams& params,
                                        const Barriers& barriers = {});

// New droplets of a frame with P, v, radius and life. The same for any number of threads. `stopped`, if given, returns
// the position of a droplet of this radius on its path from one place to another, with solids in between.
using StoppedPlace = std::function<Vec3f(const Vec3f& from, const Vec3f& to, float radius)>;
Particles emit_whitewater(const LiquidView& liquid, const WhitewaterParams& params, float seconds, uint64_t key,
                          const StoppedPlace& stopped = {}, const Barriers& barriers = {});

// Kind of a droplet, from the liquid around it.
WaterKind kind_of(const LiquidView::Around& around, const WhitewaterParams& params);

// Updates the velocity of a floating droplet for the next frame, from the liquid at its beginning.
void drift(const Vec3f& x, Vec3f& v, WaterKind kind, const LiquidView& liquid, const WhitewaterParams& params,
           const Vec3f& gravity, float seconds, const Barriers& barriers = {});

} // namespace spindrift
