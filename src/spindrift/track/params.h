// Scene parameters of tracked surfaces.
#pragma once

#include "spindrift/scene/params.h"
#include "spindrift/track/tracker.h"

namespace spindrift {

struct TrackParams {
    bool curved = true, jitter = true, keep_volume = true, reference = false;
    float smoothing = 0;
    std::vector<std::string> labels, directions;
    int seed = 1;

    void visit(ParamVisitor& v);
    // `flow_voxel`: of the grid that the velocity is on [m]; 0 if that is not known.
    TrackSettings settings(float voxel, float flow_voxel, const std::optional<Box3f>& walls) const;
};

} // namespace spindrift
