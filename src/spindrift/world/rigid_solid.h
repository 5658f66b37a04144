// A rigid solid: one or more shapes fixed to a common frame. It keeps its previous pose, so that particles that it hits
// during a step can be found.
#pragma once

#include "spindrift/field/row.h"
#include "spindrift/scene/shapes.h"

#include <Eigen/Geometry>

namespace spindrift {

// Pose and velocity of a rigid solid, about its centre of mass.
struct RigidMotion {
    Vec3d position = Vec3d::Zero();                                  // [m]
    Eigen::Quaterniond orientation = Eigen::Quaterniond::Identity(); // from body axes to world axes
    Vec3d velocity = Vec3d::Zero();                                  // [m/s]
    Vec3d spin = Vec3d::Zero();                                      // angular velocity [rad/s], in world axes
};

class RigidSolid {
  public:
    // A shape in the solid's frame, relative to the centre of mass: X = rotation (shape's X) + offset.
    struct Part {
        Shape shape;
        Mat3f rotation = Mat3f::Identity();
        Vec3f offset = Vec3f::Zero();
    };
    explicit RigidSolid(std::vector<Part> parts);

    const std::vector<Part>& parts() const { return parts_; }
    // Sets a new pose and keeps the current one as the previous.
    void move_to(const RigidMotion& motion);
    // Changes the velocity only.
    void set_velocity(const Vec3d& velocity, const Vec3d& spin);

    // Signed distance [m], negative inside, at one point and at eight points.
    float distance(const Vec3f& x) const;
    Row distances(const Row3& x) const;
    // Velocity [m/s] of the solid's material at x.
    Vec3f velocity(const Vec3f& x) const { return velocity_ + spin_.cross(x - position_); }
    // New position of a point that was fixed to the solid before the last move.
    Vec3f carried(const Vec3f& x) const
    {
        return position_ + rotation_ * (rotation_before_.transpose() * (x - position_before_));
    }
    // Upper bound on any velocity component of any point of the solid [m/s].
    float speed() const { return velocity_.cwiseAbs().maxCoeff() + spin_.norm() * radius_; }
    // Radius of the bounding sphere about the centre of mass.
    float radius() const { return radius_; }
    // Lower bound of distance(), cheap to compute.
    float least_distance(const Vec3f& x) const { return (x - position_).norm() - radius_; }
    Box3f bounds() const;
    // For display, in the solid's frame.
    Mesh mesh() const;

  private:
    std::vector<Part> parts_, placed_; // in the solid's frame; in world space
    float radius_ = 0;
    Vec3f position_ = Vec3f::Zero(), position_before_ = Vec3f::Zero();
    Mat3f rotation_ = Mat3f::Identity(), rotation_before_ = Mat3f::Identity();
    Vec3f velocity_ = Vec3f::Zero(), spin_ = Vec3f::Zero();
};

} // namespace spindrift
