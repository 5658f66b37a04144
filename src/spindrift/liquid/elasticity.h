// Viscoelastic stress with yield [Goktekin 2004]: each particle carries an elastic strain, whose deviator follows the
// deformation of the liquid, rotates with it, and flows away above the yield strain:
//
//     d e / dt = D + W e - e W - rate max(0, |e| - yield) e / |e|,      stress = 2 G e
//
// with D the strain rate, W the spin and |e| the Frobenius norm. Without a yield strain it is a Maxwell liquid, whose
// stress relaxes as exp(-rate t); without a rate, a jelly.
//
// The stress in a step is the one at its end, 2 G (e + dt D). Its first part is applied as a force, its second as a
// viscosity of G dt in the viscous solve: stable for any step. Oscillations of frequency w lose energy at a rate of w^2
// dt, as with every implicit step. Plastic flow faster than a step takes one step.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/points/sort.h"

namespace spindrift {

// Attributes with a particle's elastic strain: (xx, yy, zz) and (yz, zx, xy).
constexpr const char* kStrainDiagonal = "strain_diagonal";
constexpr const char* kStrainShear = "strain_shear";

// Elastic strain on the grid: the diagonal at cell centres, and component a of (yz, zx, xy) at the edges along axis a.
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

// The yield strain, and the rate at which strain above it flows away [1/s].
struct PlasticFlow {
    float yield = 0, rate = 0;
};
// Updates the elastic strain after a step `dt` in which the liquid moved with `velocity`; `mean` is the result of
// strain_to_grid(). Cells and edges are weighted by their share of liquid: the motion of faces that hardly belong to it
// is no strain of the liquid, and no force would undo it.
void update_strain(const MacField& velocity, const StrainField& mean, const LiquidShares& shares,
                   const ParticleIndex& index, float voxel, float dt, const PlasticFlow& flow, Particles& particles);

} // namespace spindrift
