// What is known about a crowd when its shot is complete, from the files of its frames:
//
//     trajectories.txt    where everyone was in each frame, in the layout that tools for pedestrian dynamics read
//     counts.csv          frame by frame: people in the world and in each area, the density there, and how many have
//                         crossed each line, either way
//     summary.csv         when half, nine in ten and all had left; of each line who crossed and the greatest flow; of
//                         each area the greatest density
//     people.svg, density.svg, flow.svg    the counts as curves
#pragma once

#include "spindrift/plan/floor_plan.h"

namespace spindrift {

// Their paths, whether they are there or not.
std::vector<std::string> crowd_result_files(const std::string& folder);
// Returns a line on who has left, for people.
std::string write_crowd_results(const std::vector<std::string>& files, const FloorPlan& plan, float fps,
                                bool trajectories, const std::string& folder);

} // namespace spindrift
