// A spray of droplets that fly, merge and break up [Jones 2018, chapter 4]. Each particle is a droplet with the
// attributes
//
//     radius     [m], between min_radius and max_radius
//     parent     id of the droplet that it broke off from, or -1
//     age        [s] since its emission
//     outcome    its last event, see Outcome
//     cooldown   [s] until it may collide again
//     kind       in a spray beside a liquid: 0 in the air, 1 foam, 2 bubble, see whitewater.h
//     foam_left  [s] until foam bursts; negative for droplets that came from the liquid, see handover.h
//
//     Spray spray(params, shapes, 24);
//     spray.start(1);
//     for (int f = 0; f < 48; ++f) spray.advance();
//     const Particles& droplets = spray.particles();
//
// substep() is Algorithm 2 of [Jones 2018]. Its time and memory are linear in the number of droplets, whatever their
// distribution in space and size.
//
// Limits: droplets do not act on the air or on the liquid that they leave, except that captured ones are given back.
// Collisions are between two droplets at a time. Ids are 31 bits: a shot has at most two thousand million droplets.
//
// Differences from [Jones 2018]; details are in the headers named:
// - The search for collisions is centred on the midpoint of displacements and finds fast droplets (pairing.h). The grid
//   has levels for droplet sizes, and its cell size adapts to the droplets (cells.h): giants, strays and dense nozzles
//   do not slow it down.
// - Break-up is Galilean invariant (collision.h).
// - Isolated liquid particles become droplets and are given back (handover.h); foam and bubbles follow the liquid
//   (whitewater.h).
// - Collisions with solids come before those of droplets (colliders.h).
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/points/hooks.h"
#include "spindrift/spray/colliders.h"
#include "spindrift/spray/emission.h"
#include "spindrift/spray/handover.h"
#include "spindrift/spray/pairing.h"

#include <functional>
#include <span>

namespace spindrift {

// Statistics of one frame.
struct SprayReport {
    size_t droplets = 0, emitted = 0, satellites = 0;
    size_t removed = 0;                 // merged, removed by a collider or outside the domain
    std::array<size_t, 4> collisions{}; // by Outcome: none (radius out of range), coalescence, stretching, reflexive
    int substeps = 0;
    PhaseTimes times;
};

class Spray {
  public:
    // Shapes of params.emitters (each from its carrier()) and of params.colliders, in the same order.
    struct Shapes {
        std::vector<Shape> emitters, colliders;
    };
    // Loads the shapes itself; see shapes_of() in scene/shapes.h.
    explicit Spray(const SprayParams& params, float fps = 24);
    // With shapes that a scene has loaded and placed.
    Spray(const SprayParams& params, Shapes shapes, float fps);

    // Adds the velocity of the air at each place [m/s] to `air`, at a time in frames. Called from several threads at a
    // time, with places close to each other.
    using AirField = std::function<void(float frame, std::span<const Vec3f> x, std::span<Vec3f> air)>;
    void set_air(AirField field) { air_field_ = std::move(field); }
    void set_hooks(ParticleHooks hooks) { hooks_ = std::move(hooks); }

    // Starts without droplets at the first frame of the shot.
    void start(int frame);
    // Advances by one frame.
    SprayReport advance();
    // The same beside a liquid, given at the beginning and the end of the frame: droplets that fall into it become foam
    // and bubbles, and it emits new ones, as params.whitewater says.
    SprayReport advance(const LiquidView& before, const LiquidView& now);
    // Adds droplets with P, v and the attribute radius, which is clamped to its range; other attributes are copied. Ids
    // are assigned in order. Droplets outside the domain or in a solid are skipped. Throws if a value is not finite.
    void add(Particles droplets);

    int frame() const { return frame_; }
    const Particles& particles() const { return droplets_; }
    // Ids of the liquid particles that are droplets, ascending.
    const std::vector<int32_t>& taken() const { return handover_.taken(); }
    size_t bytes() const { return droplets_.bytes() + cells_.bytes() + pairing_.bytes(); }

    // The state that the next frame depends on, for resuming.
    struct State {
        int start_frame = 0, frame = 0, next_id = 0;
        float edge = 0; // of the cells of the collision search [m]
        Particles particles;
        std::vector<int32_t> taken = {};
    };
    State state() const { return {start_frame_, frame_, next_id_, edge_, droplets_, handover_.taken()}; }
    void restore(State state);

  private:
    struct Arrays;
    Arrays arrays();
    double moment(int substep) const;
    void substep(int number, float dt);
    void add_forces(float frame, float dt);
    void collide(const std::vector<Meeting>& pairs, const Reach& reach, uint64_t key);
    void move(float dt);
    void emit(double from, double to);
    std::vector<Vec3f> air_at(std::span<const Vec3f> places, float frame) const;
    void accelerate(const Arrays& a, size_t i, const Vec3f& air, float dt) const;
    void settle(const LiquidView& before, const LiquidView& now);
    void exchange_with_liquid(const LiquidView& liquid);
    void remove_volume(const std::vector<uint32_t>& droplets, double volume);
    void run_hook(const ParticleHook& hook, float frame, float dt);
    bool fly(const Arrays& a, size_t i, float seconds, float dt) const;
    bool outside(const Vec3f& x) const;
    void remove_dead();
    size_t append(size_t count);

    SprayParams params_;
    std::vector<Emitter> emitters_;
    SprayColliders colliders_;
    AirField air_field_;
    ParticleHooks hooks_;
    float fps_;
    int start_frame_ = 0, frame_ = 0, next_id_ = 0;
    float edge_ = 0;
    Particles droplets_;
    DropletCells cells_;
    Pairing pairing_;
    Handover handover_;
    std::vector<uint32_t> dead_; // indices of droplets to remove
    SprayReport report_;
};

} // namespace spindrift
