// What a shot will need, found out by two rehearsals: the shot is run with a grid several times coarser, and with one
// twice as coarse as that, in a temporary folder. From both follows how the numbers that stages report, and their
// files, grow with resolution. That sees what no formula does: how far smoke rises, how a splash spreads, what drains
// away. It takes seconds; a rehearsal that would take longer is cut short, and the coarser one tells how it goes on.
#pragma once

#include "spindrift/engine/shot.h"

namespace spindrift {

// Rehearses these stages of a shot, in the order of the chain. A stage that could not be rehearsed is missing in what
// is returned.
Forecast rehearse(const ShotOptions& options, const std::vector<const Stage*>& stages, const FrameRange& frames);

// The part of a rehearsal that runs in a process of its own, so that its memory can be measured: `options.only`,
// for so many seconds of all threads together. Says on standard output what it shows.
void rehearse_stage(ShotOptions options, const StageKinds& kinds, double seconds);

// The value at k = 1 of something that was `fine` at k = k1 and `coarse` at k = 2 k1: a power of 1 / k...
double extrapolated(double fine, double coarse, double k1, const Growth& growth);
// ... or tiles that cover a volume with a margin around, which is as thick in cells at any resolution.
double extrapolated_volume(double fine, double coarse, double k1);

} // namespace spindrift
