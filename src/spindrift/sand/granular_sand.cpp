#include "spindrift/sand/granular_sand.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/bodies/motion_check.h"
#include "spindrift/points/state_checks.h"
#include "spindrift/points/transfer.h"
#include "spindrift/world/filling.h"
#include "spindrift/world/solid_faces.h"
#include "spindrift/world/substeps.h"

namespace spindrift {

namespace {

std::vector<SandMaterialParams> materials_of(const SandParams& params)
{
    if (params.materials.empty()) return {SandMaterialParams()};
    return params.materials;
}

SandParams with_materials(SandParams params)
{
    params.materials = materials_of(params);
    return params;
}

// Finding the nearest solid is expensive, above all among meshes: skip it if all have the same friction.
std::optional<float> same_friction(const SandParams& params)
{
    bool walls = false;
    for (int axis = 0; axis < 3; ++axis)
        for (int upper = 0; upper < 2; ++upper) walls |= params.domain.bounded() && params.domain.closed(axis, upper);
    for (const BodyParams& body : params.bodies)
        if (body.friction || params.wall_friction || !params.colliders.empty()) return {};
    if (params.colliders.empty()) return params.wall_friction.value_or(kInfinity);
    for (const ColliderParams& c : params.colliders)
        if (walls || c.friction != params.colliders[0].friction) return {};
    return params.colliders[0].friction;
}

bool sticky(const SandParams& params)
{
    return std::ranges::any_of(params.colliders, [](const ColliderParams& c) { return c.stick > 0; });
}

// A full cell has eight particles.
std::vector<float> masses_of(const SandParams& params)
{
    std::vector<float> masses;
    for (const SandMaterialParams& m : materials_of(params))
        masses.push_back(m.density * params.voxel * params.voxel * params.voxel / 8);
    return masses;
}

} // namespace

GranularSand::GranularSand(const SandParams& params, float fps)
    : GranularSand(params,
                   {shapes_of(params.sources, "source"), shapes_of(params.colliders, "collider", true),
                    Bodies::shapes_of(params.bodies)},
                   fps)
{
}

GranularSand::GranularSand(const SandParams& params, Shapes shapes, float fps)
    : params_(with_materials(params)), sources_(std::move(shapes.sources)), fps_(fps),
      solids_(params.domain, shapes.colliders, fps, params.colliders),
      bodies_(params.bodies, shapes.bodies, params.domain, shapes.colliders, fps),
      ellipsoids_(particle_radius(), masses_of(params)),
      stress_({params.projections, params.isotropic, params.tolerance, params.gravity, params.wall_friction,
               same_friction(params), sticky(params), fps})
{
    for (const SandMaterialParams& m : params_.materials)
        wall_friction_.push_back(rough_wall(friction_bound(m.friction)));
    solids_.find_sheets(params.voxel);
    if (bodies_.empty()) return;
    solids_.set_bodies(&bodies_.solids());
    stress_.couple(bodies_, params_.materials[0].density);
}

float GranularSand::particle_mass(int material) const
{
    return params_.materials[material].density * params_.voxel * params_.voxel * params_.voxel / 8;
}

double GranularSand::mass() const
{
    const auto* mass = particles_.find<float>(kMass);
    return mass ? parallel_sum(
                      mass->size(), [&](size_t i) { return static_cast<double>((*mass)[i]); }, 4096)
                : 0;
}

size_t GranularSand::bytes() const
{
    return particles_.bytes() + marks_.capacity() + flow_at_splits_.capacity() * sizeof(FlowAtSplit) + grid_.bytes() +
           solid_cells_.bytes() + solid_cells_before_.bytes() + stress_.bytes() + flux_.bytes() + velocity_.bytes() +
           displacement_.bytes() + push_.bytes();
}

void GranularSand::expect_room_for_bodies(int frame, const std::vector<std::string>& where)
{
    bodies_.start(static_cast<float>(frame), where);
}

void GranularSand::start(int frame)
{
    frame_ = frame, next_id_ = 0;
    particles_ = {};
    particles_.attribute<float>(kMass), particles_.attribute<int32_t>(kMaterial);
    particles_.attribute<Vec3f>(kShapeDiagonal), particles_.attribute<Vec3f>(kShapeShear);
    for (const char* row : kAffine) particles_.attribute<Vec3f>(row);
    stress_.restore({});
    set_time(static_cast<float>(frame));
    bodies_.start(time_);
    emit(0, true);
    put_on_grid(0, SandGrid::Splat::volumes);
    speed_ = 0;
    for (const Vec3f& v : particles_.v) speed_ = std::max(speed_, v.cwiseAbs().maxCoeff());
}

void GranularSand::set_time(float frames)
{
    time_ = frames;
    for (Shape& shape : sources_) shape.prepare(frames);
    solids_.set_frame(frames);
}

GranularSand::State GranularSand::state() const
{
    return {frame_, next_id_, speed_, particles_, stress_.state(), bodies_.state()};
}

void GranularSand::restore(State state)
{
    check_state(state.particles, params_.voxel);
    // A hundred times the mass of the densest sand in a cell.
    check_state_range(state.particles, kMass, 0.0f, 1e8f * params_.voxel * params_.voxel * params_.voxel);
    check_state_range(state.particles, kMaterial, 0, static_cast<int32_t>(params_.materials.size()) - 1);
    for (const char* name : {kShapeDiagonal, kShapeShear}) check_state_attribute<Vec3f>(state.particles, name);
    check_state_number(state.next_id, 0, std::numeric_limits<int>::max(), "next_id");
    check_state_number(state.speed, 0.0f, std::numeric_limits<float>::max(), "speed");
    check_state(state.bodies, bodies_.size());
    frame_ = state.frame, next_id_ = state.next_id, speed_ = state.speed;
    particles_ = std::move(state.particles);
    stress_.restore(state.stress);
    bodies_.restore(std::move(state.bodies), static_cast<float>(frame_));
}

SandReport GranularSand::advance()
{
    report_ = {}, step_ = 0;
    const auto step = [&](float dt) {
        emit(dt, false);
        substep(dt);
    };
    for (const SandImpulseParams& impulse : params_.impulses)
        if (impulse.frame == frame_) explode(impulse);
    report_.substeps = for_each_substep(
        frame_, fps_, params_.name,
        fmt::format("Check velocities of sources, colliders, bodies and impulses, or raise {}.voxel", params_.name),
        [&](float frames) { set_time(frames); }, [&] { return largest_step(); }, step);
    put_on_grid(0, SandGrid::Splat::volumes);
    ++frame_;
    report_.particles = particles_.size();
    report_.tiles = grid_.topology.tile_count();
    report_.mass = mass();
    return report_;
}

// The longest step in which nothing moves farther than half a cell, gravity included.
float GranularSand::largest_step() const
{
    float speed = std::max({speed_, solids_.speed(), speed_of_sources(params_.sources, sources_, time_, fps_)});
    if (!bodies_.empty()) {
        Box3f sand;
        for (const Vec3f& x : particles_.P) sand.add(x);
        speed = std::max(speed, bodies_.speed_near(sand, 2 * params_.voxel, 1 / fps_));
    }
    return time_to_move(SandTuning::longest_move * params_.voxel, speed, params_.gravity.cwiseAbs().maxCoeff());
}

// [Narain 2011, figure 5.7], and the particle work before and after it. Numbers are lines of the figure.
void GranularSand::substep(float dt)
{
    bodies_.accelerate(params_.gravity, dt);
    if (particles_.size() == 0) return bodies_.move(time_, dt);
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };

    put_on_grid(dt, SandGrid::Splat::all); // line 1
    phase("flux", [&] { start_flux(dt); });
    report_.stress.add(stress_.solve(dt, flux_, report_.times)); // line 3, and 5 for bodies
    phase("flux", [&] { new_velocity(dt); });                    // line 4
    if (!bodies_.empty()) phase("bodies", [&] { bodies_.move(time_, dt); });
    phase("to particles", [&] { // lines 6 a, b, c
        stress_.fill_beside_room(grid_.filled);
        if (solids_.has_sheets()) from_ = particles_.P;
        move(dt);
    });
    phase("contact", [&] {
        if (!bodies_.empty()) meet_bodies();
        collide(dt);
    });
    if (params_.shapes && step_++ % SandTuning::steps_to_merge == 0)
        phase("merge", [&] { report_.merges += ellipsoids_.merge(particles_, grid_.index, grid_.topology, &solids_); });
    if (params_.shapes)
        phase("split", [&] { // line 6 d
            const size_t first = particles_.size();
            std::vector<size_t> parents = ellipsoids_.split(particles_, marks_, flow_at_splits_, next_id_);
            report_.splits += parents.size();
            if (solids_.has_sheets()) keep_halves_together(parents, first);
            // Velocities stay: the next step finds the impacts, and gives bodies their share.
            for (const size_t i : parents) put_in_front_of_solids(i);
            for (size_t i = first; i < particles_.size(); ++i) put_in_front_of_solids(i);
            grid_.add(std::move(parents), first);
        });
    phase("density", [&] { spread_out(); }); // line 2, for the next step
    remove_empty(particles_);
}

// Splat particles to cells and faces, and move them apart where they are too dense. The previous step has usually done
// the latter; this handles what it left and what was added since. Particles are at the start of the step, so the solids
// must be as well. Which cells sheets separate must be known at the end of the step: if sheets move, splat once more.
void GranularSand::put_on_grid(float dt, SandGrid::Splat what)
{
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };
    const auto as_step_begins = [&](const auto& body) {
        if (solids_.colliders_move()) solids_.set_frame(time_ - dt * fps_);
        body();
        if (solids_.colliders_move()) solids_.set_frame(time_);
    };
    const bool sheets_move = solids_.has_sheets() && solids_.colliders_move();
    const SolidCells& cells_now = solids_.colliders_move() ? solid_cells_before_ : solid_cells_;
    const SolidCells& cells_to_spread = sheets_move ? solid_cells_before_ : solid_cells_;
    float fullest = 0;
    for (int pass = 0; pass < SandTuning::most_passes && particles_.size() > 0; ++pass) {
        phase("sort", [&] { grid_.sort(particles_, params_.voxel, params_.gravity); });
        phase("solids", [&] { find_room(dt); });
        phase("to grid", [&] {
            const auto splat = [&] { grid_.splat(particles_, params_.materials, what, {cells_now.sight()}); };
            sheets_move ? as_step_begins(splat) : splat();
        });
        phase("prepare", [&] { stress_.prepare(grid_, solids_, cells_to_spread, cells_now); });
        const float before = fullest;
        fullest = stress_.fullest();
        const bool stuck = pass > SandTuning::passes_to_try && std::abs(fullest - before) < SandTuning::stuck;
        if (fullest <= SandTuning::densest || stuck || pass + 1 == SandTuning::most_passes) break;
        phase("density", [&] { as_step_begins([&] { move_apart(pass, cells_to_spread); }); });
    }
    if (sheets_move && what == SandGrid::Splat::all) {
        phase("to grid", [&] { grid_.splat(particles_, params_.materials, what, {solid_cells_.sight(), &solids_}); });
        phase("prepare", [&] { stress_.prepare(grid_, solids_, solid_cells_, cells_now); });
    }
    report_.fullest = std::max(report_.fullest, fullest);
}

// Find the free volume between solids, now and, if they move, at the start of the step.
void GranularSand::find_room(float dt)
{
    if (solids_.colliders_move()) {
        solids_.set_frame(time_ - dt * fps_);
        solid_cells_before_.update(grid_.topology, solids_, params_.voxel);
        solids_.set_frame(time_);
    }
    solid_cells_.update(grid_.topology, solids_, params_.voxel);
}

// Particles do not move exactly as the fluxes prescribe. Move them apart where they came too close, while they are
// still sorted by cell.
void GranularSand::spread_out()
{
    if (!bodies_.empty()) solid_cells_.update(grid_.topology, solids_, params_.voxel);
    const int passes = bodies_.empty() ? 1 : 2; // beside bodies one pass often leaves too much
    for (int pass = 0; pass < passes; ++pass) {
        grid_.refill(particles_, params_.materials, solid_cells_.sight());
        stress_.find_excess(solid_cells_);
        if (pass > 0 && stress_.fullest() <= SandTuning::densest) return;
        move_apart(0, solid_cells_);
    }
}

void GranularSand::move_apart(int attempt, const SolidCells& room)
{
    report_.stress.add(stress_.spread(displacement_));
    fill_closed_faces(displacement_, SandTuning::push_off_solids, room);
    if (attempt == 0) keep_in_flows(displacement_); // if the first attempt does not suffice, flows give way too
    displace(room);
}

// The flux without stresses, evaluated as in (5.30). Nothing flows through closed faces.
void GranularSand::start_flux(float dt)
{
    for (auto& u : flux_.u) u.reset_uninitialized(grid_.topology, 0);
    for_each_tile(grid_.topology, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            const float *u = grid_.velocity.u[a].tile(tile), *share = grid_.at_faces.u[a].tile(tile);
            const float* open = solid_cells_.open(tile, a);
            float* out = flux_.u[a].tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize) {
                const Row through = min(load_row(open + o), load_row(share + o));
                store_row(out + o, through * (load_row(u + o) + dt * params_.gravity[a]));
            }
        }
    });
}

// (5.5) at open faces; closed faces are extrapolated from open ones.
void GranularSand::new_velocity(float dt)
{
    for (auto& u : velocity_.u) u.reset_uninitialized(grid_.topology, 0);
    for (auto& u : push_.u) u.reset_uninitialized(grid_.topology, 0);
    for_each_tile(grid_.topology, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            const float *f = flux_.u[a].tile(tile), *share = grid_.at_faces.u[a].tile(tile);
            const float* open = solid_cells_.open(tile, a);
            float* out = velocity_.u[a].tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize) {
                constexpr float kLeastShare = 1e-6f;
                const Row s = min(load_row(open + o), load_row(share + o));
                const Row falling = load_row(grid_.velocity.u[a].tile(tile) + o) + dt * params_.gravity[a];
                const Row u = s > splat(kLeastShare) ? load_row(f + o) * inverse_or_zero(s) : falling;
                store_row(out + o, u), store_row(push_.u[a].tile(tile) + o, u - falling);
            }
        }
    });
    fill_closed_faces(velocity_, 1, solid_cells_);
    slide_on_solids(velocity_, solids_, solid_cells_, params_.voxel);
    move_with_flows(dt);
}

} // namespace spindrift
