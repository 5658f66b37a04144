#include "spindrift/spray/collision.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spray/energies.h"

#include <Eigen/Geometry>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

// Two droplets just before their deepest overlap, with the given dimensionless numbers.
std::pair<Droplet, Droplet> pair_of(double weber, double offset, double ratio, const CollisionRules& rules,
                                    Random& random)
{
    Droplet i, j;
    i.radius = 1e-3f, j.radius = static_cast<float>(1e-3 * ratio);
    const double speed = std::sqrt(weber * rules.surface_tension / (2 * rules.density * j.radius));
    Vec3f along(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    along.normalize();
    const Vec3f across = along.unitOrthogonal();
    i.v = Vec3f(random.uniform(-3, 3), random.uniform(-3, 3), random.uniform(-3, 3));
    j.v = i.v + static_cast<float>(speed) * along;
    i.x = 0.01f * Vec3f(random.uniform(), random.uniform(), random.uniform());
    j.x = i.x + static_cast<float>(offset) * (i.radius + j.radius) * across;
    return {i, j};
}

double mass(const Droplet& d) { return std::pow(static_cast<double>(d.radius), 3); }

TEST(Thresholds, AgreeWithTheEnergiesTheyAreDerivedFrom)
{
    int met[4] = {};
    for (const double ratio : {1.0, 0.75, 0.5, 0.2})
        for (double offset = 0.0125; offset < 1; offset += 0.025)
            for (double weber = 1.3; weber < 3000; weber *= 1.35) {
                const Outcome expected = Energies(ratio, offset).outcome(weber);
                EXPECT_EQ(outcome_of({weber, offset, ratio}), expected)
                    << "We " << weber << ", X " << offset << ", ratio " << ratio;
                ++met[static_cast<int>(expected)];
            }
    for (const Outcome o : {Outcome::coalescence, Outcome::stretching, Outcome::reflexive})
        EXPECT_GT(met[static_cast<int>(o)], 100);
}

TEST(Thresholds, ReflexiveSeparationTakesPrecedence)
{
    // Equal droplets that collide head-on and fast exceed both thresholds.
    EXPECT_LT(stretching_threshold(0.2, 1), 1000);
    EXPECT_LT(reflexive_threshold(0.2, 1), 1000);
    EXPECT_EQ(outcome_of({1000, 0.2, 1}), Outcome::reflexive);
    EXPECT_EQ(reflexive_threshold(0.6, 1), std::numeric_limits<double>::infinity());
    // The known value at X = 0 for equal droplets: 3 (7 * 2^(2/3) - 8) 4 / 2.
    EXPECT_NEAR(reflexive_threshold(0, 1), 6 * (7 * std::cbrt(4.0) - 8), 1e-12);
}

// [Jones 2018, figure 4.7]: the interacting share of the smaller droplet stays one when all of it lies in the path.
TEST(Thresholds, AllOfASmallDropletInteracts)
{
    double last = 1;
    for (double offset = 0; offset <= 1; offset += 0.01) {
        const auto [larger, smaller] = interplay_shares(offset, 0.4);
        if ((1 - offset) * 1.4 >= 0.8) {
            EXPECT_DOUBLE_EQ(smaller, 1);
        }
        EXPECT_LE(smaller, last + 1e-12);
        EXPECT_GE(larger, 0);
        EXPECT_LE(larger, 1);
        last = smaller;
        const Energies sums(0.4, offset);
        EXPECT_NEAR(larger, sums.slice_i / sums.volume(1), 2e-3);
        EXPECT_NEAR(smaller, sums.slice_j / sums.volume(0.4), 2e-3);
    }
}

TEST(Collision, BreakupRadiusSolvesItsEquation)
{
    const CollisionRules rules;
    Random random(3);
    for (int n = 0; n < 1000; ++n) {
        const double volume = std::pow(10.0, -20 + 18.0 * random.uniform()),
                     speed = std::pow(10.0, -6 + 20.0 * random.uniform());
        const double r_0 = std::cbrt(volume / kPi), s = breakup_radius(volume, speed, rules) / r_0;
        const double beta = 3 / (4 * std::sqrt(2.0)) * 11.5 * 0.45;
        const double weber = 2 * r_0 * rules.density / rules.surface_tension * speed * speed;
        EXPECT_NEAR(beta * std::sqrt(weber) * std::pow(s, 3.5) + s * s, 1, 1e-9);
    }
    EXPECT_DOUBLE_EQ(breakup_radius(kPi, 0, rules), 1);
}

TEST(Collision, CollidingDropletsFollowTheRegimes)
{
    Random random(7);
    CollisionRules rules;
    rules.min_radius = 1e-9f, rules.max_radius = 1;
    for (const double ratio : {1.0, 0.75, 0.5})
        for (double offset = 0.0125; offset < 1; offset += 0.025)
            for (double weber = 1.3; weber < 1000; weber *= 1.35) {
                const auto [i, j] = pair_of(weber, offset, ratio, rules, random);
                const CollisionResult result = collide(i, j, rules, random.bits());
                EXPECT_EQ(result.outcome, Energies(ratio, offset).outcome(weber))
                    << "We " << weber << ", X " << offset << ", ratio " << ratio;
                EXPECT_EQ(result.count == 1, result.outcome == Outcome::coalescence);
            }
}

struct Tally {
    std::array<long, 4> outcomes{}, with_satellites{};
    double worst_mass = 0, worst_momentum = 0, worst_center = 0, worst_energy = 0;
    long bad = 0;
};

Tally check_random_pairs(size_t begin, size_t end)
{
    Tally tally;
    for (size_t k = begin; k < end; ++k) {
        Random random(11, k);
        CollisionRules rules;
        rules.min_radius = 1e-5f, rules.max_radius = 0.1f;
        rules.perturbation = random.uniform(),
        rules.max_satellites = static_cast<int>(random.bits() % (kMostSatellites + 1));
        // Uniform in sizes, ratios, offsets and the logarithm of the Weber number.
        const double ratio = k % 5 == 0 ? 1 : 0.02 + 0.98 * random.uniform();
        const double weber = std::pow(10.0, -1 + 5.0 * random.uniform());
        auto [i, j] = pair_of(weber, random.uniform(), ratio, rules, random);
        const CollisionResult result = collide(i, j, rules, random.bits());
        const auto o = static_cast<size_t>(result.outcome);
        ++tally.outcomes[o], tally.with_satellites[o] += result.count > 2;

        const double mass_before = mass(i) + mass(j);
        const Vec3d momentum_before = mass(i) * i.v.cast<double>() + mass(j) * j.v.cast<double>();
        const Vec3d center_before = mass(i) * i.x.cast<double>() + mass(j) * j.x.cast<double>();
        const Vec3d mean = momentum_before / mass_before;
        double mass_after = 0, energy_after = 0;
        Vec3d momentum_after = Vec3d::Zero(), center_after = Vec3d::Zero();
        for (const Droplet& d : result.all()) {
            mass_after += mass(d), momentum_after += mass(d) * d.v.cast<double>();
            center_after += mass(d) * d.x.cast<double>();
            energy_after += mass(d) * (d.v.cast<double>() - mean).squaredNorm();
            tally.bad += !d.x.allFinite() || !d.v.allFinite() || !(d.radius >= rules.min_radius) ||
                         !(d.radius <= rules.max_radius);
        }
        const double momenta = mass(i) * i.v.cast<double>().norm() + mass(j) * j.v.cast<double>().norm();
        const double energy =
            mass(i) * (i.v.cast<double>() - mean).squaredNorm() + mass(j) * (j.v.cast<double>() - mean).squaredNorm();
        tally.worst_mass = std::max(tally.worst_mass, std::abs(mass_after / mass_before - 1));
        tally.worst_momentum = std::max(tally.worst_momentum, (momentum_after - momentum_before).norm() / momenta);
        tally.worst_center = std::max(tally.worst_center, (center_after - center_before).norm() / mass_before);
        if (weber > 1) tally.worst_energy = std::max(tally.worst_energy, energy_after / energy);
    }
    return tally;
}

TEST(Collision, AMillionPairsConserveMassMomentumAndCentre)
{
    constexpr size_t kPairs = 1000000, kChunk = 10000;
    std::vector<Tally> parts(kPairs / kChunk);
    parallel_for(parts.size(), [&](size_t c) { parts[c] = check_random_pairs(c * kChunk, (c + 1) * kChunk); });
    Tally all;
    for (const Tally& t : parts) {
        for (size_t o = 0; o < 4; ++o) all.outcomes[o] += t.outcomes[o], all.with_satellites[o] += t.with_satellites[o];
        all.worst_mass = std::max(all.worst_mass, t.worst_mass), all.bad += t.bad;
        all.worst_momentum = std::max(all.worst_momentum, t.worst_momentum);
        all.worst_center = std::max(all.worst_center, t.worst_center);
        all.worst_energy = std::max(all.worst_energy, t.worst_energy);
    }
    EXPECT_LT(all.worst_mass, 1e-5);
    EXPECT_LT(all.worst_momentum, 1e-5);
    EXPECT_LT(all.worst_center, 1e-6); // [m], at positions up to 1 m from the origin
    EXPECT_LT(all.worst_energy, 1 + 1e-3);
    EXPECT_EQ(all.bad, 0);
    EXPECT_GT(all.outcomes[static_cast<size_t>(Outcome::coalescence)], 10000);
    EXPECT_GT(all.outcomes[static_cast<size_t>(Outcome::stretching)], 10000);
    EXPECT_GT(all.outcomes[static_cast<size_t>(Outcome::reflexive)], 10000);
    EXPECT_GT(all.with_satellites[static_cast<size_t>(Outcome::stretching)], 5000);
    EXPECT_GT(all.with_satellites[static_cast<size_t>(Outcome::reflexive)], 5000);
    fmt::print("merged {}, stretched {} ({} with satellites), reflexive {} ({}); worst mass {:.1e}, momentum {:.1e}\n",
               all.outcomes[1], all.outcomes[2], all.with_satellites[2], all.outcomes[3], all.with_satellites[3],
               all.worst_mass, all.worst_momentum);
}

TEST(Collision, SatellitesFlyBetweenTheirParents)
{
    CollisionRules rules;
    rules.perturbation = 0, rules.min_radius = 1e-6f;
    Random random(5);
    int seen = 0;
    for (int n = 0; n < 2000; ++n) {
        const auto [i, j] =
            pair_of(100 + 2000 * random.uniform(), random.uniform(), 0.5 + 0.5 * random.uniform(), rules, random);
        const CollisionResult result = collide(i, j, rules, 1);
        if (result.count < 4) continue;
        ++seen;
        // From the first satellite to the last, velocities approach that of the second droplet.
        const Vec3f apart = result.droplets[1].v - result.droplets[0].v;
        float last = 0;
        for (int k = 2; k < result.count; ++k) {
            const float along =
                (result.droplets[static_cast<size_t>(k)].v - result.droplets[0].v).dot(apart) / apart.squaredNorm();
            EXPECT_GT(along, last);
            EXPECT_LT(along, 1);
            last = along;
        }
    }
    EXPECT_GT(seen, 100);
}

TEST(Collision, OddPairsHaveFiniteResults)
{
    const CollisionRules rules;
    for (const float r_i : {0.0f, 1e-8f, 1e-3f, 10.0f})
        for (const float ratio : {0.0f, 1e-8f, 1e-4f, 0.5f, 1.0f})
            for (const float speed : {0.0f, 1e-30f, 1.0f, 1e10f, 1e37f})
                for (const float offset : {0.0f, 1e-20f, 0.5f, 1.0f, 2.0f}) {
                    const Droplet i{Vec3f(1, 2, 3), Vec3f(0, speed, 0), r_i};
                    const Droplet j{Vec3f(1 + offset * (1 + ratio) * r_i, 2, 3), Vec3f(0, -speed, 0), ratio * r_i};
                    const CollisionResult result = collide(i, j, rules, 1);
                    EXPECT_GE(result.count, 1);
                    for (const Droplet& d : result.all())
                        EXPECT_TRUE(d.x.allFinite() && d.v.allFinite() && std::isfinite(d.radius) && d.radius >= 0);
                }
}

TEST(Collision, ResultsStayInTheRangeOfRadii)
{
    CollisionRules rules;
    rules.max_radius = 1.1e-3f; // two droplets of 1 mm would be 1.26 mm
    Random random(9);
    const auto [i, j] = pair_of(1, 0.1, 1, rules, random);
    const CollisionResult passed = collide(i, j, rules, 1);
    EXPECT_EQ(passed.outcome, Outcome::none);
    EXPECT_EQ(passed.count, 2);
    EXPECT_EQ(passed.droplets[0].v, i.v);
    rules.min_radius = 0.9e-3f; // satellites would be smaller
    const auto [k, l] = pair_of(500, 0.1, 1, rules, random);
    const CollisionResult parted = collide(k, l, rules, 1);
    EXPECT_EQ(parted.outcome, Outcome::reflexive);
    EXPECT_EQ(parted.count, 2);
    EXPECT_LT((parted.droplets[1].v - parted.droplets[0].v).norm(), (l.v - k.v).norm());
}

} // namespace

} // namespace spindrift
