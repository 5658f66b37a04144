// Solids in the way of droplets. A droplet's way is followed as seen from each solid, which is taken to stand where it
// is at the end of the step: neither a fast droplet, nor a fast solid, nor a thin wall lets anything through.
#pragma once

#include "spindrift/spray/params.h"

namespace spindrift {

class SprayColliders {
  public:
    SprayColliders(std::vector<Shape> shapes, const std::vector<SprayColliderParams>& params, float fps);

    bool none() const { return shapes_.empty(); }
    // The moment, in frames, at the end of the step; the one before is remembered.
    void set_frame(float frame);
    enum class Fate { free, bounced, stuck, dead };
    // Moves a droplet for the last `seconds` of a step of `step` seconds.
    Fate move(Vec3f& x, Vec3f& v, float radius, float seconds, float step) const;
    // True if a droplet that moves freely for the first `seconds` of the step meets a solid.
    bool in_the_way(const Vec3f& x, const Vec3f& v, float radius, float seconds, float step) const;
    // Moves one that floats from the frame `since` until now, `seconds` later. It slides along solids, whatever
    // droplets that fly do there.
    void slide(Vec3f& x, Vec3f& v, float radius, float since, float seconds) const;
    // Where a droplet is now that came out of a place of the frame `since` and would be at `to`: there, or at the solid
    // in between.
    Vec3f stopped(const Vec3f& from, const Vec3f& to, float radius, float since) const;
    // True if a solid lies between two places.
    bool parted(const Vec3f& a, const Vec3f& b) const;
    bool contain(const Vec3f& x) const;
    // Takes a droplet along that sticks to a solid.
    void carry(Vec3f& x, Vec3f& v) const;

  private:
    // A straight way within the time from the frame `since` until now. `left` is the share of that time which is still
    // to come when the droplet sets out, and when it arrives.
    struct Way {
        Vec3f from, to;
        float since, left = 1, left_at_end = 0;
        // The collider that it sets out from, and from where, as seen from that collider.
        std::optional<std::pair<size_t, Vec3f>> touched = {};
    };
    struct Contact {
        size_t collider;
        float share; // of the way
        Vec3f x;     // as seen from the collider, which stands where it is now
    };
    std::optional<Contact> first_contact(const Way& way, float radius) const;
    // Follows a droplet from contact to contact; meet(collider, normal, velocity of the collider) is what happens at
    // each, and ends the way if it returns false.
    template <class Meet>
    void follow(Vec3f& x, const Vec3f& v, float radius, float since, float seconds, float step, const Meet& meet) const;
    Vec3f seen_from(const Shape& shape, const Vec3f& x, float since, float left) const;
    float distance_to_others(size_t collider, const Vec3f& x) const;
    Vec3f normal(size_t collider, const Vec3f& x, float radius) const;

    std::vector<Shape> shapes_;
    std::vector<SprayColliderParams> params_;
    std::vector<Box3f> bounds_; // over the step
    float fps_, frame_ = 0, frame_before_ = 0;
    bool carries_ = false; // some that droplets stick to move
};

} // namespace spindrift
