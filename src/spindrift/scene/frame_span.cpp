#include "spindrift/scene/frame_span.h"

#include "spindrift/scene/limits.h"

#include <fmt/format.h>

namespace spindrift {

void FrameSpan::visit(ParamVisitor& v, const char* what)
{
    v("first_frame", first_frame, unit::frames, limits::frame(),
      fmt::format("First frame of {}; by default the first of the shot.", what).c_str());
    v("last_frame", last_frame, unit::frames, limits::frame(),
      fmt::format("Last frame of {}; by default the last of the shot.", what).c_str());
    v.require(first_frame <= last_frame, "last_frame",
              fmt::format("{} ends before it starts; set last_frame to first_frame or later", what).c_str());
}

} // namespace spindrift
