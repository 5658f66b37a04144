// Keyframes: rows [frame, values...] in ascending order of frames. The value is held before the first and after the
// last row. Interpolation between rows:
// - linear: straight from key to key;
// - smooth: a C1 cubic spline through all keys (Catmull-Rom, also for uneven frames) that starts and ends at rest and
//   stays constant between two equal keys;
// - step: held until the next key.
//
// The rate is the exact derivative of the value.
#pragma once

#include "spindrift/base/math.h"

#include <Eigen/Geometry>
#include <vector>

namespace spindrift {

using Keys = std::vector<std::vector<float>>;
enum class Interpolation { linear, smooth, step };

bool in_order(const Keys& keys);
// True if any two rows differ in more than their frame.
bool keys_change(const Keys& keys);

// Value of rows with one to three numbers; missing components are zero. Requires at least one key.
struct KeyedValue {
    Vec3d value, rate; // rate: per frame; at a linear key, that of the following segment
};
KeyedValue value_at(const Keys& keys, float frame, Interpolation interpolation);

// Rotation of rows [frame, ax, ay, az, degrees]. Between two keys with the same axis the angle is interpolated, so that
// 720 is two turns; otherwise the shortest rotation is taken.
struct KeyedTurn {
    Eigen::Quaterniond turn;
    Vec3d spin; // angular velocity [rad/frame]
};
KeyedTurn turn_at(const Keys& keys, float frame, Interpolation interpolation);

} // namespace spindrift
