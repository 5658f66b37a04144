#include "cli/program.h"
#include "mesh/test_meshes.h"
#include "spindrift/engine/graph.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"
#include "spindrift/mesh/faults.h"
#include "spindrift/stages/all_stages.h"
#include "track/flows.h"

#include <gtest/gtest.h>
#include <sstream>

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
directions = ["along"]
[[track.expression]]
at = "after_advection"
code = "if (vec3f@along == {0, 0, 0}) vec3f@along = {3, 4, 5};"
[[track.expression]]
at = "after_advection"
code = "float@age += 1.0f;"
[[track.expression]]
code = "float@height = vec3f@P.y; vec3f@P.y += 0.1f;"
)");

// Both ways at once, around a ball that moves, a plate and a floating crate.
const std::string kAroundSolids = splash("surface = \"tracked\"\n", R"([[liquid.collider]]
shape = "sphere"
center = [0.6, 0.3, 0.4]
radius = 0.12
translate = [[1, 0, 0, 0], [6, -0.1, -0.1, 0]]
[[liquid.collider]]
min = [0.3, 0.1, 0.1]
max = [0.305, 0.6, 0.3]
[[liquid.body]]
min = [0.2, 0.22, 0.5]
max = [0.4, 0.38, 0.7]
density = 500
[track]
voxel = 0.05
)");

// Velocities of a uniform flow, as another program would write them: everywhere, or only where `covered` says.
void write_velocities(const std::string& path, const Vec3f& velocity,
                      const std::function<bool(const Vec3f&)>& covered = {})
{
    constexpr float kEdge = 0.1f;
    const Topology topology = Topology::covering({-16, -16, -16}, {16, 16, 16});
    Field<Vec3f> field(topology, velocity, Vec3f::Zero());
    for (int tile = 0; covered && tile < topology.tile_count(); ++tile)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = topology.first_cell(tile) + cell_in_tile(c);
            if (!covered(kEdge * (cell.cast<float>() + Vec3f::Constant(0.5f)))) field.tile(tile)[c] = Vec3f::Zero();
        }
    write_fields(path, {}, kEdge, {}, {{"vel", &field}});
}

float speed_along_x(const Mesh& mesh)
{
    double sum = 0;
    for (const Vec3f& v : mesh.velocities) sum += static_cast<double>(v.x());
    return static_cast<float>(sum / static_cast<double>(mesh.velocities.size()));
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
    const auto& along = std::get<std::vector<Vec3f>>(mesh.attributes.at("along"));
    int red = 0, green = 0, mapped = 0;
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        EXPECT_NEAR(height[i] + 0.1f, mesh.positions[i].y(), 0.05f); // at walls the surface is clipped afterwards
        EXPECT_GE(age[i], 0);
        EXPECT_LE(age[i], 6.001f);
        EXPECT_NEAR(along[i].norm(), 1, 1e-5f);
        EXPECT_NEAR(along[i].dot(mesh.normals[i]), 0, 1e-3f);
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

// A reader that shares nothing with ours: it prints the mean place of the vertices in the frame before, by the map.
TEST(TrackStage, AnotherReaderFollowsTheMap)
{
    const Workplace place;
    place.write("splash.toml", kTracked);
    place.succeed({"run", "splash.toml", "-o", "out"});
    place.write("follow.py", R"(import struct, sys
types = {"float": "f", "int": "i", "uchar": "B", "uint": "I"}
def read(path):
    head, body = open(path, "rb").read().split(b"end_header\n", 1)
    elements, at, tables = [], 0, {}
    for words in map(str.split, head.decode().splitlines()):
        if words[0] == "format": assert words[1] == "binary_little_endian"
        if words[0] == "element": elements.append((words[1], int(words[2]), []))
        if words[0] == "property": elements[-1][2].append(words[1:])
    def number(kind):
        nonlocal at
        value, = struct.unpack_from("<" + types[kind], body, at)
        at += struct.calcsize(types[kind])
        return value
    for name, count, properties in elements:
        tables[name] = [{p[-1]: [number(p[2]) for _ in range(number(p[1]))] if p[0] == "list" else number(p[0])
                         for p in properties} for _ in range(count)]
    assert at == len(body)
    return tables["vertex"], tables["face"]
before, faces = read(sys.argv[1])
mapped = []
for v in read(sys.argv[2])[0]:
    if v["origin_triangle"] < 0: continue
    corners, = faces[v["origin_triangle"]].values()
    weights = [v["origin_weights_" + a] for a in "xyz"]
    assert abs(sum(weights) - 1) < 1e-5 and min(weights) >= 0, weights
    assert all(0 <= v["color_" + a] <= 1.001 for a in "xyz")
    mapped.append([sum(w * before[c][a] for w, c in zip(weights, corners)) for a in "xyz"])
print(len(mapped), *(sum(x[a] for x in mapped) / len(mapped) for a in range(3)))
)");
    const RunResult result =
        Child({"python3", "follow.py", "out/track/track.0005.ply", "out/track/track.0006.ply"}, place.path()).wait();
    ASSERT_EQ(result.code, 0) << result.err;
    const Mesh before = read_mesh(place / "out/track/track.0005.ply"),
               mesh = read_mesh(place / "out/track/track.0006.ply");
    const auto& triangle = std::get<std::vector<int32_t>>(mesh.attributes.at("origin_triangle"));
    const auto& weights = std::get<std::vector<Vec3f>>(mesh.attributes.at("origin_weights"));
    Vec3d mean = Vec3d::Zero();
    size_t count = 0;
    for (size_t i = 0; i < triangle.size(); ++i)
        if (triangle[i] >= 0)
            mean += blended(before.positions, before, {triangle[i], weights[i]}).cast<double>(), ++count;
    mean /= static_cast<double>(count);
    std::istringstream printed(result.out);
    size_t found = 0;
    Vec3d where;
    printed >> found >> where.x() >> where.y() >> where.z();
    EXPECT_EQ(found, count);
    EXPECT_LT((where - mean).norm(), 1e-6);
}

TEST(TrackStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    for (const std::string& scene : {kTracked, splash("surface = \"tracked\"\n", ""), kAroundSolids}) {
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

TEST(TrackStage, SolidsCutBothSurfaces)
{
    const Workplace place;
    place.write("solids.toml", kAroundSolids);
    place.succeed({"run", "solids.toml", "-o", "out"});
    for (const char* file : {"out/liquid/liquid.0006.surface.ply", "out/track/track.0006.ply"}) {
        const Mesh mesh = read_mesh(place / file);
        EXPECT_TRUE(is_closed(mesh)) << file;
        const Box3f plate{Vec3f(0.3f, 0.1f, 0.1f), Vec3f(0.305f, 0.6f, 0.3f)};
        float nearest = kInfinity;
        for (const Vec3f& x : mesh.positions) {
            const float d = (x - Vec3f(0.5f, 0.2f, 0.4f)).norm() - 0.12f; // from the ball
            EXPECT_GT(d, -1e-3f) << file;
            nearest = std::min(nearest, std::abs(d));
            EXPECT_FALSE(plate.grown(-1e-3f).contains(x)) << file;
        }
        EXPECT_LT(nearest, 1e-3f) << file << ": it touches the ball";
    }
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

// Half a file a frame: frames 1 to 5 need the files 1 to 3.
TEST(TrackStage, FollowsFilesOfHalfTheFrameRate)
{
    const Workplace place;
    place.write("carried.toml", kCarried);
    write_mesh(place / "ball.ply", sphere_mesh({0, 0, 0}, 0.3f, 4));
    for (int frame = 1; frame <= 3; ++frame)
        write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {1.2f * static_cast<float>(frame), 0, 0});
    const std::vector<std::string> run = {"track", "carried.toml", "-o", "out", "--set", "track.input_fps=12"};
    place.succeed(run);
    // Over the shot the velocity rises from 1.2 to 3.6 m/s; over the last frame it is 3.3 m/s in the mean.
    const Mesh mesh = read_mesh(place / "out/track/track.0005.ply");
    EXPECT_NEAR(bounds_of(mesh).center().x(), 2.4f * 4 / 24, 0.005f);
    EXPECT_NEAR(speed_along_x(mesh), 3.3f, 0.02f);
    place.remove("vel.0003.vdb"), place.remove("out");
    const RunResult result = place.run(run);
    EXPECT_NE(result.code, 0);
    EXPECT_TRUE(contains(result.err, "vel.0003.vdb is missing")) << result.err;
}

TEST(TrackStage, WarnsOfFilesThatGoOnAfterTheShot)
{
    const Workplace place;
    place.write("carried.toml", kCarried);
    write_mesh(place / "ball.ply", sphere_mesh({0, 0, 0}, 0.3f, 2));
    for (int frame = 1; frame <= 10; ++frame) write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {1, 0, 0});
    const RunResult result = place.run({"check", "carried.toml"});
    EXPECT_EQ(result.code, 0);
    EXPECT_TRUE(contains(result.out + result.err, "vel.0010.vdb, after the shot's last frame 5")) << result.out;
    EXPECT_TRUE(contains(result.out + result.err, "set track.input_fps")) << result.out;
}

TEST(TrackStage, FollowsVelocitiesThatCoverOnlyTheirLiquid)
{
    const Workplace place;
    place.write("carried.toml", kCarried);
    write_mesh(place / "ball.ply", sphere_mesh({0, 0, 0}, 0.3f, 4));
    for (int frame = 1; frame <= 5; ++frame) {
        const Vec3f center(0.1f * static_cast<float>(frame - 1), 0, 0);
        write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {2.4f, 0, 0},
                         [&](const Vec3f& x) { return (x - center).norm() < 0.3f; });
    }
    place.succeed({"track", "carried.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / "out/track/track.0005.ply");
    EXPECT_LT((bounds_of(mesh).center() - Vec3f(0.4f, 0, 0)).norm(), 0.005f) << bounds_of(mesh).center();
    EXPECT_LT((bounds_of(mesh).size() - Vec3f::Constant(0.6f)).norm(), 0.01f) << bounds_of(mesh).size();
}

TEST(TrackStage, StartsWithTheAttributesOfTheUsersMesh)
{
    const Workplace place;
    place.write("carried.toml", kCarried);
    Mesh ball = sphere_mesh({0, 0, 0}, 0.3f, 6);
    ball.attributes["uv"] = ball.positions;
    std::vector<Vec3f> color;
    for (const Vec3f& x : ball.positions) color.push_back(x.y() > 0 ? Vec3f(1, 0, 0) : Vec3f(0, 0, 1));
    ball.attributes["color"] = color;
    write_mesh(place / "ball.ply", ball);
    for (int frame = 1; frame <= 5; ++frame)
        write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {2.4f, 0, 0});
    for (const bool reference : {false, true}) {
        place.remove("out");
        place.succeed({"track", "carried.toml", "-o", "out", "--set", fmt::format("track.reference={}", reference)});
        for (const int frame : {1, 5}) {
            const Mesh mesh = read_mesh(place / fmt::format("out/track/track.{:04}.ply", frame));
            const auto& uv = std::get<std::vector<Vec3f>>(mesh.attributes.at("uv"));
            const auto& now = std::get<std::vector<Vec3f>>(mesh.attributes.at("color"));
            const Vec3f moved(0.1f * static_cast<float>(frame - 1), 0, 0);
            for (size_t i = 0; i < uv.size(); ++i) {
                const Vec3f x = mesh.positions[i] - moved;
                EXPECT_LT((uv[i] - x).norm(), 0.01f) << frame;
                EXPECT_TRUE(std::abs(x.y()) < (reference ? 0.08f : 0.15f) || now[i][x.y() > 0 ? 0 : 2] > 0.99f)
                    << frame;
            }
        }
    }
}

TEST(TrackStage, LiquidsSurfaceHasExpressionsAndVelocitiesFromTheFirstFrameOn)
{
    const Workplace place;
    place.write("own.toml", splash("surface = \"tracked\"\n", R"([[liquid.surface_expression]]
at = "after_advection"
code = "float@age += 1.0f;"
[[liquid.surface_expression]]
code = "vec3f@Cd = { vec3f@P.y, 0, 0 };"
)"));
    place.succeed({"run", "own.toml", "-o", "out"});
    const Mesh first = read_mesh(place / "out/liquid/liquid.0001.surface.ply"),
               mesh = read_mesh(place / "out/liquid/liquid.0006.surface.ply");
    int falling = 0;
    for (size_t i = 0; i < first.positions.size(); ++i) {
        const float ball = (first.positions[i] - Vec3f(0.4f, 0.45f, 0.4f)).norm();
        if (ball < 0.17f && first.positions[i].y() > 0.4f) {
            EXPECT_LT((first.velocities[i] - Vec3f(0, -2, 0)).norm(), 0.1f);
            ++falling;
        }
        if (first.positions[i].y() < 0.15f) {
            EXPECT_LT(first.velocities[i].norm(), 0.1f);
        }
    }
    EXPECT_GT(falling, 50);
    const auto& age = std::get<std::vector<float>>(mesh.attributes.at("age"));
    EXPECT_NEAR(*std::ranges::max_element(age), 6, 1e-3f);
    const auto& shown = std::get<std::vector<Vec3f>>(mesh.attributes.at("Cd"));
    for (size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i].x(), mesh.positions[i].y());
    const RunResult none = place.run({"check", "own.toml", "--set", "liquid.surface=particles"});
    EXPECT_NE(none.code, 0);
    EXPECT_TRUE(contains(none.err, "there is no tracked surface; set liquid.surface = \"tracked\"")) << none.err;
}

TEST(TrackStage, SurfacesThatAreMuchTooFineAreRefused)
{
    const Workplace place;
    place.write("own.toml", splash("surface = \"tracked\"\ntracked.voxel = 1e-4\n", ""));
    const RunResult result = place.run({"check", "own.toml"});
    EXPECT_NE(result.code, 0);
    EXPECT_TRUE(contains(result.err, "raise liquid.tracked.voxel")) << result.err;
}

TEST(TrackStage, RehearsalsCoarsenTheLiquidsSurfaceToo)
{
    const Workplace place;
    place.write("own.toml", splash("surface = \"tracked\"\ntracked.voxel = 0.25\n", ""));
    const SceneFile scene(place / "own.toml");
    const ShotGraph graph(scene, all_stages());
    const std::vector<std::string> coarser = graph.nodes().front().stage->coarser(4);
    EXPECT_NE(std::ranges::find(coarser, "liquid.tracked.voxel=1"), coarser.end()) << fmt::format("{}", coarser.back());
}

TEST(TrackStage, FollowsShapedSmokeAndCanBeRendered)
{
    const Workplace place;
    place.write("smoke.toml", R"([shot]
frames = "1-6"
[shaped_smoke]
voxel = 0.1
markers = 20000
controls = 1000
[shaped_smoke.vortices]
count = 0
[[shaped_smoke.source]]
shape = "sphere"
radius = 0.6
[[shaped_smoke.target]]
shape = "sphere"
center = [1, 0, 0]
radius = 0.6
[[shaped_smoke.expression]]
at = "after_forces"
code = "vec3f@v.x = 1.0f;"
[track]
[[track.source]]
shape = "sphere"
radius = 0.3
color = [1, 0, 0]
[render]
width = 48
height = 48
samples = 2
show = "track"
[[render.layer]]
of = "track"
look = "paint"
)");
    place.succeed({"run", "smoke.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / "out/track/track.0006.ply");
    EXPECT_GT(bounds_of(mesh).center().x(), 0.02f);
    const Image picture = read_image(place / "out/render/render.0006.png");
    int red = 0;
    for (int y = 0; y < picture.height; ++y)
        for (int x = 0; x < picture.width; ++x) {
            const Vec3f c = picture.at(x, y);
            red += c.x() > 2 * c.y() && c.x() > 0.05f;
        }
    EXPECT_GT(red, 50) << "the ball is in the picture";
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
    for (int frame = 6; frame <= 17; ++frame) write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {1, 0, 0});
    write_velocities(place / "vel.0003.vdb", {1e5f, 0, 0}); // the third of the five files of a frame
    EXPECT_TRUE(contains(message("track.input_fps=96"), "velocities of up to 1e+05 m/s")) << message();
    write_velocities(place / "vel.0003.vdb", {1, 0, 0});
    const std::string whole = place.read("vel.0004.vdb");
    place.write("vel.0004.vdb", whole.substr(0, whole.size() / 2));
    EXPECT_TRUE(contains(message(), "vel.0004.vdb")) << message();
    place.write("vel.0004.vdb", whole);
    EXPECT_TRUE(contains(message("track.source[0].shape=half_space"), "infinite"));
    EXPECT_TRUE(contains(message("track.source[0].file=none.ply"), "none.ply"));
    Mesh open = sphere_mesh({0, 0, 0}, 0.3f, 2);
    open.triangles.pop_back();
    write_mesh(place / "ball.ply", open);
    EXPECT_TRUE(contains(message(), "ball.ply")) << message();
    EXPECT_TRUE(contains(message(), "that no other triangle has")) << message();
    write_mesh(place / "ball.ply", Mesh());
    EXPECT_TRUE(contains(message(), "ball.ply has no triangles"));
    // Two boxes that share an edge, as one mesh.
    write_mesh(place / "ball.ply", with_joined_vertices(joined(box_mesh({0, 0, 0}, {0.3f, 0.3f, 0.3f}),
                                                               box_mesh({0.3f, 0.3f, 0}, {0.6f, 0.6f, 0.3f}))));
    EXPECT_TRUE(contains(message(), "ball.ply")) << message();
    EXPECT_TRUE(contains(message(), "that 4 triangles have")) << message();
    Mesh turned = sphere_mesh({0, 0, 0}, 0.3f, 2);
    std::swap(turned.triangles[7][0], turned.triangles[7][1]);
    write_mesh(place / "ball.ply", turned);
    EXPECT_TRUE(contains(message(), "triangle 7 has in the same direction")) << message();
}

TEST(TrackStage, FollowsSmokeAtHalfItsVoxel)
{
    const Workplace place;
    place.write("smoke.toml", R"([shot]
frames = "1-4"
[smoke]
voxel = 0.1
buoyancy = 0
[[smoke.source]]
shape = "sphere"
radius = 0.6
velocity = [1, 0, 0]
[track]
[[track.source]]
shape = "sphere"
radius = 0.3
)");
    place.succeed({"run", "smoke.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / "out/track/track.0004.ply");
    EXPECT_NEAR(bounds_of(mesh).center().x(), 3.0f / 24, 0.02f);
    // A sphere crosses 1.5 edges of cells per face of a cell of its area, and has two triangles for each vertex.
    const double expected = 3 * 4 * kPi * 6 * 6; // radius of 6 cells of 5 cm
    EXPECT_NEAR(static_cast<double>(mesh.triangles.size()), expected, 0.1 * expected);
    const RunResult rate = place.run({"check", "smoke.toml", "--set", "track.input_fps=12"});
    EXPECT_NE(rate.code, 0);
    EXPECT_TRUE(contains(rate.err, "remove track.input_fps")) << rate.err;
    const RunResult still = place.run({"check", "smoke.toml", "--set", "smoke.write_velocity=false"});
    EXPECT_NE(still.code, 0);
    EXPECT_TRUE(contains(still.err, "smoke writes no velocities; set smoke.write_velocity")) << still.err;
}

TEST(TrackStage, WarnsOfASurfaceThatNothingMoves)
{
    const Workplace place;
    place.write("carried.toml", kCarried);
    write_mesh(place / "ball.ply", sphere_mesh({4, 0, 0}, 0.3f, 2)); // the velocities end at 1.6 m
    for (int frame = 1; frame <= 5; ++frame) write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {1, 0, 0});
    const RunResult result = place.run({"track", "carried.toml", "-o", "out"});
    EXPECT_EQ(result.code, 0);
    EXPECT_TRUE(contains(result.out + result.err, "no velocity of the first file reaches the surface")) << result.err;
}

TEST(TrackStage, OddMeshesAreUsedWithAWarning)
{
    const Workplace place;
    place.write("carried.toml", kCarried);
    for (int frame = 1; frame <= 5; ++frame) write_velocities(place / fmt::format("vel.{:04}.vdb", frame), {0, 0, 0});
    const auto carried = [&](const Mesh& mesh, const std::string& warning) {
        write_mesh(place / "ball.ply", mesh);
        place.remove("out");
        const RunResult result = place.succeed({"track", "carried.toml", "-o", "out"});
        EXPECT_TRUE(contains(result.err + result.out, "ball.ply " + warning)) << result.err << result.out;
        const Mesh tracked = read_mesh(place / "out/track/track.0003.ply");
        EXPECT_TRUE(is_closed(tracked));
        return volume_of(tracked);
    };
    const Mesh ball = sphere_mesh({0, 0, 0}, 0.3f, 4);
    const double volume = 4 * kPi / 3 * 0.027;
    EXPECT_NEAR(carried(inside_out(ball), "is inside out"), volume, 0.03 * volume);
    Mesh flat = ball;
    flat.triangles.emplace_back(5, 5, 6);
    EXPECT_NEAR(carried(flat, "has 1 triangle without area, the first is 2048"), volume, 0.03 * volume);
    // Two balls whose centres are one radius apart cover 27/16 of the volume of one.
    const Mesh two = joined(ball, sphere_mesh({0.3f, 0, 0}, 0.3f, 4));
    EXPECT_NEAR(carried(two, "passes through itself"), 27.0 / 16 * volume, 0.03 * volume);
}

} // namespace spindrift
