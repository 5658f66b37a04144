// What an artist can say about a rigid body.
#pragma once

#include "spindrift/scene/shapes.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace unit {
constexpr const char* degrees_per_second = "deg/s";
constexpr const char* kilograms = "kg";
constexpr const char* newton_metres = "N m";
} // namespace unit

// A shape that is part of a body. The motion and `invert` of ShapeParams are not for bodies.
struct BodyPartParams : ShapeParams {
    Vec3f rotation = Vec3f::Zero(); // [deg] about x, then y, then z, through the shape's middle
    void visit(ParamVisitor& v);
    Eigen::Quaterniond turn() const;
};

// Keeps a body on an axis that is fixed in the world.
struct HingeParams {
    std::optional<Vec3f> anchor; // a point on the axis [m]; left out, there is no hinge
    Vec3f axis = Vec3f(0, 0, 1); // of any length
    float speed = 0, torque = 0; // that a motor turns at [deg/s], with this torque at most [N m]; 0: no motor
    void visit(ParamVisitor& v);
};

// On walls, colliders and other bodies, where a body does not say.
constexpr float kBodyFriction = 0.5f;

struct BodyParams : BodyPartParams {
    std::vector<BodyPartParams> parts; // more shapes that are fixed to the first
    float density = 500;
    std::optional<float> mass;                     // instead
    Vec3f velocity = Vec3f::Zero();                // at the start or release, of the centre of mass
    Vec3f spin = Vec3f::Zero();                    // at the start or release [deg/s]
    int release = std::numeric_limits<int>::min(); // until this frame it stands still, or moves by keyframes
    MotionParams held;                             // these keyframes: translate and rotate
    std::optional<float> friction;                 // left out: kBodyFriction, and as rough as sand for sand
    float restitution = 0.2f;
    std::string fixed_move, fixed_turn; // axes of the world, such as "xz"
    HingeParams hinge;

    void visit(ParamVisitor& v);
    // 1 for each axis of the world that the body may move along, or turn about.
    Vec3d free_to_move() const;
    Vec3d free_to_turn() const;
};

} // namespace spindrift
