#include "spindrift/shaped_smoke/shaped_smoke.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"
#include "spindrift/points/state_checks.h"
#include "spindrift/points/transfer.h"
#include "spindrift/shaped_smoke/controls.h"
#include "spindrift/shaped_smoke/shape_points.h"
#include "spindrift/turbulence/sampler.h"

#include <utility>

namespace spindrift {

namespace {

// Smoke thinner than this share of its mean density has no vortices; new ones need more.
constexpr float kThinSmoke = 0.05f, kVortexSmoke = 0.25f;
// Fill of control particles below which a marker is lost, while they are under way.
constexpr float kLostFill = 0.1f;
// Density of control particles up to which that of smoke should be proportional, relative to that in the shape: while
// they are under way, and in the end, when smoke should be even.
constexpr float kFullUnderWay = 3, kFullArrived = 0.2f;

// Velocity of markers in the step before, while an expression may change that of this step.
constexpr const char* kVelocityBefore = "_v_before";

const std::vector<int32_t>& targets_of(const Particles& controls) { return *controls.find<int32_t>(kTargetAttribute); }

} // namespace

ShapedSmoke::ShapedSmoke(const ShapedSmokeParams& params, float fps)
    : ShapedSmoke(params, {shapes_of(params.sources, "source"), shapes_of(params.targets, "target"), {}}, fps)
{
}

ShapedSmoke::ShapedSmoke(const ShapedSmokeParams& params, Shapes shapes, float fps, const std::string& where)
    : params_(params), sources_(std::move(shapes.sources)), point_sources_(std::move(shapes.particles)),
      target_shapes_(std::move(shapes.targets)), where_(where), target_places_(std::move(shapes.target_places)),
      fps_(fps), vortices_(params.vortices), correspondence_(hash64(static_cast<uint64_t>(params.seed), 1))
{
    clear_controls();
}

void ShapedSmoke::check_targets(int first_frame)
{
    for (size_t i = target_places_.size(); i < params_.targets.size(); ++i)
        target_places_.push_back(fmt::format("{}.target[{}]", where_, i));
    targets_ = std::make_unique<Targets>(params_.targets, target_shapes_, target_places_, first_frame);
}

std::vector<std::string> ShapedSmoke::warnings() const
{
    return targets_ ? targets_->warnings(params_) : std::vector<std::string>();
}

void ShapedSmoke::start(int frame)
{
    start_frame_ = frame_ = frame, next_id_ = 0, rounds_ = 0;
    check_targets(frame);
    clear_controls();
    vortices_.clear();
    goals_.clear(), goals_time_ = kInfinity;
    fill_sources();
    follow_smoke(0);
    const auto cell = std::pow(static_cast<double>(params_.voxel), 3);
    reference_density_ = std::max(static_cast<double>(mean_density_) / cell, 1e-30);
}

void ShapedSmoke::clear_controls()
{
    controls_ = {};
    controls_.attribute<int32_t>(kTargetAttribute), controls_.attribute<Vec3f>(kStepAttribute);
}

void ShapedSmoke::fill_sources()
{
    markers_ = {};
    const auto frame = static_cast<float>(frame_);
    const auto seed = static_cast<uint64_t>(params_.seed);
    std::vector<std::unique_ptr<ShapePoints>> samplers(sources_.size());
    double whole = 0; // volume times density
    for (size_t i = 0; i < sources_.size(); ++i) {
        if (point_sources_.contains(i)) continue;
        sources_[i].prepare(frame);
        samplers[i] = std::make_unique<ShapePoints>(sources_[i], frame, fmt::format("{}.source[{}]", where_, i));
        whole += static_cast<double>(params_.sources[i].density) * samplers[i]->volume();
    }
    double until = 0;
    size_t given = 0;
    for (size_t i = 0; i < sources_.size(); ++i) {
        std::vector<Vec3f> points;
        if (samplers[i]) {
            until += static_cast<double>(params_.sources[i].density) * samplers[i]->volume() / whole;
            const auto all = static_cast<size_t>(std::round(until * params_.markers));
            points = samplers[i]->take(all - given, hash64(seed, hash64(2, i)));
            given = all;
        } else {
            points = point_sources_.at(i)().P;
        }
        markers_.P.insert(markers_.P.end(), points.begin(), points.end());
    }
    if (markers_.P.empty())
        bad_input("{}: the smoke has no markers; add a [[{}.source]] with a shape or points", where_, where_);
    markers_.resize(markers_.P.size());
    parallel_for(
        markers_.size(), [&](size_t i) { markers_.id[i] = static_cast<int32_t>(i); }, 4096);
    next_id_ = static_cast<int>(markers_.size());
}

ShapedSmokeReport ShapedSmoke::advance()
{
    report_ = {};
    const float dt = 1 / (fps_ * static_cast<float>(params_.substeps));
    for (int number = 0; number < params_.substeps; ++number) {
        check_interrupt();
        step(number, dt);
    }
    ++frame_;
    report_.markers = markers_.size(), report_.controls = controls_.size(), report_.vortices = vortices_.size();
    report_.tiles = topology_->tile_count();
    report_.arrived = arrived_;
    return report_;
}

// The steps of [Madill 2013, 3].
void ShapedSmoke::step(int number, float dt)
{
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };
    // From whole numbers, so that one moment has the same bits in all steps.
    const auto moment = [&](int n) {
        return static_cast<float>((static_cast<double>(frame_) * params_.substeps + n) / params_.substeps);
    };
    const float before = moment(number - 1), from = moment(number), to = moment(number + 1);
    const uint64_t key = hash64(hash64(static_cast<uint64_t>(params_.seed), static_cast<uint64_t>(frame_)),
                                static_cast<uint64_t>(number));
    // 1. Particles.
    phase("targets", [&] { choose_targets(from); });
    phase("controls", [&] { place_controls(key); });
    // 2. Control velocity.
    phase("attraction", [&] { attract_controls(before, from, to, dt); });
    phase("sort", [&] { follow_smoke(dt); });
    phase("control field", [&] { find_control_velocity(from); });
    // 3. Turbulence.
    phase("vortices", [&] { update_vortices(to, dt, key); });
    // 4. Motion.
    advect(to, dt, frame_ == start_frame_ && number == 0, key);
    if (hooks_.after_advection) phase("expressions", [&] { hooks_.after_advection(markers_, to, dt); });
}

// ----------------------------------------------------------------------------------------------- particles, densities

// Begins the group of targets that is active now. Control particles stay from one group to the next; without a group
// there are none.
void ShapedSmoke::choose_targets(float frame)
{
    const int group = targets_->active(frame);
    if (group == targets_->group()) return;
    targets_->begin(group);
    goals_.clear(), goals_time_ = kInfinity;
    if (group < 0) {
        controls_.resize(0);
    } else if (controls_.size() > 0) {
        targets_->add(controls_.size(), static_cast<uint64_t>(params_.seed));
        assign_randomly(controls_.attribute<int32_t>(kTargetAttribute),
                        hash64(static_cast<uint64_t>(params_.seed), static_cast<uint64_t>(group)));
    }
}

// Moves the grid to the particles, sorts them, and finds their densities. Control particles stay on the grid during a
// step of dt.
void ShapedSmoke::follow_smoke(float dt)
{
    const int blurred = std::max(Tent(params_.marker_radius).reach, Tent(params_.control_radius).reach);
    const int reach = std::max(blurred, 1);
    std::vector<uint64_t> codes = tiles_around(markers_, params_.voxel, reach).codes();
    const std::vector<Vec3f>& step = controls_.attribute<Vec3f>(kStepAttribute);
    const auto add_around_controls = [&](float seconds) {
        Particles then;
        then.P.resize(controls_.size()), then.id = controls_.id;
        parallel_for(
            then.P.size(), [&](size_t i) { then.P[i] = controls_.P[i] + seconds * step[i]; }, 1024);
        const Topology around = tiles_around(then, params_.voxel, reach);
        codes.insert(codes.end(), around.codes().begin(), around.codes().end());
    };
    if (controls_.size() > 0) add_around_controls(0), add_around_controls(dt);
    auto topology = std::make_unique<Topology>(std::move(codes));
    limit_spread(*topology, where_ + ".voxel");
    topology_ = std::move(topology);
    sort_by_tile(markers_, *topology_, params_.voxel, marker_index_);
    count_particles(marker_index_, *topology_, marker_density_);
    blur(marker_density_, Tent(params_.marker_radius), scratch_);
    // Mean over the markers of the density around them.
    const double sum = parallel_sum(topology_->tile_count(), [&](size_t t) {
        const auto tile = static_cast<int>(t);
        const uint32_t* first = marker_index_.cell_first(tile);
        double in_tile = 0;
        for (int c = 0; c < kTileCells; ++c)
            in_tile += static_cast<double>(marker_density_.tile(tile)[c]) * (first[c + 1] - first[c]);
        return in_tile;
    });
    mean_density_ = markers_.size() > 0 ? static_cast<float>(sum / static_cast<double>(markers_.size())) : 0;
    find_controls(control_region_);
}

void ShapedSmoke::find_controls(ParticleRegion& region)
{
    sort_by_tile(controls_, *topology_, params_.voxel, control_index_);
    find_region(control_index_, *topology_, Tent(params_.control_radius), region, scratch_);
}

void ShapedSmoke::place_controls(uint64_t key)
{
    if (targets_->group() < 0 || markers_.size() == 0) return;
    if (controls_.size() > 0 && !params_.place_every_frame) return;
    follow_smoke(0);
    const size_t before = controls_.size();
    if (before >= 2 * static_cast<size_t>(params_.controls)) return; // where smoke keeps leaving its control particles
    const Tent tent(params_.control_radius);
    const double ratio = std::min(1.0, static_cast<double>(params_.controls) / static_cast<double>(markers_.size()));
    std::vector<Vec3f> places = throw_controls(
        {markers_, marker_index_, control_index_, marker_density_, tent, params_.voxel, ratio, hash64(key, 1)},
        control_region_.density);
    if (before == 0 && places.empty()) places.push_back(markers_.P.front());
    if (places.empty()) return;
    targets_->add(places.size(), static_cast<uint64_t>(params_.seed));
    goals_time_ = kInfinity;
    controls_.resize(before + places.size());
    std::copy(places.begin(), places.end(), controls_.P.begin() + static_cast<long>(before));
    const std::span<int32_t> target(controls_.attribute<int32_t>(kTargetAttribute).data() + before, places.size());
    assign_randomly(target, hash64(key, 2));
    for (int32_t& t : target) t += static_cast<int32_t>(before);
}

// ---------------------------------------------------------------------------------------------------- control velocity

void ShapedSmoke::attract_controls(float before, float from, float to, float dt)
{
    arrived_ = 0;
    if (controls_.size() == 0) return;
    if (goals_time_ == from) {
        std::swap(goals_earlier_, goals_before_), std::swap(goals_before_, goals_);
    } else {
        targets_->place(before, goals_earlier_);
        targets_->place(from, goals_before_);
    }
    targets_->place(to, goals_), goals_time_ = to;
    std::vector<int32_t>& target = controls_.attribute<int32_t>(kTargetAttribute);
    const size_t budget = (params_.attraction.swaps + params_.substeps - 1) / params_.substeps;
    rounds_ = correspondence_.improve(controls_.P, goals_before_, target, budget, rounds_); // algorithm 1
    report_.energy =
        matching_energy(controls_.P, goals_before_, target) / static_cast<double>(std::max<size_t>(1, target.size()));
    attract(controls_, {goals_earlier_, goals_before_, goals_}, target, params_.attraction, dt);
    const float near = params_.control_radius * params_.voxel + 0.25f * params_.attraction.slowing;
    arrived_ = share_arrived(controls_, goals_before_, target, near);
}

void ShapedSmoke::find_control_velocity(float frame)
{
    const Vec3f wind = params_.wind.empty()
                           ? Vec3f(Vec3f::Zero())
                           : Vec3f(value_at(params_.wind, frame, Interpolation::linear).value.cast<float>());
    control_.interpolate(*topology_, params_.voxel, controls_, params_.velocity_radius * params_.voxel, wind);
    add_to_faces(control_.components(), true);
    if (params_.project && controls_.size() > 0) {
        const PoissonResult result = projection_.project(velocity_, static_cast<double>(params_.tolerance));
        report_.iterations += result.iterations, report_.unconverged += result.converged ? 0 : 1;
    }
    if (measure_divergence_) divergence_ = rms_divergence(velocity_, params_.voxel);
}

// Adds the mean of the two cells at each face to the velocity, or sets it with `first`.
void ShapedSmoke::add_to_faces(const Field<float> (&centers)[3], bool first)
{
    if (first)
        for (auto& u : velocity_.u) u.reset_uninitialized(*topology_, 0);
    for_each_tile(*topology_, [&](int tile) {
        const TileView views[3] = {{centers[0], tile}, {centers[1], tile}, {centers[2], tile}};
        for_each_row([&](int x, int y, int o) {
            const Row below[3] = {views[0].below_x(x, y), views[1].below_y(x, y), views[2].below_z(x, y)};
            for (int a = 0; a < 3; ++a) {
                float* u = velocity_.u[a].tile(tile) + o;
                const Row mean = 0.5f * (views[a].at(x, y) + below[a]);
                store_row(u, first ? mean : load_row(u) + mean);
            }
        });
    });
}

// ---------------------------------------------------------------------------------------------------------- turbulence

void ShapedSmoke::update_vortices(float to, float dt, uint64_t key)
{
    const bool contain = params_.contain && controls_.size() > 0;
    if (params_.vortices.count > 0) {
        vortices_.remove_outside(marker_density_, params_.voxel, kThinSmoke * mean_density_);
        vortices_.exchange(params_.voxel, dt);                                                            // (6), (7)
        vortices_.velocity(*topology_, params_.voxel, turbulence_);                                       // (4), (5)
        if (params_.vortices.spin) vortices_.spin(control_.components(), turbulence_, params_.voxel, dt); // (8)
        turbulent_energy(turbulence_, std::clamp(params_.vortices.radius / params_.voxel, 1.0f, 6.0f), energy_,
                         scratch_);
        vortices_.spawn(
            {markers_, marker_index_, marker_density_, energy_, kVortexSmoke * mean_density_, params_.voxel},
            hash64(key, 3));
    } else if (contain) {
        for (auto& u : turbulence_) u.reset(*topology_, 0);
    } else {
        return;
    }
    if (contain) {
        targets_->prepare_distance(to);
        containment_.apply(*targets_, params_.voxel, turbulence_);
    }
    add_to_faces(turbulence_, false);
}

// -------------------------------------------------------------------------------------------------------------- motion

// (9) for markers and vortices. Expressions may change the velocity of the markers before it moves them, from where
// they are at the beginning of the step; the velocity of the step before is kept meanwhile.
void ShapedSmoke::advect(float to, float dt, bool first, uint64_t key)
{
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };
    const bool expressions = static_cast<bool>(hooks_.after_forces);
    const float before = first ? 0 : 0.5f, now = 1 + before;
    phase("advection", [&] {
        if (expressions) {
            markers_.attribute<Vec3f>(kVelocityBefore) = markers_.v;
            move_by_flow(dt, 0, 0); // only finds v
        } else {
            move_by_flow(dt, now, before);
        }
        if (params_.vortices.count > 0) vortices_.move(velocity_, params_.voxel, dt);
        const std::vector<Vec3f>& steps = controls_.attribute<Vec3f>(kStepAttribute);
        parallel_for(
            controls_.size(), [&](size_t i) { controls_.P[i] += dt * steps[i]; }, 1024);
    });
    if (controls_.size() > 0 && params_.redistribution.rate > 0)
        phase("redistribution", [&] { redistribute_markers(dt, expressions, key); });
    if (!expressions) return;
    phase("expressions", [&] { hooks_.after_forces(markers_, to, dt); });
    move_by_velocity(dt, now, before);
}

// The density of the shape that each control particle is bound for, averaged over those around a cell.
void ShapedSmoke::find_shape_density()
{
    std::vector<float> densities;
    targets_->find_densities(densities);
    const std::vector<int32_t>& target = targets_of(controls_);
    const auto cell = static_cast<float>(std::pow(static_cast<double>(params_.voxel), 3));
    shape_density_.reset(*topology_, 0);
    for_each_tile(*topology_, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c)
            for (size_t i = control_index_.cell_begin(tile, c), end = control_index_.cell_end(tile, c); i < end; ++i)
                shape_density_.tile(tile)[c] += cell * densities[target[i]];
    });
    blur(shape_density_, Tent(params_.control_radius), scratch_);
    for_each_tile(*topology_, [&](int tile) {
        for_each_row([&](int, int, int o) {
            float* at = shape_density_.tile(tile) + o;
            store_row(at, load_row(at) * inverse_or_zero(load_row(control_region_.density.tile(tile) + o)));
        });
    });
}

// `before_move`: markers are still to be moved in this step.
void ShapedSmoke::redistribute_markers(float dt, bool before_move, uint64_t key)
{
    const float left = before_move ? dt : 0;
    const double cell = std::pow(static_cast<double>(params_.voxel), 3);
    const auto arrived = static_cast<float>(arrived_ * arrived_);
    const float least = std::max(kLostFill, arrived * params_.redistribution.threshold);
    const float full = mix(kFullUnderWay, kFullArrived, arrived);
    if (targets_->several()) find_shape_density();
    find_controls(control_region_after_);
    const float share = params_.redistribution.rate / static_cast<float>(params_.substeps);
    const Tent marker_tent(params_.marker_radius);
    const RedistributionInput input{marker_index_,
                                    marker_density_,
                                    marker_tent,
                                    control_region_,
                                    control_region_after_.fill,
                                    targets_->several() ? &shape_density_ : nullptr,
                                    static_cast<float>(cell * targets_->density()),
                                    markers_.size(),
                                    least,
                                    full,
                                    params_.voxel,
                                    share,
                                    arrived,
                                    hash64(key, 4)};
    const MovedMarkers moves = redistribute(input, params_.redistribution, markers_, left);
    parallel_for(moves.size(), [&](size_t tile) {
        Sampler sampler(*topology_);
        for (const auto& [index, place] : moves[tile]) {
            const Vec3f u = sampler.velocity(velocity_, place / params_.voxel);
            markers_.v[index] = u, markers_.P[index] = place + (dt - left) * u;
            if (before_move) markers_.attribute<Vec3f>(kVelocityBefore)[index] = u;
        }
    });
    for (const auto& in_tile : moves) report_.moved += in_tile.size();
}

// Moves markers by dt (now u - before v) and stores the flow's velocity u in v.
void ShapedSmoke::move_by_flow(float dt, float now, float before)
{
    constexpr float kEnd = kTileSize - 1e-4f; // rounding may place a marker at the end of its tile
    const float inverse_voxel = 1 / params_.voxel;
    tile_energy_.assign(topology_->tile_count(), 0);
    for_each_tile(*topology_, [&](int tile) {
        if (marker_index_.tile_empty(tile)) return;
        auto& block = thread_scratch<MacBlock<1>>();
        block.gather(velocity_, tile, Margin::nearest);
        const Vec3f corner = topology_->first_cell(tile).cast<float>();
        double energy = 0;
        for_each_eight(marker_index_, tile, [&](size_t i, size_t count) {
            const Row3 u = block.sample(clamp(places_in_tile(&markers_.P[i], count, inverse_voxel, corner), 0, kEnd));
            const Row3 v = load_row3(&markers_.v[i], count), x = load_row3(&markers_.P[i], count);
            store_row3(&markers_.P[i], x + dt * (now * u + (-before) * v), count);
            store_row3(&markers_.v[i], u, count);
            const Row squares = u.x * u.x + u.y * u.y + u.z * u.z;
            for (size_t k = 0; k < count; ++k) energy += static_cast<double>(squares[static_cast<int>(k)]);
        });
        tile_energy_[tile] = energy;
    });
    const double sum = parallel_sum(tile_energy_.size(), [&](size_t t) { return tile_energy_[t]; });
    report_.kinetic = 0.5 * sum / static_cast<double>(std::max<size_t>(1, markers_.size()));
}

// The same with v and the velocity of the step before.
void ShapedSmoke::move_by_velocity(float dt, float now, float before)
{
    const std::vector<Vec3f>& v_before = markers_.attribute<Vec3f>(kVelocityBefore);
    parallel_for(
        markers_.size(), [&](size_t i) { markers_.P[i] += dt * (now * markers_.v[i] - before * v_before[i]); }, 4096);
    markers_.attributes.erase(kVelocityBefore);
}

// --------------------------------------------------------------------------------------------------------------- state

ShapedSmoke::State ShapedSmoke::state() const
{
    return {start_frame_,
            frame_,
            next_id_,
            targets_ ? targets_->group() : -1,
            rounds_,
            reference_density_,
            targets_ ? targets_->batches() : std::vector<uint64_t>(),
            markers_,
            controls_,
            vortices_.particles()};
}

void ShapedSmoke::show_with(const std::string& attribute, std::vector<float> values,
                            const std::function<void(const Particles&)>& body)
{
    auto own = markers_.attributes.extract(attribute); // of an expression
    markers_.attributes[attribute] = std::move(values);
    body(markers_);
    markers_.attributes.erase(attribute);
    markers_.attributes.insert(std::move(own));
}

void ShapedSmoke::restore(State state)
{
    for (const Particles* particles : {&state.markers, &state.controls, &state.vortices})
        check_state(*particles, params_.voxel);
    check_state_number(state.start_frame, std::numeric_limits<int>::min(), state.frame, "start_frame");
    check_state_number(state.next_id, 0, std::numeric_limits<int>::max(), "next_id");
    check_state_number(state.reference_density, 1e-30, 1e38, "reference_density");
    check_state_attribute<Vec3f>(state.vortices, kOmegaAttribute);
    check_state_range(state.vortices, kSigmaAttribute, 1e-9f * params_.voxel, 2 * kMostVortexCells * params_.voxel);
    check_state_attribute<int32_t>(state.controls, kTargetAttribute);
    check_state_attribute<Vec3f>(state.controls, kStepAttribute);
    for (const Vec3f& step : *state.controls.find<Vec3f>(kStepAttribute))
        check_state_number(step.norm(), 0.0f, 1e7f, kStepAttribute);
    check_targets(state.start_frame);
    check_state_number(state.group, -1, targets_->group_count() - 1, "group");
    uint64_t goals = 0;
    for (const uint64_t batch : state.batches) {
        check_state_number(batch, uint64_t{1}, uint64_t{1} << 26, "batch");
        goals += batch;
    }
    if (goals != state.controls.size() || (state.group < 0 && goals > 0))
        bad_state("{} control particles for {} target particles", state.controls.size(), goals);
    std::vector<uint8_t> taken(state.controls.size());
    for (const int32_t t : targets_of(state.controls)) {
        check_state_number(t, 0, static_cast<int32_t>(taken.size()) - 1, "target");
        if (std::exchange(taken[t], 1)) bad_state("two control particles have one target");
    }
    targets_->begin(state.group);
    for (const uint64_t batch : state.batches) targets_->add(batch, static_cast<uint64_t>(params_.seed));
    start_frame_ = state.start_frame, frame_ = state.frame, next_id_ = state.next_id, rounds_ = state.rounds;
    reference_density_ = state.reference_density;
    markers_ = std::move(state.markers), controls_ = std::move(state.controls);
    vortices_.set_particles(std::move(state.vortices));
    goals_.clear(), goals_time_ = kInfinity;
}

size_t ShapedSmoke::bytes() const
{
    size_t fields = marker_density_.bytes() + shape_density_.bytes() + energy_.bytes() + scratch_.bytes();
    for (const ParticleRegion* region : {&control_region_, &control_region_after_})
        fields += region->density.bytes() + region->fill.bytes();
    for (const auto& u : turbulence_) fields += u.bytes();
    return markers_.bytes() + marker_index_.bytes() + controls_.bytes() + control_index_.bytes() +
           vortices_.particles().bytes() + topology_->bytes() + fields + control_.bytes() + velocity_.bytes() +
           projection_.bytes() + containment_.bytes();
}

} // namespace spindrift
