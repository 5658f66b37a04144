#include "spindrift/crowd/crowd.h"

#include "base/determinism.h"
#include "crowd/circle.h"
#include "spindrift/base/error.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

bool same_agents(const Agents& a, const Agents& b)
{
    return same_bits(a.x, b.x) && same_bits(a.v, b.v) && same_bits(a.id, b.id) && same_bits(a.goal, b.goal) &&
           same_bits(a.radius, b.radius) && same_bits(a.preferred, b.preferred);
}

Vec2f place_of(const Crowd& crowd, int32_t id)
{
    const auto& ids = crowd.agents().id;
    const auto at = std::find(ids.begin(), ids.end(), id);
    EXPECT_NE(at, ids.end());
    return crowd.agents().x[at - ids.begin()];
}

// All options, sizes and kinds of agents at once.
struct Mixture {
    CrowdParams params;
    CrowdGrid grid{Vec2f(0, 0), 1.2f, 30, 24};
    StraightPlanner planner;
    Agents start;

    Mixture()
    {
        params.side = 0.5f, params.look_ahead = 2, params.speed_law = CrowdParams::SpeedLaw::weidmann;
        Random random(12);
        planner.leave = true;
        for (int n = 0; n < 1500; ++n) {
            const Vec2f x(random.uniform(2, 34), random.uniform(2, 26));
            const Driver driver = n % 50 == 0 ? Driver::avoiding : n == 7 ? Driver::scripted : Driver::crowd;
            planner.goals.push_back(Vec2f(36 - x.x(), 28.8f - x.y()));
            add_agent(start, x, random.uniform(0.15f, 0.3f), random.uniform(0.8f, 1.6f),
                      driver == Driver::scripted ? 0 : n, driver);
            start.priority.back() = random.uniform(0.5f, 2);
        }
    }
    Crowd make() const
    {
        Crowd crowd(params, grid);
        crowd.set_planner(&planner);
        crowd.add_path({{0, 3}, {Vec2f(3, 3), Vec2f(20, 20)}});
        return crowd;
    }
};

} // namespace

TEST(Crowd, SameBitsForAnyNumberOfThreads)
{
    const Mixture mixture;
    const auto run = [&] {
        Crowd crowd = mixture.make();
        crowd.add(mixture.start);
        for (int s = 0; s < 40; ++s) crowd.step(0.1f);
        return crowd.agents();
    };
    const Agents one = with_threads(1, run);
    EXPECT_LT(one.size(), 1500u); // some have left
    EXPECT_TRUE(same_agents(one, with_threads(2, run)));
    EXPECT_TRUE(same_agents(one, with_threads(5, run)));
}

TEST(Crowd, ResumeFromAStateIsBitIdentical)
{
    const Mixture mixture;
    Crowd crowd = mixture.make();
    crowd.add(mixture.start);
    for (int s = 0; s < 15; ++s) crowd.step(0.1f);
    Crowd other = mixture.make();
    other.restore(crowd.state());
    for (int s = 0; s < 15; ++s) crowd.step(0.1f), other.step(0.1f);
    EXPECT_TRUE(same_agents(crowd.agents(), other.agents()));
    EXPECT_EQ(crowd.time(), other.time());
}

TEST(Crowd, ACircleTurnsAndEveryoneArrivesWithoutTouching)
{
    constexpr float kDt = 0.05f;
    CrowdParams params;
    params.side = 0.5f;
    Circle circle(1000, params);
    Crowd crowd(circle.params, circle.grid);
    crowd.set_planner(&circle.planner);
    crowd.add(circle.start);
    CircleFigures figures;
    size_t arrived = 0;
    for (int s = 0; s < 3000 && arrived < crowd.agents().size(); ++s) {
        crowd.step(kDt);
        if (s % 4 == 0) figures.look(crowd, 0.5f * circle.full_radius, 4 * kDt);
        arrived = 0;
        for (size_t i = 0; i < crowd.agents().size(); ++i) arrived += circle.planner.distance(crowd.agents(), i) < 1;
    }
    EXPECT_EQ(arrived, circle.start.size());
    EXPECT_LE(figures.ever_share(circle.start.size()), 0.0012);
    EXPECT_GT(figures.most_dense, 200u);
    EXPECT_GT(figures.dense_mean(), 1.15);
    EXPECT_LT(figures.dense_mean(), 1.35);
    EXPECT_GT(std::abs(figures.turned), 1);
}

TEST(Crowd, ACrowdGatheringAtOnePlaceReachesTheGreatestDensity)
{
    CrowdParams params;
    const CrowdGrid grid{Vec2f(-12, -12), 1.5f, 16, 16};
    StraightPlanner planner;
    planner.goals = {Vec2f(0, 0)}, planner.near = 0.01f;
    Agents start;
    Random random(2);
    for (int n = 0; n < 800; ++n)
        add_agent(start, Vec2f(random.uniform(-11, 11), random.uniform(-11, 11)), params.radius, 1.3f, 0);
    Crowd crowd(params, grid);
    crowd.set_planner(&planner);
    crowd.add(start);
    for (int s = 0; s < 400; ++s) crowd.step(0.05f);
    const auto density = crowd.continuum().density();
    EXPECT_LT(*std::max_element(density.begin(), density.end()), 1.15f);
    const std::vector<float> nearest = nearest_distances(crowd.agents(), 1);
    size_t close = 0;
    float spread = 0;
    for (size_t i = 0; i < nearest.size(); ++i) {
        close += nearest[i] < 0.97f * params.least_distance();
        spread = std::max(spread, crowd.agents().x[i].norm());
    }
    EXPECT_LE(close, 8u);
    EXPECT_LT(spread, 1.25f * std::sqrt(800 / (params.densest() * static_cast<float>(kPi)))); // a full disc
}

namespace {

// A wall 0.2 m thick along x = 0, with a door.
class WallWithDoor : public CrowdWalls {
  public:
    static constexpr float kHalfDoor = 0.9f, kHalfThickness = 0.1f;

    void keep_out(std::span<const Vec2f> from, std::span<Vec2f> to, std::span<const float> radius) const override
    {
        for (size_t i = 0; i < from.size(); ++i) {
            const float reach = kHalfThickness + radius[i];
            if (std::abs(to[i].x()) >= reach && from[i].x() * to[i].x() > 0) continue;
            const float room = kHalfDoor - radius[i];
            if (std::abs(from[i].x()) < reach) // in the door
                to[i].y() = std::clamp(to[i].y(), -room, room);
            else if (std::abs(to[i].y()) > room)
                to[i].x() = from[i].x() < 0 ? -reach : reach;
        }
    }
};

// To the door, and then away from it.
class DoorPlanner : public CrowdPlanner {
  public:
    Vec2f direction(Agents& agents, size_t i) const override
    {
        const Vec2f x = agents.x[i];
        const bool in_line = std::abs(x.y()) < 0.5f;
        const Vec2f to = x.x() > -0.4f || in_line ? Vec2f(x.x() + 5, 0) : Vec2f(-0.3f, 0);
        return (to - x).normalized();
    }
    bool leaves(const Agents& agents, size_t i) const override { return agents.x[i].x() > 6; }
};

} // namespace

TEST(Crowd, EveryoneLeavesThroughADoorAndNobodyThroughTheWall)
{
    const WallWithDoor walls;
    const DoorPlanner planner;
    const CrowdGrid grid{Vec2f(-14.5f, -7.5f), 1, 22, 15}; // the wall is in the column of cells around x = 0
    std::vector<float> fraction(22 * 15, 1);
    for (int j = 0; j < 15; ++j)
        if (j != 7) fraction[j * 22 + 14] = 0.8f;
    CrowdParams params;
    Crowd crowd(params, grid);
    crowd.set_planner(&planner), crowd.set_walls(&walls), crowd.set_free_area(fraction);
    Agents start;
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 16; ++j)
            add_agent(start, Vec2f(-13 + 0.7f * static_cast<float>(i), -5.5f + 0.7f * static_cast<float>(j)),
                      params.radius, 1.3f, 0);
    crowd.add(start);
    std::vector<Vec2f> before(start.size());
    size_t left = 0;
    for (int s = 0; s < 4000 && left < start.size(); ++s) {
        for (size_t i = 0; i < crowd.agents().size(); ++i) before[crowd.agents().id[i]] = crowd.agents().x[i];
        left += crowd.step(0.05f).left.size();
        for (size_t i = 0; i < crowd.agents().size(); ++i) {
            const Vec2f x = crowd.agents().x[i], from = before[crowd.agents().id[i]];
            if ((from.x() < 0) == (x.x() < 0)) continue;
            EXPECT_LT(std::abs(x.y()), WallWithDoor::kHalfDoor);
        }
    }
    EXPECT_EQ(left, start.size());
}

TEST(Crowd, WeidmannsLawSlowsDenseCrowdsDown)
{
    EXPECT_EQ(weidmann_speed(0), 1);
    EXPECT_EQ(weidmann_speed(5.4f), 0);
    EXPECT_EQ(weidmann_speed(9), 0);
    EXPECT_NEAR(1.34f * weidmann_speed(1), 1.06f, 0.01f); // from the diagram
    EXPECT_NEAR(1.34f * weidmann_speed(2), 0.61f, 0.01f);

    CrowdParams params;
    params.speed_law = CrowdParams::SpeedLaw::weidmann;
    const CrowdGrid grid{Vec2f(0, 0), 1.5f, 40, 10};
    StraightPlanner planner;
    planner.goals = {};
    Agents start;
    const float spacing = 0.8f; // about 1.6 people per square metre
    for (int i = 0; i < 36; ++i)
        for (int j = 0; j < 18; ++j) {
            const Vec2f x(1 + spacing * static_cast<float>(i), 0.5f + spacing * static_cast<float>(j));
            add_agent(start, x, params.radius, 1.34f, static_cast<int>(planner.goals.size()));
            planner.goals.push_back(x + Vec2f(1000, 0));
        }
    Crowd crowd(params, grid);
    crowd.set_planner(&planner);
    crowd.add(start);
    for (int s = 0; s < 5; ++s) crowd.step(0.1f);
    double sum = 0, count = 0;
    for (size_t i = 0; i < crowd.agents().size(); ++i)
        if (const Vec2f x = crowd.agents().x[i]; x.x() > 8 && x.x() < 22 && x.y() > 4 && x.y() < 11)
            sum += static_cast<double>(crowd.agents().v[i].x()), count += 1;
    EXPECT_NEAR(sum / count, 1.34 * static_cast<double>(weidmann_speed(1 / (spacing * spacing))), 0.08);
}

// An agent wants to leave a standing crowd of the greatest density. Moving with the mean, it stays.
TEST(Crowd, FreedomLetsAnAgentLeaveAStandingCrowd)
{
    const auto way_after_a_minute = [](float freedom) {
        CrowdParams params;
        params.freedom = freedom;
        const CrowdGrid grid{Vec2f(0, 0), 2, 12, 12};
        StraightPlanner planner;
        const float apart = 0.97f * std::sqrt(1 / params.densest());
        Agents agents;
        for (int row = 0; row < 30; ++row)
            for (int k = 0; k < 30; ++k) {
                const Vec2f x = Vec2f(4, 4) + apart * Vec2f(static_cast<float>(k), static_cast<float>(row));
                const bool wants_out = row == 15 && k == 15;
                planner.goals.push_back(wants_out ? Vec2f(23, x.y()) : x);
                add_agent(agents, x, params.radius, 1.3f, static_cast<int>(planner.goals.size()) - 1);
            }
        Crowd crowd(params, grid);
        crowd.set_planner(&planner);
        crowd.add(agents);
        while (crowd.time() < 60) crowd.step(0.05f);
        for (size_t i = 0; i < crowd.agents().size(); ++i)
            if (crowd.agents().id[i] == 15 * 30 + 15) return crowd.agents().x[i].x() - agents.x[15 * 30 + 15].x();
        return 0.0f;
    };
    EXPECT_LT(way_after_a_minute(0), 0.5f);
    EXPECT_GT(way_after_a_minute(0.1f), 1.5f);
}

TEST(Crowd, OpposingStreamsPassOnThePreferredSide)
{
    for (const float side : {1.0f, -1.0f}) {
        CrowdParams params;
        params.side = side;
        const CrowdGrid grid{Vec2f(-30, -6), 1.5f, 40, 8};
        StraightPlanner planner;
        Agents start;
        Random random(9);
        for (int n = 0; n < 400; ++n) {
            const float way = n % 2 ? 1.0f : -1.0f;
            const Vec2f x(-way * random.uniform(4, 24), random.uniform(-3, 3));
            add_agent(start, x, params.radius, 1.3f, n);
            planner.goals.push_back(Vec2f(way * 1000, x.y()));
        }
        Crowd crowd(params, grid);
        crowd.set_planner(&planner);
        crowd.add(start);
        for (int s = 0; s < 250; ++s) crowd.step(0.05f);
        double offset = 0; // of each agent to its right
        for (size_t i = 0; i < crowd.agents().size(); ++i)
            offset +=
                static_cast<double>(crowd.agents().goal[i] % 2 ? -crowd.agents().x[i].y() : crowd.agents().x[i].y());
        EXPECT_GT(static_cast<double>(side) * offset / 400, 0.3);
    }
}

TEST(Crowd, AgentsLookingAheadWalkAroundAStandingCrowd)
{
    double detour[2];
    for (const bool sees : {false, true}) {
        CrowdParams params;
        params.look_ahead = sees ? 4.0f : 0.0f;
        const CrowdGrid grid{Vec2f(-15, -9), 1.5f, 20, 12};
        StraightPlanner planner;
        Agents start;
        for (int i = -6; i <= 6; ++i)
            for (int j = -6; j <= 6; ++j) {
                const Vec2f x(0.55f * static_cast<float>(i), 0.55f * static_cast<float>(j) - 1);
                add_agent(start, x, params.radius, 1.3f, static_cast<int>(planner.goals.size()));
                planner.goals.push_back(x);
            }
        const int walker = static_cast<int>(planner.goals.size());
        add_agent(start, Vec2f(-13, 0), params.radius, 1.3f, walker);
        planner.goals.push_back(Vec2f(13, 0));
        Crowd crowd(params, grid);
        crowd.set_planner(&planner);
        crowd.add(start);
        float aside = 0;
        for (int s = 0; s < 160; ++s) {
            crowd.step(0.05f);
            aside = std::max(aside, place_of(crowd, walker).y());
        }
        detour[sees] = static_cast<double>(aside);
    }
    EXPECT_LT(detour[0], 0.5); // straight towards the others
    EXPECT_GT(detour[1], 1.0);
}

TEST(Crowd, ScriptedAgentsFollowTheirPathAndTheCrowdGivesWay)
{
    CrowdParams params;
    const CrowdGrid grid{Vec2f(-9, -9), 1.5f, 12, 12};
    StraightPlanner planner;
    Agents start;
    for (int i = -8; i <= 8; ++i)
        for (int j = -8; j <= 8; ++j) {
            const Vec2f x(0.7f * static_cast<float>(i), 0.7f * static_cast<float>(j));
            add_agent(start, x, params.radius, 1.3f, static_cast<int>(planner.goals.size()));
            planner.goals.push_back(x);
        }
    Crowd crowd(params, grid);
    crowd.set_planner(&planner);
    crowd.add(start);
    Agents guard;
    add_agent(guard, Vec2f::Zero(), 0.4f, 1,
              crowd.add_path({{1, 9, 12}, {Vec2f(-8, 0.1f), Vec2f(8, 0.1f), Vec2f(8, 5)}}), Driver::scripted);
    const int32_t id = crowd.add(guard);
    for (int s = 1; s <= 240; ++s) {
        crowd.step(0.05f);
        const float t = 0.05f * static_cast<float>(s);
        const Vec2f x = place_of(crowd, id);
        const Vec2f wanted(t < 1 ? -8 : t < 9 ? -8 + 2 * (t - 1) : 8, t < 9 ? 0.1f : 0.1f + 4.9f * (t - 9) / 3);
        ASSERT_LT((x - wanted).norm(), 1e-3f) << t;
        for (size_t i = 0; i < crowd.agents().size(); ++i)
            if (crowd.agents().id[i] != id) {
                EXPECT_GT((crowd.agents().x[i] - x).norm(), 0.55f) << t;
            }
    }
}

TEST(Crowd, AvoidingAgentsAvoidEachOtherAndTheCrowd)
{
    CrowdParams params;
    const CrowdGrid grid{Vec2f(-15, -15), 2, 15, 15};
    StraightPlanner planner;
    Agents start;
    for (int n = 0; n < 12; ++n) {
        const float angle = 0.01f + static_cast<float>(2 * kPi) * static_cast<float>(n) / 12;
        const Vec2f x = 10 * Vec2f(std::cos(angle), std::sin(angle));
        add_agent(start, x, 0.25f, 1.3f, n, Driver::avoiding);
        planner.goals.push_back(-x);
    }
    add_agent(start, Vec2f(4, 0.2f), 0.25f, 1.3f, 12); // one of the crowd, standing in their path
    planner.goals.push_back(Vec2f(4, 0.2f));
    Crowd crowd(params, grid);
    crowd.set_planner(&planner);
    crowd.add(start);
    float closest = kInfinity;
    for (int s = 0; s < 900; ++s) {
        crowd.step(0.05f);
        for (const float d : nearest_distances(crowd.agents(), 2)) closest = std::min(closest, d);
    }
    EXPECT_GT(closest, 0.48f);
    for (size_t i = 0; i < crowd.agents().size(); ++i) EXPECT_LT(planner.distance(crowd.agents(), i), 0.8f) << i;
}

TEST(Crowd, IdsAreUniqueWhenAgentsComeAndGo)
{
    CrowdParams params;
    const CrowdGrid grid{Vec2f(0, 0), 2, 10, 10};
    StraightPlanner planner;
    planner.goals = {Vec2f(18, 10)}, planner.leave = true, planner.near = 1;
    Crowd crowd(params, grid);
    crowd.set_planner(&planner);
    std::vector<int32_t> left;
    int32_t next = 0;
    for (int s = 0; s < 600; ++s) {
        if (s % 10 == 0 && s < 300) {
            Agents newcomers;
            for (int k = 0; k < 3; ++k) add_agent(newcomers, Vec2f(1, 8 + static_cast<float>(k)), 0.2f, 1.3f, 0);
            EXPECT_EQ(crowd.add(newcomers), next);
            next += 3;
        }
        const CrowdReport report = crowd.step(0.05f);
        left.insert(left.end(), report.left.begin(), report.left.end());
        if (s == 100) {
            const std::vector<int32_t> gone = {4, 5, 77};
            crowd.remove(gone);
        }
    }
    EXPECT_EQ(crowd.agents().size(), 0u);
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left.size(), 88u);
    EXPECT_EQ(std::unique(left.begin(), left.end()), left.end());
    EXPECT_EQ(std::count(left.begin(), left.end(), 4), 0);
    crowd.step(0.05f); // without agents
}

TEST(Crowd, RefusesInvalidAgentsAndPaths)
{
    const CrowdGrid grid{Vec2f(0, 0), 1, 5, 5};
    Crowd crowd({}, grid);
    const auto with = [&](const auto& change) {
        Agents agents;
        add_agent(agents, Vec2f(1, 1), 0.2f, 1, 0);
        change(agents);
        return crowd.add(agents);
    };
    EXPECT_THROW(with([](Agents& a) { a.x[0].x() = std::numeric_limits<float>::quiet_NaN(); }), Error);
    EXPECT_THROW(with([](Agents& a) { a.radius[0] = 0; }), Error);
    EXPECT_THROW(with([](Agents& a) { a.radius[0] = 5; }), Error); // wider than a cell
    EXPECT_THROW(with([](Agents& a) { a.speed[0] = -1; }), Error);
    EXPECT_THROW(with([](Agents& a) { a.priority[0] = 0; }), Error);
    EXPECT_THROW(with([](Agents& a) { a.driver[0] = Driver::scripted; }), Error); // there is no path
    EXPECT_THROW(crowd.add_path({}), Error);
    EXPECT_THROW(crowd.add_path({{1, 1}, {Vec2f(0, 0), Vec2f(1, 1)}}), Error);
    EXPECT_EQ(crowd.agents().size(), 0u);
    EXPECT_EQ(with([](Agents& a) { a.x[0] = Vec2f(-50, 900); }), 0); // clamped to the domain
    EXPECT_THROW(crowd.step(0), Error);
    EXPECT_THROW(crowd.step(kInfinity), Error);
    crowd.step(0.1f);
    EXPECT_EQ(place_of(crowd, 0), Vec2f(0, 5));
}
