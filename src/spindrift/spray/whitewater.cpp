#include "spindrift/spray/whitewater.h"
#include "spindrift/scene/limits.h"

#include "spindrift/base/random.h"

#include <Eigen/Geometry>
#include <algorithm>

namespace spindrift {

namespace {

// Offset of the weighted mean of neighbours from a particle at a flat surface, as a share of the reach. Zero deep
// inside.
constexpr float kOffsetAtSurface = 0.3f;
// A crest moves along its own normal within an angle of this cosine.
constexpr float kOutward = 0.6f;

Vec3f any_normal_to(const Vec3f& unit)
{
    const Vec3f other = std::abs(unit.x()) < 0.6f ? Vec3f::UnitX() : Vec3f::UnitY();
    return unit.cross(other).normalized();
}

// Unit normals of the surface, pointing outwards; zero inside the liquid.
std::vector<Vec3f> find_normals(const LiquidView& liquid, const Barriers& barriers)
{
    const Particles& p = liquid.particles();
    std::vector<Vec3f> normals(p.size());
    parallel_for(
        p.size(),
        [&](size_t i) {
            Vec3f sum = Vec3f::Zero();
            float weights = 0;
            liquid.for_each_near(p.P[i], barriers, [&](size_t j, float distance) {
                const float w = liquid.weight(distance);
                sum += w * (p.P[i] - p.P[j]), weights += w;
            });
            const float length = sum.norm();
            const bool surface = length > 0.5f * kOffsetAtSurface * liquid.reach() * weights;
            normals[i] = surface ? Vec3f(sum / length) : Vec3f::Zero();
        },
        256);
    return normals;
}

} // namespace

void WhitewaterParams::visit(ParamVisitor& v)
{
    v("trapped_air", trapped_air, unit::per_second, between(0, 1e6),
      "Largest emission rate per liquid particle where liquid falls into liquid and traps air. 0: none.");
    v("wave_crests", wave_crests, unit::per_second, between(0, 1e6),
      "Largest emission rate per liquid particle where a wave crest breaks. 0: none.");
    v("approach_low", approach.low, unit::metres_per_second, limits::speed(),
      "Relative speed of approaching liquid above which it traps air.");
    v("approach_high", approach.high, unit::metres_per_second, between(1e-6, 1e5), "Relative speed of full emission.");
    v("crest_low", crest.low, unit::none, between(0, 2),
      "A crest breaks where 1 - cosine between neighbouring normals exceeds this.");
    v("crest_high", crest.high, unit::none, between(0, 2), "Value of 1 - cosine of full emission.");
    v("speed_low", speed.low, unit::metres_per_second, limits::speed(), "Slower liquid emits nothing.");
    v("speed_high", speed.high, unit::metres_per_second, between(1e-6, 1e5), "Speed of full emission.");
    v("droplet_radius", droplet_radius, unit::metres, limits::size(), "Mean radius of the droplets.");
    v("droplet_variation", droplet_variation, unit::none, between(0, 1),
      "Random variation of the radius, up and down, as a share of it.");
    v("scatter", scatter, unit::none, between(0, 10),
      "Largest sideways speed of droplets, as a share of the liquid's speed.");
    v("life_low", life_low, unit::seconds, between(0, 1e6), "Lifetime of foam from the weakest emission.");
    v("life_high", life_high, unit::seconds, between(0, 1e6), "Lifetime of foam from the strongest emission.");
    v("buoyancy", buoyancy, unit::none, between(0, 100), "Upward acceleration of bubbles, as a multiple of gravity.");
    v("drag", drag, unit::none, between(0, 1),
      "Share of the velocity difference to the liquid that a bubble loses per frame.");
    v("foam_share", foam_share, unit::none, between(0, 1),
      "A droplet is foam above this share of full liquid around it.");
    v("bubble_share", bubble_share, unit::none, between(0, 1), "A droplet is a bubble above this share.");
    v("handover", handover,
      "Isolated liquid particles become droplets of the same volume, and liquid again after they have fallen back. "
      "[surface] and [render] skip them meanwhile; spray.####.taken.vdb lists them for other programs.");
    v("isolated_share", isolated_share, unit::none, between(0, 1),
      "Particles with less than this share of full liquid around them are isolated.");
    v.require(approach.low < approach.high, "approach_high", "must be above approach_low");
    v.require(crest.low < crest.high, "crest_high", "must be above crest_low");
    v.require(speed.low < speed.high, "speed_high", "must be above speed_low");
    v.require(life_low <= life_high, "life_high", "must not be below life_low");
    v.require(foam_share <= bubble_share, "bubble_share", "must not be below foam_share");
}

std::vector<Potentials> find_potentials(const LiquidView& liquid, const WhitewaterParams& params,
                                        const Barriers& barriers)
{
    const Particles& p = liquid.particles();
    std::vector<Potentials> potentials(p.size());
    std::vector<Vec3f> normals;
    if (params.wave_crests > 0) normals = find_normals(liquid, barriers);
    parallel_for(
        p.size(),
        [&](size_t i) {
            Potentials& potential = potentials[i];
            const Vec3f& v = p.v[i];
            const PotentialRange squares{params.speed.low * params.speed.low, params.speed.high * params.speed.high};
            potential.energy = squares(v.squaredNorm());
            if (!(potential.energy > 0)) return;
            const bool crest =
                params.wave_crests > 0 && normals[i].dot(v) >= kOutward * v.norm() && !normals[i].isZero();
            float approach = 0, weights = 0, bend = 0, surface = 0;
            liquid.for_each_near(p.P[i], barriers, [&](size_t j, float distance) {
                if (j == i) return;
                const float w = liquid.weight(distance);
                weights += w;
                const Vec3f apart = p.P[i] - p.P[j], u = v - p.v[j];
                if (distance > 0) approach += w * (u.norm() - u.dot(apart) / distance);
                if (!crest || normals[j].isZero()) return;
                surface += w;
                if (apart.dot(normals[i]) > 0) bend += w * (1 - normals[i].dot(normals[j])); // convex
            });
            if (weights > 0) potential.trapped_air = params.approach(approach / weights);
            if (surface > 0) potential.wave_crest = params.crest(bend / surface);
        },
        256);
    return potentials;
}

Particles emit_whitewater(const LiquidView& liquid, const WhitewaterParams& params, float seconds, uint64_t key,
                          const StoppedPlace& stopped, const Barriers& barriers)
{
    const Particles& p = liquid.particles();
    const std::vector<Potentials> potentials = find_potentials(liquid, params, barriers);
    const auto wanted = [&](size_t i) {
        const Potentials& q = potentials[i];
        return q.energy * (params.trapped_air * q.trapped_air + params.wave_crests * q.wave_crest) * seconds;
    };
    const auto random = [&](size_t i) { return Random(key, static_cast<uint64_t>(p.id[i])); };
    std::vector<size_t> first(p.size() + 1);
    for (size_t i = 0; i < p.size(); ++i)
        first[i + 1] = first[i] + static_cast<size_t>(wanted(i) + random(i).uniform());

    Particles droplets;
    droplets.resize(first.back());
    auto& radius = droplets.attribute<float>("radius");
    auto& life = droplets.attribute<float>(kLifeAttribute);
    parallel_for(
        p.size(),
        [&](size_t i) {
            if (first[i] == first[i + 1]) return;
            const Vec3f& v = p.v[i];
            const Vec3f along = v.normalized(), e1 = any_normal_to(along), e2 = along.cross(e1);
            const Potentials& q = potentials[i];
            const float strength = q.energy * std::max(q.trapped_air, q.wave_crest);
            Random r = random(i);
            r.uniform(); // used above to round the count
            for (size_t k = first[i]; k < first[i + 1]; ++k) {
                // A random place in the cylinder that the particle sweeps in this frame.
                const float from_axis = std::sqrt(r.uniform()), angle = 2 * static_cast<float>(kPi) * r.uniform(),
                            way = r.uniform();
                const Vec3f aside = from_axis * (std::cos(angle) * e1 + std::sin(angle) * e2);
                droplets.P[k] = p.P[i] + 0.5f * liquid.spacing() * aside + way * seconds * v;
                droplets.v[k] = v + params.scatter * v.norm() * aside;
                radius[k] = params.droplet_radius * (1 + params.droplet_variation * r.uniform(-1, 1));
                life[k] = params.life_low + (params.life_high - params.life_low) * strength;
                if (stopped) droplets.P[k] = stopped(p.P[i], droplets.P[k], radius[k]);
            }
        },
        256);
    return droplets;
}

WaterKind kind_of(const LiquidView::Around& around, const WhitewaterParams& params)
{
    return around.share > params.bubble_share ? WaterKind::bubble
           : around.share > params.foam_share ? WaterKind::foam
                                              : WaterKind::spray;
}

void drift(const Vec3f& x, Vec3f& v, WaterKind kind, const LiquidView& liquid, const WhitewaterParams& params,
           const Vec3f& gravity, float seconds, const Barriers& barriers)
{
    const LiquidView::Around around = liquid.around(x, barriers);
    if (!(around.share > 0)) // the liquid has receded: fall
        v += seconds * gravity;
    else if (kind == WaterKind::foam)
        v = around.velocity;
    else
        v += -params.buoyancy * seconds * gravity + params.drag * (around.velocity - v);
}

} // namespace spindrift
