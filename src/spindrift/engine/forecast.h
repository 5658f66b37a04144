// Forecasts memory, disk space and time of a shot with two rehearsals: the shot runs in a temporary folder with a grid
// several times coarser, and with one twice as coarse as that. How the reported numbers and the files grow between the
// two is extrapolated to full resolution. This covers what no formula does: how far smoke rises, how a splash spreads,
// what drains away. It takes seconds; a rehearsal that would take longer is cut short, and its later frames are
// extrapolated from the coarser one.
#pragma once

#include "spindrift/engine/shot.h"

namespace spindrift {

// Rehearses these stages of a shot, each after those it reads. The result omits stages that could not be rehearsed.
Forecast rehearse(const ShotOptions& options, const std::vector<const Stage*>& stages, const FrameRange& frames);

// Whether a frame took so long that the rehearsal was stopped within it: the stage may need much more than foreseen.
bool is_cut_short(const Foreseen& foreseen);

// Runs one stage, `options.only`, in a process of its own so that its memory can be measured, for up to this CPU time
// of all threads together. Prints the results to standard output.
void rehearse_stage(ShotOptions options, const StageKinds& kinds, double seconds);

// Extrapolates to k = 1 a quantity that was `fine` at k = k1 and `coarse` at k = 2 k1, as a power of 1 / k...
double extrapolated(double fine, double coarse, double k1, const Growth& growth);
// ... or as the number of tiles that cover a volume and a margin around it, whose thickness in cells does not depend on
// the resolution.
double extrapolated_volume(double fine, double coarse, double k1);

} // namespace spindrift
