// Keyframes: rows [frame, values...] in the order of their frames. Before the first and after the last row the value
// is held. Between rows it is interpolated:
//   linear  straight from key to key;
//   smooth  a cubic spline through all keys with a continuous rate of change (Catmull-Rom, for uneven frames too). The
//           motion starts and ends at rest, and stands still between two equal keys;
//   step    held until the next key, then it jumps.
// The rate is the exact derivative of the value.
#pragma once

#include "spindrift/base/math.h"

#include <Eigen/Geometry>
#include <vector>

namespace spindrift {

using Keys = std::vector<std::vector<float>>;
enum class Interpolation { linear, smooth, step };

bool in_order(const Keys& keys);
// Whether any two rows differ in more than their frame.
bool keys_change(const Keys& keys);

// Of one to three numbers a row; the others are zero. There must be a key.
struct KeyedValue {
    Vec3d value, rate; // rate: per frame; at a linear key that of the motion that follows
};
KeyedValue value_at(const Keys& keys, float frame, Interpolation interpolation);

// Of rows [frame, ax, ay, az, degrees]. Between two keys of one axis the degrees count, so that 720 is two turns;
// otherwise the shortest way.
struct KeyedTurn {
    Eigen::Quaterniond turn;
    Vec3d spin; // angular velocity [rad/frame]
};
KeyedTurn turn_at(const Keys& keys, float frame, Interpolation interpolation);

} // namespace spindrift
