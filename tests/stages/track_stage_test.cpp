#include "cli/program.h"
#include "mesh/test_meshes.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"
#include "track/flows.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// A ball falls into a pool: tracked over the liquid's frames, and as the liquid's own surface.
std::string splash(const std::string& surface, const std::string& track)
{
    return R"([shot]
frames = "1-6"
[liquid]
voxel = 0.08
)" + surface +
           R"([liquid.domain]
min = [0, 0, 0]
max = [0.8, 0.8, 0.8]
[[liquid.source]]
max = [0.8, 0.2, 0.8]
color = [0, 0, 1]
[[liquid.source]]
shape = "sphere"
center = [0.4, 0.45, 0.4]
radius = 0.15
velocity = [0, -2, 0]
color = [1, 0, 0]
[[liquid.source]]
shape = "sphere"
mode = "flow"
center = [0.1, 0.5, 0.1]
radius = 0.08
velocity = [1, 0, 0]
color = [0, 1, 0]
)" + track;
}

const std::string kTracked = splash("", R"([track]
reference = true
[[track.expression]]
at = "after_advection"
code = "float@age += 1.0f;"
[[track.expression]]
code = "float@height = vec3f@P.y; vec3f@P.y += 0.1f;"
)");

// Velocities of a uniform flow, as another program would write them.
void write_velocities(const std::string& path, const Vec3f& velocity)
{
    const Topology topology = Topology::covering({-16, -16, -16}, {16, 16, 16});
    const Field<Vec3f> field(topology, velocity, Vec3f::Zero());
    write_fields(path, {}, 0.1f, {}, {{"vel", &field}});
}

constexpr const char* kCarried = R"([shot]
frames = "1-5"
[track]
input = "vel.####.vdb"
voxel = 0.05
[[track.source]]
shape = "mesh"
file = "ball.ply"
)";

} // namespace

TEST(TrackStage, FollowsALiquidAndRunsExpressions)
{
    const Workplace place;
    place.write("splash.toml", kTracked);
    place.succeed({"run", "splash.toml", "-o", "out"});
    const Mesh before = read_mesh(place / "out/track/track.0005.ply"),
               mesh = read_mesh(place / "out/track/track.0006.ply");
    EXPECT_TRUE(is_closed(mesh));
    ASSERT_EQ(mesh.velocities.size(), mesh.positions.size());
    const auto& height = std::get<std::vector<float>>(mesh.attributes.at("height"));
    const auto& age = std::get<std::vector<float>>(mesh.attributes.at("age"));
    const auto& color = std::get<std::vector<Vec3f>>(mesh.attributes.at("color"));
    const auto& triangle = std::get<std::vector<int32_t>>(mesh.attributes.at("origin_triangle"));
    const auto& weights = std::get<std::vector<Vec3f>>(mesh.attributes.at("origin_weights"));
    int red = 0, green = 0, mapped = 0;
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        EXPECT_NEAR(height[i] + 0.1f, mesh.positions[i].y(), 0.05f); // at walls the surface is clipped afterwards
        EXPECT_GE(age[i], 0);
        EXPECT_LE(age[i], 6.001f);
        red += color[i].x() > 0.9f, green += color[i].y() > 0.9f;
        if (triangle[i] < 0) continue;
        ++mapped;
        ASSERT_LT(triangle[i], static_cast<int>(before.triangles.size()));
        const Vec3i& corners = before.triangles[triangle[i]];
        Vec3f from = Vec3f::Zero();
        for (int k = 0; k < 3; ++k) from += weights[i][k] * before.positions[corners[k]];
        EXPECT_LT((from - mesh.positions[i]).norm(), 0.3f);
    }
    EXPECT_GT(red, 10);
    EXPECT_GT(green, 10);
    EXPECT_GT(mapped, static_cast<int>(mesh.positions.size()) / 2);
    EXPECT_TRUE(mesh.attributes.contains("reference"));
}

TEST(TrackStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    for (const std::string& scene : {kTracked, splash("surface = \"tracked\"\n", "")}) {
        place.write("splash.toml", scene);
        place.remove("out"), place.remove("one");
        const std::vector<std::string> run = {"run", "splash.toml", "-o", "out"};
        place.succeed(run);
        const Files expected = results_in(place / "out");
        place.succeed({"run", "splash.toml", "-o", "one", "--threads", "1"});
        EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());
        expect_same_after_kills(place, run, "out", expected);
    }
}

TEST(TrackStage, ALiquidCanTrackItsOwnSurface)
{
    const Workplace place;
    place.write("own.toml", splash("surface = \"tracked\"\n", "[render]\nwidth = 64\nheight = 48\nsamples = 1\n"));
    place.succeed({"run", "own.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / "out/liquid/liquid.0006.surface.ply");
    EXPECT_TRUE(is_closed(mesh));
    const double ball = 4 * kPi / 3 * std::pow(0.15, 3);
    EXPECT_GT(volume_of(mesh), 0.97 * (0.128 + ball)); // and what flows in
    EXPECT_LT(volume_of(mesh), 1.2 * (0.128 + ball));
    EXPECT_TRUE(mesh.attributes.contains("color"));
    EXPECT_EQ(bounds_of(mesh).min, Vec3f(0, 0, 0));
    EXPECT_TRUE(std::filesystem::exists(place / "out/render/render.0006.png"));
}

TEST(TrackStage, FollowsVelocitiesOfAnotherProgram)
{
    const Workplace place;
    place.write("carried.toml", kCarried);
    write_mesh(place / "ball.ply", sphere_mesh({0, 0, 0}, 0.3f, 4));
    for (int frame = 1; frame <= 5; ++frame)
        write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {2.4f, 0, 0});
    place.succeed({"track", "carried.toml", "-o", "out"});
    Mesh mesh = read_mesh(place / "out/track/track.0005.ply");
    EXPECT_TRUE((bounds_of(mesh).center() - Vec3f(0.4f, 0, 0)).norm() < 0.005f) << bounds_of(mesh).center();
    EXPECT_NEAR(volume_of(mesh), 4 * kPi / 3 * 0.027, 0.02 * 0.113);
    // At twice the frame rate of the shot, the files of a frame cover half its time.
    for (int frame = 6; frame <= 9; ++frame)
        write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {2.4f, 0, 0});
    place.succeed({"track", "carried.toml", "-o", "fast", "--set", "track.input_fps=48"});
    mesh = read_mesh(place / "fast/track/track.0005.ply");
    EXPECT_NEAR(bounds_of(mesh).center().x(), 0.4f, 0.005f);
}

TEST(TrackStage, BadInputIsOneMessage)
{
    const Workplace place;
    place.write("carried.toml", kCarried);
    const auto message = [&](const std::string& set = {}) {
        std::vector<std::string> command = {"track", "carried.toml", "-o", "out"};
        if (!set.empty()) command.insert(command.end(), {"--set", set});
        const RunResult result = place.run(command);
        EXPECT_NE(result.code, 0);
        return result.err;
    };
    write_mesh(place / "ball.ply", sphere_mesh({0, 0, 0}, 0.3f, 2));
    EXPECT_TRUE(contains(message(), "vel.####.vdb"));
    for (int frame = 1; frame <= 4; ++frame) write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {1, 0, 0});
    EXPECT_TRUE(contains(message(), "vel.0005.vdb is missing")); // the velocities end before the shot
    write_velocities(place / "vel.0005.vdb", {1, 0, 0});
    EXPECT_TRUE(contains(message("track.grid=wind"), "wind"));
    EXPECT_TRUE(contains(message("track.source[0].shape=half_space"), "infinite"));
    EXPECT_TRUE(contains(message("track.source[0].file=none.ply"), "none.ply"));
    Mesh open = sphere_mesh({0, 0, 0}, 0.3f, 2);
    open.triangles.pop_back();
    write_mesh(place / "ball.ply", open);
    EXPECT_TRUE(contains(message(), "ball.ply")) << message();
    write_mesh(place / "ball.ply", Mesh());
    EXPECT_TRUE(contains(message(), "ball.ply"));
    // Inside out or overlapping meshes are what they look like.
    write_mesh(place / "ball.ply", inside_out(sphere_mesh({0, 0, 0}, 0.3f, 4)));
    place.succeed({"track", "carried.toml", "-o", "inverted"});
    EXPECT_NEAR(volume_of(read_mesh(place / "inverted/track/track.0003.ply")), 4 * kPi / 3 * 0.027, 0.03 * 0.113);
}

} // namespace spindrift
