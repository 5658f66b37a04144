// What an artist can say about sand.
#pragma once

#include "spindrift/bodies/params.h"
#include "spindrift/world/params.h"

namespace spindrift {

// One kind of grains. Particles carry its number as the attribute `material`.
struct SandMaterialParams {
    float density = 1600; // of grains at rest with the air between them [kg/m3]
    float friction = 0.5f;
    Vec3f color = Vec3f(0.60f, 0.42f, 0.22f);
    void visit(ParamVisitor& v);
};

// Where sand comes from: a shape filled once when the shot starts, or kept filled while it flows.
struct SandSourceParams : ShapeParams {
    enum class Mode { initial, flow };
    Mode mode = Mode::initial;
    Vec3f velocity = Vec3f::Zero();
    float inherit = 1; // share of the shape's own motion that its sand starts with
    int material = 0;
    int first_frame = std::numeric_limits<int>::min(), last_frame = std::numeric_limits<int>::max();
    void visit(ParamVisitor& v);
};

// A blow that throws sand away from a point at one moment: an explosion.
struct SandImpulseParams {
    Vec3f center = Vec3f::Zero();
    float radius = 0.1f; // [m]
    float speed = 10;    // at the centre, falling to nothing at the radius [m/s]
    int frame = 1;
    void visit(ParamVisitor& v);
};

struct SandParams {
    enum class Model { grains, fluid };
    Model model = Model::grains;
    float voxel = 0.02f;
    Vec3f gravity = Vec3f(0, -9.81f, 0);
    float rounding = 0.1f; // [s]
    bool shapes = true;
    int projections = 2;
    bool isotropic = false;
    float tolerance = 1e-3f;
    float cohesion = 0; // [Pa]
    std::optional<float> wall_friction;
    int seed = 1;
    DomainParams domain;
    std::vector<SandMaterialParams> materials;
    std::vector<SandSourceParams> sources;
    std::vector<SandImpulseParams> impulses;
    std::vector<ColliderParams> colliders;
    std::vector<BodyParams> bodies;

    void visit(ParamVisitor& v);
};

} // namespace spindrift
