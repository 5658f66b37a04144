#include "spindrift/crowd/avoidance.h"

#include "spindrift/base/random.h"

#include <gtest/gtest.h>

using namespace spindrift;

TEST(Avoidance, ASingleAgentWalksAsPreferredUpToItsSpeed)
{
    EXPECT_EQ(nearest_velocity({}, Vec2f(0.3f, 0.4f), 1), Vec2f(0.3f, 0.4f));
    EXPECT_LT((nearest_velocity({}, Vec2f(3, 4), 1) - Vec2f(0.6f, 0.8f)).norm(), 1e-6f);
}

TEST(Avoidance, HalfPlanesOfKnownCases)
{
    // Straight ahead, at rest, 10 m away: the velocity after which they touch in 4 s is (10 - 1) / 4.
    const Avoider self{Vec2f(0, 0), Vec2f(2, 0), Vec2f(2, 0), 0.5f, 3};
    const HalfPlane slow = allowed_velocities({Vec2f(0, 0), Vec2f(1, 0), Vec2f(1, 0), 0.5f, 3},
                                              {Vec2f(10, 0), Vec2f(0, 0), 0.5f, 1}, 4, 0.1f);
    EXPECT_LT((slow.normal - Vec2f(-1, 0)).norm(), 1e-5f);
    EXPECT_NEAR(slow.point.x(), 9.0f / 4, 1e-5f);
    EXPECT_LT(slow.depth(Vec2f(2.2f, 0)), 0);
    EXPECT_GT(slow.depth(Vec2f(2.3f, 0)), 0);
    // Beside the cone's axis: the nearest boundary is its left leg, which touches the disc of both radii.
    const AvoidanceNeighbour near{Vec2f(2, 0), Vec2f(0, 0), 0.5f, 1};
    const HalfPlane aside = allowed_velocities({Vec2f(0, 0), Vec2f(2, 0.5f), Vec2f(2, 0), 0.5f, 3}, near, 4, 0.1f);
    const float angle = std::asin(1.0f / 2);
    EXPECT_LT((aside.normal - Vec2f(-std::sin(angle), std::cos(angle))).norm(), 1e-5f);
    EXPECT_NEAR(aside.depth(Vec2f(3 * std::cos(angle), 3 * std::sin(angle))), 0, 1e-5f); // the leg itself
    // If the other agent does half, half the change suffices.
    AvoidanceNeighbour sharing = near;
    sharing.share = 0.5f;
    const Avoider mover{Vec2f(0, 0), Vec2f(2, 0.5f), Vec2f(2, 0), 0.5f, 3};
    const float whole = allowed_velocities(mover, near, 4, 0.1f).depth(mover.v);
    EXPECT_NEAR(allowed_velocities(mover, sharing, 4, 0.1f).depth(mover.v), 0.5f * whole, 1e-6f);
    // Touching: they must separate within the step.
    const HalfPlane touching =
        allowed_velocities(self, {Vec2f(0.8f, 0), Vec2f(2, 0), 0.5f, 1}, 4, 0.5f); // 0.2 m too close
    EXPECT_LT((touching.normal - Vec2f(-1, 0)).norm(), 1e-5f);
    EXPECT_NEAR(touching.point.x(), 2 - 0.2f / 0.5f, 1e-5f);
}

TEST(Avoidance, LinearProgramsAgreeWithExhaustiveSearch)
{
    Random random(4);
    int impossible = 0, cut = 0;
    for (int n = 0; n < 400; ++n) {
        std::vector<HalfPlane> planes;
        for (int k = 0; k < 1 + n % 6; ++k) {
            const float angle = random.uniform(0, 6.2831853f);
            const Vec2f normal(std::cos(angle), std::sin(angle));
            planes.push_back({random.uniform(-1.2f, 0.6f) * normal, normal});
        }
        const Vec2f preferred(random.uniform(-1, 1), random.uniform(-1, 1));
        const auto worst = [&](const Vec2f& v) {
            float depth = -kInfinity;
            for (const HalfPlane& p : planes) depth = std::max(depth, p.depth(v));
            return depth;
        };
        const Vec2f found = nearest_velocity(planes, preferred, 1.2f);
        EXPECT_LE(found.norm(), 1.2f * 1.0001f);
        constexpr int kSteps = 300;
        float least_depth = kInfinity, least_distance = kInfinity;
        for (int i = 0; i <= kSteps; ++i)
            for (int j = 0; j <= kSteps; ++j) {
                const Vec2f v =
                    1.2f * Vec2f(2.0f * static_cast<float>(i) / kSteps - 1, 2.0f * static_cast<float>(j) / kSteps - 1);
                if (v.norm() > 1.2f) continue;
                least_depth = std::min(least_depth, worst(v));
                if (worst(v) <= 0) least_distance = std::min(least_distance, (v - preferred).norm());
            }
        constexpr float kNear = 0.02f; // spacing of the search grid
        if (least_distance < kInfinity) {
            EXPECT_LE(worst(found), 1e-4f) << n;
            EXPECT_LE((found - preferred).norm(), least_distance + 1e-4f) << n;
            cut += (found - preferred).norm() > 0.01f;
        } else if (least_depth > kNear) {
            EXPECT_LE(worst(found), least_depth + 1e-3f) << n;
            EXPECT_GE(worst(found), least_depth - kNear) << n;
            ++impossible;
        }
    }
    EXPECT_GT(impossible, 20);
    EXPECT_GT(cut, 50);
}

namespace {

struct Pair {
    Avoider a, b;
    float closest = kInfinity;
};

// Two agents whose paths lead through each other, each doing its share.
Pair walked(Avoider a, Avoider b, const Vec2f& goal_a, const Vec2f& goal_b, int steps)
{
    constexpr float kDt = 0.05f, kHorizon = 3;
    Pair pair{a, b};
    for (int s = 0; s < steps; ++s) {
        const auto wish = [](Avoider& self, const Vec2f& goal) {
            const Vec2f to = goal - self.x;
            self.preferred = to.norm() > 0.1f ? Vec2f(to.normalized() * 1.3f) : Vec2f(Vec2f::Zero());
        };
        wish(pair.a, goal_a), wish(pair.b, goal_b);
        const AvoidanceNeighbour of_a{pair.b.x, pair.b.v, pair.b.radius, 0.5f};
        const AvoidanceNeighbour of_b{pair.a.x, pair.a.v, pair.a.radius, 0.5f};
        const Vec2f va = avoiding_velocity(pair.a, {&of_a, 1}, kHorizon, kDt);
        const Vec2f vb = avoiding_velocity(pair.b, {&of_b, 1}, kHorizon, kDt);
        pair.a.v = va, pair.b.v = vb;
        pair.a.x += kDt * va, pair.b.x += kDt * vb;
        pair.closest = std::min(pair.closest, (pair.a.x - pair.b.x).norm());
    }
    return pair;
}

} // namespace

TEST(Avoidance, TwoAgentsHeadOnPassWithoutTouching)
{
    // Slightly off the line: in perfect symmetry both would stop.
    const Avoider a{Vec2f(-5, 0.01f), Vec2f::Zero(), Vec2f::Zero(), 0.3f, 1.5f};
    const Avoider b{Vec2f(5, 0), Vec2f::Zero(), Vec2f::Zero(), 0.3f, 1.5f};
    const Pair after = walked(a, b, Vec2f(5, 0), Vec2f(-5, 0), 300);
    EXPECT_GE(after.closest, 0.6f * 0.999f);
    EXPECT_LT(after.closest, 0.8f); // and no detour
    EXPECT_LT((after.a.x - Vec2f(5, 0)).norm(), 0.2f);
    EXPECT_LT((after.b.x - Vec2f(-5, 0)).norm(), 0.2f);
}

TEST(Avoidance, AgentsInOnePlaceSeparate)
{
    Avoider a{Vec2f(1, 1), Vec2f(0.1f, 0), Vec2f::Zero(), 0.3f, 1.5f}, b = a;
    b.x.x() += 1e-4f;
    const Pair after = walked(a, b, Vec2f(1, 1), Vec2f(1, 1), 60);
    EXPECT_GT((after.a.x - after.b.x).norm(), 0.5f);
    EXPECT_TRUE(after.a.x.allFinite() && after.b.x.allFinite());
}
