// Results of a crowd's complete shot, computed from the files of its frames:
//
//     trajectories.txt    everyone's position in each frame, in the layout that tools for pedestrian dynamics read
//     counts.csv          per frame: people on the floor and in each area, the density there, and how many have
//                         crossed each line in either direction
//     summary.csv         when half, nine in ten and all had left; crossings and greatest flow of each line; greatest
//                         density of each area
//     people.svg, density.svg, flow.svg    the counts as curves
#pragma once

#include "spindrift/plan/floor_plan.h"

namespace spindrift {

// The paths of the results, whether they exist or not.
std::vector<std::string> crowd_result_files(const std::string& folder);
// Returns a line on how many have left, for people.
std::string write_crowd_results(const std::vector<std::string>& files, const FloorPlan& plan, float fps,
                                bool trajectories, const std::string& folder);

} // namespace spindrift
