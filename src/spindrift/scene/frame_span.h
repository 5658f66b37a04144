// The frames in which something acts: the parameters first_frame and last_frame.
#pragma once

#include "spindrift/scene/params.h"

#include <limits>

namespace spindrift {

struct FrameSpan {
    int first_frame = std::numeric_limits<int>::min(), last_frame = std::numeric_limits<int>::max(); // of the shot

    // `what` acts: "the flow".
    void visit(ParamVisitor& v, const char* what);
    // Whether it acts at this time [frames]; it ends with the end of its last frame.
    bool contains(float frame) const
    {
        return frame >= static_cast<float>(first_frame) && frame <= static_cast<float>(last_frame) + 1;
    }
};

} // namespace spindrift
