#include "spindrift/spray/pairing.h"

#include "spray/sprays.h"

#include <set>

namespace spindrift {

namespace {

constexpr float kStep = 1.0f / 48;

// Every pair of droplets that touch within a step, by brute force, in order of time.
std::vector<Meeting> all_meetings(const Particles& p, const Reach& reach)
{
    const std::vector<float>& radius = radii_of(p);
    std::vector<Meeting> found;
    for (size_t i = 0; i < p.size(); ++i)
        for (size_t j = i + 1; j < p.size(); ++j) {
            const Vec3d x = (p.P[j] - p.P[i]).cast<double>(), u = (p.v[j] - p.v[i]).cast<double>();
            const double near = reach(p.v[i], radius[i]) + reach(p.v[j], radius[j]);
            if ((x + 0.5 * kStep * u).norm() > near) continue;
            const double a = u.squaredNorm(), b = x.dot(u), touch = static_cast<double>(radius[i]) + radius[j];
            const double discriminant = b * b - a * (x.squaredNorm() - touch * touch);
            if (b >= 0 || discriminant < 0) continue;
            const double time = (-b - std::sqrt(discriminant)) / a;
            if (time <= kStep)
                found.push_back(
                    {static_cast<float>(time), static_cast<uint32_t>(p.id[i]), static_cast<uint32_t>(p.id[j])});
        }
    std::sort(found.begin(), found.end(), [](const Meeting& a, const Meeting& b) { return a.time < b.time; });
    return found;
}

using Pairs = std::set<std::pair<uint32_t, uint32_t>>;

// Pairs by time, each droplet at most once.
Pairs first_come_first_served(const std::vector<Meeting>& meetings)
{
    Pairs pairs;
    std::set<uint32_t> taken;
    for (const Meeting& m : meetings)
        if (!taken.count(m.first) && !taken.count(m.second)) {
            taken.insert(m.first), taken.insert(m.second);
            pairs.insert(std::minmax(m.first, m.second));
        }
    return pairs;
}

struct Found {
    Pairs pairs;
    size_t meetings;
};

Found found_in(Particles p, const Reach& reach, float edge = 0)
{
    DropletCells cells;
    Pairing pairing;
    cells.sort(p, reach, edge);
    Found found;
    for (const Meeting& m : pairing.find(p, cells, reach))
        found.pairs.insert(std::minmax(static_cast<uint32_t>(p.id[m.first]), static_cast<uint32_t>(p.id[m.second])));
    found.meetings = pairing.meetings();
    return found;
}

Particles numbered(Particles p)
{
    for (size_t i = 0; i < p.size(); ++i) p.id[i] = static_cast<int32_t>(i);
    p.attribute<float>(kRestAttribute);
    return p;
}

void expect_same_as_trying_all(const Particles& p, const Reach& reach)
{
    const std::vector<Meeting> all = all_meetings(p, reach);
    const Pairs expected = first_come_first_served(all);
    const Found found = found_in(p, reach);
    EXPECT_GT(expected.size(), 50u);
    // Rounding may decide differently for grazing pairs, and four iterations leave a few pairs for the next step.
    EXPECT_NEAR(static_cast<double>(found.meetings), static_cast<double>(all.size()),
                0.002 * static_cast<double>(all.size()) + 2);
    Pairs both;
    std::set_intersection(found.pairs.begin(), found.pairs.end(), expected.begin(), expected.end(),
                          std::inserter(both, both.begin()));
    EXPECT_GE(static_cast<double>(both.size()), 0.99 * static_cast<double>(expected.size()));
    EXPECT_LE(static_cast<double>(found.pairs.size() - both.size()), 0.01 * static_cast<double>(expected.size()));
}

TEST(Pairing, FindsTheSamePairsAsBruteForce)
{
    const Particles p = numbered(random_droplets(4000, 0.1f, 1, 2e-3f, 1, 3));
    expect_same_as_trying_all(p, {0.5f * kStep, 4});
    expect_same_as_trying_all(p, {0.5f * kStep, 0});    // only those that overlap at mid-step, as in [Jones 2018]
    expect_same_as_trying_all(p, {0.5f * kStep, 1000}); // all that meet
}

TEST(Pairing, FindsPairsOfAllSizesAndSpeeds)
{
    Particles p = numbered(random_droplets(4000, 0.15f, 1, 0.02f, 1000, 5));
    for (size_t i = 0; i < p.size(); i += 7) p.v[i] *= 100;
    expect_same_as_trying_all(p, {0.5f * kStep, 4});
    expect_same_as_trying_all(p, {0.5f * kStep, 1000});
}

TEST(Pairing, ADistantDropletDoesNotCoarsenTheCells)
{
    Particles p = random_droplets(4000, 0.1f, 1, 2e-3f, 1, 3);
    p.P[17] = Vec3f(9e5f, -9e5f, 9e5f), p.P[18] = p.P[17], p.v[17].y() = 0.5f; // two droplets that meet far away
    p.v[18].y() = -0.5f;
    const Particles spread = numbered(p);
    const Found found = found_in(spread, {0.5f * kStep, 4});
    const size_t expected = all_meetings(spread, {0.5f * kStep, 4}).size();
    EXPECT_NEAR(static_cast<double>(found.meetings), static_cast<double>(expected), 3);
}

TEST(Pairing, DoesNotDependOnTheCells)
{
    const Particles p = numbered(random_droplets(5000, 0.1f, 1, 2e-3f, 10, 9));
    const Found found = found_in(p, {0.5f * kStep, 4});
    for (const float edge : {1e-4f, 3e-3f, 0.02f, 1.0f}) {
        const Found other = found_in(p, {0.5f * kStep, 4}, edge);
        EXPECT_EQ(other.pairs, found.pairs) << edge;
        EXPECT_EQ(other.meetings, found.meetings) << edge;
    }
}

TEST(Pairing, ADropletIsInAtMostOnePairAndNoneDuringItsCooldown)
{
    Particles p = numbered(random_droplets(20000, 0.1f, 2, 2e-3f, 1, 11));
    for (size_t i = 0; i < p.size(); i += 3) p.attribute<float>(kRestAttribute)[i] = 0.01f;
    std::set<uint32_t> seen;
    size_t pairs = 0;
    for (const auto& [i, j] : found_in(p, {0.5f * kStep, 4}).pairs) {
        EXPECT_TRUE(i % 3 != 0 && j % 3 != 0);
        EXPECT_TRUE(seen.insert(i).second && seen.insert(j).second);
        ++pairs;
    }
    EXPECT_GT(pairs, 100u);
}

} // namespace

} // namespace spindrift
