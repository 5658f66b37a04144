// Ripples on a liquid that are finer than its grid (document 000, 3.5.3): turbulence carries the surface with it, and
// what it raises sinks back to the surface that the liquid has on its own grid, the smoothed one (3.13). While there
// are ripples they keep some turbulence alive (3.14), so that they move on until they are gone.
//
//     Ripples ripples(params);
//     ripples.step(flow, gravity, dt);       // after each step of the liquid
//     contour(ripples.surface().phi, ...);
//
// The document carries phi itself along. Here phi = phi~ + d with a field d in a band around the surface: what phi~
// does is up to the liquid, and d changes by what turbulence adds to the liquid's motion,
//
//     dd/dt + (U + u') . grad d = -u' . grad phi~ - d / tau'.
//
// It is the same equation, but errors of the liquid's surface are no ripples, phi needs no repair to stay a distance,
// and without turbulence phi is phi~ to the bit. d is held constant along the normals of phi~: ripples are heights over
// the liquid's surface, and cannot tear off.
//
// Volume: of what turbulence would raise or lower, the mean over `longest` is left out, and what still is too much or
// too little in all is taken from crests and troughs by the same share (see keep_volume).
//
// Where it is weak: a surface that moves farther in a step, along its normal, than the band is wide loses its ripples;
// nothing hangs over within a cell of the liquid; ripples decay all alike, where real ones travel.
#pragma once

#include "spindrift/field/advection.h"
#include "spindrift/ripples/params.h"
#include "spindrift/ripples/smooth_field.h"
#include "spindrift/turbulence/turbulence.h"

namespace spindrift {

// How far from the surface a liquid's distance has to be one [cells]; farther off only its sign counts.
constexpr float kRippleBand = 1.45f;

// (3.13) The time in which ripples sink [s]: that of deep water waves as long as a cell to pass it.
inline float ripple_time(float voxel, float gravity)
{
    return std::sqrt(2 * static_cast<float>(kPi) * voxel / gravity);
}

// The largest component of a flow's velocity where there is fluid [m/s].
float fastest(const Flow& flow);

class Ripples {
  public:
    explicit Ripples(const RippleParams& params) : params_(params), turbulence_(params) {}

    // The flow after a step of the liquid, with fluid_distance; its extra energy is found here. Solids hold the nearest
    // values of the distance, as far in as the band. `gravity` is how strong it is [m/s2].
    void step(const Flow& flow, float gravity, float dt);
    // Takes on ripples that were computed before: phi - phi~ [m] now and when the frame began, on any tiles of the
    // finer grid.
    void set(const Flow& flow, const Field<float>& difference, const Field<float>& difference_before);

    // Tiles of the finer grid.
    const Topology& topology() const { return *topology_; }
    float voxel() const { return voxel_ / static_cast<float>(params_.refine); } // [m]
    const Field<float>& difference() const { return d_; }                       // phi - phi~ [m]
    const Field<float>& difference_before() const { return before_; }           // when the frame began
    const Field<float>& energy() const { return energy_; }                      // (3.14), on the flow's grid
    const Turbulence& turbulence() const { return turbulence_; }

    // The rippled surface: the distance in cells of the finer grid, in the band around it and, for the inside of the
    // liquid, negative in tiles that fill it.
    struct Surface {
        std::unique_ptr<Topology> topology;
        Field<float> phi;
    };
    Surface surface() const;
    // Marks the moment that add_motion() looks back to.
    void begin_frame();
    // Makes the liquid's velocity at points of the rippled surface that of the surface [m/s]. Both are means since the
    // frame began, `seconds` ago: x - seconds v is where the surface was. To the liquid's it adds, along the normal,
    // what the ripples have changed by on the way, whatever changed them. That eddies also carry water along the
    // surface is left out: ripples do not go with it, and a point that does leaves a bent surface on a straight way.
    void add_motion(std::span<const Vec3f> points, float seconds, std::span<Vec3f> velocities) const;
    // Volume [m3] that ripples add to the liquid.
    double added_volume() const;
    size_t bytes() const;

    // Everything that later steps, surface() and add_motion() depend on.
    struct State {
        float voxel = 0;
        std::vector<uint64_t> tiles, band, flow_tiles;
        std::vector<float> difference;               // for the cells of each of `tiles`
        std::vector<float> distance, solid_distance; // and of `flow_tiles`
        std::vector<uint64_t> tiles_before;
        std::vector<float> difference_before; // for the cells of each of `tiles_before`
        Turbulence::State turbulence;
    };
    State state() const;
    void restore(State state);

  private:
    void keep_flow(const Flow& flow);
    void find_energy(float tau);
    void follow();
    void carry(const Flow& flow, float dt);
    void drive(float tau, float dt);
    void find_mean_drive();
    void keep_before(const Field<float>& d);
    Field<Vec3f> normals() const;
    void level_along_normals();
    struct Volumes {
        double added = 0, under_ripples = 0;
    };
    Volumes volumes() const;
    void keep_volume();
    Vec3i coarse_cell(const Vec3i& fine_cell) const;
    bool in_band(float distance) const { return std::abs(distance) < kRippleBand * voxel_; }

    RippleParams params_;
    float voxel_ = 0; // of the liquid
    Turbulence turbulence_;

    // The liquid's grid at the last step.
    std::unique_ptr<Topology> flow_topology_ = std::make_unique<Topology>();
    Field<float> distance_{*flow_topology_, 0}, solid_distance_{*flow_topology_, 0}; // [m]
    Field<float> energy_{*flow_topology_, 0};
    Field<float> ones_;
    Field<float> mean_drive_, mean_weight_;
    Diffusion diffusion_;

    // The finer grid.
    std::vector<uint64_t> band_; // tiles that the surface needs, of those there are
    std::unique_ptr<Topology> topology_ = std::make_unique<Topology>();
    Field<float> d_{*topology_, 0}, next_;
    Field<float> eddies_[3];
    AdvectionScratch scratch_;
    std::unique_ptr<Topology> topology_before_ = std::make_unique<Topology>();
    Field<float> before_{*topology_before_, 0}; // d_ when the frame began
};

} // namespace spindrift
