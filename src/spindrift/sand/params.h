// Scene parameters of sand. Help texts and ranges are in params.cpp.
#pragma once

#include "spindrift/bodies/params.h"
#include "spindrift/world/params.h"

namespace spindrift {

// One material. Particles store its index as the attribute `material`.
struct SandMaterialParams {
    float density = 1600; // bulk density at rest, including the air between grains [kg/m3]
    float friction = 0.5f;
    Vec3f color = Vec3f(0.60f, 0.42f, 0.22f);
    void visit(ParamVisitor& v);
};

struct SandSourceParams : FillingParams {
    void visit(ParamVisitor& v);
};

// An explosion: throws sand radially away from a point at one moment.
struct SandImpulseParams {
    Vec3f center = Vec3f::Zero();
    float radius = 0.1f; // [m]
    float speed = 10;    // at the centre, falling linearly to zero at the radius [m/s]
    int frame = 1;
    void visit(ParamVisitor& v);
};

struct SandParams {
    enum class Model { grains, fluid };
    std::string name = "sand"; // of the stage, for messages
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
