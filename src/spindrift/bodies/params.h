// Scene parameters of rigid bodies.
#pragma once

#include "spindrift/scene/shapes.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace unit {
constexpr const char* degrees_per_second = "deg/s";
constexpr const char* kilograms = "kg";
constexpr const char* newton_metres = "N m";
} // namespace unit

// A shape that is part of a body. `invert` and the motion of ShapeParams do not apply to bodies.
struct BodyPartParams : ShapeParams {
    Vec3f rotation = Vec3f::Zero(); // [deg] about x, then y, then z, through the shape's middle
    void visit(ParamVisitor& v);
    Eigen::Quaterniond turn() const;
};

// Constrains a body to an axis fixed in world space.
struct HingeParams {
    std::optional<Vec3f> anchor; // a point on the axis [m]; none: no hinge
    Vec3f axis = Vec3f(0, 0, 1); // of any length
    float speed = 0, torque = 0; // target speed [deg/s] and maximum torque [N m] of the motor; 0: no motor
    void visit(ParamVisitor& v);
};

// Default friction on walls, colliders and other bodies.
constexpr float kBodyFriction = 0.5f;

struct BodyParams : BodyPartParams {
    std::vector<BodyPartParams> parts; // more shapes, fixed to the first
    float density = 500;
    std::optional<float> mass;                     // overrides density
    Vec3f velocity = Vec3f::Zero();                // of the centre of mass, at the start or release
    Vec3f spin = Vec3f::Zero();                    // at the start or release [deg/s]
    int release = std::numeric_limits<int>::min(); // before this frame it is at rest or keyframed
    MotionParams held;                             // keyframes before the release: translate and rotate
    std::optional<float> friction;                 // none: kBodyFriction; on sand, that of the sand
    float restitution = 0.2f;
    std::string fixed_move, fixed_turn; // world axes, such as "xz"
    HingeParams hinge;

    void visit(ParamVisitor& v);
    // 1 for each world axis that the body may move along or turn about, otherwise 0.
    Vec3d free_to_move() const;
    Vec3d free_to_turn() const;
};

} // namespace spindrift
