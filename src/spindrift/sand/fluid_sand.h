// Sand as a fluid, the model `fluid`: a liquid with internal friction [Zhu 2005, chapter 2]. Method, limits and
// differences from the source are in sand/fluid_friction.h. It is faster and coarser than `grains`, and has one
// material, no impulses and no bodies.
//
//     FluidSand sand(params);
//     sand.start(1);
//     sand.advance();
//     write(sand.grains());
#pragma once

#include "spindrift/liquid/liquid.h"
#include "spindrift/sand/fluid_friction.h"
#include "spindrift/sand/params.h"

namespace spindrift {

class FluidSand {
  public:
    // `Shapes` are those of params.sources and params.colliders, in the same order. Loads the shapes itself; see
    // shapes_of() in scene/shapes.h.
    explicit FluidSand(const SandParams& params, float fps = 24)
        : FluidSand(params, shapes_of(params.sources, "source"), shapes_of(params.colliders, "collider", true), fps)
    {
    }
    // Uses shapes that a scene has loaded and placed.
    FluidSand(const SandParams& params, std::vector<Shape> sources, std::vector<Shape> colliders, float fps);
    FluidSand(const FluidSand&) = delete; // the liquid stores the address of its friction

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
    // The parameters of the underlying liquid, which has no friction.
    static LiquidParams liquid_of(const SandParams& sand);
    // The liquid's particles with the attributes of sand particles, for files.
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
