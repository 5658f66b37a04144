#include "cli/program.h"
#include "spindrift/io/vdb.h"

#include <gtest/gtest.h>
#include <sstream>

namespace spindrift {

namespace {

// A room with a pillar and a wall with a door of 2 m; a group that starts on the left, one that enters there, one that
// follows a path and one that uses individual avoidance.
std::string crowd_scene(int count, int frames)
{
    return fmt::format(R"([shot]
frames = "1-{}"
fps = 10

[crowd]
radius = 0.2
cell = 1
maps = "exr"

[[crowd.boundary]]
box = [[0, 0], [24, 12]]

[[crowd.wall]]
points = [[14, 0], [14, 5]]

[[crowd.wall]]
points = [[14, 7], [14, 12]]

[[crowd.obstacle]]
name = "pillar"
circles = [[11, 6, 0.6]]

[[crowd.goal]]
name = "exit"
box = [[22, 4], [24, 8]]

[[crowd.goal]]
name = "bar"
box = [[16, 9], [18, 11]]

[[crowd.entrance]]
name = "door"
box = [[0, 0], [1, 3]]
rate = 2

[[crowd.line]]
name = "door"
points = [[14, 7], [14, 5]]

[[crowd.area]]
name = "left"
box = [[0, 0], [14, 12]]

[[crowd.group]]
name = "guests"
count = {}
box = [[1, 1], [9, 11]]
visit = [{{ goal = "bar" }}, {{ goal = "exit", from = 3 }}]

[[crowd.group]]
name = "late"
entrance = "door"
visit = [{{ goal = "exit" }}]

[[crowd.group]]
name = "waiter"
driver = "scripted"
path = [[0, 20, 2], [4, 15, 2], [8, 20, 2]]

[[crowd.group]]
name = "careful"
count = 5
box = [[15, 1], [17, 4]]
driver = "avoiding"
visit = [{{ goal = "exit" }}]
)",
                       frames, count);
}

const std::vector<std::string> kRun = {"crowd", "crowd.toml", "-o", "out"};

// The lines of a CSV file without the header.
std::vector<std::string> rows_of(const std::string& csv)
{
    std::vector<std::string> rows;
    std::istringstream lines(csv.substr(csv.find('\n') + 1));
    for (std::string line; std::getline(lines, line);) rows.push_back(line);
    return rows;
}

} // namespace

TEST(CrowdStage, EveryoneReachesTheExitWithoutCrossingWalls)
{
    const Workplace place;
    place.write("crowd.toml", crowd_scene(60, 500));
    place.succeed(kRun);
    size_t careful = 0;
    for (const int frame : {1, 50, 100, 200, 350, 500}) {
        const Particles people = read_particles(place / fmt::format("out/crowd/crowd.{:04}.vdb", frame)).particles;
        const auto& group = *people.find<int32_t>("group");
        ASSERT_TRUE(people.find<int32_t>("goal") && people.find<float>("heading") && people.find<float>("density"));
        for (size_t i = 0; i < people.size(); ++i) {
            const Vec2f x(people.P[i].x(), -people.P[i].z());
            EXPECT_EQ(people.P[i].y(), 0);
            careful += frame == 1 && group[i] == 3;
            if (group[i] == 2) continue; // follows its path through anything
            EXPECT_TRUE(x.x() > 0.199f && x.x() < 23.801f && x.y() > 0.199f && x.y() < 11.801f) << x.transpose();
            EXPECT_GT((x - Vec2f(11, 6)).norm(), 0.799f);
            for (const auto& [low, high] : {std::pair(0.0f, 5.0f), {7.0f, 12.0f}}) { // walls are 0.2 m thick
                const Vec2f nearest(std::clamp(x.x(), 13.9f, 14.1f), std::clamp(x.y(), low, high));
                EXPECT_GT((x - nearest).norm(), 0.199f) << x.transpose();
            }
        }
    }
    EXPECT_EQ(careful, 5u);
    // Everyone who started on the left has crossed the line in the door.
    const std::string table = place.read("out/crowd/counts.csv");
    EXPECT_EQ(table.substr(0, table.find('\n')),
              "frame,seconds,people,left,in left,density in left [1/m2],over door,back over door");
    const std::string last = table.substr(table.rfind('\n', table.size() - 2) + 1);
    double frame = 0, seconds = 0, people = 0, left = 0, in_left = 0, density = 0, over = 0;
    ASSERT_EQ(std::sscanf(last.c_str(), "%lf,%lf,%lf,%lf,%lf,%lf,%lf", &frame, &seconds, &people, &left, &in_left,
                          &density, &over),
              7);
    EXPECT_EQ(frame, 499);
    EXPECT_NEAR(density, in_left / (14 * 12), 1e-4);
    EXPECT_GT(over, 60);
    EXPECT_GT(left, 65);
    EXPECT_EQ(place.read("out/crowd/trajectories.txt").substr(0, 15), "# framerate: 10");
    EXPECT_TRUE(place.has("out/crowd/crowd.0001.map.exr"));
    for (const char* plot : {"people", "density", "flow"})
        EXPECT_TRUE(place.has(fmt::format("out/crowd/{}.svg", plot))) << plot;
    const std::string summary = place.read("out/crowd/summary.csv");
    EXPECT_NE(summary.find(fmt::format("\nover door,{:.0f},\n", over)), std::string::npos) << summary;
    // People keep entering: the evacuation time is an empty cell, and the number of people who have left is given.
    EXPECT_NE(summary.find("\neveryone has left after,,s\n"), std::string::npos) << summary;
    EXPECT_NE(summary.find("\nleft by the end of the shot,"), std::string::npos) << summary;
    for (const std::string& line : rows_of(summary)) {
        const std::string value = line.substr(line.find(',') + 1, line.rfind(',') - line.find(',') - 1);
        EXPECT_EQ(value.find_first_not_of("0123456789.e+-"), std::string::npos) << line;
    }
}

TEST(CrowdStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    place.write("crowd.toml", crowd_scene(300, 250));
    place.succeed(kRun);
    const Files expected = results_in(place / "out");
    place.succeed({"crowd", "crowd.toml", "-o", "one", "--threads", "1"});
    EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());
    expect_same_after_kills(place, kRun, "out", expected);
}

TEST(CrowdStage, InvalidScenesAreReportedBeforeTheRun)
{
    const Workplace place;
    const auto rejected = [&](const std::string& scene, const std::string& message) {
        place.write("crowd.toml", scene);
        const RunResult result = place.run({"check", "crowd.toml"});
        EXPECT_EQ(result.code, 2) << message;
        EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    };
    const auto with = [](std::string from, const std::string& to) {
        std::string scene = crowd_scene(60, 5);
        scene.replace(scene.find(from), from.size(), to);
        return scene;
    };
    rejected(crowd_scene(5000, 5), "of 5000 people of radius 0.2 m fit into the shapes of the group");
    rejected(with("goal = \"bar\"", "goal = \"baar\""), "did you mean 'bar'");
    rejected(with("[14, 7], [14, 12]]", "[14, 5], [14, 12]]"), "bar");
    rejected(with("entrance = \"door\"", "entrance = \"gate\""), "there is no entrance 'gate'");
    rejected(with("cell = 1\n", "cell = 0.1\n"), "cells");
    rejected("[crowd]\n", "the crowd has no people");
}

// A plan with repairable errors is repaired, and `check` reports the repairs.
TEST(CrowdStage, CheckReportsRepairsOfThePlan)
{
    const Workplace place;
    const auto told = [&](const std::string& extra, const std::string& message) {
        place.write("crowd.toml", crowd_scene(60, 5) + extra);
        const RunResult result = place.run({"check", "crowd.toml"});
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_NE(result.out.find(message), std::string::npos) << result.out << result.err;
    };
    told("[[crowd.obstacle]]\nname = \"bow tie\"\npolygon = [[16, 5], [18, 7], [18, 5], [16, 7]]\n", "bow tie");
    told("[[crowd.obstacle]]\nname = \"far\"\nbox = [[50, 5], [52, 7]]\n", "far");
}

// The number of people who walk in circles and who enter through busy doors matches the scene.
TEST(CrowdStage, RoundsAndRatesAreCounted)
{
    const Workplace place;
    place.write("crowd.toml", R"([shot]
frames = "1-300"
fps = 2
[crowd]
cell = 1
rate = 3
trajectories = false
maps = "png"
[[crowd.boundary]]
box = [[0, 0], [20, 6]]
[[crowd.entrance]]
name = "door"
box = [[0, 0], [2, 6]]
rate = 0.5
end = 20
[[crowd.goal]]
name = "right"
boxes = [[18, 0, 20, 3], [18, 3, 20, 6]]
[[crowd.goal]]
name = "left"
box = [[0, 0], [2, 6]]
[[crowd.line]]
name = "middle"
points = [[10, 6], [10, 0]]
[[crowd.group]]
entrance = "door"
visit = [{ goal = "right" }, { goal = "left" }]
rounds = 2
)");
    place.succeed(kRun);
    const std::string summary = place.read("out/crowd/summary.csv");
    EXPECT_NE(summary.find("people,30,"), std::string::npos) << summary; // 3 x 0.5 per second for 20 s
    EXPECT_EQ(summary.find(",,"), std::string::npos) << summary;
    EXPECT_NE(summary.find("\nback over middle,60,"), std::string::npos) << "twice each: " << summary;
    EXPECT_NE(summary.find("\nover middle,60,"), std::string::npos) << summary;
    const std::string table = place.read("out/crowd/counts.csv");
    EXPECT_FALSE(place.has("out/crowd/trajectories.txt"));
    EXPECT_TRUE(place.has("out/crowd/crowd.0001.map.png"));
}

TEST(CrowdStage, IsDrawn)
{
    const Workplace place;
    place.write("crowd.toml", crowd_scene(60, 2) + "[render]\nwidth = 64\nheight = 48\nsamples = 1\n");
    place.succeed({"run", "crowd.toml", "-o", "out"});
    EXPECT_TRUE(place.has("out/render/render.0002.png"));
}

} // namespace spindrift
