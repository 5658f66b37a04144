// Video patches [Narain 2011, 2.4.2]: each frame of a video together with the frames before it, warped so that the
// large motion is removed and only the evolution of the texture is left.
#pragma once

#include "spindrift/video/optical_flow.h"

namespace spindrift {

struct MotionRemoval {
    int history = 1;      // n, frames before the current one
    float smoothing = 24; // standard deviation of the Gaussian [pixels]
    bool still = false;   // the video has no large motion, so nothing is estimated
};

// A frame for each n + 1 consecutive ones: the channels of the newest, then of those before it, one after the other,
// and the guide of the newest, if there is one. Cropped to where all are known. Throws Error(bad_input) if the video
// has too few frames, or moves out of the picture.
std::vector<Raster> video_patches(const Video& video, const MotionRemoval& params);

// For each frame after the first, the smoothed flow to the frame before it.
std::vector<OpticalFlow> flows_back(const Video& video, float smoothing);

} // namespace spindrift
