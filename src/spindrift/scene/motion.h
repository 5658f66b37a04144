// Keyframed motion: translation, rotation, scaling, and the motion of a parent. A point X of the object at rest is at
//
//     x = pivot + shift + rotation scale (X - pivot)
//
// with `scale` along the object's own axes. The parent's motion is applied afterwards and must scale uniformly, so that
// a pose is always a rotation, a scale along the shape's own axes and a shift. Velocities are exact derivatives of the
// poses.
#pragma once

#include "spindrift/scene/keyframes.h"
#include "spindrift/scene/params.h"

#include <memory>

namespace spindrift {

struct MotionParams {
    std::string name, parent;
    Keys translate, rotate, scale; // [frame, x, y, z], [frame, ax, ay, az, degrees], [frame, sx, sy, sz]
    std::optional<Vec3f> pivot;    // default: the middle of the object
    Interpolation interpolation = Interpolation::linear;

    // Translation and rotation; the other parameters.
    void visit_keys(ParamVisitor& v);
    void visit_more(ParamVisitor& v);
    bool scales_evenly() const;
};

// An object without shape that serves as a parent.
struct NullParams : MotionParams {
    void visit(ParamVisitor& v);
};

class Motion {
  public:
    Motion() = default;
    // `middle` is the pivot if the parameters have none.
    Motion(const MotionParams& params, const Vec3f& middle, std::shared_ptr<const Motion> parent = nullptr);

    const Vec3f& pivot() const { return pivot_; }
    // Whether it ever leaves its rest pose, changes its pose over time, or changes its size.
    bool keyed() const { return keyed_; }
    bool moves() const { return moves_; }
    bool scales() const { return scales_; }

    // The pose at a time in frames, and its rate of change.
    struct Pose {
        Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
        Vec3d scale = Vec3d::Ones();
        Vec3d shift = Vec3d::Zero();
        Vec3d shift_rate = Vec3d::Zero(); // [m/frame]
        Vec3d spin = Vec3d::Zero();       // angular velocity [rad/frame]
        Vec3d growth = Vec3d::Zero();     // rate of the scale, relative to it [1/frame]
    };
    Pose at(float frame) const;
    // Frames that show the smallest scales: the keys, its parents' too, and some in between, where curves overshoot.
    std::vector<float> scale_frames() const;

  private:
    Pose own(float frame) const;
    Keys translate_, rotate_, scale_;
    Interpolation interpolation_ = Interpolation::linear;
    Vec3f pivot_ = Vec3f::Zero();
    std::shared_ptr<const Motion> parent_;
    bool keyed_ = false, moves_ = false, scales_ = false;
};

} // namespace spindrift
