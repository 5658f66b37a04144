// Sand as a fluid (document 001, chapter 2): the model `fluid`. It is the liquid, with friction among its grains.
#pragma once

#include "spindrift/liquid/liquid.h"
#include "spindrift/sand/fluid_friction.h"
#include "spindrift/sand/params.h"

namespace spindrift {

class FluidSand {
  public:
    // The shapes of params.sources and params.colliders, each in its order.
    // Loads the shapes itself; see shapes_of() in scene/shapes.h.
    explicit FluidSand(const SandParams& params, float fps = 24)
        : FluidSand(params, shapes_of(params.sources, "source"), shapes_of(params.colliders, "collider", true), fps)
    {
    }
    // With shapes that a scene has loaded and placed.
    FluidSand(const SandParams& params, std::vector<Shape> sources, std::vector<Shape> colliders, float fps);
    FluidSand(const FluidSand&) = delete; // the liquid knows the address of its friction

    void start(int frame)
    {
        friction_.restore({});
        liquid_.start(frame);
    }
    LiquidReport advance() { return liquid_.advance(); }

    int frame() const { return liquid_.frame(); }
    const Particles& particles() const { return liquid_.particles(); }
    const FluidFriction& friction() const { return friction_; }
    float particle_radius() const { return liquid_.particle_radius(); }
    double mass() const;
    size_t bytes() const { return liquid_.bytes() + friction_.bytes(); }
    // The liquid that this sand would be without friction.
    static LiquidParams liquid_of(const SandParams& sand);
    // With what grains have too, for files.
    Particles grains() const;

    // Everything that the next frame depends on, for resuming.
    struct State {
        Liquid::State liquid;
        FluidFriction::State friction;
    };
    State state() const { return {liquid_.state(), friction_.state()}; }
    void restore(State state)
    {
        friction_.restore(state.friction);
        liquid_.restore(std::move(state.liquid));
    }

  private:
    SandParams params_;
    FluidFriction friction_;
    Liquid liquid_;
};

} // namespace spindrift
