#include "io/vdb.h"
#include "pipeline/program.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// A dam break that throws off droplets, an emitter, and an expression at each moment.
std::string spray_scene()
{
    return small_scene() + R"(
[spray]
collisions = true

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

TEST(SprayStage, RunsBesideALiquidWithExpressionsAtEveryMoment)
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
        // Whitewater comes after the last step, and may lie higher than the expression allows.
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

    place.remove("out");
    int kills = 0;
    for (int run = 0;; ++run) {
        Child child(program_command(kRun), place.path());
        std::this_thread::sleep_for(std::chrono::milliseconds(150 + 60 * run));
        if (child.is_running()) child.send(SIGKILL);
        const RunResult result = child.wait();
        if (result.code == -SIGKILL && ++kills) continue;
        ASSERT_EQ(result.code, 0) << result.err;
        break;
    }
    EXPECT_GT(kills, 1);
    EXPECT_EQ(differences(expected, results_in(place / "out")), std::vector<std::string>());
}

TEST(SprayStage, IsRunAgainWithoutTheLiquid)
{
    const Workplace place;
    place.write("spray.toml", spray_scene());
    place.succeed({"sim", "spray.toml", "-o", "out"});
    const Files liquid = times_in(place / "out/liquid");
    place.succeed({"spray", "spray.toml", "-o", "out"});
    place.succeed({"spray", "spray.toml", "-o", "out", "--set", "spray.whitewater.trapped_air=10"});
    EXPECT_EQ(differences(liquid, times_in(place / "out/liquid")), std::vector<std::string>());
}

TEST(SprayStage, SaysWhatIsWrongBeforeAnythingIsComputed)
{
    const auto refused = [](const std::string& scene, const std::vector<std::string>& said) {
        const Workplace place;
        place.write("spray.toml", scene);
        const RunResult result = place.run(kRun);
        EXPECT_EQ(result.code, 2) << result.err;
        for (const std::string& text : said) EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
        EXPECT_FALSE(file_exists(place / "out/spray/spray.0001.vdb"));
    };
    refused("[spray]\n", {"spray.toml:1", "nothing makes spray", "[[spray.emitter]]"});
    refused("[spray.whitewater]\ntrapped_air = 10\n", {"needs a liquid"});
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
