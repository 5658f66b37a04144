#include "spindrift/smoke/smoke.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/seen_advection.h"
#include "spindrift/points/state_checks.h"
#include "spindrift/world/substeps.h"

namespace spindrift {

namespace {

constexpr float kTemperatureThreshold = 1; // [K]

} // namespace

Smoke::Smoke(const SmokeParams& params, float fps)
    : Smoke(params, {shapes_of(params.sources, "source"), shapes_of(params.colliders, "collider", true), {}}, fps)
{
}

Smoke::Smoke(const SmokeParams& params, Shapes shapes, float fps)
    : params_(params), sources_(std::move(shapes.sources)), particle_sources_(std::move(shapes.particles)), fps_(fps),
      solids_(params.domain, std::move(shapes.colliders), fps), forces_(Vec3f::Zero(), params.forces, fps)
{
    solids_.find_sheets(params.voxel);
    const Vec3f most = Vec3f::Constant(kInfinity);
    box_ = open_ = walls_ = {-most, most};
    if (params.domain.bounded())
        for (int a = 0; a < 3; ++a)
            for (int upper = 0; upper < 2; ++upper) {
                const float at = (upper ? *params.domain.max : *params.domain.min)[a] / params.voxel;
                (upper ? box_.max : box_.min)[a] = at;
                Box3f& side = params.domain.closed(a, upper) ? walls_ : open_;
                (upper ? side.max : side.min)[a] = at;
            }
    const auto carry = [&](const std::string& name, float dissipation, float threshold) {
        carried_.scalars.push_back({name, dissipation, threshold, {}, {}});
    };
    carry("density", params.dissipation, params.threshold);
    carry("temperature", params.cooling, kTemperatureThreshold);
    for (const ScalarParams& scalar : params.scalars) carry(scalar.name, scalar.dissipation, params.threshold);
    if (params.has_colors())
        for (const char* name : {"Cd.x", "Cd.y", "Cd.z"}) carry(name, params.dissipation, kInfinity);
    if (params.turbulence.on) turbulence_ = std::make_unique<Turbulence>(params.turbulence);
}

void Smoke::set_time(float frames)
{
    time_ = frames;
    for (Shape& shape : sources_) shape.prepare(frames);
    solids_.set_frame(frames);
    forces_.set_frame(frames);
}

void Smoke::start(int frame)
{
    frame_ = frame;
    set_time(static_cast<float>(frame));
    topology_ = std::make_shared<Topology>();
    velocity_.reset(*topology_, 0);
    push_.reset(*topology_, 0);
    last_dt_ = 0;
    carried_.start(topology_);
    follow_smoke(0);
    emit(0, true);
}

SmokeReport Smoke::advance()
{
    report_ = {};
    report_.substeps = for_each_substep(
        frame_, fps_, params_.name,
        fmt::format("Check the velocities and temperatures of sources, buoyancy, forces and confinement, or raise "
                    "{0}.voxel or {0}.cfl",
                    params_.name),
        [&](float frames) { set_time(frames); }, [&] { return largest_step(); }, [&](float dt) { substep(dt); });
    ++frame_;
    report_.tiles = topology_->tile_count();
    report_.active_cells = active_cells();
    report_.mass = mass();
    if (turbulence_) {
        report_.fine_tiles = carried_.topology().tile_count();
        report_.eddies = turbulence_->particles().size();
    }
    return report_;
}

void Smoke::substep(float dt)
{
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };
    phase("follow", [&] { follow_smoke(dt); }); // the grid follows the smoke
    phase("advect", [&] { advect_all(dt); });
    phase("sources", [&] { emit(dt, false); });
    if (hooks_.after_advection) phase("expressions", [&] { run(hooks_.after_advection, dt); });
    phase("forces", [&] {
        add_wind(dt);
        push_.copy_from(velocity_);
        add_buoyancy(0.5f * dt);
    });
    if (hooks_.after_forces) phase("expressions", [&] { run(hooks_.after_forces, dt, &push_); });
    phase("pressure", [&] {
        pressure_.prepare(*topology_, solids_, solid_cells_, open_, params_.voxel,
                          topology_changed_ || solids_.moving());
        topology_changed_ = false;
        const PoissonResult solve = pressure_.make_divergence_free(velocity_, params_.tolerance);
        report_.iterations += solve.iterations, report_.unconverged += !solve.converged;
        store_push(dt);
        pressure_.extend(velocity_);
    });
    if (turbulence_) phase("turbulence", [&] { step_turbulence(dt); });
}

// Buoyancy and pressure act in two halves: the change of the last step's end is applied once more before the velocity
// is advected, and again after it. This is the trapezoidal rule along the path; with pressure alone, it is the
// reflection of [Zehnder 2018]. Pressure only at the end would damp rotation.
MacField& Smoke::pushed_velocity(float dt)
{
    const float ratio = last_dt_ > 0 ? dt / last_dt_ : 0;
    for_each_tile(*topology_, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            const float* u = velocity_.u[a].tile(tile);
            float* push = push_.u[a].tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize)
                store_row(push + o, load_row(u + o) + ratio * load_row(push + o));
        }
    });
    return push_;
}

// Excludes the boundary of the grid: inflow must not be driven by the push of what has left.
void Smoke::store_push(float dt)
{
    for_each_tile(*topology_, [&](int tile) {
        const TileView inside(pressure_.inside(), tile);
        for_each_row([&](int x, int y, int o) {
            const Row here = inside.at(x, y);
            const Row below[3] = {inside.below_x(x, y), inside.below_y(x, y), inside.below_z(x, y)};
            for (int a = 0; a < 3; ++a) {
                float* push = push_.u[a].tile(tile) + o;
                const Row flows = load_row(solid_cells_.open(tile, a) + o) > splat(0) ? here * below[a] : splat(0);
                store_row(push, flows * (load_row(velocity_.u[a].tile(tile) + o) - load_row(push)));
            }
        });
    });
    last_dt_ = dt;
}

// The longest step in which nothing moves farther than cfl cells, including acceleration by buoyancy.
float Smoke::largest_step() const
{
    float speed = std::max(largest_component(velocity_), solids_.speed());
    for (size_t i = 0; i < params_.sources.size(); ++i) {
        const SmokeSourceParams& source = params_.sources[i];
        if (!source.contains(time_)) continue;
        if (source.velocity) speed = std::max(speed, source.velocity->cwiseAbs().maxCoeff());
        if (!particle_sources_.contains(i)) speed = std::max(speed, source.inherit * sources_[i].speed(time_, fps_));
    }
    const float pull = forces_.max_acceleration() +
                       params_.gravity.cwiseAbs().maxCoeff() * (std::abs(params_.buoyancy) + std::abs(params_.weight));
    return time_to_move(params_.cfl * params_.voxel, speed, pull);
}

void Smoke::advect_all(float dt)
{
    std::vector<AdvectedField> fields;
    if (turbulence_)
        advect_finer(dt);
    else {
        carried_.prepare(solid_cells_, open_, params_.keep_mass);
        fields = carried_.fields();
    }
    Carrier carrier;
    carrier.velocity = &velocity_;
    if (turbulence_ && params_.turbulence.two_way) { // the flow is advected by U + u' [Narain 2011, 3.5.2]
        turbulence_->velocity().stir(velocity_, params_.voxel, stirred_);
        carrier.velocity = &stirred_;
    }
    carrier.cells = dt / params_.voxel;
    carrier.bounds = walls_;
    MacField& pushed = pushed_velocity(dt);
    for (int a = 0; a < 3; ++a) fields.push_back({static_cast<Location>(a), &pushed.u[a], &next_velocity_.u[a]});
    AdvectionScratch& scratch = turbulence_ ? flow_scratch_ : carried_.scratch;
    advect(carrier, params_.advection, fields, scratch);
    advect_beside_sheets(carrier, solid_cells_, params_.voxel, fields, scratch);
    std::swap(velocity_, next_velocity_);
    if (!turbulence_) carried_.finish(solid_cells_);
    carried_.fade(dt);
}

// Advects next to sheets, with the sheets where they were at the start of the step.
void Smoke::advect_beside_sheets(const Carrier& carrier, const SolidCells& cells, float voxel,
                                 const std::vector<AdvectedField>& fields, AdvectionScratch& scratch)
{
    if (!cells.sight()) return;
    if (!solids_.colliders_move()) {
        const SeenCarrier seen{*solid_cells_.sight(), *cells.sight(), voxel, [](const Vec3f& x) { return x; }};
        advect_in_sight(carrier, seen, fields, scratch);
        return;
    }
    Solids before = solids_;
    before.set_frame(solids_.frame_before());
    SolidCells flow_then, values_then;
    flow_then.update(*topology_, before, params_.voxel);
    if (turbulence_) values_then.update(carried_.topology(), before, voxel);
    const SolidCells& then = turbulence_ ? values_then : flow_then;
    const SeenCarrier seen{*flow_then.sight(), *then.sight(), voxel,
                           [&](const Vec3f& x) { return solids_.moved_back_with_sheet(x); }};
    advect_in_sight(carrier, seen, fields, scratch);
}

// Scalars are advected by U + u' on the finer grid, in substeps limited by the reach of the advection.
void Smoke::advect_finer(float dt)
{
    const auto refine = static_cast<float>(params_.refine());
    turbulence_->velocity().sample_cells(carried_.topology(), params_.fine_voxel(), detail_);
    float eddies = 0;
    for (const Field<float>& u : detail_) eddies = std::max(eddies, max_abs(u));
    Carrier carrier;
    carrier.velocity = &velocity_;
    carrier.detail = detail_;
    carrier.refine = params_.refine();
    carrier.bounds = {refine * walls_.min, refine * walls_.max};
    const Box3f open = {refine * open_.min, refine * open_.max};
    const float way = (largest_component(velocity_) + eddies) * dt / params_.fine_voxel();
    const float steps = std::max(1.0f, std::ceil(way / kMaxTraceCells));
    carrier.cells = dt / params_.fine_voxel() / steps;
    for (int step = 0; step < static_cast<int>(steps); ++step) {
        carried_.prepare(fine_solid_cells_, open, params_.keep_mass);
        advect(carrier, params_.advection, carried_.fields(), carried_.scratch);
        advect_beside_sheets(carrier, fine_solid_cells_, params_.fine_voxel(), carried_.fields(), carried_.scratch);
        carried_.finish(fine_solid_cells_);
    }
}

// Advances the eddies with the new flow. Faces in solids hold the solid's velocity, so that slip along them counts as
// strain (the ghost velocity of [Narain 2011, 3.4.2]).
void Smoke::step_turbulence(float dt)
{
    stirred_.copy_from(velocity_);
    Field<float> distance;
    if (!solids_.none()) {
        constexpr float kFar = 10; // cells
        distance.reset(*topology_, kFar * params_.voxel);
        const std::vector<int>& near = solid_cells_.near();
        parallel_for(near.size(), [&](size_t k) {
            const SolidTile& solid = *solid_cells_.tile(near[k]);
            for (int c = 0; c < kTileCells; ++c) distance.tile(near[k])[c] = params_.voxel * solid.distance[c];
            const Vec3f first = topology_->first_cell(near[k]).cast<float>();
            for (int a = 0; a < 3; ++a)
                for (int c = 0; c < kTileCells; ++c)
                    if (!(solid.open[a][c] > 0))
                        stirred_.u[a].tile(near[k])[c] =
                            solids_.velocity((first + face_in_tile(c, a)) * params_.voxel)[a];
        });
    }
    turbulence_->step({stirred_, params_.voxel, solids_.none() ? nullptr : &distance}, dt);
}

// An upper estimate of the eddies' speed.
float Smoke::eddy_speed() const
{
    if (!turbulence_) return 0;
    constexpr float kPeakOverRms = 4; // times their root mean square; rarely exceeded
    const float most = max_abs(turbulence_->energy().energy());
    float octaves = 0;
    for (int i = 0; i < params_.turbulence.octave_count(); ++i)
        octaves += std::exp2(-2.0f / 3 * static_cast<float>(i)); // [Narain 2011, (3.4)]
    return kPeakOverRms * params_.turbulence.strength * std::sqrt(most * octaves);
}

Field<Vec3f> Smoke::velocity_at_centers() const
{
    Field<Vec3f> out;
    out.reset_uninitialized(*topology_, Vec3f::Zero());
    for_each_tile(*topology_, [&](int tile) {
        const TileView u[3] = {{velocity_.u[0], tile}, {velocity_.u[1], tile}, {velocity_.u[2], tile}};
        for_each_row([&](int x, int y, int o) {
            const Row mean[3] = {0.5f * (u[0].at(x, y) + u[0].above_x(x, y)),
                                 0.5f * (u[1].at(x, y) + u[1].above_y(x, y)),
                                 0.5f * (u[2].at(x, y) + u[2].above_z(x, y))};
            for (int z = 0; z < kTileSize; ++z) out.tile(tile)[o + z] = Vec3f(mean[0][z], mean[1][z], mean[2][z]);
        });
    });
    return out;
}

Field<Vec3f> Smoke::velocity_at_faces() const
{
    Field<Vec3f> out;
    out.reset_uninitialized(*topology_, Vec3f::Zero());
    for_each_tile(*topology_, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c)
            for (int a = 0; a < 3; ++a) out.tile(tile)[c][a] = velocity_.u[a].tile(tile)[c];
    });
    return out;
}

// The flow is interpolated as in advect_finer().
Field<Vec3f> Smoke::velocity_with_eddies() const
{
    const Topology& fine = carried_.topology();
    const int refine = params_.refine();
    const float shrink = 1.0f / static_cast<float>(refine);
    Field<Vec3f> out;
    out.reset_uninitialized(fine, Vec3f::Zero());
    for_each_tile(fine, [&](int tile) {
        auto& eddies = thread_scratch<TurbulentVelocity::Tile>();
        auto& flow = thread_scratch<MacBlock<2>>();
        turbulence_->velocity().sample_tile(fine.tile(tile), params_.fine_voxel(), eddies);
        const Vec3i first = fine.first_cell(tile);
        const auto floor_div = [&](int a) { return (a >= 0 ? a : a - refine + 1) / refine; };
        const Vec3i cell(floor_div(first.x()), floor_div(first.y()), floor_div(first.z()));
        const int coarse = topology_->find(tile_of_cell(cell));
        const bool flows = coarse != topology_->tile_count();
        if (flows) flow.gather(velocity_, coarse, Margin::nearest);
        const Vec3f corner = flows ? Vec3f(first.cast<float>() * shrink - topology_->first_cell(coarse).cast<float>())
                                   : Vec3f::Zero().eval();
        for_each_row([&](int x, int y, int o) {
            const Row z = Row{0, 1, 2, 3, 4, 5, 6, 7} + 0.5f;
            Row3 u = {splat(0), splat(0), splat(0)};
            if (flows)
                u = flow.sample({splat(corner.x() + shrink * (static_cast<float>(x) + 0.5f)),
                                 splat(corner.y() + shrink * (static_cast<float>(y) + 0.5f)), corner.z() + shrink * z});
            u = u + Row3{load_row(eddies.u[0] + o), load_row(eddies.u[1] + o), load_row(eddies.u[2] + o)};
            for (int k = 0; k < kTileSize; ++k) out.tile(tile)[o + k] = Vec3f(u.x[k], u.y[k], u.z[k]);
        });
    });
    return out;
}

// Each face gets the mean velocity change of its two cells, or that of its only cell. The change is also added to
// `also`, unless that is null.
void Smoke::run(const SmokeHooks::Hook& hook, float dt, MacField* also)
{
    Field<Vec3f> before = velocity_at_centers(), velocity;
    velocity.copy_from(before);
    SmokeFields fields{&carried_.topology(), params_.fine_voxel(), {}, topology_.get(), params_.voxel, &velocity};
    for (SmokeScalar& scalar : carried_.scalars) fields.scalars[scalar.name] = &scalar.value;
    hook(fields, time_, dt);
    for_each_tile(*topology_, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c)
            for (int a = 0; a < 3; ++a) {
                const auto [below_tile, below] = topology_->next_cell(tile, c, a, -1);
                const auto change = [&](int t, int o) { return velocity.tile(t)[o][a] - before.tile(t)[o][a]; };
                const bool outermost = below_tile == topology_->tile_count();
                const float here = change(tile, c);
                const float added = outermost ? here : 0.5f * (here + change(below_tile, below));
                velocity_.u[a].tile(tile)[c] += added;
                if (also) also->u[a].tile(tile)[c] += added;
            }
    });
}

double Smoke::mass() const
{
    const double cell = std::pow(static_cast<double>(params_.fine_voxel()), 3);
    return carried_.topology().tile_count() == 0 ? 0 : cell * carried_.sum(0, fine_cells());
}

size_t Smoke::active_cells() const { return pressure_.active_cells(); }

size_t Smoke::bytes() const
{
    size_t sum = topology_->bytes() + velocity_.bytes() + next_velocity_.bytes() + push_.bytes() + carried_.bytes() +
                 solid_cells_.bytes() + pressure_.bytes() + confinement_.bytes();
    if (!turbulence_) return sum;
    sum += turbulence_->bytes() + carried_.topology().bytes() + fine_solid_cells_.bytes() + mean_density_.bytes() +
           mean_temperature_.bytes() + stirred_.bytes() + flow_scratch_.bytes();
    for (const Field<float>& u : detail_) sum += u.bytes();
    return sum;
}

Smoke::State Smoke::state() const
{
    State state;
    state.frame = frame_, state.last_dt = last_dt_;
    state.tiles = topology_->codes(), state.fine_tiles = carried_.topology().codes();
    const auto keep = [&](const std::string& name, const Field<float>& field) {
        state.fields[name].assign(field.values().begin(), field.values().end());
    };
    for (int a = 0; a < 3; ++a) {
        keep(std::string("vel.") + "xyz"[a], velocity_.u[a]);
        keep(std::string("push.") + "xyz"[a], push_.u[a]);
    }
    for (const SmokeScalar& scalar : carried_.scalars) keep(scalar.name, scalar.value);
    if (turbulence_) state.turbulence = turbulence_->state();
    return state;
}

void Smoke::restore(State state)
{
    check_state_tiles(state.tiles, "flow");
    if (turbulence_) check_state_tiles(state.fine_tiles, "smoke");
    check_state_number(state.last_dt, 0.0f, std::numeric_limits<float>::max(), "last_dt");
    const auto check_field = [&](const std::string& name, const std::vector<uint64_t>& tiles) {
        check_state_values(state.fields[name], tiles.size() * kTileCells, name.c_str());
    };
    for (const char* name : {"vel.x", "vel.y", "vel.z", "push.x", "push.y", "push.z"}) check_field(name, state.tiles);
    if (turbulence_ && !state.turbulence.tiles.empty() && state.turbulence.voxel != params_.voxel)
        bad_state("the voxel of turbulence is {}", state.turbulence.voxel);
    for (const SmokeScalar& scalar : carried_.scalars)
        check_field(scalar.name, turbulence_ ? state.fine_tiles : state.tiles);
    frame_ = state.frame, last_dt_ = state.last_dt;
    topology_ = std::make_shared<Topology>(state.tiles);
    carried_.start(turbulence_ ? std::make_shared<Topology>(state.fine_tiles) : topology_);
    topology_changed_ = true;
    const auto fetch = [&](const std::string& name, const Topology& topology, Field<float>& field) {
        field.reset_uninitialized(topology, 0);
        std::copy_n(state.fields.at(name).begin(), field.values().size(), field.values().begin());
    };
    for (int a = 0; a < 3; ++a) {
        fetch(std::string("vel.") + "xyz"[a], *topology_, velocity_.u[a]);
        fetch(std::string("push.") + "xyz"[a], *topology_, push_.u[a]);
    }
    for (SmokeScalar& scalar : carried_.scalars) fetch(scalar.name, carried_.topology(), scalar.value);
    set_time(static_cast<float>(frame_));
    solid_cells_.update(*topology_, solids_, params_.voxel);
    if (!turbulence_) return;
    fine_solid_cells_.update(carried_.topology(), solids_, params_.fine_voxel());
    turbulence_->restore(std::move(state.turbulence));
}

} // namespace spindrift
