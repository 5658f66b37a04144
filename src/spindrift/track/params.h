// Scene parameters of tracked surfaces.
#pragma once

#include "spindrift/scene/params.h"
#include "spindrift/track/tracker.h"

namespace spindrift {

struct TrackParams {
    bool curved = true, jitter = true, keep_volume = true, reference = false;
    float smoothing = 0, cells_per_step = 4;
    std::vector<std::string> labels, directions;
    int seed = 1;

    void visit(ParamVisitor& v);
    TrackSettings settings(float voxel, const std::optional<Box3f>& walls) const;
};

} // namespace spindrift
