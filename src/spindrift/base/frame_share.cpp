#include "spindrift/base/frame_share.h"

#include <atomic>

namespace spindrift {

namespace {

std::atomic<float> done = 0;

} // namespace

void set_frame_share(float share) { done = share; }

float frame_share() { return done; }

} // namespace spindrift
