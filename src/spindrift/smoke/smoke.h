// Smoke: a gas on a grid that follows it (Stam 1999, Fedkiw et al. 2001). Density, temperature and whatever else it
// carries are moved by a velocity that buoyancy drives and the pressure keeps divergence-free. See substep().
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

// What happened while a frame was computed.
struct SmokeReport {
    size_t tiles = 0, active_cells = 0;
    size_t fine_tiles = 0, eddies = 0; // with turbulence
    int substeps = 0, iterations = 0;
    int unconverged = 0; // solves that ended above their tolerance
    double mass = 0;     // of density [m3]
    PhaseTimes times;
};

// What an expression can reach.
struct SmokeFields {
    // What smoke carries, on its grid.
    const Topology* fine = nullptr;
    float fine_voxel = 0;
    std::map<std::string, Field<float>*> scalars;
    // The flow, on the same grid or a coarser one.
    const Topology* topology = nullptr;
    float voxel = 0;
    Field<Vec3f>* velocity = nullptr; // [m/s], at cell centres
};

// Moments in a step at which others may change the smoke; at a time in frames, in a step of dt seconds.
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
    // The shapes of params.sources and params.colliders, each in its order; a source that has particles instead has
    // its function here.
    struct Shapes {
        std::vector<Shape> sources, colliders;
        std::map<size_t, ParticleSource> particles;
    };
    // Loads the shapes itself; see shapes_of() in scene/shapes.h. Sources of particles need the other constructor.
    explicit Smoke(const SmokeParams& params, float fps = 24);
    // With shapes that a scene has loaded and placed.
    Smoke(const SmokeParams& params, Shapes shapes, float fps);

    void set_hooks(SmokeHooks hooks) { hooks_ = std::move(hooks); }
    // The smoke as it is when the shot starts.
    void start(int frame);
    // From the last frame to the next.
    SmokeReport advance();

    int frame() const { return frame_; }
    const Topology& topology() const { return *topology_; }
    const MacField& velocity() const { return velocity_; }
    // The velocity as vectors: at cell centres, or as it is, each component on its lower face.
    Field<Vec3f> velocity_at_centers() const;
    Field<Vec3f> velocity_at_faces() const;
    // With turbulence: what moves the values that smoke carries, the flow and its eddies, at the centres of their
    // cells.
    Field<Vec3f> velocity_with_eddies() const;
    // density, temperature, those of params.scalars, and Cd.x, Cd.y, Cd.z (times density) if sources have colours.
    // On their own topology, which is finer than the flow's with turbulence.
    const std::vector<SmokeScalar>& scalars() const { return carried_.scalars; }
    const Topology& fine_topology() const { return carried_.topology(); }
    double mass() const;
    size_t active_cells() const;
    size_t bytes() const;

    // Everything that the next frame depends on, for resuming.
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
    void run(const SmokeHooks::Hook& hook, float dt);
    void set_time(float frames);
    void substep(float dt);
    float largest_step() const;
    // Which tiles exist.
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
    void remember_push(float dt);
    // Forces.
    void add_wind(float dt);
    void add_buoyancy(float dt);
    void find_confinement();
    void stir(float dt);

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
    Box3f open_;  // the same, infinite where a side is closed
    Box3f walls_; // the same, infinite where a side is open

    std::shared_ptr<const Topology> topology_ = std::make_shared<Topology>();
    bool topology_changed_ = true;
    MacField velocity_, next_velocity_;
    // What buoyancy and pressure did to the velocity in the second half of the last step, and that step [s].
    MacField push_;
    float last_dt_ = 0;
    CarriedValues carried_;
    SolidCells solid_cells_;
    GasPressure pressure_;
    MacField confinement_; // at cell centres

    std::unique_ptr<Turbulence> turbulence_; // if there is any; then what smoke carries is on a finer grid
    SolidCells fine_solid_cells_;
    Field<float> detail_[3];                       // the velocity of eddies at the finer cells
    Field<float> mean_density_, mean_temperature_; // at the flow's cells
    MacField stirred_; // the flow with the eddies it can carry; then, with solids' own velocity
    AdvectionScratch flow_scratch_;

    // What particles of a source cover, and their velocity, at the frame they were read for.
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
