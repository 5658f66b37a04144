// What is known about a crowd when its shot is complete, from the files of its frames:
//
//     trajectories.txt    where everyone was in each frame, in the layout that tools for pedestrian dynamics read
//     counts.csv          people in the world and in each area, and how many have crossed each line, frame by frame
//     counts.png          the same as curves
#pragma once

#include "crowd/floor_plan.h"
#include "pipeline/progress.h"

namespace spindrift {

void write_crowd_results(const std::vector<std::string>& files, const FloorPlan& plan, float fps,
                         const std::string& folder, Progress& progress);

} // namespace spindrift
