// Coulomb friction of sand as a fluid at walls and colliders [Zhu 2005, (2.8)], proportional to the pressure on them:
// each cell next to a solid has a tangential traction, in the unit of FluidFriction's stress.
#pragma once

#include "spindrift/liquid/material.h"

namespace spindrift {

class WallFriction {
  public:
    // A cell of sand next to a solid.
    struct Contact {
        int tile, cell;
        Vec3f normal, solid_velocity;
        Solids::Grip hold;
        float limit = 0;              // of the traction; set once pressure is known
        Vec3f change = Vec3f::Zero(); // of the traction, not yet applied to the velocity
    };
    void find(const FlowStep& flow, const Field<float>& wet);
    // Initialises the traction of each contact with before(contact).
    template <class Before> void start(const FlowStep& flow, Field<float> (&traction)[3], const Before& before)
    {
        for_each_contact([&](Contact& c) { c.change = along(c, before(c)), add(c, traction); });
        push(flow);
    }
    void set_limits(const FlowStep& flow, float fps);
    // Changes the traction by what would stop the sliding of each contact alone, within its limit.
    void hold(const FlowStep& flow, Field<float> (&traction)[3]);

    const std::vector<Contact>& contacts() const { return contacts_; } // ordered by tile
    size_t bytes() const { return contacts_.capacity() * sizeof(Contact); }

  private:
    static Vec3f along(const Contact& c, const Vec3f& v) { return v - v.dot(c.normal) * c.normal; }
    static void add(const Contact& c, Field<float> (&traction)[3])
    {
        for (int a = 0; a < 3; ++a) traction[a].tile(c.tile)[c.cell] += c.change[a];
    }
    template <class Body> void for_each_contact(const Body& body)
    {
        parallel_for(
            contacts_.size(), [&](size_t k) { body(contacts_[k]); }, 64);
    }
    static Vec3f sliding(const Contact& c, const FlowStep& flow);
    void push(const FlowStep& flow);

    std::vector<Contact> contacts_;
};

} // namespace spindrift
