// Ripples on a liquid below the resolution of its grid [Narain 2011, 3.5.3]. Turbulence moves the surface, and the
// ripples relax to the smoothed surface phi~ that the liquid has on its own grid (3.13). Ripples sustain some
// turbulence (3.14), so that they keep moving while they decay. Equation numbers are those of [Narain 2011].
//
//     Ripples ripples(params);
//     ripples.step(flow, gravity, dt);       // after each step of the liquid
//     contour(ripples.surface().phi, ...);
//
// The flow comes either from the liquid itself, with [liquid.turbulence], or from the stage `ripples`, which finds it
// from the liquid's files (liquid/particle_flow.h).
//
// Differences from [Narain 2011]:
// - phi = phi~ + d, and only d is advected, in a band around the surface: dd/dt + (U + u') . grad d = -u' . grad phi~ -
//   d / tau'. The equation is equivalent, but errors of the liquid's surface do not become ripples, phi needs no
//   redistancing, and without turbulence phi equals phi~ to the bit.
// - phi~ is the cubic B-spline of the liquid's distance (smooth_field.h): smooth without a filter pass.
// - d is kept constant along the normals of phi~: ripples are heights over the liquid's surface and cannot detach.
// - Volume is conserved: the mean over `longest` of what turbulence would raise or lower is removed, and the remaining
//   error is taken from crests and troughs by the same factor (correct_volume()). The source does not conserve volume.
// - Conservative downsampling and variable density are not needed: the liquid is where its particles are.
// - The velocity of the surface is measured, not modelled (add_motion()).
//
// Limits: a surface that moves along its normal by more than the band width in a step loses its ripples. There are no
// overhangs within a cell of the liquid. All ripples decay at the same rate, while real ones travel.
#pragma once

#include "spindrift/field/advection.h"
#include "spindrift/ripples/params.h"
#include "spindrift/ripples/smooth_field.h"
#include "spindrift/turbulence/turbulence.h"

namespace spindrift {

// Distance from the surface within which the liquid's distance must be accurate [cells]; beyond it only the sign
// counts.
constexpr float kRippleBand = 1.45f;

// (3.13) Relaxation time of ripples [s]: the time in which deep-water waves as long as a cell travel their length.
inline float ripple_time(float voxel, float gravity)
{
    return std::sqrt(2 * static_cast<float>(kPi) * voxel / gravity);
}

// Largest velocity component of a flow within the fluid [m/s].
float max_speed(const Flow& flow);

class Ripples {
  public:
    explicit Ripples(const RippleParams& params) : params_(params), turbulence_(params) {}

    // `flow` is that after a step of the liquid, with fluid_distance; extra energy is computed here. Inside solids, the
    // distance must continue the nearest values as far as the band. `gravity` is its magnitude [m/s2].
    void step(const Flow& flow, float gravity, float dt);
    // Sets ripples that were computed before: phi - phi~ [m] now and at the start of the frame, on any tiles of the
    // finer grid.
    void set(const Flow& flow, const Field<float>& difference, const Field<float>& difference_before);

    // Tiles of the finer grid.
    const Topology& topology() const { return *topology_; }
    float voxel() const { return voxel_ / static_cast<float>(params_.refine); } // [m]
    const Field<float>& difference() const { return d_; }                       // phi - phi~ [m]
    const Field<float>& difference_before() const { return before_; }           // at the start of the frame
    const Field<float>& energy() const { return energy_; }                      // (3.14), on the flow's grid
    const Turbulence& turbulence() const { return turbulence_; }

    // Distance to the rippled surface in cells of the finer grid: accurate in the band, and negative in tiles inside
    // the liquid.
    struct Surface {
        std::unique_ptr<Topology> topology;
        Field<float> phi;
    };
    Surface surface() const;
    // Marks the time that add_motion() refers to.
    void begin_frame();
    // Turns the liquid's velocity at points of the rippled surface into that of the surface [m/s]. Both are means since
    // the start of the frame, `seconds` ago: x - seconds v is where the surface was. Adds, along the normal, the change
    // of d since then, from any cause, so that limits and the volume correction are included. Excludes the tangential
    // motion of eddies, because ripples do not move with it: with it the velocity misses 0.89 of the change to the next
    // surface instead of 0.26 (`spindrift_tests --gtest_filter=Ripples.MotionMatchesTheSurface`).
    void add_motion(std::span<const Vec3f> points, float seconds, std::span<Vec3f> velocities) const;
    // Volume [m3] that ripples add to the liquid.
    double added_volume() const;
    size_t bytes() const;

    // Everything that later steps, surface() and add_motion() depend on.
    struct State {
        float voxel = 0;
        std::vector<uint64_t> tiles, band, flow_tiles;
        std::vector<float> difference;               // per cell of `tiles`
        std::vector<float> distance, solid_distance; // per cell of `flow_tiles`
        std::vector<uint64_t> tiles_before;
        std::vector<float> difference_before; // per cell of `tiles_before`
        Turbulence::State turbulence;
    };
    State state() const;
    void restore(State state);

  private:
    void copy_flow(const Flow& flow);
    void find_energy(float tau);
    void update_tiles();
    void advect_difference(const Flow& flow, float dt);
    void drive(float tau, float dt);
    void find_mean_drive();
    void store_before(const Field<float>& d);
    Field<Vec3f> normals() const;
    void extend_along_normals();
    struct Volumes {
        double added = 0, under_ripples = 0;
    };
    Volumes volumes() const;
    void correct_volume();
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
    std::vector<uint64_t> band_; // tiles that the current surface needs
    std::unique_ptr<Topology> topology_ = std::make_unique<Topology>();
    Field<float> d_{*topology_, 0}, next_;
    Field<float> eddies_[3];
    AdvectionScratch scratch_;
    std::unique_ptr<Topology> topology_before_ = std::make_unique<Topology>();
    Field<float> before_{*topology_before_, 0}; // d_ at the start of the frame
};

} // namespace spindrift
