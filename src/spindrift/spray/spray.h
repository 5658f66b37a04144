// A spray of droplets that fly, merge and break up (document 003 chapter 4). Each particle is a droplet; it carries
//
//     radius     [m], between min_radius and max_radius
//     parent     the id of the droplet it broke off from, or -1
//     age        [s] since it appeared
//     outcome    what last happened to it, see Outcome
//     cooldown   [s] until it may collide again
//     kind       in a spray beside a liquid: 0 in the air, 1 foam, 2 bubble, see whitewater.h
//     foam_left  [s] that foam still has; below zero for droplets that came from the liquid, see handover.h
//
// See substep() for the algorithm. Each substep costs time and memory in proportion to the droplets, however they are
// spread in space and in size. What two droplets do to each other is in spray/collision.h.
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

// What happened while a frame was computed.
struct SprayReport {
    size_t droplets = 0, emitted = 0, satellites = 0;
    size_t removed = 0;                 // merged into another, died at a collider or left the domain
    std::array<size_t, 4> collisions{}; // by Outcome: none (skipped for its size), coalescence, stretching, reflexive
    int substeps = 0;
    PhaseTimes times;
};

class Spray {
  public:
    // The shapes of params.emitters (each of its carrier()) and of params.colliders, each in its order.
    struct Shapes {
        std::vector<Shape> emitters, colliders;
    };
    // Loads the shapes itself; see shapes_of() in scene/shapes.h.
    explicit Spray(const SprayParams& params, float fps = 24);
    // With shapes that a scene has loaded and placed.
    Spray(const SprayParams& params, Shapes shapes, float fps);

    // Adds the velocity of the air at each place [m/s] to `air`, at a moment in frames. Called by several threads at a
    // time, with places that are near each other.
    using AirField = std::function<void(float frame, std::span<const Vec3f> x, std::span<Vec3f> air)>;
    void set_air(AirField field) { air_field_ = std::move(field); }
    void set_hooks(ParticleHooks hooks) { hooks_ = std::move(hooks); }

    // No droplets yet, at the frame where the shot starts.
    void start(int frame);
    // From the last frame to the next.
    SprayReport advance();
    // The same beside a liquid, given at both frames: droplets that fall into it become foam and bubbles, and it throws
    // off new ones, as params.whitewater says.
    SprayReport advance(const LiquidView& before, const LiquidView& now);
    // Droplets from elsewhere: P, v and the attribute radius, which is brought into its range; other attributes are
    // taken if they are there. They get ids in their order; those outside the box or in a solid are left out. Throws if
    // something is not finite.
    void add(Particles droplets);

    int frame() const { return frame_; }
    const Particles& particles() const { return droplets_; }
    // Ids of the liquid particles that are droplets, ascending.
    const std::vector<int32_t>& taken() const { return handover_.taken(); }
    size_t bytes() const { return droplets_.bytes() + cells_.bytes() + pairing_.bytes(); }

    // Everything that the next frame depends on, for resuming.
    struct State {
        int start_frame = 0, frame = 0, next_id = 0;
        float edge = 0; // of the cells in which droplets look for others [m]
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
    void push(const Arrays& a, size_t i, const Vec3f& air, float dt) const;
    void settle(const LiquidView& before, const LiquidView& now);
    void exchange(const LiquidView& liquid);
    void shrink(const std::vector<uint32_t>& droplets, double volume);
    void let(const ParticleHook& hook, float frame, float dt);
    bool fly(const Arrays& a, size_t i, float seconds, float dt) const;
    bool outside(const Vec3f& x) const;
    void remove();
    size_t grow(size_t count);

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
    std::vector<uint32_t> dead_; // to be removed at the end of the substep
    SprayReport report_;
};

} // namespace spindrift
