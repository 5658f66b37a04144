// Whitewater from a liquid's cache, after Ihmsen, Akinci, Akinci and Teschner 2012: where the liquid traps air and
// where wave crests break, and the liquid is fast, it throws off droplets. A droplet in the air is spray, and flies as
// any other (spray.h); at the surface it is foam, which drifts along and bursts; below it is a bubble, which rises.
//
// Where it differs from the paper: its sums over neighbours are means here, and the limits of kinetic energy are given
// as speeds, so that limits are speeds and angles, whatever the particles' spacing and mass.
#pragma once

#include "spindrift/points/particles.h"
#include "spindrift/scene/params.h"
#include "spindrift/spray/liquid_view.h"

#include <functional>

namespace spindrift {

// Where a droplet is.
enum class WaterKind : int32_t { spray, foam, bubble };
constexpr const char* kKindAttribute = "kind";
// Seconds that foam still has; not "life", which elsewhere is how long a particle lives in all.
constexpr const char* kLifeAttribute = "foam_left";

// From where a potential begins to where it is full.
struct PotentialRange {
    float low = 0, high = 1;
    float operator()(float value) const { return clamp01((value - low) / (high - low)); }
};

struct WhitewaterParams {
    float trapped_air = 0, wave_crests = 0; // droplets a second and liquid particle, where the potential is full
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

// How much a liquid particle does of each, 0 to 1.
struct Potentials {
    float trapped_air = 0, wave_crest = 0, energy = 0;
};

// Of every particle of the view, in its order.
std::vector<Potentials> find_potentials(const LiquidView& liquid, const WhitewaterParams& params);

// New droplets of a frame: P, v, radius and life. The same for any number of threads. `stopped`, if given, says where a
// droplet of a radius that comes out of one place and would be at another is, with solids in its way.
using StoppedPlace = std::function<Vec3f(const Vec3f& from, const Vec3f& to, float radius)>;
Particles emit_whitewater(const LiquidView& liquid, const WhitewaterParams& params, float seconds, uint64_t key,
                          const StoppedPlace& stopped = {});

// Which kind a droplet is, given what is around it.
WaterKind kind_of(const LiquidView::Around& around, const WhitewaterParams& params);

// The velocity of one that is afloat, for the next frame, in the liquid of its beginning.
void drift(const Vec3f& x, Vec3f& v, WaterKind kind, const LiquidView& liquid, const WhitewaterParams& params,
           const Vec3f& gravity, float seconds);

} // namespace spindrift
