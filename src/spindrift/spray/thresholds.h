// Outcome of a collision of two droplets: coalescence, stretching separation (they graze and part) or reflexive
// separation (they merge briefly and part). The thresholds are those of [Ashgriz 1990], extended to all sizes and
// speeds [Jones 2018, section 4.6.1]. Everything depends on three dimensionless numbers and holds at any scale.
//
// Throughout, i is the larger droplet and j the smaller one. Equation numbers are those of [Jones 2018].
#pragma once

#include "spindrift/base/math.h"

namespace spindrift {

// Last event of a droplet, stored in the attribute "outcome".
enum class Outcome : int32_t { none, coalescence, stretching, reflexive, bounced, stuck, afloat };

// Geometry and strength of a collision.
struct Encounter {
    double weber = 0;  // We (4.2): inertia over surface tension, with the diameter of the smaller droplet
    double offset = 0; // X (4.3): 0 is head-on, 1 grazing
    double ratio = 1;  // delta (4.4): radius of the smaller over that of the larger
};

// phi_i and phi_j: the shares of each droplet in the interaction region (4.10), (4.11).
struct InterplayShares {
    double larger, smaller;
};
InterplayShares interplay_shares(double offset, double ratio);

// Weber numbers above which droplets separate (4.9), (4.12); infinite where they never do.
double stretching_threshold(double offset, double ratio);
double reflexive_threshold(double offset, double ratio);

// Reflexive separation takes precedence where both thresholds are exceeded; below both, droplets merge.
Outcome outcome_of(const Encounter& encounter);

// X_coalescence (4.5)-(4.7): the offset beyond which angular momentum tears merged droplets apart [Brazier-Smith 1972];
// at most one. Determines how much relative velocity is left after stretching separation (4.19).
double coalescence_offset(double weber, double ratio);

} // namespace spindrift
