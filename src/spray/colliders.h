// Solids in the way of droplets. A droplet's way is followed as seen from each solid, which is taken to stand where it
// is at the end of the step: neither a fast droplet, nor a fast solid, nor a thin wall lets anything through.
#pragma once

#include "spray/params.h"

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
    // True if a droplet that moves freely for `seconds` of the step meets a solid.
    bool in_the_way(const Vec3f& x, const Vec3f& v, float radius, float seconds, float step) const;
    bool contain(const Vec3f& x) const;
    // To the surface of each solid that it is in.
    void push_out(Vec3f& x) const;
    // Takes a droplet along that sticks to a solid.
    void carry(Vec3f& x, Vec3f& v) const;

  private:
    struct Contact {
        size_t collider;
        float share; // of the way
        Vec3f x;
    };
    // The first contact on the way from `from` to `to` within the last `share_of_step` of the step.
    std::optional<Contact> first_contact(const Vec3f& from, const Vec3f& to, float radius, float share_of_step) const;
    Vec3f normal(size_t collider, const Vec3f& x, float radius) const;

    std::vector<Shape> shapes_;
    std::vector<SprayColliderParams> params_;
    std::vector<Box3f> bounds_; // over the step
    float fps_, frame_ = 0, frame_before_ = 0;
    bool carries_ = false; // some that droplets stick to move
};

} // namespace spindrift
