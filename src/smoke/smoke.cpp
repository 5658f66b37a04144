#include "smoke/smoke.h"

#include "base/error.h"
#include "base/interrupt.h"

namespace spindrift {

namespace {

constexpr int kMaxSubsteps = 500;
constexpr float kVanishingWarmth = 1; // [K]

} // namespace

Smoke::Smoke(const SmokeParams& params, Shapes shapes, float fps)
    : params_(params), sources_(std::move(shapes.sources)), particle_sources_(std::move(shapes.particles)), fps_(fps),
      solids_(params.domain, std::move(shapes.colliders), fps), forces_(Vec3f::Zero(), params.forces, fps)
{
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
    const auto carry = [&](const std::string& name, float dissipation, float vanishing) {
        scalars_.push_back({name, dissipation, vanishing, {}, {}});
    };
    carry("density", params.dissipation, params.threshold);
    carry("temperature", params.cooling, kVanishingWarmth);
    for (const ScalarParams& scalar : params.scalars) carry(scalar.name, scalar.dissipation, params.threshold);
    if (params.has_colors())
        for (const char* name : {"Cd.x", "Cd.y", "Cd.z"}) carry(name, params.dissipation, kInfinity);
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
    *topology_ = {};
    velocity_.reset(*topology_, 0);
    push_.reset(*topology_, 0);
    last_dt_ = 0;
    for (SmokeScalar& scalar : scalars_) scalar.value.reset(*topology_, 0);
    follow_smoke(0);
    solid_cells_.update(*topology_, solids_, params_.voxel);
    emit(0, true);
}

SmokeReport Smoke::advance()
{
    report_ = {};
    const float frame_time = 1 / fps_;
    float left = frame_time;
    while (left > 0) {
        check_interrupt();
        set_time(static_cast<float>(frame_) + (frame_time - left) * fps_);
        const float steps = std::ceil(left / largest_step() - 1e-3f);
        if (!(steps <= kMaxSubsteps))
            fail("frame {}: the smoke would need {} substeps; its velocity is not plausible. Check velocities and "
                 "temperatures of sources, buoyancy, forces and confinement, or raise smoke.voxel or smoke.cfl",
                 frame_ + 1, steps);
        const float dt = steps <= 1 ? left : left / steps;
        set_time(static_cast<float>(frame_) + (frame_time - left + dt) * fps_);
        substep(dt);
        left = steps <= 1 ? 0 : left - dt;
        ++report_.substeps;
    }
    ++frame_;
    report_.tiles = static_cast<size_t>(topology_->tile_count());
    report_.active_cells = active_cells();
    report_.mass = mass();
    return report_;
}

void Smoke::substep(float dt)
{
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };
    phase("follow", [&] { // the grid follows the smoke
        follow_smoke(dt);
        solid_cells_.update(*topology_, solids_, params_.voxel);
    });
    phase("advect", [&] { advect_all(dt); });
    phase("sources", [&] { emit(dt, false); });
    if (hooks_.after_advection) phase("expressions", [&] { run(hooks_.after_advection, dt); });
    phase("forces", [&] { add_wind(dt); });
    if (hooks_.after_forces) phase("expressions", [&] { run(hooks_.after_forces, dt); });
    phase("forces", [&] {
        push_.copy_from(velocity_);
        add_buoyancy(0.5f * dt);
    });
    phase("pressure", [&] {
        pressure_.prepare(*topology_, solids_, solid_cells_, open_, params_.voxel,
                          topology_changed_ || solids_.moving());
        topology_changed_ = false;
        report_.iterations += pressure_.make_divergence_free(velocity_, params_.tolerance).iterations;
        remember_push(dt);
        pressure_.extend(velocity_);
    });
}

// Buoyancy and pressure act in two halves: what they did at the end of the last step they do once more before the
// velocity is carried on, and then anew where it arrives (the trapezoidal rule along the way; with pressure alone, the
// reflection of Zehnder et al. 2018). Pressure only at the end would brake everything that turns.
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

void Smoke::remember_push(float dt)
{
    for_each_tile(*topology_, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            const float *u = velocity_.u[a].tile(tile), *flows = pressure_.flowing().u[a].tile(tile);
            float* push = push_.u[a].tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize)
                store_row(push + o, load_row(flows + o) * (load_row(u + o) - load_row(push + o)));
        }
    });
    last_dt_ = dt;
}

// The longest step in which nothing moves farther than cfl cells, what buoyancy adds on the way included.
float Smoke::largest_step() const
{
    float speed = std::max(largest_component(velocity_), solids_.speed());
    for (size_t i = 0; i < params_.sources.size(); ++i) {
        const SmokeSourceParams& source = params_.sources[i];
        if (!source.active(time_)) continue;
        if (source.velocity) speed = std::max(speed, source.velocity->cwiseAbs().maxCoeff());
        if (!particle_sources_.contains(i)) speed = std::max(speed, source.inherit * sources_[i].speed(time_, fps_));
    }
    const float pull = forces_.strongest() +
                       params_.gravity.cwiseAbs().maxCoeff() * (std::abs(params_.buoyancy) + std::abs(params_.weight));
    // speed t + pull t^2 = distance; the root in the form that does not cancel.
    const float distance = params_.cfl * params_.voxel;
    return 2 * distance / (speed + std::sqrt(speed * speed + 4 * pull * distance) + 1e-20f);
}

void Smoke::advect_all(float dt)
{
    extend_into_solids();
    // What leaves through open sides in a step is not known well enough to be told from what is lost.
    constexpr double kNothing = 1e-6;
    std::vector<std::optional<double>> kept;
    for (const SmokeScalar& scalar : scalars_) {
        const double mass = params_.keep_mass ? mass_of(scalar.value) : 0;
        const bool keep = params_.keep_mass && mass != 0 && outflow(scalar.value, dt) <= kNothing * std::abs(mass);
        kept.push_back(keep ? std::optional(mass) : std::nullopt);
    }

    Carrier carrier;
    carrier.velocity = &velocity_;
    carrier.cells = dt / params_.voxel;
    carrier.reach = carrier.cells * largest_component(velocity_);
    carrier.bounds = walls_;
    std::vector<AdvectedField> fields;
    for (SmokeScalar& scalar : scalars_) fields.push_back({Location::center, &scalar.value, &scalar.next});
    MacField& pushed = pushed_velocity(dt);
    for (int a = 0; a < 3; ++a) fields.push_back({static_cast<Location>(a), &pushed.u[a], &next_velocity_.u[a]});
    advect(carrier, params_.advection, fields, scratch_);
    std::swap(velocity_, next_velocity_);
    for (size_t i = 0; i < scalars_.size(); ++i) {
        std::swap(scalars_[i].value, scalars_[i].next);
        if (kept[i]) keep_mass(i, *kept[i]);
    }
    clear_solids();

    for (SmokeScalar& scalar : scalars_) {
        if (scalar.dissipation == 0) continue;
        const float left = std::exp(-scalar.dissipation * dt);
        for_each_tile(*topology_, [&](int tile) {
            float* v = scalar.value.tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize) store_row(v + o, left * load_row(v + o));
        });
    }
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

// A face takes half of the change of the velocity on each of its sides.
void Smoke::run(const SmokeHooks::Hook& hook, float dt)
{
    Field<Vec3f> before = velocity_at_centers(), velocity;
    velocity.copy_from(before);
    SmokeFields fields{topology_.get(), params_.voxel, {}, &velocity};
    for (SmokeScalar& scalar : scalars_) fields.scalars[scalar.name] = &scalar.value;
    hook(fields, time_, dt);
    for_each_tile(*topology_, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c)
            for (int a = 0; a < 3; ++a) {
                const auto [below_tile, below] = topology_->next_cell(tile, c, a, -1);
                const auto change = [&](int t, int o) { return velocity.tile(t)[o][a] - before.tile(t)[o][a]; };
                velocity_.u[a].tile(tile)[c] += 0.5f * (change(tile, c) + change(below_tile, below));
            }
    });
}

double Smoke::mass_of(const Field<float>& value) const
{
    return parallel_sum(static_cast<size_t>(topology_->tile_count()), [&](size_t t) {
        const int tile = static_cast<int>(t);
        const SolidTile* solid = solid_cells_.tile(tile);
        RowSum sum;
        for (int o = 0; o < kTileCells; o += kTileSize)
            sum.add_product(load_row(value.tile(tile) + o), solid ? load_row(solid->volume + o) : splat(1));
        return sum.total();
    });
}

double Smoke::mass() const
{
    return topology_->tile_count() == 0 ? 0 : mass_of(scalars_[0].value) * std::pow(double(params_.voxel), 3);
}

size_t Smoke::active_cells() const { return pressure_.active_cells(); }

size_t Smoke::bytes() const
{
    size_t sum = topology_->bytes() + velocity_.bytes() + next_velocity_.bytes() + push_.bytes() + scratch_.bytes() +
                 solid_cells_.bytes() + pressure_.bytes() + confinement_.bytes();
    for (const SmokeScalar& scalar : scalars_) sum += scalar.value.bytes() + scalar.next.bytes();
    return sum;
}

Smoke::State Smoke::state() const
{
    State state;
    state.frame = frame_, state.last_dt = last_dt_, state.tiles = topology_->codes();
    const auto keep = [&](const std::string& name, const Field<float>& field) {
        state.fields[name].assign(field.values().begin(), field.values().end());
    };
    for (int a = 0; a < 3; ++a) {
        keep(std::string("vel.") + "xyz"[a], velocity_.u[a]);
        keep(std::string("push.") + "xyz"[a], push_.u[a]);
    }
    for (const SmokeScalar& scalar : scalars_) keep(scalar.name, scalar.value);
    return state;
}

void Smoke::restore(const State& state)
{
    frame_ = state.frame, last_dt_ = state.last_dt;
    topology_ = std::make_unique<Topology>(state.tiles);
    topology_changed_ = true;
    const auto fetch = [&](const std::string& name, Field<float>& field) {
        field.reset_uninitialized(*topology_, 0);
        std::copy_n(state.fields.at(name).begin(), field.values().size(), field.values().begin());
    };
    for (int a = 0; a < 3; ++a) {
        fetch(std::string("vel.") + "xyz"[a], velocity_.u[a]);
        fetch(std::string("push.") + "xyz"[a], push_.u[a]);
    }
    for (SmokeScalar& scalar : scalars_) fetch(scalar.name, scalar.value);
    set_time(static_cast<float>(frame_));
}

} // namespace spindrift
