// The turbulent velocity u' [Narain 2011, 3.5.1]: the curl of a vector potential blended from the eddies of noise
// particles,
//
//     psi = sum_j w_j V_j / W,  W^2 = sum_j w_j^2 + epsilon^2,  w = presence (1 - r^2 / R^2)^2.
//
// All derivatives are exact, so the velocity is divergence-free. Near solids the potential of octave i is multiplied by
// a ramp of the distance over l_i that vanishes on them [Bridson 2007], so that nothing flows through. The ramp applies
// to the whole potential; restricting it to the tangential part would need the full gradient of the potential.
//
// Differences from [Narain 2011]:
// - Weights are divided by the root of the sum of their squares; (3.12) divides by the sum. Independent eddies then
//   keep their mean square for any particle positions. Amplitudes account for the weights' gradients, so that octaves
//   have their energy within 0.2%.
// - Epsilon fades the potential where particles are missing.
// - Eddies are plane waves, not Perlin noise (waves.h).
// - On the flow's own faces, u' is the curl of a potential averaged along edges: discretely divergence-free for a
//   solver that is advected by it.
#pragma once

#include "spindrift/turbulence/eddy_sums.h"
#include "spindrift/turbulence/noise_particles.h"
#include "spindrift/turbulence/solid_distance.h"

namespace spindrift {

class TurbulentVelocity {
  public:
    // Sets what is sampled from now on. Sorts the particles.
    void set(Particles& particles, const Cascade& cascade, const TurbulenceParams& params);
    // `topology` must outlive the samples.
    void set_solids(const Field<float>* distance, const Topology& topology, float voxel)
    {
        solids_.set(distance, topology, voxel);
    }
    const SolidDistance& solids() const { return solids_; }

    // At the centres of a tile's cells [m/s], for loops over tiles that use the result at once.
    struct Tile {
        alignas(64) float u[3][kTileCells];
    };
    void sample_tile(const Vec3i& tile, float voxel, Tile& out) const;
    // At the cell centres of a topology.
    void sample_cells(const Topology& topology, float voxel, Field<float> (&u)[3]) const;
    // At any points [m].
    void sample_points(std::span<const Vec3f> points, std::span<Vec3f> u) const;
    // Means over cell faces, of the octaves that these cells can resolve. The potential is averaged along cell edges
    // and its curl taken around faces, so the discrete divergence is zero.
    void sample_faces(const Topology& topology, float voxel, MacField& u) const;
    // The flow with these means added, U + u' [Narain 2011, section 3.5.2]: divergence-free if the flow is.
    void stir(const MacField& flow, float voxel, MacField& stirred) const;

    size_t bytes() const;

  private:
    template <class Finish> void sum_up(const SampleGrid& grid, int octaves, const Finish& finish) const;
    void find_eddies(const Vec3f& low, const Vec3f& high, std::vector<uint32_t>& found) const;
    std::span<const Waves> waves(size_t eddy, int first_octave, int end_octave) const
    {
        const size_t count = octaves_;
        return {waves_.data() + eddy * count + static_cast<size_t>(first_octave),
                static_cast<size_t>(end_octave - first_octave)};
    }
    Vec3f sample_point(const Vec3f& x, const std::vector<uint32_t>& near, const Distance* solid) const;

    int octaves_ = 0;
    float reach_ = 1; // R [m]
    Cascade cascade_{1, 0};
    SolidDistance solids_;
    std::unique_ptr<Topology> lookup_ =
        std::make_unique<Topology>(); // for neighbour search; its tiles have an edge of 2 R
    ParticleIndex index_;
    std::vector<Eddy> eddies_;
    Buffer<Waves> waves_; // per eddy, ordered by octave
};

} // namespace spindrift
