// Scene parameters of smoke.
#pragma once

#include "spindrift/field/advection.h"
#include "spindrift/turbulence/params.h"
#include "spindrift/world/forces.h"
#include "spindrift/world/params.h"

namespace spindrift {

// A scalar advected besides density and temperature, such as fuel, soot or age.
struct ScalarParams {
    std::string name;
    float dissipation = 0;
    void visit(ParamVisitor& v);
};

// Amount of a scalar that a source emits.
struct ScalarAmount {
    std::string name;
    float value = 1;
    void visit(ParamVisitor& v);
};

// Noise on the emission of a source.
struct SourceNoiseParams {
    float amount = 0, size = 0.1f, change = 1;
    int seed = 1;
    void visit(ParamVisitor& v);
};

// A source of smoke: a shape, or the particles of a cache.
struct SmokeSourceParams : ShapeParams, FrameSpan {
    enum class Mode { fill, add };
    std::string particles;   // frame pattern of a cache; replaces the shape
    float particle_size = 0; // [m]; 0: from the cache
    Mode mode = Mode::fill;
    float density = 1, temperature = 0;
    std::vector<ScalarAmount> scalars;
    std::optional<Vec3f> color;
    std::optional<Vec3f> velocity;
    float inherit = 1;
    SourceNoiseParams noise;
    void visit(ParamVisitor& v);
};

// Turbulence below the grid's resolution, see turbulence/turbulence.h. Scalars are then on a finer grid.
struct SmokeTurbulenceParams : TurbulenceParams {
    bool on = false;
    bool two_way = true;
    void visit(ParamVisitor& v);
};

struct SmokeColliderParams : ShapeParams {};

struct SmokeParams {
    std::string name = "smoke"; // of the stage, for messages
    float voxel = 0.05f;
    Advection advection = Advection::maccormack;
    float cfl = 2;
    bool sparse = true;
    float threshold = 1e-3f;
    int padding = 6;
    float ambient_temperature = 293;
    float buoyancy = 1, weight = 0;
    Vec3f gravity = Vec3f(0, -9.81f, 0);
    float dissipation = 0, cooling = 0;
    float confinement = 0;
    bool keep_mass = true;
    float tolerance = 1e-4f;
    SmokeTurbulenceParams turbulence;
    DomainParams domain;
    std::vector<ScalarParams> scalars;
    std::vector<SmokeSourceParams> sources;
    std::vector<SmokeColliderParams> colliders;
    std::vector<ForceParams> forces;

    SmokeParams();
    void visit(ParamVisitor& v);
    bool has_colors() const;
    // Refinement of the scalars' grid relative to the flow's.
    int refine() const { return turbulence.on ? turbulence.refine : 1; }
    float fine_voxel() const { return voxel / static_cast<float>(refine()); }
};

} // namespace spindrift
