// What an artist can say about smoke.
#pragma once

#include "spindrift/field/advection.h"
#include "spindrift/turbulence/params.h"
#include "spindrift/world/forces.h"
#include "spindrift/world/params.h"

namespace spindrift {

// A value that smoke carries along besides density and temperature: fuel, soot, the age of what it is made of.
struct ScalarParams {
    std::string name;
    float dissipation = 0;
    void visit(ParamVisitor& v);
};

// How much of such a value a source gives.
struct ScalarAmount {
    std::string name;
    float value = 1;
    void visit(ParamVisitor& v);
};

// Noise that makes a source uneven.
struct SourceNoiseParams {
    float amount = 0, size = 0.1f, change = 1;
    int seed = 1;
    void visit(ParamVisitor& v);
};

// Where smoke comes from: a shape, or the particles of a cache.
struct SmokeSourceParams : ShapeParams {
    enum class Mode { fill, add };
    std::string particles;   // frame pattern of a cache; the shape is not used then
    float particle_size = 0; // [m]; 0: what the cache says
    Mode mode = Mode::fill;
    float density = 1, temperature = 0;
    std::vector<ScalarAmount> scalars;
    std::optional<Vec3f> color;
    std::optional<Vec3f> velocity;
    float inherit = 1;
    SourceNoiseParams noise;
    int first_frame = std::numeric_limits<int>::min(), last_frame = std::numeric_limits<int>::max();
    void visit(ParamVisitor& v);
    bool active(float frame) const
    {
        return frame >= static_cast<float>(first_frame) && frame <= static_cast<float>(last_frame) + 1;
    }
};

// Turbulence finer than the grid, see turbulence/turbulence.h. What smoke carries then lives on a finer grid.
struct SmokeTurbulenceParams : TurbulenceParams {
    bool on = false;
    bool two_way = true;
    void visit(ParamVisitor& v);
};

struct SmokeColliderParams : ShapeParams {};

struct SmokeParams {
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
    // Of the grid that density lives on, against the flow's.
    int refine() const { return turbulence.on ? turbulence.refine : 1; }
    float fine_voxel() const { return voxel / static_cast<float>(refine()); }
};

} // namespace spindrift
