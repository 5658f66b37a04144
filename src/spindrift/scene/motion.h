// How something in a scene moves by keyframes: shifts, turns, scaling, and the motion of a parent that it takes part
// in. A point X of the thing at rest is at
//
//     x = pivot + shift + rotation scale (X - pivot)
//
// with `scale` along the thing's own axes; a parent's motion comes after that, and scales evenly.
#pragma once

#include "spindrift/scene/keyframes.h"
#include "spindrift/scene/params.h"

#include <memory>

namespace spindrift {

struct MotionParams {
    std::string name, parent;
    Keys translate, rotate, scale; // [frame, x, y, z], [frame, ax, ay, az, degrees], [frame, sx, sy, sz]
    std::optional<Vec3f> pivot;    // left out: the middle of the thing
    Interpolation interpolation = Interpolation::linear;

    // Translate and rotate, and the other parameters.
    void visit_keys(ParamVisitor& v);
    void visit_more(ParamVisitor& v);
    bool scales_evenly() const;
};

// A thing without a form, for others to be moved by.
struct NullParams : MotionParams {
    void visit(ParamVisitor& v);
};

class Motion {
  public:
    Motion() = default;
    // `middle` is the pivot if the parameters have none.
    Motion(const MotionParams& params, const Vec3f& middle, std::shared_ptr<const Motion> parent = nullptr);

    const Vec3f& pivot() const { return pivot_; }
    // Whether it is ever anywhere but at rest, other than at one place, or other than of its own size.
    bool keyed() const { return keyed_; }
    bool moves() const { return moves_; }
    bool scales() const { return scales_; }

    // Where it is at a moment, in frames, and how that changes.
    struct Pose {
        Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
        Vec3d scale = Vec3d::Ones();
        Vec3d shift = Vec3d::Zero();
        Vec3d shift_rate = Vec3d::Zero(); // [m/frame]
        Vec3d spin = Vec3d::Zero();       // angular velocity [rad/frame]
        Vec3d growth = Vec3d::Zero();     // of the scale, relative to it [1/frame]
    };
    Pose at(float frame) const;

  private:
    Pose own(float frame) const;
    Keys translate_, rotate_, scale_;
    Interpolation interpolation_ = Interpolation::linear;
    Vec3f pivot_ = Vec3f::Zero();
    std::shared_ptr<const Motion> parent_;
    bool keyed_ = false, moves_ = false, scales_ = false;
};

} // namespace spindrift
