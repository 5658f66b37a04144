// Sand as a continuum that particles carry (document 000, chapter 5): the model `grains`. See substep() for the
// algorithm, figure 5.7 of the document.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/sand/shapes.h"
#include "spindrift/sand/stress.h"

namespace spindrift {

// Between a particle and a solid, in cells.
constexpr float kGapToSolids = 0.02f;
constexpr float kLongestMove = 0.5f; // of a particle in a step, in cells

// What happened while a frame was computed.
struct SandReport {
    size_t particles = 0, tiles = 0;
    int substeps = 0;
    size_t splits = 0, merges = 0;
    StressReport stress;
    float fullest = 0; // greatest volume fraction of sand and solids together, in any step and as the frame ends
    double mass = 0;   // [kg]
    PhaseTimes times;
};

class Grains {
  public:
    // The shapes of params.sources, params.colliders and params.bodies, each in its order.
    struct Shapes {
        std::vector<Shape> sources, colliders;
        std::vector<Bodies::Shapes> bodies;
    };
    // Loads the shapes itself; see shapes_of() in scene/shapes.h.
    explicit Grains(const SandParams& params, float fps = 24);
    // With shapes that a scene has loaded and placed.
    Grains(const SandParams& params, Shapes shapes, float fps);

    // Throws bad_input for a body that starts in something solid; `where` says where each of them is in the scene.
    void expect_room_for_bodies(int frame, const std::vector<std::string>& where);
    // The sand as it is when the shot starts.
    void start(int frame);
    // From the last frame to the next.
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
    // What the grid gives eight particles: velocity and what stresses changed in it [m/s], the change of velocity from
    // cell to cell, and how full it is around them.
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
    int step_ = 0;    // since the frame began
    float time_ = 0;  // within the shot, in frames
    float speed_ = 0; // the fastest component of any particle's motion [m/s]
    Particles particles_;
    Solids solids_;
    Bodies bodies_;
    ParticleShapes shapes_;
    std::vector<float> wall_friction_; // of walls that are as rough as each material
    std::vector<uint8_t> marks_;       // of particles whose shape needs a look
    std::vector<FlowAtSplit> flow_at_splits_;
    std::vector<Vec3f> from_; // where particles were before they moved; only with sheets

    // The grid, rebuilt in every substep; memory is kept.
    SandGrid grid_;
    SolidCells room_, room_before_;
    Stress stress_;
    MacField flux_, velocity_, displacement_;
    MacField push_; // what stresses changed in the velocity
    SandReport report_;
};

} // namespace spindrift
