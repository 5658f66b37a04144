// Optical flow by OpenCV, in a module (libspindrift_flow.so) that is loaded when motion is first estimated, so that
// programs that embed a solver do not load OpenCV.
#pragma once

#include <cstdint>
#include <string>

namespace spindrift {

// Brightness of two pictures in 8 bits; writes the displacements x, y of each pixel. `error` stays empty on success:
// exceptions may not cross the module's border.
using OpticalFlowFunction = void(const uint8_t* from, const uint8_t* to, int width, int height, float* flow,
                                 std::string& error);
constexpr const char* kOpticalFlowFunction = "spindrift_optical_flow";

} // namespace spindrift
