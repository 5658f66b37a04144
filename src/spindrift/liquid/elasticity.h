// Viscoelastic stress with yield (Goktekin, Bargteil and O'Brien 2004): each particle carries an elastic strain, whose
// deviator follows the deformation of the liquid, turns with it, and flows away where it is above the yield strain:
//
//     d e / dt = D + W e - e W - rate max(0, |e| - yield) e / |e|,      stress = 2 G e
//
// with D the rate of strain, W the spin and |e| the root of the sum of squares. No yield strain makes it a Maxwell
// liquid, whose stress relaxes as exp(-rate t); no rate a jelly.
//
// The stress that acts in a step is the one at its end, 2 G (e + dt D). Its first part is a force, and its second is
// that of a viscosity of G dt, which the viscous solve takes along: stable for any step. Oscillations of frequency w
// lose energy at a rate of w^2 dt, as with every implicit step. Flow that is faster than a step acts as if it took a
// step.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/points/sort.h"

namespace spindrift {

// The attributes with a particle's elastic strain: (xx, yy, zz) and (yz, zx, xy).
constexpr const char* kStrainDiagonal = "strain_diagonal";
constexpr const char* kStrainShear = "strain_shear";

// Elastic strain on the grid: its diagonal at cell centres, and component a of (yz, zx, xy) at the edges along axis a.
struct StrainField {
    Field<float> diagonal[3], shear[3];
    size_t bytes() const;
};

// The share of each cell, and of each edge's volume, that liquid fills.
struct LiquidShares {
    Field<float> cell, edge[3];

    void reset_uninitialized(const Topology& topology);
    size_t bytes() const;
};

// The weighted mean of nearby particles, 0 where there is none. Particles must be sorted by `index`.
void strain_to_grid(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
                    StrainField& strain);

// When strain flows away, and how fast [1/s].
struct PlasticFlow {
    float yield = 0, rate = 0;
};
// The elastic strain after a step `dt` in which the liquid moved with `velocity`; `mean` is what strain_to_grid() gave.
// Cells and edges count by their share of liquid: what faces do that hardly belong to it is no strain of the liquid,
// and no force would undo it.
void update_strain(const MacField& velocity, const StrainField& mean, const LiquidShares& shares,
                   const ParticleIndex& index, float voxel, float dt, const PlasticFlow& flow, Particles& particles);

} // namespace spindrift
