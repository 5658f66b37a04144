// Splits a frame into substeps of adaptive length.
#pragma once

#include "spindrift/base/error.h"
#include "spindrift/base/frame_share.h"
#include "spindrift/base/interrupt.h"

#include <algorithm>
#include <cmath>

namespace spindrift {

// The time t in which speed * t + acceleration * t^2 reaches `distance`: a lower bound for anything that starts with at
// most this speed. This form of the root does not cancel.
inline float time_to_move(float distance, float speed, float acceleration)
{
    return 2 * distance / std::max(speed + std::sqrt(speed * speed + 4 * acceleration * distance), 1e-20f);
}

// Advances from `frame` to the next: before each step, calls set_time() and largest_step() at its start, then
// set_time() at its end and step(dt); times are in frames. Returns the number of steps. Throws Error above 500
// substeps; `what` names what moves and `remedy` what to check.
template <class SetTime, class LargestStep, class Step>
int for_each_substep(int frame, float fps, const std::string& what, const std::string& remedy, const SetTime& set_time,
                     const LargestStep& largest_step, const Step& step)
{
    constexpr float kMaxSubsteps = 500;
    const float frame_time = 1 / fps;
    int count = 0;
    for (float left = frame_time; left > 0; ++count) {
        check_interrupt();
        set_time(static_cast<float>(frame) + (frame_time - left) * fps);
        const float steps = std::ceil(left / largest_step() - 1e-3f), total = static_cast<float>(count) + steps;
        if (!(total <= kMaxSubsteps))
            fail("frame {}: {} would need {} substeps; its velocity is not plausible. {}", frame + 1, what, total,
                 remedy);
        const float dt = steps <= 1 ? left : left / steps;
        set_time(static_cast<float>(frame) + (frame_time - left + dt) * fps);
        step(dt);
        left = steps <= 1 ? 0 : left - dt;
        set_frame_share(1 - left / frame_time);
    }
    return count;
}

} // namespace spindrift
