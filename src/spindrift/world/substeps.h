// A frame is cut into as many steps as its motion needs.
#pragma once

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"

#include <cmath>

namespace spindrift {

// Calls step(dt) until the time from `frame` to the next is over, each after set_time(the moment at its end, in
// frames); largest_step() is asked before each, at the moment of its start. Returns how many there were. Throws Error
// if there would be more than can be meant: `what` it is that moves, and what to check.
template <class SetTime, class LargestStep, class Step>
int for_each_substep(int frame, float fps, const char* what, const char* remedy, const SetTime& set_time,
                     const LargestStep& largest_step, const Step& step)
{
    constexpr float kMost = 500;
    const float frame_time = 1 / fps;
    int count = 0;
    for (float left = frame_time; left > 0; ++count) {
        check_interrupt();
        set_time(static_cast<float>(frame) + (frame_time - left) * fps);
        const float steps = std::ceil(left / largest_step() - 1e-3f);
        if (!(steps <= kMost))
            fail("frame {}: {} would need {} substeps; its velocity is not plausible. {}", frame + 1, what, steps,
                 remedy);
        const float dt = steps <= 1 ? left : left / steps;
        set_time(static_cast<float>(frame) + (frame_time - left + dt) * fps);
        step(dt);
        left = steps <= 1 ? 0 : left - dt;
    }
    return count;
}

} // namespace spindrift
