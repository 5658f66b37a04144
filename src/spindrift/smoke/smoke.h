// Smoke on a sparse grid that follows it [Stam 1999; Fedkiw 2001]. Density, temperature and other scalars are advected
// by a velocity that buoyancy drives and pressure keeps divergence-free. See substep().
//
//     Smoke smoke(params, shapes, fps);
//     smoke.start(first_frame);
//     smoke.advance();                  // once per frame
//
// Limits: the gas is incompressible and of one density but for buoyancy (Boussinesq), so smoke that is much hotter than
// the air does not expand. Pressure is zero outside the grid of smoke without a domain. The smoke does not move its
// colliders. At most 500 substeps a frame.
//
// Differences from the sources:
// - The grid follows the smoke (following.cpp). New tiles hold air at rest: the irrotational flow around smoke follows
//   from the pressure, which is zero outside the grid.
// - Buoyancy and pressure act in two halves, at both ends of a step's path (pushed_velocity()); with pressure alone
//   this is the reflection of [Zehnder 2018]. Pressure only at the end takes energy from vortices in every step, with
//   any advection scheme: a vortex that should be steady lost 6% per second at 32 cells, and now less than 0.1%. This
//   needs no second solve.
// - Advection errors in the sum of each scalar are corrected (CarriedValues::restore_sum()), within the range of values
//   that each cell interpolated from. Without this, the sum in a closed box was off by a third to twice after 200
//   frames. The correction is off for smoke that leaves through an open side.
// - With turbulence, scalars are on a finer grid (advect_finer()) and take as many substeps as its cells need; the flow
//   keeps its own step.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/points/particles.h"
#include "spindrift/smoke/carried.h"
#include "spindrift/smoke/params.h"
#include "spindrift/smoke/pressure.h"
#include "spindrift/turbulence/turbulence.h"

#include <functional>
#include <map>
#include <memory>

namespace spindrift {

// Statistics of one frame.
struct SmokeReport {
    size_t tiles = 0, active_cells = 0;
    size_t fine_tiles = 0, eddies = 0; // with turbulence
    int substeps = 0, iterations = 0;
    int unconverged = 0; // solves that ended above their tolerance
    double mass = 0;     // of density [m3]
    PhaseTimes times;
};

// The fields that an expression can access.
struct SmokeFields {
    // Scalars, on their own grid.
    const Topology* fine = nullptr;
    float fine_voxel = 0;
    std::map<std::string, Field<float>*> scalars;
    // The flow, on the same grid or a coarser one.
    const Topology* topology = nullptr;
    float voxel = 0;
    Field<Vec3f>* velocity = nullptr; // [m/s], at cell centres
};

// Points in a step at which callers may change the smoke: after_forces is called before pressure changes velocities,
// and after_advection after sources have been added. `time` is in frames, dt in seconds.
struct SmokeHooks {
    using Hook = std::function<void(SmokeFields& fields, float time, float dt)>;
    Hook after_forces, after_advection;
};

class Smoke {
  public:
    // The particles of a source at a frame.
    struct EmittingParticles {
        Particles particles;
        float radius = 0; // [m]
    };
    using ParticleSource = std::function<EmittingParticles(int frame)>;
    // The shapes of params.sources and params.colliders, in their order. A source made of particles has its function in
    // `particles`.
    struct Shapes {
        std::vector<Shape> sources, colliders;
        std::map<size_t, ParticleSource> particles;
    };
    // Loads the shapes itself; see shapes_of() in scene/shapes.h. Sources of particles need the other constructor.
    explicit Smoke(const SmokeParams& params, float fps = 24);
    // With shapes that a scene has loaded and placed.
    Smoke(const SmokeParams& params, Shapes shapes, float fps);

    void set_hooks(SmokeHooks hooks) { hooks_ = std::move(hooks); }
    // Initial state of the shot.
    void start(int frame);
    // Advances by one frame.
    SmokeReport advance();

    int frame() const { return frame_; }
    const Topology& topology() const { return *topology_; }
    const MacField& velocity() const { return velocity_; }
    // The velocity as vectors: averaged to cell centres, or with each component on its lower face.
    Field<Vec3f> velocity_at_centers() const;
    Field<Vec3f> velocity_at_faces() const;
    // With turbulence: the velocity that advects scalars, flow plus eddies, at their cell centres.
    Field<Vec3f> velocity_with_eddies() const;
    // density, temperature, those of params.scalars, and Cd.x, Cd.y, Cd.z (times density) if sources have colours. On
    // their own topology, which is finer than the flow's with turbulence.
    const std::vector<SmokeScalar>& scalars() const { return carried_.scalars; }
    const Topology& fine_topology() const { return carried_.topology(); }
    double mass() const;
    size_t active_cells() const;
    size_t bytes() const;

    // Everything that the next frame depends on, to resume.
    struct State {
        int frame = 0;
        float last_dt = 0;
        std::vector<uint64_t> tiles, fine_tiles;
        std::map<std::string, std::vector<float>> fields;
        Turbulence::State turbulence;
    };
    State state() const;
    void restore(State state);

  private:
    void run(const SmokeHooks::Hook& hook, float dt, MacField* also = nullptr);
    void set_time(float frames);
    void substep(float dt);
    float largest_step() const;
    // Tiles.
    void follow_smoke(float dt);
    void move_to(std::shared_ptr<const Topology> topology);
    // Sources.
    void emit(float dt, bool initial);
    void emit_values(size_t source, float dt);
    void emit_velocity(size_t source);
    void splat_particles(size_t source);
    // Motion.
    const SolidCells& fine_cells() const { return turbulence_ ? fine_solid_cells_ : solid_cells_; }
    float eddy_speed() const;
    void advect_all(float dt);
    void advect_finer(float dt);
    void advect_beside_sheets(const Carrier& carrier, const SolidCells& cells, float voxel,
                              const std::vector<AdvectedField>& fields, AdvectionScratch& scratch);
    MacField& pushed_velocity(float dt);
    void store_push(float dt);
    // Forces.
    void add_wind(float dt);
    void add_buoyancy(float dt);
    void find_confinement();
    void step_turbulence(float dt);

    SmokeParams params_;
    SmokeHooks hooks_;
    std::vector<Shape> sources_;
    std::map<size_t, ParticleSource> particle_sources_;
    float fps_;
    int frame_ = 0;
    float time_ = 0; // within the shot, in frames
    Solids solids_;
    Forces forces_;
    Box3f box_;   // the domain in cells; infinite without one
    Box3f open_;  // only the open sides, infinite elsewhere
    Box3f walls_; // only the closed sides, infinite elsewhere

    std::shared_ptr<const Topology> topology_ = std::make_shared<Topology>();
    bool topology_changed_ = true;
    MacField velocity_, next_velocity_;
    // Velocity change by buoyancy and pressure in the second half of the last step, and the length of that step [s].
    MacField push_;
    float last_dt_ = 0;
    CarriedValues carried_;
    SolidCells solid_cells_;
    GasPressure pressure_;
    MacField confinement_; // at cell centres

    std::unique_ptr<Turbulence> turbulence_; // null without turbulence; with it, scalars are on a finer grid
    SolidCells fine_solid_cells_;
    Field<float> detail_[3];                       // eddy velocity at the finer cells
    Field<float> mean_density_, mean_temperature_; // at the flow's cells
    MacField stirred_; // the flow plus resolved eddies; later the flow with solid velocities in solids
    AdvectionScratch flow_scratch_;

    // Coverage and mean velocity of a source's particles at the frame they were read for.
    struct Splat {
        int frame = std::numeric_limits<int>::min();
        std::unique_ptr<Topology> topology;
        Field<float> coverage;
        Field<Vec3f> velocity;
    };
    std::map<size_t, Splat> splats_;
    SmokeReport report_;
};

} // namespace spindrift
