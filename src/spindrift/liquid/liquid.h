// A PIC/FLIP/APIC liquid [Zhu 2005, chapter 3], [Jones 2018, chapter 2]. Particles carry the liquid; a grid that is
// rebuilt around them in every substep makes their velocity divergence-free. substep() follows the algorithm of [Jones
// 2018], each phase named and timed.
//
//     Liquid liquid(params);
//     liquid.start(1);
//     for (int frame = 2; frame <= 100; ++frame) {
//         liquid.advance();
//         liquid.show_motion([](const Particles& particles) { write(particles); });
//     }
//
// Results are bit-identical for any number of threads.
//
// Limits: the air has no mass, so bubbles do not push back. One density for the whole liquid; viscosity may vary,
// surface tension may not. A sheet of liquid thinner than a cell breaks up into drops, and whatever is smaller than a
// cell flies ballistically. At most 500 substeps a frame.
//
// Differences from [Jones 2018]:
//
// - The first layer of air around the liquid is made divergence-free too (`Projection::close_surface`). The surface
//   moves into it within a step, and velocities that are only extrapolated converge there wherever the surface rises:
//   at a CFL number of 5, a sloshing tank lost half its volume in seconds, and the volume correction fed the waves.
// - Strays (liquid/strays.h), particles farther from the surface than the grid can tell, fly ballistically until they
//   meet liquid or a solid.
// - The step follows the velocity of the grid, not of the fastest particle, and the shortest wave that the grid can
//   carry.
// - Sheets (world/sheets.h, field/sight.h). A collider thinner than two cells has no cells of its own: both sides share
//   the same cells. A cell then belongs to the side of its centre, faces between cells of different sides are closed,
//   and every stencil (particles, extrapolation) asks a `Sight` what is on its own side. Particles never pass: their
//   path is cut where it meets the sheet, of any thickness, and an open mesh suffices.
// - Contact (liquid/contact.cpp). A particle's path is traced relative to each collider, which is placed where it is at
//   the end of the step, so that nothing passes through a fast collider. Friction is Coulomb's, with the pressure of
//   the projection.
// - Two velocities. A FLIP particle moves with the grid's velocity and carries its own, which differs by noise that
//   never becomes motion. Hooks (expressions after forces and after advection) see and change the carried one. Frames
//   have `v = (P - P a frame ago) * fps`, the motion that motion blur, speed colours, whitewater and meshes need
//   (`Liquid::show_motion`).
// - Walls (liquid/wall_velocity.h). Towards a wall within a cell, a particle carries the grid's velocity. Otherwise
//   increments of inflowing liquid would accumulate on particles that the wall has stopped.
// - Surface tension (liquid/curvature.h) is the pressure at the free surface in the projection.
// - Crowding (liquid/crowding.h). Where particles drifted together or apart, a displacement from one more (coarse)
//   solve spreads them.
// - Viscosity (liquid/viscosity.h) is one implicit solve between two projections. Without the first, the acceleration
//   that pressure is about to stop would look like shear at the walls; the second removes the divergence that sticking
//   to solids adds.
// - Elasticity (liquid/elasticity.h) is a strain on each particle. The strain that the step itself adds enters the
//   viscous solve as a viscosity, and only the rest is a force: stable for any step.
// - Heat (liquid/heat.h) gives each particle a temperature, which determines its viscosity.
// - Rigid bodies are coupled two-way (liquid/body_coupling.h).
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/liquid/crowding.h"
#include "spindrift/liquid/curvature.h"
#include "spindrift/liquid/free_surface.h"
#include "spindrift/liquid/heat.h"
#include "spindrift/liquid/particle_flow.h"
#include "spindrift/liquid/projection.h"
#include "spindrift/liquid/sliding_friction.h"
#include "spindrift/liquid/strays.h"
#include "spindrift/liquid/tracked_surface.h"
#include "spindrift/liquid/viscosity.h"
#include "spindrift/points/hooks.h"
#include "spindrift/ripples/ripples.h"

namespace spindrift {

// Statistics of one frame.
struct LiquidReport {
    size_t particles = 0, tiles = 0, liquid_cells = 0;
    int substeps = 0, iterations = 0, viscous_iterations = 0;
    int unconverged = 0; // solves that ended above their tolerance
    PhaseTimes times;
};

// Attribute of a liquid's particles. Between frames: their mean velocity over the last frame [m/s]. While a frame is
// computed: their position at its start [m].
constexpr const char* kMotion = "motion";

class Liquid {
  public:
    // The shapes of params.sources, params.sinks, params.colliders and params.bodies, in the same order.
    struct Shapes {
        std::vector<Shape> sources, sinks, colliders;
        std::vector<Bodies::Shapes> bodies = {};
    };
    // Loads the shapes itself; see shapes_of() in scene/shapes.h.
    explicit Liquid(const LiquidParams& params, float fps = 24);
    // Uses shapes that a scene has loaded and placed.
    Liquid(const LiquidParams& params, Shapes shapes, float fps);

    void set_hooks(ParticleHooks hooks) { hooks_ = std::move(hooks); }
    // Turns the liquid into another material, which has friction at the domain's closed sides too. The material must
    // outlive the liquid.
    void set_material(Material& material, float wall_friction)
    {
        material_ = &material;
        solids_.set_wall_friction(wall_friction);
    }
    // Of the last step, for hooks after advection: the distance to the surface [cells], negative inside, clamped a few
    // cells from it, and the velocity [m/s].
    const Field<float>& surface_distance() const { return phi_; }
    const MacField& velocity() const { return velocity_; }

    // Creates the liquid of the first frame.
    void start(int frame);
    // Advances by one frame.
    LiquidReport advance();

    int frame() const { return frame_; }
    // Their v is the velocity that the solver carries, which includes FLIP noise and is not their motion.
    const Particles& particles() const { return particles_; }
    // Calls f(particles) with their motion over the last frame as v, (P - P a frame ago) * fps. Caches hold these.
    template <class F> void show_motion(const F& f)
    {
        struct Shown { // restores the solver's own velocity even if f throws
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
    // Throws bad_input for a body that starts inside a solid; `where` is the scene location of each body.
    void expect_room_for_bodies(int frame, const std::vector<std::string>& where)
    {
        bodies_.start(static_cast<float>(frame), where);
    }
    const Ripples* ripples() const { return ripples_.get(); } // with turbulence, at the last frame
    // The tracked surface at the last frame, with velocities; only with params.surface = tracked.
    Mesh surface() const { return tracked_->mesh(solids_of_surface()); }
    void set_surface_attributes(std::map<std::string, AttributeArray> attributes)
    {
        tracked_->set_attributes(std::move(attributes));
    }
    size_t surface_triangles() const { return tracked_->tracker().mesh().triangles.size(); }
    // Radius of a ball of a particle's volume [m].
    float particle_radius() const;
    // Volume of one particle [m3]: an eighth of a cell.
    double particle_volume() const;
    // Bytes held by particles and grids.
    size_t bytes() const;

    // Everything that the next frame depends on, for resuming.
    struct State {
        int frame = 0, next_id = 0;
        float speed = 0; // largest velocity on the grid where there is liquid, or of particles at the start [m/s]
        Particles particles;
        Ripples::State ripples;             // with turbulence
        SurfaceTracker::State surface = {}; // if it is tracked
        std::vector<RigidMotion> bodies = {};
    };
    State state() const;
    void restore(State state);

  private:
    void set_time(float frames);
    void find_velocities_at_start();
    void remember_places();
    void run_hook(const ParticleHook& hook, float dt);
    void substep(float dt);
    void count(const PoissonResult& solve);
    float largest_step() const;
    float largest_step_of_bodies(float pull) const;
    void emit(float frame, bool initial);
    void fill(const Shape& shape, const SourceParams& source, float frame, bool initial);
    void drain(float frame);
    void add_forces(float dt);
    void add_forces_to_particles(float dt);
    const Field<float>& surface_pressure(float dt);
    void forget_closed_faces(MacField& known) const;
    void add_viscosity(float dt);
    void flow_viscously(float dt);
    void extrapolate_velocity(float dt);
    void to_particles(float dt);
    void even_out(float dt);
    void advect(float dt);
    const TrackSolids* solids_of_surface() const { return solids_.has_colliders() ? surface_solids_.get() : nullptr; }
    bool in_solid(const Vec3f& x) const;
    bool in_liquid(const Vec3f& x, float time) const;
    float hold_on(size_t particle, float dt) const;
    void ripple(float dt);
    void collide(const std::vector<Vec3f>& from, float dt);
    void keep_on_side(const Vec3f& from, Vec3f& x) const;
    void stop_at_solid(const Vec3f& beyond, Vec3f& x, Vec3f& v) const;
    void push_out(Vec3f& x, Vec3f& v, float dt) const;

    LiquidParams params_;
    ParticleHooks hooks_;
    SlidingFriction sliding_friction_;
    Material* material_ = nullptr; // if it is not a liquid
    std::vector<Shape> sources_, sinks_;
    float fps_;
    int frame_ = 0, next_id_ = 0;
    float time_ = 0;  // within the shot [frames]
    float speed_ = 0; // see State
    Particles particles_;
    std::vector<Vec3f> places_; // memory of kMotion, until the first step of a frame needs it
    Solids solids_;
    Bodies bodies_;
    Forces forces_;

    // The grid, rebuilt in every substep; memory is reused.
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
    Curvature curvature_;                     // only with surface tension
    std::unique_ptr<TrackedSurface> tracked_; // if the surface is not found from the particles
    std::unique_ptr<SurfaceSolids> surface_solids_;
    // With turbulence.
    std::unique_ptr<Ripples> ripples_;
    std::unique_ptr<ParticleFlow> flow_; // the flow of the moved particles, for ripples
    MacField stirred_;
    LiquidReport report_;
};

} // namespace spindrift
