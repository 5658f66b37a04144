#include "spindrift/spray/spray.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/noise.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/points/state_checks.h"
#include "spindrift/spray/air.h"

#include <bit>

namespace spindrift {

namespace {

constexpr size_t kChunk = 4096;
constexpr size_t kPairsInPart = 256;
constexpr float kFarthest = 1e6f; // [m] from the origin; droplets beyond are removed

constexpr float kLargest = 1e6f; // radius or cell size in a restored state [m]

} // namespace

// Pointers to the arrays of all droplets.
struct Spray::Arrays {
    Vec3f *x, *v;
    int32_t *id, *parent, *outcome;
    float *radius, *age, *rest;
    float* life; // nullptr without a liquid

    bool from_liquid(size_t i) const { return life && life[i] == kEndsInLiquid; }
    Droplet droplet(size_t i) const { return {x[i], v[i], radius[i]}; }
    void set(size_t i, const Droplet& d) const { x[i] = d.x, v[i] = d.v, radius[i] = d.radius; }
    bool is(Outcome what, size_t i) const { return outcome[i] == static_cast<int32_t>(what); }
    bool flies(size_t i) const { return !is(Outcome::stuck, i) && !is(Outcome::afloat, i); }
};

Spray::Arrays Spray::arrays()
{
    Particles& d = droplets_;
    return {d.P.data(),
            d.v.data(),
            d.id.data(),
            d.attribute<int32_t>(kParentAttribute).data(),
            d.attribute<int32_t>(kOutcomeAttribute).data(),
            d.attribute<float>(kRadiusAttribute).data(),
            d.attribute<float>(kAgeAttribute).data(),
            d.attribute<float>(kRestAttribute).data(),
            d.find<float>(kLifeAttribute) ? d.attribute<float>(kLifeAttribute).data() : nullptr};
}

namespace {

std::vector<ShapeParams> carriers_of(const std::vector<EmitterParams>& emitters)
{
    std::vector<ShapeParams> carriers;
    for (const EmitterParams& emitter : emitters) carriers.push_back(emitter.carrier());
    return carriers;
}

} // namespace

Spray::Spray(const SprayParams& params, float fps)
    : Spray(params, {shapes_of(carriers_of(params.emitters), "emitter"), shapes_of(params.colliders, "collider", true)},
            fps)
{
}

Spray::Spray(const SprayParams& params, Shapes shapes, float fps)
    : params_(params), colliders_(std::move(shapes.colliders), params.colliders, fps), fps_(fps)
{
    for (size_t e = 0; e < shapes.emitters.size(); ++e)
        emitters_.emplace_back(params.emitters[e], std::move(shapes.emitters[e]),
                               hash64(static_cast<uint64_t>(params.seed), e));
    arrays();
}

void Spray::start(int frame)
{
    start_frame_ = frame_ = frame, next_id_ = 0, edge_ = 0;
    droplets_ = {};
    handover_ = {};
    arrays();
}

void Spray::restore(State state)
{
    check_state(state.particles, 1);
    check_state_range(state.particles, kRadiusAttribute, 0.0f, kLargest);
    for (const char* name : {kAgeAttribute, kRestAttribute}) check_state_attribute<float>(state.particles, name);
    for (const char* name : {kParentAttribute, kOutcomeAttribute})
        check_state_attribute<int32_t>(state.particles, name);
    check_state_number(state.next_id, 0, std::numeric_limits<int>::max(), "next_id");
    check_state_number(state.start_frame, std::numeric_limits<int>::min(), state.frame, "start_frame");
    check_state_number(state.edge, 0.0f, kLargest, "edge");
    start_frame_ = state.start_frame, frame_ = state.frame, next_id_ = state.next_id, edge_ = state.edge;
    droplets_ = std::move(state.particles);
    handover_.set_taken(std::move(state.taken));
    arrays();
}

double Spray::moment(int substep) const { return frame_ + static_cast<double>(substep) / params_.substeps; }

SprayReport Spray::advance()
{
    report_ = {};
    const float dt = 1 / (fps_ * static_cast<float>(params_.substeps));
    colliders_.set_frame(static_cast<float>(moment(0)));
    for (int s = 0; s < params_.substeps; ++s) {
        check_interrupt();
        substep(s, dt);
    }
    ++frame_;
    report_.droplets = droplets_.size(), report_.substeps = params_.substeps;
    return report_;
}

// Algorithm 2. A colliding pair moves to its deepest overlap, collides, and moves on for the rest of the step.
void Spray::substep(int number, float dt)
{
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };
    const auto end = static_cast<float>(moment(number + 1));
    colliders_.set_frame(end);
    if (droplets_.size() > 0) {
        phase("forces", [&] { add_forces(end, dt), run_hook(hooks_.after_forces, end, dt); });
        if (params_.collisions) {
            const Reach reach{0.5f * dt, params_.search};
            phase("sort", [&] { cells_.sort(droplets_, reach, edge_); });
            const std::vector<Meeting>* pairs = nullptr;
            phase("pairs", [&] { pairs = &pairing_.find(droplets_, cells_, reach); }); // Algorithm 3
            phase("motion", [&] { move(dt); });
            phase("collisions", [&] { // Algorithm 4
                const auto now = std::bit_cast<uint64_t>(moment(number));
                collide(*pairs, reach, hash64(static_cast<uint64_t>(params_.seed), now));
            });
        } else {
            phase("motion", [&] { move(dt); });
        }
        remove_dead();
        if (hooks_.after_advection) phase("expressions", [&] { run_hook(hooks_.after_advection, end, dt); });
    }
    phase("emission", [&] { emit(moment(number), moment(number + 1)); });
}

void Spray::run_hook(const ParticleHook& hook, float frame, float dt)
{
    if (!hook) return;
    const size_t before = droplets_.size();
    hook(droplets_, frame, dt);
    report_.removed += before - std::min(before, droplets_.size());
    for (float& radius : droplets_.attribute<float>(kRadiusAttribute))
        radius = std::clamp(radius, params_.min_radius, params_.max_radius);
}

// Velocity of the air at these places.
std::vector<Vec3f> Spray::air_at(std::span<const Vec3f> places, float frame) const
{
    std::vector<Vec3f> air(places.size(), params_.wind);
    if (params_.gusts.strength > 0) {
        CurlNoise noise(params_.gusts.change * frame / fps_, static_cast<uint64_t>(params_.seed));
        for (size_t i = 0; i < air.size(); ++i)
            air[i] += params_.gusts.strength * noise(places[i] / params_.gusts.size);
    }
    if (air_field_) air_field_(frame, places, air);
    return air;
}

void Spray::accelerate(const Arrays& a, size_t i, const Vec3f& air, float dt) const
{
    const Vec3f v = after_drag(a.v[i], params_.gravity, air, a.radius[i], params_.drag, params_.drag_law, dt);
    if (v.allFinite()) a.v[i] = v; // a field of air may hold any value
}

void Spray::add_forces(float frame, float dt)
{
    const Arrays a = arrays();
    parallel_chunks(droplets_.size(), kChunk, [&](size_t begin, size_t end) {
        const std::vector<Vec3f> air = air_at({a.x + begin, end - begin}, frame);
        for (size_t i = begin; i < end; ++i) {
            a.age[i] += dt;
            // A rest below a thousandth of a step is rounding error.
            a.rest[i] = a.rest[i] - dt > 1e-3f * dt ? a.rest[i] - dt : 0;
            if (a.flies(i)) accelerate(a, i, air[i - begin], dt);
        }
    });
}

bool Spray::outside(const Vec3f& x) const
{
    return !(x.array().abs() < kFarthest).all() || !params_.domain.contains(x); // NaN is outside
}

// Moves a droplet for the last `seconds` of a step. Returns false if it is to be removed.
bool Spray::fly(const Arrays& a, size_t i, float seconds, float dt) const
{
    if (colliders_.empty()) {
        a.x[i] += seconds * a.v[i];
        return !outside(a.x[i]);
    }
    using Fate = SprayColliders::Fate;
    const Fate fate = colliders_.move(a.x[i], a.v[i], a.radius[i], seconds, dt);
    if (fate == Fate::bounced) a.outcome[i] = static_cast<int32_t>(Outcome::bounced);
    if (fate == Fate::stuck) {
        a.outcome[i] = static_cast<int32_t>(Outcome::stuck);
        a.rest[i] = std::numeric_limits<float>::max(); // never collides again
    }
    return fate != Fate::dead && !outside(a.x[i]);
}

// Moves all droplets that are in no pair.
void Spray::move(float dt)
{
    const Arrays a = arrays();
    std::vector<std::vector<uint32_t>> dead((droplets_.size() + kChunk - 1) / kChunk);
    parallel_chunks(droplets_.size(), kChunk, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            if (params_.collisions && pairing_.paired(i)) continue;
            if (a.is(Outcome::stuck, i))
                colliders_.carry(a.x[i], a.v[i]);
            else if (a.flies(i) && !fly(a, i, dt, dt))
                dead[begin / kChunk].push_back(static_cast<uint32_t>(i));
        }
    });
    for (const auto& part : dead) dead_.insert(dead_.end(), part.begin(), part.end());
}

// Algorithm 4 for all pairs.
void Spray::collide(const std::vector<Meeting>& pairs, const Reach& reach, uint64_t key)
{
    struct Satellite {
        Droplet droplet;
        int32_t parent;
        Outcome outcome;
        float seconds; // left in the step
        bool from_liquid;
    };
    struct Part {
        std::vector<Satellite> satellites;
        std::vector<uint32_t> dead;
        std::array<size_t, 4> outcomes{};
    };
    const Arrays a = arrays();
    const float dt = 2 * reach.half_step;
    std::vector<Part> parts((pairs.size() + kPairsInPart - 1) / kPairsInPart);
    parallel_chunks(pairs.size(), kPairsInPart, [&](size_t begin, size_t end) {
        Part& part = parts[begin / kPairsInPart];
        const auto fly_on = [&](size_t droplet, float seconds) {
            if (!fly(a, droplet, seconds, dt)) part.dead.push_back(static_cast<uint32_t>(droplet));
        };
        for (size_t p = begin; p < end; ++p) {
            size_t i = pairs[p].first, j = pairs[p].second;
            if (a.radius[i] < a.radius[j] || (a.radius[i] == a.radius[j] && a.id[i] > a.id[j])) std::swap(i, j);
            // The deepest overlap is where they are closest.
            const Vec3d x = (a.x[j] - a.x[i]).cast<double>(), u = a.v[j].cast<double>() - a.v[i].cast<double>();
            const float time =
                static_cast<float>(std::clamp(-x.dot(u) / u.squaredNorm(), 0.0, static_cast<double>(dt)));
            if (!colliders_.empty() && (colliders_.blocks(a.x[i], a.v[i], a.radius[i], time, dt) ||
                                        colliders_.blocks(a.x[j], a.v[j], a.radius[j], time, dt))) {
                fly_on(i, dt), fly_on(j, dt); // a solid comes first
                continue;
            }
            const Vec3f to_i = a.x[i] + time * a.v[i], to_j = a.x[j] + time * a.v[j];
            if (!colliders_.empty() && colliders_.separate(to_i, to_j)) {
                fly_on(i, dt), fly_on(j, dt); // they are on two sides of a thin wall
                continue;
            }
            a.x[i] = to_i, a.x[j] = to_j;
            const CollisionResult result =
                spindrift::collide(a.droplet(i), a.droplet(j), params_,
                                   hash64(key, static_cast<uint64_t>(a.id[i]) << 32 | static_cast<uint32_t>(a.id[j])));
            ++part.outcomes[static_cast<size_t>(result.outcome)];
            for (const size_t k : {i, j}) {
                if (result.outcome != Outcome::none) a.outcome[k] = static_cast<int32_t>(result.outcome);
                a.rest[k] = params_.rest_time + dt; // the rest of this step does not count
            }
            a.set(i, result.droplets[0]);
            // When liquid mixes with other water, all of it is given back to the liquid.
            const bool from_liquid = result.count != 2 && (a.from_liquid(i) || a.from_liquid(j));
            if (from_liquid) a.life[i] = a.life[j] = kEndsInLiquid;
            fly_on(i, dt - time);
            if (result.count == 1) {
                part.dead.push_back(static_cast<uint32_t>(j));
                continue;
            }
            a.set(j, result.droplets[1]);
            fly_on(j, dt - time);
            for (int k = 2; k < result.count; ++k)
                part.satellites.push_back({result.droplets[k], a.id[2 * k < result.count + 2 ? i : j], result.outcome,
                                           dt - time, from_liquid});
        }
    });

    std::vector<Satellite> satellites;
    for (const Part& part : parts) {
        satellites.insert(satellites.end(), part.satellites.begin(), part.satellites.end());
        dead_.insert(dead_.end(), part.dead.begin(), part.dead.end());
        for (size_t o = 0; o < part.outcomes.size(); ++o) report_.collisions[o] += part.outcomes[o];
    }
    report_.satellites += satellites.size();
    const size_t first = append(satellites.size());
    const Arrays grown = arrays();
    std::vector<uint8_t> lives(satellites.size());
    parallel_for(
        satellites.size(),
        [&](size_t s) {
            const auto& [droplet, parent, outcome, seconds, from_liquid] = satellites[s];
            grown.set(first + s, droplet);
            grown.parent[first + s] = parent, grown.outcome[first + s] = static_cast<int32_t>(outcome);
            grown.rest[first + s] = params_.rest_time + dt;
            if (from_liquid) grown.life[first + s] = kEndsInLiquid;
            lives[s] = fly(grown, first + s, seconds, dt);
        },
        kPairsInPart);
    for (size_t s = 0; s < satellites.size(); ++s)
        if (!lives[s]) dead_.push_back(static_cast<uint32_t>(first + s));
}

// Appends droplets with new ids and returns the index of the first.
size_t Spray::append(size_t count)
{
    const size_t first = droplets_.size();
    if (count > static_cast<size_t>(std::numeric_limits<int32_t>::max() - next_id_))
        fail("frame {}: {} has emitted more than {} droplets and runs out of ids. Lower the rates of its "
             "emitters or {}.max_satellites",
             frame_ + 1, params_.name, std::numeric_limits<int32_t>::max(), params_.name);
    droplets_.for_each_array([&](const std::string&, auto& array) { // grow by an eighth instead of doubling
        if (array.capacity() < first + count) array.reserve(first + count + (first + count) / 8);
    });
    droplets_.resize(first + count);
    for (size_t i = first; i < first + count; ++i) droplets_.id[i] = next_id_++;
    std::fill_n(droplets_.attribute<int32_t>(kParentAttribute).begin() + static_cast<std::ptrdiff_t>(first), count, -1);
    return first;
}

// Removes the droplets of dead_. Droplets from the end of the list fill the gaps.
void Spray::remove_dead()
{
    std::sort(dead_.begin(), dead_.end());
    const size_t left = droplets_.size() - dead_.size();
    std::vector<std::pair<uint32_t, uint32_t>> moves; // to, from
    size_t last_dead = dead_.size(), from = droplets_.size();
    for (size_t d = 0; d < dead_.size() && dead_[d] < left; ++d) {
        for (--from; last_dead > 0 && dead_[last_dead - 1] == from; --from) --last_dead;
        moves.emplace_back(dead_[d], static_cast<uint32_t>(from));
    }
    droplets_.for_each_array([&](const std::string&, auto& array) {
        for (const auto& [to, source] : moves) array[to] = array[source];
    });
    droplets_.resize(left);
    report_.removed += dead_.size();
    dead_.clear();
}

void Spray::emit(double from, double to)
{
    for (Emitter& emitter : emitters_) {
        const int64_t begin = emitter.count(from, start_frame_, fps_), end = emitter.count(to, start_frame_, fps_);
        if (begin == end) continue;
        emitter.prepare(static_cast<float>(to));
        const size_t count = end - begin;
        const size_t first = append(count);
        const Arrays a = arrays();
        std::vector<uint8_t> lives(count);
        const auto dt = static_cast<float>((to - from) / fps_);
        parallel_chunks(count, kChunk, [&](size_t chunk_begin, size_t chunk_end) {
            for (size_t k = chunk_begin; k < chunk_end; ++k) {
                Emitter::Birth birth = emitter.birth(begin + static_cast<int64_t>(k), start_frame_, fps_);
                birth.droplet.radius = std::clamp(birth.droplet.radius, params_.min_radius, params_.max_radius);
                a.set(first + k, birth.droplet);
                const double age = std::clamp((to - birth.frame) / fps_, 0.0, static_cast<double>(dt));
                a.age[first + k] = static_cast<float>(age);
            }
            // Apply forces from the time of emission on; otherwise a jet has a kink at each step.
            const std::vector<Vec3f> air =
                air_at({a.x + first + chunk_begin, chunk_end - chunk_begin}, static_cast<float>(to));
            for (size_t k = chunk_begin; k < chunk_end; ++k) {
                accelerate(a, first + k, air[k - chunk_begin], a.age[first + k]);
                lives[k] = fly(a, first + k, a.age[first + k], dt);
            }
        });
        for (size_t k = 0; k < count; ++k)
            if (!lives[k]) dead_.push_back(static_cast<uint32_t>(first + k));
        remove_dead();
        report_.emitted += count;
    }
}

void Spray::add(Particles droplets)
{
    const std::vector<float>* radius = droplets.find<float>(kRadiusAttribute);
    if (!radius) fail("droplets added to a spray need the attribute \"{}\"", kRadiusAttribute);
    for (size_t i = 0; i < droplets.size(); ++i)
        if (!droplets.P[i].allFinite() || !droplets.v[i].allFinite() || !std::isfinite((*radius)[i]))
            fail("droplet {} of {} added to a spray is not finite: position ({}, {}, {}) m, radius {} m", i,
                 droplets.size(), droplets.P[i].x(), droplets.P[i].y(), droplets.P[i].z(), (*radius)[i]);
    std::vector<uint8_t> keep;
    for (const Vec3f& x : droplets.P) keep.push_back(!outside(x) && !colliders_.contains(x));
    remove_particles(droplets, keep);
    const size_t first = append(droplets.size());
    for (const auto& [name, array] : droplets.attributes)
        std::visit(
            [&, &name = name](const auto& from) {
                using Value = typename std::decay_t<decltype(from)>::value_type;
                auto& to = droplets_.attribute<Value>(name);
                std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(first));
            },
            array);
    const Arrays a = arrays();
    for (size_t i = 0; i < droplets.size(); ++i) {
        const float allowed = std::clamp(a.radius[first + i], params_.min_radius, params_.max_radius);
        a.set(first + i, {droplets.P[i], droplets.v[i], allowed});
    }
}

// ---------------------------------------------------------------------------------------------------- beside a liquid

SprayReport Spray::advance(const LiquidView& before, const LiquidView& now)
{
    SprayReport report = advance();
    report.times.measure("settle", [&] { settle(before, now); });
    const WhitewaterParams& water = params_.whitewater;
    const int32_t first_id = next_id_; // the number of droplets does not tell, since some are given back
    report.times.measure("whitewater", [&] {
        if (water.emits())
            add(emit_whitewater(
                before, water, 1 / fps_, hash64(static_cast<uint64_t>(params_.seed), static_cast<uint64_t>(frame_)),
                [this](const Vec3f& from, const Vec3f& to, float radius) {
                    return colliders_.stopped(from, to, radius, static_cast<float>(frame_ - 1));
                },
                colliders_.barriers(static_cast<float>(frame_ - 1))));
        if (water.handover) exchange_with_liquid(now);
    });
    report.emitted += next_id_ - first_id;
    report.droplets = droplets_.size();
    return report;
}

// Moves floating droplets and classifies all droplets in the liquid of this frame.
void Spray::settle(const LiquidView& before, const LiquidView& now)
{
    const WhitewaterParams& water = params_.whitewater;
    auto& kinds = droplets_.attribute<int32_t>(kKindAttribute);
    auto& life = droplets_.attribute<float>(kLifeAttribute);
    const Arrays a = arrays();
    const Barriers then = colliders_.barriers(static_cast<float>(frame_ - 1)),
                   here = colliders_.barriers(static_cast<float>(frame_));
    std::vector<uint8_t> keep(droplets_.size(), 1);
    parallel_for(
        droplets_.size(),
        [&](size_t i) {
            if (a.is(Outcome::stuck, i)) return;
            const bool was_afloat = a.is(Outcome::afloat, i);
            auto kind = static_cast<WaterKind>(kinds[i]);
            if (was_afloat) {
                drift(a.x[i], a.v[i], kind, before, water, params_.gravity, 1 / fps_, then);
                colliders_.slide(a.x[i], a.v[i], a.radius[i], static_cast<float>(frame_ - 1), 1 / fps_);
                if (kind == WaterKind::foam && !a.from_liquid(i)) life[i] -= 1 / fps_;
                keep[i] = (life[i] > 0 || a.from_liquid(i)) && !outside(a.x[i]);
            }
            kind = kind_of(now.around(a.x[i], here), water);
            if (kind == WaterKind::bubble && a.from_liquid(i))
                kind = WaterKind::foam; // water of the liquid does not rise
            kinds[i] = static_cast<int32_t>(kind);
            if (kind == WaterKind::spray) {
                if (!was_afloat) return;
                a.outcome[i] = static_cast<int32_t>(Outcome::none), a.rest[i] = 0;
                return;
            }
            if (was_afloat) return;
            if (!(life[i] > 0) && !a.from_liquid(i)) life[i] = water.life_low;
            a.outcome[i] = static_cast<int32_t>(Outcome::afloat);
            a.rest[i] = std::numeric_limits<float>::max();
        },
        256);
    for (size_t i = 0; i < keep.size(); ++i)
        if (!keep[i]) dead_.push_back(static_cast<uint32_t>(i));
    remove_dead();
}

// Gives landed droplets back to the liquid and takes isolated liquid particles as droplets.
void Spray::exchange_with_liquid(const LiquidView& liquid)
{
    const Arrays a = arrays();
    double landed = 0, all = 0; // volume [m3] of droplets that came from the liquid
    std::vector<uint32_t> afloat;
    for (size_t i = 0; i < droplets_.size(); ++i) {
        if (!a.from_liquid(i)) continue;
        all += ball_volume(a.radius[i]);
        if (!a.is(Outcome::afloat, i)) continue;
        afloat.push_back(static_cast<uint32_t>(i)), landed += ball_volume(a.radius[i]);
    }
    handover_.inspect(liquid, params_.whitewater.isolated_share, colliders_.barriers(static_cast<float>(frame_)));
    remove_volume(afloat, handover_.give_back(landed, all, std::pow(static_cast<double>(liquid.spacing()), 3)));
    add(handover_.take(liquid, params_.gravity,
                       [this](const Vec3f& x) { return !outside(x) && !colliders_.contains(x); }));
}

// Removes this volume [m3] from these droplets, one by one. If the rest of the last one is below the minimum radius,
// another droplet absorbs it.
void Spray::remove_volume(const std::vector<uint32_t>& droplets, double volume)
{
    constexpr double kRounding = 1e-4; // of a droplet, for rounded radii
    const Arrays a = arrays();
    for (auto i = droplets.begin(); i != droplets.end(); ++i) {
        const double has = ball_volume(a.radius[*i]), left = has - volume;
        if (volume <= kRounding * has) break;
        if (left <= kRounding * has) {
            dead_.push_back(*i);
            volume -= has;
            continue;
        }
        const auto other =
            std::min_element(i + 1, droplets.end(), [&](uint32_t b, uint32_t c) { return a.radius[b] < a.radius[c]; });
        if (ball_radius(left) < params_.min_radius && other != droplets.end()) {
            a.radius[*other] = static_cast<float>(ball_radius(ball_volume(a.radius[*other]) + left));
            dead_.push_back(*i);
        } else {
            a.radius[*i] = static_cast<float>(ball_radius(left));
        }
        break;
    }
    remove_dead();
}

} // namespace spindrift
