#include "cli/program.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// A dam break that emits droplets, an emitter, and an expression at each point of the step.
std::string spray_scene()
{
    return small_scene() + R"(
[spray]
max_radius = 0.02

[[spray.emitter]]
center = [0.5, 0.6, 0.3]
direction = [0, 1, 0]
spread = 30
rate = 2000
droplet_radius = 0.004

[spray.whitewater]
trapped_air = 2000
wave_crests = 2000
speed_low = 0.05
speed_high = 0.6
approach_low = 0.05
approach_high = 0.5
handover = true

[[spray.expression]]
at = "after_forces"
code = "vec3f@v.x += 0.2f * $dt;"

[[spray.expression]]
at = "after_advection"
code = "if (vec3f@P.y > 0.75f) deletepoint();"

[[spray.expression]]
code = "float@height = vec3f@P.y;"

[[liquid.expression]]
at = "after_advection"
code = "float@depth = -volume(\"surface\", vec3f@P); vec3f@seen = volumev(\"vel\", vec3f@P);"

[[liquid.expression]]
code = "int@odd = int@id % 2;"
)";
}

const std::vector<std::string> kRun = {"run", "spray.toml", "-o", "out"};

} // namespace

TEST(SprayStage, RunsWithALiquidAndExpressionsAtEveryStep)
{
    const Workplace place;
    place.write("spray.toml", spray_scene());
    place.succeed(kRun);
    const Particles droplets = read_particles(place / "out/spray/spray.0006.vdb").particles;
    ASSERT_GT(droplets.size(), 400u) << "from the emitter alone";
    const auto* height = droplets.find<float>("height");
    ASSERT_TRUE(height);
    for (size_t i = 0; i < droplets.size(); ++i) {
        EXPECT_NEAR((*height)[i], droplets.P[i].y(), 1e-3f);
        // Whitewater is emitted after the last step, so it may lie higher than the expression allows.
        EXPECT_LT(droplets.P[i].y(), 0.9f);
    }
    const auto* kind = droplets.find<int32_t>("kind");
    ASSERT_TRUE(kind);
    for (const int32_t k : {0, 1, 2}) EXPECT_GT(std::count(kind->begin(), kind->end(), k), 0) << "kind " << k;

    const Particles liquid = read_particles(place / "out/liquid/liquid.0006.vdb").particles;
    ASSERT_TRUE(liquid.find<float>("depth") && liquid.find<int32_t>("odd") && liquid.find<Vec3f>("seen"));
    double off = 0, deep = 0;
    for (size_t i = 0; i < liquid.size(); ++i) {
        EXPECT_EQ((*liquid.find<int32_t>("odd"))[i], liquid.id[i] % 2);
        off += ((*liquid.find<Vec3f>("seen"))[i] - liquid.v[i]).norm();
        deep += (*liquid.find<float>("depth"))[i] > 0;
    }
    EXPECT_LT(off / static_cast<double>(liquid.size()), 0.3) << "particles move with the velocity that they see";
    EXPECT_GT(deep / static_cast<double>(liquid.size()), 0.8);
}

TEST(SprayStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    place.write("spray.toml", spray_scene());
    place.succeed(kRun);
    const Files expected = results_in(place / "out");
    place.succeed({"run", "spray.toml", "-o", "one", "--threads", "1"});
    EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());

    expect_same_after_kills(place, kRun, "out", expected);
}

namespace {

// Water against a wall, with droplets that merge and break up; the arguments are added to the tables.
std::string handover_scene(const std::string& spray = "", const std::string& domain = "", const std::string& more = "")
{
    return R"([shot]
frames = "1-30"

[liquid]
voxel = 0.04

[[liquid.source]]
min = [0, 0, 0]
max = [0.4, 0.6, 0.4]

[liquid.domain]
min = [0, 0, 0]
max = [1, 1.2, 0.4]
)" + domain +
           "\n[surface]\n\n[spray]\ndrag = 0.01\nmax_radius = 0.05\n" + spray +
           "\n[spray.whitewater]\nhandover = true\nisolated_share = 0.2\n" + more;
}

// Volumes of a shot as fractions of the liquid's initial volume.
struct WaterBooks {
    // Visible liquid plus the droplets that came from it, relative to all of the liquid's particles.
    double least = kInfinity, most = -kInfinity;
    double drained = 0; // particles that left the liquid's frames while they were droplets
    size_t most_taken = 0, all = 0;
    int frame_of_most = 1;

    explicit WaterBooks(const Workplace& place)
    {
        const double particle = std::pow(0.02, 3);
        std::vector<int32_t> before;
        for (int frame = 1; frame <= 30; ++frame) {
            const auto read = [&](const std::string& file) {
                return read_particles(place / ("out/" + fmt::format(fmt::runtime(file), frame))).particles;
            };
            const Particles liquid = read("liquid/liquid.{:04}.vdb"), droplets = read("spray/spray.{:04}.vdb");
            std::vector<int32_t> taken = read("spray/spray.{:04}.taken.vdb").id, ids = liquid.id;
            std::ranges::sort(ids);
            if (frame == 1) all = liquid.size();
            for (const int32_t id : before) drained += std::ranges::binary_search(ids, id) ? 0 : particle;
            for (const int32_t id : taken) EXPECT_TRUE(std::ranges::binary_search(ids, id)) << frame;
            if (taken.size() > most_taken) most_taken = taken.size(), frame_of_most = frame;
            double more = -particle * static_cast<double>(taken.size());
            for (size_t i = 0; i < droplets.size(); ++i)
                if ((*droplets.find<float>("foam_left"))[i] < 0)
                    more += 4 * kPi / 3 * std::pow(static_cast<double>((*droplets.find<float>("radius"))[i]), 3);
            least = std::min(least, more), most = std::max(most, more);
            before = std::move(taken);
        }
        const double whole = particle * static_cast<double>(all);
        least /= whole, most /= whole, drained /= whole;
        std::printf("liquid and droplets: volume off by %.1e to %.1e of the whole, %.1e drained, up to %zu of %zu "
                    "particles are droplets\n",
                    least, most, drained, most_taken, all);
    }
};

void expect_exact_volume(const std::string& scene)
{
    const Workplace place;
    place.write("spray.toml", scene);
    // In two parts; the second resumes from the first.
    for (const char* frames : {"1-14", "1-30"})
        for (const char* stage : {"liquid", "spray"})
            place.succeed({stage, "spray.toml", "-o", "out", "--frames", frames});
    const WaterBooks books(place);
    EXPECT_GT(books.most_taken, 20u);
    EXPECT_GT(books.least, -1e-6);
    EXPECT_LT(books.most, 1e-6);
}

} // namespace

TEST(SprayStage, HandoverConservesVolume)
{
    const Workplace place;
    place.write("spray.toml", handover_scene());
    place.succeed({"liquid", "spray.toml", "-o", "out"});
    place.succeed({"spray", "spray.toml", "-o", "out"});
    const WaterBooks books(place);
    EXPECT_GT(books.most_taken, 20u);
    EXPECT_GT(books.least, -1e-6);
    EXPECT_LT(books.most, 1e-6);

    // The surface must not show them a second time.
    const std::string frame = std::to_string(books.frame_of_most);
    const auto read = [&](const std::string& file) {
        return read_particles(place / ("out/" + fmt::format(fmt::runtime(file), books.frame_of_most))).particles;
    };
    const Particles taken = read("spray/spray.{:04}.taken.vdb"), liquid = read("liquid/liquid.{:04}.vdb");
    std::vector<Vec3f> lone; // particles far from the visible liquid
    for (const Vec3f& x : taken.P) {
        const auto beside = [&](size_t i) {
            return (liquid.P[i] - x).norm() < 0.06f && std::ranges::count(taken.id, liquid.id[i]) == 0;
        };
        bool any = false;
        for (size_t i = 0; i < liquid.size(); ++i) any |= beside(i);
        if (!any) lone.push_back(x);
    }
    EXPECT_GE(lone.size(), 3u);
    const auto shown = [&](const std::string& folder, const std::vector<std::string>& settings) {
        std::vector<std::string> command = {"run", "spray.toml", "-o", folder, "--frames", frame};
        for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
        place.succeed(command);
        const Mesh mesh = read_mesh(place / fmt::format("{}/surface/surface.{:04}.ply", folder, books.frame_of_most));
        return std::ranges::count_if(lone, [&](const Vec3f& x) {
            return std::ranges::any_of(mesh.positions,
                                       [&](const Vec3f& vertex) { return (vertex - x).norm() < 0.02f; });
        });
    };
    EXPECT_EQ(shown("out", {}), 0);
    EXPECT_EQ(shown("plain", {"spray.whitewater.handover=false", "spray.whitewater.wave_crests=1"}),
              static_cast<long>(lone.size()));
}

TEST(SprayStage, HandoverConservesVolumeAtTheSmallestRadius)
{
    expect_exact_volume(handover_scene("min_radius = 0.0085\n"));
}

// Foam that never was liquid beside droplets that were; no droplet mixes the two.
TEST(SprayStage, HandoverConservesVolumeWithFoam)
{
    expect_exact_volume(handover_scene("collisions = false\n", "",
                                       "trapped_air = 500\nwave_crests = 500\nspeed_low = 0.3\nspeed_high = 2\n"
                                       "approach_low = 0.2\napproach_high = 2\nlife_low = 0.1\n"));
}

// Particles that leave the liquid while they fly as droplets: the droplets fly on and disappear after landing.
TEST(SprayStage, DropletsOutliveTheirParticles)
{
    for (const bool sink : {true, false}) {
        const Workplace place;
        place.write("spray.toml",
                    handover_scene("", sink ? "" : "x_max = \"open\"\n",
                                   sink ? "\n[[liquid.sink]]\nmin = [0.55, 0.6, 0]\nmax = [1, 1.2, 0.4]\n" : "") +
                        (sink ? "" : "\n[[liquid.collider]]\nmin = [0.6, 0, 0]\nmax = [0.7, 0.1, 0.4]\n"));
        for (const char* stage : {"liquid", "spray"}) place.succeed({stage, "spray.toml", "-o", "out"});
        const WaterBooks books(place);
        EXPECT_GT(books.drained, 0);
        EXPECT_GT(books.least, -1e-6) << "no water is lost";
        EXPECT_LT(books.most, books.drained + 1e-6) << "and none is made";
    }
}

TEST(SprayStage, RunsAgainWithoutSimulatingTheLiquid)
{
    const Workplace place;
    place.write("spray.toml", spray_scene());
    place.succeed({"liquid", "spray.toml", "-o", "out"});
    const Files liquid = times_in(place / "out/liquid");
    place.succeed({"spray", "spray.toml", "-o", "out"});
    place.succeed({"spray", "spray.toml", "-o", "out", "--set", "spray.whitewater.trapped_air=10"});
    EXPECT_EQ(differences(liquid, times_in(place / "out/liquid")), std::vector<std::string>());
}

TEST(SprayStage, IsComputedAgainWhenAWallOfTheLiquidMoves)
{
    const Workplace place;
    std::string scene = small_scene() + "[spray]\n[[spray.emitter]]\ncenter = [0.5, 0.6, 0.3]\ndirection = [1, 0, 0]\n"
                                        "speed = 8\nrate = 2000\n";
    place.write("spray.toml", scene);
    const std::vector<std::string> spray = {"spray", "spray.toml", "-o", "out"};
    const auto farthest = [&] {
        float most = 0;
        for (const Vec3f& x : read_particles(place / "out/spray/spray.0006.vdb").particles.P)
            most = std::max(most, x.x());
        return most;
    };
    place.succeed(spray);
    EXPECT_LT(farthest(), 1.001f);
    const std::string narrow = "max = [1, 0.8, 0.6]";
    scene.replace(scene.find(narrow), narrow.size(), "max = [1.3, 0.8, 0.6]");
    place.write("spray.toml", scene);
    place.succeed(spray);
    EXPECT_GT(farthest(), 1.1f);
}

TEST(SprayStage, IsDrawnInASceneOfItsOwn)
{
    const Workplace place;
    place.write("alone.toml", R"([shot]
frames = "1-2"
[[spray.emitter]]
rate = 100
[render]
width = 32
height = 18
samples = 1
)");
    place.succeed({"run", "alone.toml", "-o", "out"});
    EXPECT_TRUE(place.has("out/render/render.0002.png"));
}

// A ball in the middle of the picture, and an emitter outside it.
TEST(SprayStage, ItsCollidersAreDrawn)
{
    const Workplace place;
    const std::string scene = R"([shot]
frames = "1"
[[spray.emitter]]
center = [0, 50, 0]
rate = 100
[[smoke.source]]
shape = "sphere"
center = [0, 60, 0]
radius = 0.2
[smoke]
voxel = 0.1
[render]
width = 33
height = 33
samples = 4
floor = false
format = "exr"
camera = { position = [0, 1, 4], target = [0, 1, 0] }
)";
    const auto picture = [&](const std::string& ball, const std::string& show) {
        place.write("ball.toml", scene + "show = \"" + show + "\"\n" + ball);
        place.succeed({"run", "ball.toml", "-o", "out/" + show});
        return read_image(place / ("out/" + show + "/render/render.0001.exr"));
    };
    const auto ball = [](const std::string& of, float x = 0) {
        return fmt::format("[[{}.collider]]\nshape = \"sphere\"\ncenter = [{}, 1, 0]\nradius = 0.5\n", of, x);
    };
    for (const std::string show : {"spray", "smoke"}) {
        const Image without = picture("", show), with = picture(ball("spray"), show);
        EXPECT_GT((with.at(16, 16) - without.at(16, 16)).norm(), 0.05f);
        EXPECT_LT((with.at(1, 1) - without.at(1, 1)).norm(), 0.01f);
        EXPECT_TRUE(with.pixels == picture(ball("smoke"), show).pixels) << "as colliders of others are";
        const Image aside = picture(ball("spray", 0.9f), show);
        EXPECT_FALSE(aside.pixels == with.pixels) << "drawn again, also where spray is not: " << show;
    }
}

// A wind of 5 m/s to the right, in a volume that an expression has made.
TEST(SprayStage, IsMovedByTheWindOfAFile)
{
    const Workplace place;
    place.write("wind.toml", small_scene() +
                                 "[[surface.expression]]\non = \"volumes\"\ncode = \"vec3f@vel = {5.0f, 0.0f, "
                                 "0.0f};\"\n");
    place.succeed({"run", "wind.toml", "-o", "wind", "--frames", "1-1", "--set", "surface.sdf=true"});
    place.write("spray.toml", R"([shot]
frames = "1-6"

[spray]
gravity = [0, 0, 0]
drag = 0.01
wind_file = "wind/surface/surface.####.vdb"

[[spray.emitter]]
center = [0.2, 0.48, 0.3]
speed = 0
rate = 2400
droplet_radius = 0.001
)");
    place.succeed({"spray", "spray.toml", "-o", "out"});
    const Particles droplets = read_particles(place / "out/spray/spray.0006.vdb").particles;
    ASSERT_GT(droplets.size(), 400u);
    float fastest = 0;
    for (const Vec3f& v : droplets.v) fastest = std::max(fastest, v.x());
    EXPECT_LE(fastest, 5.001f);
    EXPECT_GT(fastest, 1);
}

TEST(SurfaceStage, RunsExpressionsOnParticlesAndVolumes)
{
    const Workplace place;
    place.write("small.toml", small_scene() + R"(
[[surface.expression]]
code = "if (vec3f@P.y > 0.2f) deletepoint();"

[[surface.expression]]
on = "volumes"
code = "float@surface += 0.01f;"
)");
    place.succeed({"run", "small.toml", "-o", "out", "--frames", "1-1", "--set", "surface.sdf=true"});
    const FieldFile sdf = read_field(place / "out/surface/surface.0001.vdb", "surface");
    const FieldFile reference = [&] {
        place.write("plain.toml",
                    small_scene() + "[[surface.expression]]\ncode = \"if (vec3f@P.y > 0.2f) deletepoint();\"\n");
        place.succeed({"run", "plain.toml", "-o", "plain", "--frames", "1-1", "--set", "surface.sdf=true"});
        return read_field(place / "plain/surface/surface.0001.vdb", "surface");
    }();
    const Vec3f above(0.1f, 0.4f, 0.3f), near(0.1f, 0.21f, 0.3f);
    const auto at = [](const FieldFile& f, const Vec3f& x) {
        const Vec3f cell = (x - f.origin) / f.voxel;
        return f.field.at({floor_int(cell.x() + 0.5f), floor_int(cell.y() + 0.5f), floor_int(cell.z() + 0.5f)});
    };
    EXPECT_EQ(at(reference, above), reference.field.background()) << "deleted there";
    EXPECT_NEAR(at(sdf, near), at(reference, near) + 0.01f, 1e-5f);
    const RunResult refused = place.run({"run", "small.toml", "-o", "no"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("surface.sdf = true"), std::string::npos) << refused.err;
}

TEST(SprayStage, InvalidScenesAreReportedBeforeTheRun)
{
    const auto refused = [](const std::string& scene, const std::vector<std::string>& said) {
        const Workplace place;
        place.write("spray.toml", scene);
        const RunResult result = place.run(kRun);
        EXPECT_EQ(result.code, 2) << result.err;
        for (const std::string& text : said) EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
        EXPECT_FALSE(file_exists(place / "out/spray/spray.0001.vdb"));
    };
    refused("[spray]\n", {"spray.toml:1", "the spray has no source", "[[spray.emitter]]"});
    refused("[spray.whitewater]\ntrapped_air = 10\n", {"needs a liquid"});
    refused(small_scene() + "[spray.whitewater]\nhandover = true\n", {"spray.toml:", "0.0155 m", "spray.max_radius"});
    const std::string emitter = "[spray]\n[[spray.emitter]]\nrate = 10\n";
    refused(emitter + "[[spray.expression]]\ncode = \"float@a = nothing(1);\"\n", {"spray.expression[0]", "nothing"});
    refused(emitter + "[[spray.expression]]\ncode = \"@v += \"\n", {"spray.toml:5", "spray.expression[0]", "^"});
    refused(emitter + "[[spray.expression]]\nfile = \"missing.ax\"\n", {"spray.toml:5", "missing.ax"});
    refused(emitter + "[[spray.expression]]\n", {"code or file"});
    refused(emitter + "[[spray.expression]]\ncode = \"float@a = float@pressure;\"\n", {"pressure", "radius"});
    refused(emitter + "[[spray.expression]]\ncode = \"float@a = volume(\\\"smoke\\\", v@P);\"\n", {"smoke"});
    refused("[spray]\nwind_file = \"no.####.vdb\"\n[[spray.emitter]]\nrate = 10\n", {"spray.toml:2", "no.####.vdb"});
}

} // namespace spindrift
