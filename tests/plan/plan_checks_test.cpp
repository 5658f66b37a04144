#include "spindrift/plan/plan_checks.h"

#include "io/temp_folder.h"
#include "plan/plans.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

// Two rooms connected by a door, people on the left and the exit on the right.
FloorPlan two_rooms(double door)
{
    FloorPlan plan = empty_hall(10, 6);
    plan.walls.push_back({"wall", "wall", {{5, -1}, {5, 3 - door / 2}}, 0.2});
    plan.walls.push_back({"wall", "wall", {{5, 3 + door / 2}, {5, 7}}, 0.2});
    add_goal(plan, "exit", box_polygon({9, 2}, {10, 4}));
    PlanEntrance entrance;
    entrance.name = "door", entrance.where = "entrance 'door'", entrance.line = {{0, 2}, {0, 4}};
    plan.entrances.push_back(entrance);
    return plan;
}

PlannedGroup visitors()
{
    PlannedGroup group;
    group.name = "visitors", group.where = "scene.toml:9:1";
    group.starts = {{1, 1}, {2, 1}, {3, 1}};
    group.goals = {"exit"};
    return group;
}

std::string all(const std::vector<std::string>& messages)
{
    std::string text;
    for (const std::string& message : messages) text += message + "\n";
    return text;
}

PlanReport report(const FloorPlan& plan, const std::vector<PlannedGroup>& groups)
{
    return check_plan(plan, Navigator(plan, 0.25), groups);
}

TEST(PlanChecks, AGoodPlanHasNoMessages)
{
    PlannedGroup group = visitors();
    group.entrances = {"door"};
    const PlanReport good = report(two_rooms(1), {group});
    EXPECT_EQ(all(good.errors), "");
    EXPECT_EQ(all(good.warnings), "");
}

TEST(PlanChecks, UnreachableGoalsAreReportedWithTheWidestPassage)
{
    PlannedGroup group = visitors();
    group.entrances = {"door"};
    EXPECT_EQ(all(report(two_rooms(0.4), {group}).errors),
              "scene.toml:9:1: group 'visitors' cannot reach goal 'exit' from (1, 1): the widest path is 0.40 m wide, "
              "and an agent 0.5 m\n");
    EXPECT_TRUE(
        contains(all(report(two_rooms(-1), {group}).errors), "cannot reach goal 'exit' from (1, 1): there is no path"));
    group.starts.clear();
    EXPECT_TRUE(contains(all(report(two_rooms(0.4), {group}).errors), "from entrance 'door'"));
    group.starts = {{1, 1}}, group.targets = {{9, 5}};
    EXPECT_TRUE(contains(all(report(two_rooms(0.4), {group}).errors), "there is no path from (1, 1) to (9, 5)"));
}

TEST(PlanChecks, MissingNamesGetASuggestion)
{
    PlannedGroup group = visitors();
    group.goals = {"exi"}, group.entrances = {"doors"};
    const std::string errors = all(report(two_rooms(1), {group}).errors);
    EXPECT_TRUE(contains(errors, "has the goal 'exi', which does not exist; did you mean 'exit'?"));
    EXPECT_TRUE(contains(errors, "has the entrance 'doors', which does not exist; did you mean 'door'?"));
}

TEST(PlanChecks, ReportsStartsInWallsAndOverlaps)
{
    PlannedGroup group = visitors();
    group.starts = {{1, 1}, {5, 1}, {20, 1}, {0.1f, 3}, {1.1f, 1}};
    const PlanReport bad = report(two_rooms(1), {group});
    EXPECT_TRUE(contains(all(bad.errors),
                         "2 of 5 people of group 'visitors' start in a wall, in an obstacle or outside the "
                         "floor, the first at (5, 1)"));
    EXPECT_TRUE(contains(all(bad.errors), "1 pairs of people overlap at the start, the first at (1.1, 1)"));
    EXPECT_TRUE(contains(all(bad.warnings),
                         "1 of 5 people of group 'visitors' start closer to a wall than their radius, the "
                         "first at (0.1, 3)"));
}

TEST(PlanChecks, ReportsScenesWithoutPeople)
{
    EXPECT_TRUE(contains(all(report(two_rooms(1), {}).errors), "the scene has no people"));
    PlannedGroup group = visitors();
    group.starts.clear();
    EXPECT_TRUE(contains(all(report(two_rooms(1), {group}).errors), "no group has people at the start"));
    group.entrances = {"door"};
    EXPECT_EQ(all(report(two_rooms(1), {group}).errors), "");
    FloorPlan plan = two_rooms(1);
    plan.entrances[0].rate = 0;
    EXPECT_TRUE(contains(all(report(plan, {group}).errors), "no group has people at the start"));
}

TEST(PlanChecks, ReportsGoalsWithoutRoom)
{
    FloorPlan plan = two_rooms(1);
    plan.obstacles.push_back(obstacle(box_polygon({8, 1}, {10, 5})));
    EXPECT_TRUE(
        contains(all(report(plan, {visitors()}).errors), "goal 'exit' has no room for an agent of 0.5 m across"));
    add_goal(plan, "exit", box_polygon({6, 0}, {7, 1}));
    const PlanReport half = report(plan, {visitors()});
    EXPECT_EQ(all(half.errors), "");
    EXPECT_TRUE(contains(all(half.warnings), "goal 'exit': 1 of its 2 pieces have no room"));
}

TEST(PlanChecks, AStripAlongAWallIsAValidGoal)
{
    // Exits are often drawn thinner than an agent, on the outline of the floor.
    FloorPlan plan = empty_hall(10, 6);
    add_goal(plan, "exit", box_polygon({9.95, 2}, {10, 4}));
    const Navigator navigator(plan, 0.25);
    EXPECT_TRUE(navigator.arrived({9.745f, 3}, 0));
    EXPECT_FALSE(navigator.arrived({9.5f, 3}, 0));
    // A second door far from walls does not change that.
    add_goal(plan, "exit", box_polygon({5, 2}, {6, 3}));
    const Navigator both(plan, 0.25);
    EXPECT_TRUE(both.arrived({9.745f, 3}, 0));
    EXPECT_TRUE(both.arrived({5.5f, 2.5f}, 0));
    EXPECT_FALSE(both.arrived({4.9f, 2.5f}, 0));
    EXPECT_TRUE(navigator.reachable({1, 1}, 0));
}

} // namespace
} // namespace spindrift
