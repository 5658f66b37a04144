// What becomes of two droplets that meet: they merge, graze and part again, or merge for a moment and fly apart. The
// thresholds between the three are those of Ashgriz and Poo 1990, extended to all sizes and speeds (document 003,
// section 4.6.1). Everything here depends on three numbers without unit, so it holds for droplets of any scale.
//
// Throughout, i is the larger droplet and j the smaller one.
#pragma once

#include "spindrift/base/math.h"

namespace spindrift {

// What last happened to a droplet, as it is kept in the attribute "outcome".
enum class Outcome : int32_t { none, coalescence, stretching, reflexive, bounced, stuck, afloat };

// How two droplets meet.
struct Encounter {
    double weber = 0;  // We (4.2): inertia over surface tension, with the diameter of the smaller droplet
    double offset = 0; // X (4.3): 0 is head-on, 1 grazing
    double ratio = 1;  // delta (4.4): radius of the smaller over that of the larger
};

// phi_i and phi_j: the shares of the droplets that lie in each other's way (4.10), (4.11).
struct InterplayShares {
    double larger, smaller;
};
InterplayShares interplay_shares(double offset, double ratio);

// The Weber numbers above which droplets separate (4.9), (4.12); infinite where they never do.
double stretching_threshold(double offset, double ratio);
double reflexive_threshold(double offset, double ratio);

// Reflexive separation goes before stretching where both thresholds are passed; otherwise droplets merge.
Outcome outcome_of(const Encounter& encounter);

// X_coalescence (4.5)-(4.7): the offset beyond which angular momentum would tear merged droplets apart (Brazier-Smith
// et al. 1972); at most one. It says how much of their velocity droplets keep when they graze (4.19).
double coalescence_offset(double weber, double ratio);

} // namespace spindrift
