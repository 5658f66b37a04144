// Collisions of droplets with solids. A droplet's path is traced in the frame of reference of each solid, fixed at the
// solid's position at the end of the step, so that fast droplets, fast solids and thin walls do not tunnel.
//
// Solids take precedence over droplets: a pair with a solid in its path does not collide in that step.
#pragma once

#include "spindrift/spray/params.h"

namespace spindrift {

class SprayColliders {
  public:
    SprayColliders(std::vector<Shape> shapes, const std::vector<SprayColliderParams>& params, float fps);

    bool empty() const { return shapes_.empty(); }
    // Sets the end of the step, in frames. The previous one is kept as its beginning.
    void set_frame(float frame);
    enum class Fate { free, bounced, stuck, dead };
    // Moves a droplet for the last `seconds` of a step of `step` seconds.
    Fate move(Vec3f& x, Vec3f& v, float radius, float seconds, float step) const;
    // True if a droplet that moves freely for the first `seconds` of the step hits a solid.
    bool blocks(const Vec3f& x, const Vec3f& v, float radius, float seconds, float step) const;
    // Moves a floating droplet from frame `since` until now, `seconds` later. It slides along solids whatever their
    // contact mode.
    void slide(Vec3f& x, Vec3f& v, float radius, float since, float seconds) const;
    // Position now of a droplet that left `from` at frame `since` and is headed for `to`: `to`, or the contact with the
    // first solid in between.
    Vec3f stopped(const Vec3f& from, const Vec3f& to, float radius, float since) const;
    // True if a solid lies between two places.
    bool separate(const Vec3f& a, const Vec3f& b) const;
    bool contains(const Vec3f& x) const;
    // Solids as they were at frame `since`, for LiquidView. Those that contain one of two places do not part them:
    // liquid may have solids of its own.
    Barriers barriers(float since) const;
    // Moves a stuck droplet along with its solid.
    void carry(Vec3f& x, Vec3f& v) const;

  private:
    // A straight path within the time from frame `since` until now. `left` and `left_at_end` are the shares of that
    // time that remain at its start and at its end.
    struct Path {
        Vec3f from, to;
        float since, left = 1, left_at_end = 0;
        // The collider that the path starts at, and its start as seen from that collider.
        std::optional<std::pair<size_t, Vec3f>> touched = {};
    };
    struct Contact {
        size_t collider;
        float share; // of the path
        Vec3f x;     // in the collider's frame of reference
    };
    std::optional<Contact> first_contact(const Path& path, float radius) const;
    // Follows a droplet from contact to contact. meet(collider, normal, velocity of the collider) handles each contact,
    // and ends the path by returning false.
    template <class Meet>
    void follow(Vec3f& x, const Vec3f& v, float radius, float since, float seconds, float step, const Meet& meet) const;
    Vec3f in_frame_of(const Shape& shape, const Vec3f& x, float since, float left) const;
    float distance_to_others(size_t collider, const Vec3f& x) const;
    Vec3f normal(size_t collider, const Vec3f& x, float radius) const;

    std::vector<Shape> shapes_;
    std::vector<SprayColliderParams> params_;
    std::vector<Box3f> bounds_; // swept over the step
    float fps_, frame_ = 0, frame_before_ = 0;
    bool carries_ = false; // some colliders with contact "stick" move
};

} // namespace spindrift
