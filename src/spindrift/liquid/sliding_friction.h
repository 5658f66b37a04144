// Friction and stickiness of solids: what slides along them in the cells next to them loses part of its velocity.
#pragma once

#include "spindrift/liquid/material.h"

namespace spindrift {

// The share of its sliding velocity that liquid loses in a step of `frames`. Coulomb friction: the velocity decreases
// by friction * pressed, where `pressed` is the impulse of the normal force on a cell's side over the step, divided by
// the cell's mass [m/s]. Stickiness takes the share `stick` in each frame.
float lost_share(const Solids::Grip& grip, float speed, float pressed, float frames);

// A liquid's own material, and a tool for others.
class SlidingFriction : public Material {
  public:
    explicit SlidingFriction(float fps) : fps_(fps) {}

    // Cells of the liquid next to solids, pressed by the projection's pressure.
    void after_pressure(const FlowStep& step) override;
    // Cells next to solids that have particles but are not inside the surface: a layer too thin for the surface to
    // resolve has no pressure, and would keep its velocity for ever. Its own weight is the normal force. Faces next to
    // the liquid are unchanged.
    void hold_thin_layers(const FlowStep& step);

    size_t bytes() const { return lost_.bytes(); }

  private:
    template <class IsHeld, class Pressed>
    void find_lost(const FlowStep& step, const IsHeld& is_held, const Pressed& pressed);
    template <class Share> void subtract_lost(const FlowStep& step, const Share& share) const;

    float fps_;
    MacField lost_; // velocity, at cell centres
};

} // namespace spindrift
