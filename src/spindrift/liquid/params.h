// Scene parameters of liquids. Help texts and ranges are in params.cpp.
#pragma once

#include "spindrift/bodies/params.h"
#include "spindrift/points/transfer.h"
#include "spindrift/ripples/params.h"
#include "spindrift/track/params.h"
#include "spindrift/world/forces.h"
#include "spindrift/world/params.h"

namespace spindrift {

struct SourceParams : FillingParams {
    std::optional<float> viscosity, temperature;
    std::optional<Vec3f> color;
    void visit(ParamVisitor& v);
};

// A sink: liquid that enters the shape is removed.
struct SinkParams : ShapeParams, FrameSpan {
    void visit(ParamVisitor& v);
};

// Temperature, used where sources have one. See heat.h.
struct HeatParams {
    float air = 20, air_rate = 0, solid = 20, solid_rate = 0, diffusivity = 0;
    float cold = 20, cold_viscosity = 1000, hot = 100, hot_viscosity = 1;
    void visit(ParamVisitor& v);
};

// Eddies smaller than the grid can resolve, and the ripples they cause. See ripples/ripples.h.
struct LiquidTurbulenceParams : RippleParams {
    bool on = false;
    LiquidTurbulenceParams() { longest = 2; } // longer ones are part of the liquid's own motion
    void visit(ParamVisitor& v);
};

// The surface of a tracked liquid. See tracked_surface.h.
struct TrackedParams : TrackParams {
    std::optional<float> voxel;
    void visit(ParamVisitor& v);
};

struct LiquidParams {
    std::string name = "liquid"; // of the stage, for messages
    float voxel = 0.02f;
    Transfer transfer = Transfer::flip;
    float flip = 0.97f;
    float cfl = 5;
    int advection_order = 3;
    Vec3f gravity = Vec3f(0, -9.81f, 0);
    float density = 1000, viscosity = 0;
    float surface_tension = 0;
    float contact_angle = 90;
    float elasticity = 0, yield_strain = 0, relaxation = 0;
    float tolerance = 1e-4f;
    bool keep_volume = true;
    int seed = 1;
    enum class Surface { particles, tracked };
    Surface surface = Surface::particles;
    TrackedParams tracked;
    HeatParams heat;
    LiquidTurbulenceParams turbulence;
    DomainParams domain;
    std::vector<SourceParams> sources;
    std::vector<SinkParams> sinks;
    std::vector<ColliderParams> colliders;
    std::vector<BodyParams> bodies;
    std::vector<ForceParams> forces;

    void visit(ParamVisitor& v);
    // Edge of the finest cells of the tracked surface [m].
    float surface_voxel() const { return tracked.voxel.value_or(0.5f * voxel); }
    // Whether some of the liquid has a viscosity or elasticity, and whether viscosity varies between sources.
    bool viscous() const;
    bool viscosity_varies() const;
    // Whether some source sets a colour, or a material; particles then carry it.
    bool has_colors() const;
    bool has_materials() const;
    // Whether some source sets a temperature.
    bool has_heat() const;
};

} // namespace spindrift
