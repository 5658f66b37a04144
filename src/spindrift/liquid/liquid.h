// A PIC/FLIP/APIC liquid (document 001 chapter 3, document 003 chapter 2). Particles carry the liquid; a grid that is
// built anew around them in every substep makes their velocity divergence-free. See substep() for the algorithm.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/liquid/crowding.h"
#include "spindrift/liquid/curvature.h"
#include "spindrift/liquid/free_surface.h"
#include "spindrift/liquid/heat.h"
#include "spindrift/liquid/inner_friction.h"
#include "spindrift/liquid/particle_flow.h"
#include "spindrift/liquid/projection.h"
#include "spindrift/liquid/strays.h"
#include "spindrift/liquid/viscosity.h"
#include "spindrift/points/hooks.h"
#include "spindrift/ripples/ripples.h"

namespace spindrift {

// What happened while a frame was computed.
struct LiquidReport {
    size_t particles = 0, tiles = 0, liquid_cells = 0;
    int substeps = 0, iterations = 0, viscous_iterations = 0;
    int unconverged = 0; // solves that ended above their tolerance
    PhaseTimes times;
};

// Attribute of a liquid's particles. Between frames: their mean velocity over the last frame [m/s]. While a frame is
// computed: where they were when it began [m].
constexpr const char* kMotion = "motion";

class Liquid {
  public:
    // The shapes of params.sources, params.sinks, params.colliders and params.bodies, each in its order.
    struct Shapes {
        std::vector<Shape> sources, sinks, colliders;
        std::vector<Bodies::Shapes> bodies = {};
    };
    // Loads the shapes itself; see shapes_of() in scene/shapes.h.
    explicit Liquid(const LiquidParams& params, float fps = 24);
    // With shapes that a scene has loaded and placed.
    Liquid(const LiquidParams& params, Shapes shapes, float fps);

    void set_hooks(ParticleHooks hooks) { hooks_ = std::move(hooks); }
    // Makes another material of the liquid, which then has friction at the domain's closed sides too. `name` is that of
    // its table in the scene. The friction must outlive this.
    void set_inner_friction(InnerFriction* friction, float wall_friction, const char* name)
    {
        inner_friction_ = friction, name_ = name;
        solids_.set_wall_friction(wall_friction);
    }
    // Of the last step, for hooks after advection: the distance to the surface [cells], negative inside, which ends a
    // few cells off it, and the velocity [m/s].
    const Field<float>& surface_distance() const { return phi_; }
    const MacField& velocity() const { return velocity_; }

    // The liquid as it is when the shot starts.
    void start(int frame);
    // From the last frame to the next.
    LiquidReport advance();

    int frame() const { return frame_; }
    // With the velocity that the solver carries on, which has FLIP's noise in it and is not what particles move with.
    const Particles& particles() const { return particles_; }
    // Calls f(particles) with their motion over the last frame as velocity, (P - P a frame ago) * fps. This is what
    // caches hold.
    template <class F> void show_motion(const F& f)
    {
        struct Shown { // even if f throws, the solver's own velocity comes back
            Particles& particles;
            decltype(particles.attributes)::node_type motion = particles.attributes.extract(kMotion);
            void swap() { particles.v.swap(std::get<std::vector<Vec3f>>(motion.mapped())); }
            explicit Shown(Particles& p) : particles(p) { swap(); }
            ~Shown() { swap(), particles.attributes.insert(std::move(motion)); }
        };
        const Shown shown(particles_);
        f(std::as_const(particles_));
    }
    const Bodies& bodies() const { return bodies_; }
    // Throws bad_input for a body that has no room where it starts; `where` says where each is in the scene.
    void expect_room_for_bodies(int frame, const std::vector<std::string>& where)
    {
        bodies_.start(static_cast<float>(frame), where);
    }
    const Ripples* ripples() const { return ripples_.get(); } // with turbulence, at the last frame
    // Radius of the ball that has a particle's share of the volume [m].
    float particle_radius() const;
    // Volume of one particle [m3]: an eighth of a cell.
    double particle_volume() const;
    // Bytes held by particles and grids.
    size_t bytes() const;

    // Everything that the next frame depends on, for resuming.
    struct State {
        int frame = 0, next_id = 0;
        float speed = 0; // the largest velocity on the grid, where there is liquid, or of particles at the start [m/s]
        Particles particles;
        Ripples::State ripples; // with turbulence
        std::vector<RigidMotion> bodies = {};
    };
    State state() const;
    void restore(State state);

  private:
    void set_time(float frames);
    void remember_places();
    void let(const ParticleHook& hook, float dt);
    void substep(float dt);
    void count(const PoissonResult& solve);
    float largest_step() const;
    float largest_step_of_bodies(float pull) const;
    void emit(float frame, bool initial);
    void fill(const Shape& shape, const SourceParams& source, float frame, bool initial);
    void drain(float frame);
    void add_forces(float dt);
    const Field<float>& surface_pressure(float dt);
    void forget_closed_faces(MacField& known) const;
    void add_viscosity(float dt);
    bool in_solid(const Vec3f& x) const;
    bool in_liquid(const Vec3f& x, float time) const;
    float hold_on(size_t particle, float dt) const;
    void hold_back(float dt);
    void hold_thin_layers(float dt);
    template <class IsHeld, class Pressed> void find_held(float dt, const IsHeld& is_held, const Pressed& pressed);
    template <class Share> void take_held(const Share& share);
    const MacField& stirred_velocity();
    void ripple(float dt);
    float lost_to(const Solids::Grip& hold, float speed, float pressed, float dt) const;
    void collide(const std::vector<Vec3f>& from, float dt);
    void keep_on_side(const Vec3f& from, Vec3f& x) const;
    void stop_at_solid(const Vec3f& beyond, Vec3f& x, Vec3f& v) const;
    void push_out(Vec3f& x, Vec3f& v, float dt) const;

    LiquidParams params_;
    ParticleHooks hooks_;
    InnerFriction* inner_friction_ = nullptr;
    const char* name_ = "liquid";
    std::vector<Shape> sources_, sinks_;
    float fps_;
    int frame_ = 0, next_id_ = 0;
    float time_ = 0;  // within the shot, in frames
    float speed_ = 0; // see State
    Particles particles_;
    std::vector<Vec3f> places_; // memory of kMotion, until the first step of a frame needs it
    Solids solids_;
    Bodies bodies_;
    Forces forces_;

    // The grid, rebuilt in every substep; memory is kept.
    Topology topology_;
    ParticleIndex index_;
    SolidCells solid_cells_;
    MacField velocity_, before_, weight_;
    Field<float> phi_, crowding_, cell_viscosity_;
    Field<float> belonging_; // see distance_to_surface()
    Projection projection_;
    Viscosity viscosity_;
    StrainField strain_;
    Heat heat_;
    Strays strays_;
    MacField held_;       // what friction takes, at cell centres
    Curvature curvature_; // only with surface tension
    // With turbulence.
    std::unique_ptr<Ripples> ripples_;
    std::unique_ptr<ParticleFlow> flow_; // that ripples see: of the particles after they moved
    MacField stirred_;
    LiquidReport report_;
};

} // namespace spindrift
