#include "spindrift/liquid/liquid.h"

#include "spindrift/base/random.h"
#include "spindrift/bodies/motion_check.h"
#include "spindrift/field/row.h"
#include "spindrift/liquid/wall_velocity.h"
#include "spindrift/points/state_checks.h"
#include "spindrift/world/filling.h"
#include "spindrift/world/substeps.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

constexpr int kReach = 2;              // margin around particles that the grid covers [cells]
constexpr int kParticlesAlongEdge = 2; // of a cell: 8 particles

float largest_component(const std::vector<Vec3f>& v)
{
    return parallel_reduce(
        v.size(), 0.0f, [&](size_t i) { return v[i].cwiseAbs().maxCoeff(); },
        [](float a, float b) { return std::max(a, b); }, 4096);
}

} // namespace

Liquid::Liquid(const LiquidParams& params, float fps)
    : Liquid(params,
             {shapes_of(params.sources, "source"), shapes_of(params.sinks, "sink"),
              shapes_of(params.colliders, "collider", true), Bodies::shapes_of(params.bodies)},
             fps)
{
}

Liquid::Liquid(const LiquidParams& params, Shapes shapes, float fps)
    : params_(params), sliding_friction_(fps), sources_(std::move(shapes.sources)), sinks_(std::move(shapes.sinks)),
      fps_(fps), solids_(params.domain, shapes.colliders, fps, params.colliders),
      bodies_(params.bodies, shapes.bodies, params.domain, shapes.colliders, fps),
      forces_(params.gravity, params.forces, fps)
{
    solids_.set_bodies(&bodies_.solids());
    solids_.find_sheets(params.voxel);
    if (params.surface == LiquidParams::Surface::tracked) {
        tracked_ = std::make_unique<TrackedSurface>(params_);
        surface_solids_ =
            std::make_unique<SurfaceSolids>(solids_, solid_cells_, topology_, params.voxel, tracked_->voxel());
    }
    if (!params.turbulence.on) return;
    ripples_ = std::make_unique<Ripples>(params.turbulence);
    flow_ = std::make_unique<ParticleFlow>(params.domain, std::move(shapes.colliders), fps, params.voxel);
}

float Liquid::particle_radius() const { return static_cast<float>(std::cbrt(particle_volume() * 3 / (4 * kPi))); }

double Liquid::particle_volume() const { return std::pow(static_cast<double>(params_.voxel) / kParticlesAlongEdge, 3); }

size_t Liquid::bytes() const
{
    return particles_.bytes() + topology_.bytes() + index_.bytes() + solid_cells_.bytes() + velocity_.bytes() +
           before_.bytes() + weight_.bytes() + phi_.bytes() + crowding_.bytes() + belonging_.bytes() +
           curvature_.bytes() + sliding_friction_.bytes() + projection_.bytes() + viscosity_.bytes() +
           cell_viscosity_.bytes() + strain_.bytes() + heat_.bytes() + stirred_.bytes() +
           (ripples_ ? ripples_->bytes() + flow_->bytes() : 0) + (tracked_ ? tracked_->bytes() : 0);
}

void Liquid::start(int frame)
{
    frame_ = frame, next_id_ = 0;
    particles_ = {};
    if (params_.transfer == Transfer::apic)
        for (const char* name : kAffine) particles_.attribute<Vec3f>(name);
    if (params_.elasticity > 0)
        for (const char* name : {kStrainDiagonal, kStrainShear}) particles_.attribute<Vec3f>(name);
    set_time(static_cast<float>(frame));
    bodies_.start(time_);
    emit(time_, true);
    particles_.attribute<Vec3f>(kMotion) = particles_.v;
    speed_ = largest_component(particles_.v);
    if (tracked_) {
        tracked_->start(sources_, time_, solids_of_surface());
        find_velocities_at_start();
    }
    if (!ripples_) return;
    ripples_ = std::make_unique<Ripples>(params_.turbulence);
    ripple(0);
}

// At the vertices of the tracked surface, before there is a step.
void Liquid::find_velocities_at_start()
{
    if (particles_.size() == 0) return;
    Particles sorted = particles_;
    const Topology topology = tiles_around(sorted, params_.voxel, kReach);
    ParticleIndex index;
    MacField velocity, weight;
    sort_by_tile(sorted, topology, params_.voxel, index);
    to_grid(sorted, index, topology, params_.voxel, params_.transfer, velocity, weight);
    extrapolate(velocity, weight, kReach);
    tracked_->find_velocities(velocity, fps_);
}

void Liquid::set_time(float frames)
{
    time_ = frames;
    for (auto* shapes : {&sources_, &sinks_})
        for (Shape& shape : *shapes) shape.prepare(frames);
    solids_.set_frame(frames);
    forces_.set_frame(frames);
}

Liquid::State Liquid::state() const
{
    return {frame_,
            next_id_,
            speed_,
            particles_,
            ripples_ ? ripples_->state() : Ripples::State(),
            tracked_ ? tracked_->state() : SurfaceTracker::State(),
            bodies_.state()};
}

void Liquid::restore(State state)
{
    check_state(state.particles, params_.voxel);
    check_state_number(state.next_id, 0, std::numeric_limits<int>::max(), "next_id");
    check_state_number(state.speed, 0.0f, std::numeric_limits<float>::max(), "speed");
    // The next step depends on the speed on the grid, which is about that of the fastest particle.
    for (const Vec3f& v : state.particles.v)
        if (v.cwiseAbs().maxCoeff() > 1000 * (state.speed + 1))
            bad_state("a particle has a speed of {:g} m/s", v.norm());
    check_state(state.bodies, bodies_.size());
    if (ripples_ && !state.ripples.tiles.empty() && state.ripples.voxel != params_.voxel)
        bad_state("the voxel of ripples is {}", state.ripples.voxel);
    frame_ = state.frame, next_id_ = state.next_id, speed_ = state.speed;
    particles_ = std::move(state.particles);
    bodies_.restore(std::move(state.bodies), static_cast<float>(frame_));
    if (tracked_) {
        tracked_->restore(std::move(state.surface));
        set_time(static_cast<float>(frame_)); // the frame may be written before the next step
    }
    if (!ripples_) return;
    ripples_ = std::make_unique<Ripples>(params_.turbulence);
    ripples_->restore(std::move(state.ripples));
}

LiquidReport Liquid::advance()
{
    report_ = {};
    places_ = std::move(particles_.attribute<Vec3f>(kMotion)), particles_.attributes.erase(kMotion);
    if (ripples_) ripples_->begin_frame();
    if (tracked_) tracked_->begin_frame();
    const auto step = [&](float dt) {
        const size_t before = particles_.size();
        emit(time_, false);
        // New particles move in all of this step, as if they had travelled with their velocity since the start of the
        // frame.
        if (particles_.find<Vec3f>(kMotion)) { // not in the first step
            std::vector<Vec3f>& from = particles_.attribute<Vec3f>(kMotion);
            const float seconds = std::max(0.0f, (time_ - static_cast<float>(frame_)) / fps_ - dt);
            for (size_t i = before; i < from.size(); ++i) from[i] = particles_.P[i] - seconds * particles_.v[i];
        }
        drain(time_);
        if (hooks_.after_forces) {
            add_forces_to_particles(dt);
            run_hook(hooks_.after_forces, dt);
        }
        substep(dt);
        if (ripples_) report_.times.measure("ripples", [&] { ripple(dt); });
        if (!hooks_.after_advection) return;
        run_hook(hooks_.after_advection, dt);
        speed_ = std::max(speed_, largest_component(particles_.v));
    };
    report_.substeps = for_each_substep(
        frame_, fps_, params_.name,
        fmt::format("Check velocities of sources and colliders, or raise {}.voxel", params_.name),
        [&](float frames) { set_time(frames); }, [&] { return largest_step(); }, step);
    ++frame_;
    if (tracked_) {
        if (particles_.size() > 0)
            tracked_->find_velocities(velocity_, fps_);
        else
            tracked_->clear();
        set_time(static_cast<float>(frame_)); // exactly, for cutting the surface at solids
    }
    std::vector<Vec3f>& motion = particles_.attribute<Vec3f>(kMotion);
    parallel_for(
        motion.size(), [&](size_t i) { motion[i] = fps_ * (particles_.P[i] - motion[i]); }, 4096);
    report_.particles = particles_.size();
    report_.tiles = topology_.tile_count();
    report_.liquid_cells = projection_.liquid_cells();
    // Saving the state needs the memory of the particles once more: free what the next step rebuilds.
    index_ = {}, before_ = {};
    return report_;
}

// Store positions before the first step of a frame; advance() computes the motion from them.
void Liquid::remember_places()
{
    if (particles_.find<Vec3f>(kMotion)) return;
    places_.resize(particles_.size());
    parallel_for(
        places_.size(), [&](size_t i) { places_[i] = particles_.P[i]; }, 4096);
    particles_.attributes[kMotion] = std::move(places_);
}

// If the hook moves a particle (to the other end of a river, for example), that jump is not part of its motion.
void Liquid::run_hook(const ParticleHook& hook, float dt)
{
    remember_places();
    const std::vector<Vec3f> P = particles_.P;
    const std::vector<int32_t> id = particles_.id;
    hook(particles_, time_, dt);
    std::vector<Vec3f>& from = particles_.attribute<Vec3f>(kMotion);
    const float jump = kMaxAdvectionCells * params_.voxel;
    const auto carry = [&](size_t before, size_t now) {
        const Vec3f move = particles_.P[now] - P[before];
        if (move.squaredNorm() > jump * jump) from[now] += move;
    };
    if (particles_.size() == P.size()) {
        parallel_for(
            P.size(), [&](size_t i) { carry(i, i); }, 4096);
        return;
    }
    for (size_t i = 0, k = 0; i < particles_.size(); ++i) { // some were deleted; the others keep their order
        while (k < id.size() && id[k] != particles_.id[i]) ++k;
        if (k == id.size()) return; // the hook has changed ids
        carry(k, i);
    }
}

void Liquid::substep(float dt)
{
    bodies_.accelerate(params_.gravity, dt);
    if (particles_.size() == 0) {
        remember_places();
        if (tracked_) tracked_->clear();
        bodies_.move(time_, dt);
        return;
    }
    const float voxel = params_.voxel;
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };

    phase("sort", [&] { // the grid follows the liquid
        topology_ = tiles_around(particles_, voxel, kReach);
        sort_by_tile(particles_, topology_, voxel, index_);
        remember_places(); // before the first step, in sorted order
    });
    phase("solids", [&] { solid_cells_.update(topology_, solids_, voxel); });
    const Sight* sight = solid_cells_.sight();
    phase("to grid", [&] {
        to_grid(particles_, index_, topology_, voxel, params_.transfer, velocity_, weight_, sight); // (2.11)
    });
    phase("surface", [&] {
        distance_to_surface(particles_, index_, topology_, voxel, solid_cells_, phi_, &belonging_);
        if (tracked_) tracked_->distance(topology_, solids_of_surface(), phi_);
        if (params_.keep_volume) measure_crowding(weight_, phi_, solid_cells_, belonging_, crowding_);
    });
    if (params_.has_heat())
        phase("heat", [&] { heat_.exchange(params_.heat, index_, phi_, solid_cells_, voxel, dt, particles_); });
    phase("forces", [&] {
        // Extrapolate velocities into solids here in the same way as after the projection: FLIP must see no change that
        // is only due to a different extrapolation.
        forget_closed_faces(weight_);
        extrapolate(velocity_, weight_, 1, sight);
        if (params_.transfer == Transfer::flip) before_.copy_from(velocity_);
        if (!hooks_.after_forces) add_forces(dt); // (2.12)
    });
    Material& material = material_ ? *material_ : sliding_friction_;
    const FlowStep step{phi_, solids_, solid_cells_, projection_, index_, params_.gravity, voxel, dt, velocity_};
    phase("pressure", [&] {
        projection_.prepare(topology_, phi_, solids_, solid_cells_, voxel);
        projection_.couple(bodies_, params_.density);
    });
    phase("friction", [&] { material.before_pressure(step); });
    phase("pressure", [&] { // (2.15)-(2.19)
        const Field<float>* at_surface = params_.surface_tension > 0 ? &surface_pressure(dt) : nullptr;
        count(projection_.make_divergence_free(velocity_, weight_, params_.tolerance, at_surface));
    });
    phase("friction", [&] { material.after_pressure(step); });
    if (params_.viscous()) flow_viscously(dt);
    phase("extrapolate", [&] {
        extrapolate_velocity(dt);
        material.after_extrapolation(step);
        // The liquid sticks to solids where viscosity reaches over a cell in a step, otherwise it slides.
        slide_on_solids(velocity_, solids_, solid_cells_, voxel,
                        params_.viscous() ? std::min(1.0f, viscosity_.stiffness()) : 0);
    });
    if (tracked_) phase("track", [&] { tracked_->step(velocity_, dt, sources_, sinks_, time_, solids_of_surface()); });
    phase("to particles", [&] { to_particles(dt); }); // (2.20)
    if (params_.keep_volume) phase("even out", [&] { even_out(dt); });
    if (!bodies_.empty()) phase("bodies", [&] { bodies_.move(time_, dt); });
    phase("advect", [&] { advect(dt); }); // (2.21)
}

void Liquid::flow_viscously(float dt)
{
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };
    phase("viscosity", [&] { add_viscosity(dt); });
    phase("pressure again", [&] { // sticking to solids has changed the divergence
        count(projection_.make_divergence_free(velocity_, weight_, params_.tolerance));
        viscosity_.mark_known(weight_);
    });
    if (params_.elasticity > 0) // while the velocity at solids is still theirs, since the liquid sticks to them
        phase("elasticity", [&] {
            update_strain(velocity_, strain_, viscosity_.shares(), index_, params_.voxel, dt,
                          {params_.yield_strain, params_.relaxation}, particles_);
        });
}

// Next to the surface the liquid's flow continues, conserving volume; farther off, drops keep their own motion.
void Liquid::extrapolate_velocity(float dt)
{
    const Sight* sight = solid_cells_.sight();
    extrapolate(velocity_, weight_, 1, sight);
    projection_.close_surface(velocity_);
    speed_ = largest_known(velocity_, weight_);
    accept_provisional(weight_);
    const float cells = std::min(speed_ * dt / params_.voxel, params_.cfl);
    extrapolate(velocity_, weight_, static_cast<int>(std::ceil(cells)) + 2, sight);
}

void Liquid::to_particles(float dt)
{
    const Sight* sight = solid_cells_.sight();
    const float voxel = params_.voxel;
    strays_.find(
        particles_, index_, phi_, voxel, [&](size_t i) { return hold_on(i, dt); }, sight);
    spindrift::to_particles(velocity_, before_, params_.transfer, params_.flip, index_, voxel, particles_, sight);
    if (params_.transfer == Transfer::flip) meet_walls(velocity_, index_, solid_cells_, voxel, particles_);
    if (params_.viscous()) strays_.keep(particles_, velocity_, voxel);
}

void Liquid::even_out(float dt)
{
    projection_.spread(crowding_, params_.voxel, dt, velocity_);
    const Sight* sight = solid_cells_.sight();
    if (!sight) return;
    // Particles between a sheet and the closed faces in front of it must be spread too.
    forget_closed_faces(weight_);
    extrapolate(velocity_, weight_, 1, sight);
    slide_on_solids(velocity_, solids_, solid_cells_, params_.voxel);
}

void Liquid::advect(float dt)
{
    const float voxel = params_.voxel;
    std::vector<Vec3f>& from = index_.spare(); // only with colliders
    if (solids_.has_colliders()) from = particles_.P;
    if (ripples_)
        ripples_->turbulence().velocity().stir(velocity_, voxel,
                                               stirred_); // U + u', divergence-free, or particles would crowd
    spindrift::advect(particles_, index_, ripples_ ? stirred_ : velocity_, voxel, dt, params_.advection_order,
                      solid_cells_.sight());
    // Surface tension holds back particles that leave the liquid, with the force of a thread of a cell's width.
    const float cohesion = params_.surface_tension / (params_.density * voxel * voxel);
    const auto accelerated = [&](const Vec3f& x, const Vec3f& v) {
        return hooks_.after_forces ? forces_.slowed_by_wind(v, dt) : forces_.free_flight_velocity(x, v, dt);
    };
    strays_.fly(particles_, accelerated, cohesion, voxel, dt,
                [&](const Vec3f& x, float time) { return in_solid(x) || in_liquid(x, time); });
    collide(from, dt);
}

// How strongly the liquid holds a particle at its surface, 0 to 1: fully if it is elastic, or if viscosity reaches over
// a cell in a step.
float Liquid::hold_on(size_t particle, float dt) const
{
    if (params_.elasticity > 0) return 1;
    if (!params_.viscous()) return 0;
    const auto* own = particles_.find<float>(kViscosityAttribute);
    const float viscosity = own ? (*own)[particle] : params_.viscosity;
    return std::min(1.0f, std::sqrt(viscosity / params_.density * dt) / params_.voxel);
}

// Advance ripples with the surface of the moved particles.
void Liquid::ripple(float dt)
{
    flow_->set(particles_, time_);
    ripples_->step(flow_->flow(), params_.gravity.norm(), dt);
}

// Between two projections: without the first, the acceleration that pressure is about to stop would look like shear at
// the walls, and still honey would creep.
void Liquid::add_viscosity(float dt)
{
    const float voxel = params_.voxel;
    extrapolate(velocity_, weight_, 1, solid_cells_.sight());
    KinematicViscosity viscosity{params_.viscosity / params_.density, nullptr};
    if (particles_.find<float>(kViscosityAttribute)) {
        viscosity_at_cells(particles_, index_, topology_, params_.density, cell_viscosity_);
        viscosity = {0, &cell_viscosity_};
    }
    viscosity.elasticity = params_.elasticity / params_.density;
    viscosity_.prepare(topology_, phi_, solids_, solid_cells_, viscosity, voxel, dt);
    const bool elastic = params_.elasticity > 0;
    if (elastic) strain_to_grid(particles_, index_, topology_, voxel, strain_);
    const ViscousResult result = viscosity_.apply(velocity_, params_.tolerance, elastic ? &strain_ : nullptr);
    report_.viscous_iterations += result.iterations, report_.unconverged += !result.converged;
}

void Liquid::count(const PoissonResult& solve)
{
    report_.iterations += solve.iterations, report_.unconverged += !solve.converged;
}

// The longest step in which no liquid moves farther than cfl cells, gravity included, and which resolves the shortest
// waves that the grid can carry (two cells long).
float Liquid::largest_step() const
{
    const float speed = std::max({speed_, solids_.speed(), speed_of_sources(params_.sources, sources_, time_, fps_)});
    // Particles move through a velocity field that is constant during the step. A drop in flight would meet its own
    // ripples half a step behind, and they would grow: surface tension therefore permits only short moves.
    constexpr float kMoveWithTension = 0.5f;
    const float cells = params_.surface_tension > 0 ? std::min(params_.cfl, kMoveWithTension) : params_.cfl;
    const float pull = forces_.max_acceleration();
    const float move = time_to_move(cells * params_.voxel, speed, pull);
    // Such a wave has a frequency of sqrt(pi g / voxel). At twice its inverse it would grow; water in a tank would
    // never come to rest.
    const float wave = std::sqrt(params_.voxel / (static_cast<float>(kPi) * pull + 1e-20f));
    // Surface tension drives the same wave, at a frequency of sqrt(tension k^3 / density).
    const float k = static_cast<float>(kPi) / params_.voxel;
    const float ripple = std::sqrt(params_.density / (params_.surface_tension * k * k * k + 1e-20f));
    return std::min({move, wave, ripple, largest_step_of_bodies(pull)});
}

// Pressure reacts to what a body meets on its way only in the next step: limit its motion to a cell where there is
// liquid.
float Liquid::largest_step_of_bodies(float pull) const
{
    if (bodies_.empty()) return kInfinity;
    Box3f liquid;
    for (const Vec3f& x : particles_.P) liquid.add(x);
    const float speed = bodies_.speed_near(liquid, 2 * params_.voxel, 0);
    return time_to_move(params_.voxel, speed, pull);
}

// The pressure jump across the surface, in Projection's units.
const Field<float>& Liquid::surface_pressure(float dt)
{
    curvature_.measure(phi_, solid_cells_, params_.contact_angle * static_cast<float>(kPi / 180));
    const float scale = params_.surface_tension * dt / (params_.density * params_.voxel * params_.voxel);
    Field<float>& s = curvature_.values();
    for_each_tile(topology_, [&](int tile) {
        for (int o = 0; o < kTileCells; o += kTileSize) store_row(s.tile(tile) + o, scale * load_row(s.tile(tile) + o));
    });
    return s;
}

// With a hook after forces, which must see their effect: instead of add_forces().
void Liquid::add_forces_to_particles(float dt)
{
    parallel_for(
        particles_.size(), [&](size_t i) { particles_.v[i] += dt * forces_.acceleration(particles_.P[i]); }, 4096);
}

void Liquid::add_forces(float dt)
{
    for (int a = 0; a < 3; ++a) {
        const float change = dt * params_.gravity[a];
        if (change == 0 && forces_.uniform()) continue;
        for_each_tile(topology_, [&](int tile) {
            float* u = velocity_.u[a].tile(tile);
            if (forces_.uniform()) {
                for (int o = 0; o < kTileCells; o += kTileSize) store_row(u + o, load_row(u + o) + change);
                return;
            }
            const Vec3f first = topology_.first_cell(tile).cast<float>();
            for (int c = 0; c < kTileCells; ++c)
                if (weight_.u[a].tile(tile)[c] > 0)
                    u[c] += dt * forces_.acceleration((first + face_in_tile(c, a)) * params_.voxel)[a];
        });
    }
}

} // namespace spindrift
