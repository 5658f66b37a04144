// A solid that moves as a whole: one or more shapes fixed to a frame of their own. Whoever moves it says where it is
// now; where it was before is remembered, for what met it on its way.
#pragma once

#include "spindrift/field/row.h"
#include "spindrift/scene/shapes.h"

#include <Eigen/Geometry>

namespace spindrift {

// Where a rigid solid is and how it moves. The position is that of its centre of mass, which velocities are about.
struct RigidMotion {
    Vec3d position = Vec3d::Zero();                                  // [m]
    Eigen::Quaterniond orientation = Eigen::Quaterniond::Identity(); // from its own axes to the world's
    Vec3d velocity = Vec3d::Zero();                                  // [m/s]
    Vec3d spin = Vec3d::Zero();                                      // angular velocity [rad/s], about the world's axes
};

class RigidSolid {
  public:
    // A shape in the solid's own frame: X = rotation (shape's X) + offset, from the centre of mass.
    struct Part {
        Shape shape;
        Mat3f rotation = Mat3f::Identity();
        Vec3f offset = Vec3f::Zero();
    };
    explicit RigidSolid(std::vector<Part> parts);

    const std::vector<Part>& parts() const { return parts_; }
    // Takes a new place, and remembers the one it had.
    void move_to(const RigidMotion& motion);
    // Another velocity at the same place.
    void set_velocity(const Vec3d& velocity, const Vec3d& spin);

    // Signed distance [m], negative inside; and of eight places at once.
    float distance(const Vec3f& x) const;
    Row distances(const Row3& x) const;
    // Velocity [m/s] of its material at a place.
    Vec3f velocity(const Vec3f& x) const { return velocity_ + spin_.cross(x - position_); }
    // Where a point that was fixed to it before the last move is now.
    Vec3f carried(const Vec3f& x) const
    {
        return position_ + rotation_ * (rotation_before_.transpose() * (x - position_before_));
    }
    // The largest component of the velocity of any of its points, or more [m/s].
    float speed() const { return velocity_.cwiseAbs().maxCoeff() + spin_.norm() * radius_; }
    // No point of it is farther from its centre of mass.
    float radius() const { return radius_; }
    // No more than distance(), and quickly found.
    float least_distance(const Vec3f& x) const { return (x - position_).norm() - radius_; }
    Box3f bounds() const;
    // To look at, in its own frame.
    Mesh mesh() const;

  private:
    std::vector<Part> parts_, placed_; // in its own frame, and in the world
    float radius_ = 0;
    Vec3f position_ = Vec3f::Zero(), position_before_ = Vec3f::Zero();
    Mat3f rotation_ = Mat3f::Identity(), rotation_before_ = Mat3f::Identity();
    Vec3f velocity_ = Vec3f::Zero(), spin_ = Vec3f::Zero();
};

} // namespace spindrift
