// Granular material as a continuum carried by particles, the model `grains`: the unilaterally incompressible frictional
// material of [Narain 2011, chapter 5]. substep() follows figure 5.7 there. Pressure and friction are quadratic
// programs with bounds (sand/stress.h); particles carry mass, velocity and an ellipsoidal shape
// (sand/particle_shapes.h); rigid bodies are coupled two-way (sand/body_stress.h).
//
//     GranularSand sand(params);
//     sand.start(1);
//     for (int frame = 2; frame <= 100; ++frame) {
//         sand.advance();
//         write(sand.particles());
//     }
//
// Results are bit-identical for any number of threads.
//
// Limits (figures in docs/validation.md): piles with a friction angle of 59 degrees end a quarter to a third too flat,
// tall columns run out a fifth too far and more, and dense sand that is thrown sideways loses a percent of its
// velocity. At most 500 substeps a frame.
//
// Differences from [Narain 2011]:
//
// - Excess density (5.14), `GranularSand::spread_out`, `Stress::spread`. Particles do not move exactly as the fluxes
//   prescribe, and a step of half a cell fills single cells to 1.1 to 1.4. Correcting this within the next step, as in
//   the thesis, leaves it so. Here particles are moved apart at the end of a step, after merges and splits, while they
//   are still sorted by cell; this costs a tenth of a step. `GranularSand::put_on_grid` corrects what remains
//   above 1.02 before the next step. Moving particles by face displacements and splatting them again both blur, and
//   less than half of the excess of a single cell would go; the correction is amplified by what the blur removes.
// - Flows (sand/emission.cpp, world/filling.h) advect their seed lattice, on evenly spaced lines, so that a flow is
//   full everywhere, nowhere overfull, and delivers the volume that its velocity prescribes. Sand inside a flow has the
//   prescribed velocity until there is pressure that could halve its speed; from then on it is ordinary sand, and
//   stops.
// - Flight (`GranularSand::move`). Where cells are less than 0.3 full, particles keep their own velocity, and FLIP adds
//   what stresses change. Dense sand moves with the grid and keeps the velocity gradient within a cell (APIC): FLIP
//   gives grains that have landed the velocity change that the floor applies to those that are landing, and blows up;
//   limited so that it does not, it lost a quarter of the energy of a frictionless column. Dense sand in free fall
//   moves by the mean of its old and new velocity; with the new one alone, a ball of sand was up to a cell ahead of its
//   parabola.
// - Shapes follow (I + J) A (I + J)^T, which stays an ellipsoid for any step, and become round again in dense sand,
//   where grains mix.
// - Splits give each half the velocity of the flow at its position (`FlowAtSplit`). With the parent's velocity, as in
//   the thesis, halves in flight would never separate, because they keep their velocities, and a cloud would consist of
//   clumps. Particles that are too short along another axis are split as well, for the same reason.
//
// Order of a step with rigid bodies: gravity on bodies; stresses on bodies and sand; Bullet with contacts, hinges and
// motors; then particles, which are stopped in front of the bodies at their new positions.
//
// Differences that concern the stresses are listed in sand/stress.h, those that concern bodies in sand/body_stress.h.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/sand/particle_shapes.h"
#include "spindrift/sand/stress.h"

namespace spindrift {

// Statistics of one frame.
struct SandReport {
    size_t particles = 0, tiles = 0;
    int substeps = 0;
    size_t splits = 0, merges = 0;
    StressReport stress;
    // largest volume fraction of sand and solids together, over all steps and at the end of the frame
    float fullest = 0;
    double mass = 0; // [kg]
    PhaseTimes times;
};

class GranularSand {
  public:
    // The shapes of params.sources, params.colliders and params.bodies, in the same order.
    struct Shapes {
        std::vector<Shape> sources, colliders;
        std::vector<Bodies::Shapes> bodies;
    };
    // Loads the shapes itself; see shapes_of() in scene/shapes.h.
    explicit GranularSand(const SandParams& params, float fps = 24);
    // Uses shapes that a scene has loaded and placed.
    GranularSand(const SandParams& params, Shapes shapes, float fps);

    // Throws bad_input for a body that starts inside a solid; `where` is the scene location of each body.
    void expect_room_for_bodies(int frame, const std::vector<std::string>& where);
    // Creates the sand of the first frame.
    void start(int frame);
    // Advances by one frame.
    SandReport advance();

    int frame() const { return frame_; }
    const Particles& particles() const { return particles_; }
    const SandGrid& grid() const { return grid_; } // of the last step
    const Stress& stress() const { return stress_; }
    const Bodies& bodies() const { return bodies_; }
    float particle_radius() const { return 0.25f * params_.voxel; }
    double mass() const;
    size_t bytes() const;

    // Everything that the next frame depends on, for resuming.
    struct State {
        int frame = 0, next_id = 0;
        float speed = 0;
        Particles particles;
        Stress::State stress;
        std::vector<RigidMotion> bodies;
    };
    State state() const;
    void restore(State state);

  private:
    void set_time(float frames);
    float largest_step() const;
    void substep(float dt);
    void emit(float dt, bool initial);
    void fill(size_t source, float dt, bool initial);
    template <class Body> void for_tiles_at_flow(size_t source, float reach, const Body& body) const;
    template <class Body> void for_faces_at_flows(float cells, const Body& body) const;
    bool is_blocked(size_t source) const;
    void move_with_flows(float dt);
    void keep_in_flows(MacField& displacement) const;
    Vec3f flow_velocity(size_t source, const Vec3f& x) const;
    void explode(const SandImpulseParams& impulse);
    void put_on_grid(float dt, SandGrid::Splat what);
    void find_room(float dt);
    void spread_out();
    void move_apart(int attempt, const SolidCells& room);
    void displace(const SolidCells& room);
    void start_flux(float dt);
    void new_velocity(float dt);
    void fill_closed_faces(MacField& velocity, float through_surfaces, const SolidCells& room) const;
    void move(float dt);
    // Grid samples at eight particles: velocity and its change by stresses [m/s], the velocity difference from cell to
    // cell, and the volume fraction.
    struct Around {
        Row u[3], du[3];
        Row3 J[3];
        Row full;
    };
    void look_around_sheets(size_t begin, size_t count, const Vec3f& fall, Around& around) const;
    void collide(float dt);
    void stop_at_sheets(size_t particle);
    void keep_on_side(const Vec3f& from, Vec3f& x) const;
    void keep_halves_together(const std::vector<size_t>& parents, size_t first);
    bool near_solids(size_t particle, int tile, float cells) const;
    void meet_bodies();
    void push_out(size_t particle, float dt);
    void put_in_front_of_solids(size_t particle);
    float particle_mass(int material) const;

    SandParams params_;
    std::vector<Shape> sources_;
    float fps_;
    int frame_ = 0, next_id_ = 0;
    int step_ = 0;    // since the start of the frame
    float time_ = 0;  // within the shot [frames]
    float speed_ = 0; // largest velocity component of any particle [m/s]
    Particles particles_;
    Solids solids_;
    Bodies bodies_;
    ParticleShapes ellipsoids_;
    std::vector<float> wall_friction_; // of a wall as rough as each material
    std::vector<uint8_t> marks_;       // of particles whose shape must be checked for a split or merge
    std::vector<FlowAtSplit> flow_at_splits_;
    std::vector<Vec3f> from_; // particle positions before the move; only with sheets

    // The grid, rebuilt in every substep; memory is reused.
    SandGrid grid_;
    SolidCells solid_cells_, solid_cells_before_;
    Stress stress_;
    MacField flux_, velocity_, displacement_;
    MacField push_; // change of velocity by stresses
    SandReport report_;
};

} // namespace spindrift
