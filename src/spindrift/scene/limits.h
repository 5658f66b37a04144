// Ranges of parameters by quantity: the values that solvers in single precision can handle. Every number in a scene has
// two finite limits (Values.EveryNumberHasTwoEnds); values beyond them are typing errors and would overflow.
#pragma once

#include "spindrift/scene/params.h"

namespace spindrift {

namespace limits {
inline Range position() { return between(-1e6, 1e6); } // m; floats there are 6 cm apart
inline Range size() { return between(1e-7, 1e6); }     // m
inline Range voxel() { return between(1e-6, 1e4); }    // m
inline Range velocity() { return between(-1e5, 1e5); } // m/s, per component
inline Range speed() { return between(0, 1e5); }       // m/s
inline Range acceleration() { return between(-1e5, 1e5); }
inline Range direction() { return between(-1e6, 1e6); } // of any length
inline Range density() { return between(1e-3, 1e6); }   // kg/m3
inline Range celsius() { return between(-273.15, 1e5); }
inline Range rate() { return between(0, 1e6); } // 1/s
inline Range frame() { return between(-1e8, 1e8); }
inline Range integer() { return between(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()); }
inline Range seed() { return between(0, std::numeric_limits<int>::max()); }
inline Range in_rows() { return between(-1e7, 1e7); } // frames, seconds, metres and degrees
} // namespace limits

} // namespace spindrift
