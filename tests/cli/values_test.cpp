// Extreme values that a scene allows: each run ends with frames of finite numbers or with one message, without a hang,
// excessive memory or a signal.
#include "cli/program.h"
#include "cli/value_scenes.h"
#include "spindrift/io/point_file.h"
#include "spindrift/io/vdb.h"

#include <algorithm>

namespace spindrift {

namespace {

// A tiny shot takes a fraction of a second and 100 MB.
constexpr int kSeconds = 40;
constexpr double kBytes = 3e9;

RunResult run_with_limits(const Workplace& place, const std::vector<std::string>& arguments)
{
    std::vector<std::string> command = {"prlimit", fmt::format("--data={:.0f}", kBytes),
                                        fmt::format("--cpu={}", kSeconds)};
    for (const std::string& word : program_command(arguments)) command.push_back(word);
    Child child(command, place.path());
    if (!child.ends_within(3 * kSeconds)) return {-SIGALRM, "", "still running\n"};
    return child.wait();
}

// Empty if the run ended as it should, otherwise a description of the failure.
std::string complaint(const RunResult& outcome)
{
    if (outcome.code == 0) return outcome.err.empty() ? "" : "said: " + outcome.err;
    const bool one_line = std::ranges::count(outcome.err, '\n') == 1 && outcome.err.starts_with("spindrift: ");
    if ((outcome.code == 1 || outcome.code == 2) && one_line) return "";
    return fmt::format("ended with {}: {}", outcome.code, outcome.err.substr(0, 300));
}

// Values in the number's range to try, as text for a scene.
std::vector<std::string> extremes_of(const DeclaredNumber& number)
{
    const Range& r = number.range;
    std::vector<double> values = {r.low, r.high};
    if (r.low == 0) values.push_back(number.integer ? 1 : 1e-6 * std::min(r.high, 1.0));
    if (r.low > 0 && r.high / r.low > 1e3) values.push_back(std::sqrt(r.low * r.high));
    if (r.low < 0 && r.high > 0) values.push_back(0);
    if (r.high >= 1e5) values.push_back(1e-2 * r.high);
    std::vector<std::string> texts;
    for (double value : values) {
        if (number.integer) value = std::round(value);
        const std::string one = number.integer ? fmt::format("{:.0f}", value) : fmt::format("{:.9g}", value);
        if (number.columns > 0) {
            std::string row = "[";
            for (int c = 0; c < number.columns; ++c) row += fmt::format("{}{:.9g}", c ? ", " : "", c == 0 ? 1 : value);
            texts.push_back("[" + row + "]]");
        } else
            texts.push_back(number.components == 1 ? one : fmt::format("[{}, {}, {}]", one, one, one));
    }
    return texts;
}

// Work grows without limit with these numbers, depending on other parameters. Try them only up to this value.
double most_tried(const std::string& path)
{
    if (path == "render.samples") return 256;
    if (path == "render.width" || path == "render.height") return 512;
    if (path == "spray.substeps") return 50;
    if (path == "shaped_smoke.markers") return 1e7;
    if (path == "shaped_smoke.controls" || path == "shaped_smoke.attraction.swaps") return 1e6;
    if (path == "texture.start_steps" || path == "texture.steps") return 1000;
    if (path == "crowd.max_iterations" || path == "crowd.separation_iterations") return 100;
    return 1e300;
}

// Speeds and accelerations near their limits move a tiny shot by hundreds of cells a frame: it goes on, but needs more
// time than others get. Frames of a hundredth of that length must still end.
bool needs_shorter_frames(const DeclaredNumber& number, const RunResult& outcome)
{
    const bool moves = number.unit == unit::metres_per_second || number.unit == unit::metres_per_second2;
    return moves && (outcome.code == -SIGKILL || outcome.code == -SIGALRM);
}

// Tries the extremes of all numbers of a stage, or of one of its tables, in one of its scenes. SPINDRIFT_SWEEP=2/5
// takes the second of every five.
void sweep(const std::string& stage, const std::string& table, const std::string& scene)
{
    const char* chosen = std::getenv("SPINDRIFT_SWEEP");
    if (!chosen) GTEST_SKIP() << "takes minutes; make sweep runs it";
    size_t part = 0, parts = 1, count = 0;
    std::sscanf(chosen, "%zu/%zu", &part, &parts);
    const Workplace place;
    place.write("tiny.toml", value_scenes().at(scene));
    ASSERT_EQ(complaint(run_with_limits(place, {"run", "tiny.toml", "-o", "out"})), "");
    const std::vector<DeclaredNumber> numbers = declared_numbers().at(stage); // must outlive the loop
    for (DeclaredNumber number : numbers) {
        if (!number.path.starts_with(table + ".")) continue;
        number.range.high = std::min(number.range.high, most_tried(number.path));
        for (const std::string& value : extremes_of(number)) {
            if (count++ % parts != part % parts) continue;
            const std::string set = number.path + "=" + value;
            place.remove("out");
            const auto start = std::chrono::steady_clock::now();
            RunResult outcome = run_with_limits(place, {"run", "tiny.toml", "-o", "out", "--set", set});
            if (needs_shorter_frames(number, outcome)) {
                fmt::print("{} needs more than {} s\n", set, kSeconds);
                outcome =
                    run_with_limits(place, {"run", "tiny.toml", "-o", "short", "--set", set, "--set", "shot.fps=2400"});
                place.remove("short");
            }
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            EXPECT_EQ(complaint(outcome), "") << "--set '" << set << "'";
            if (std::getenv("SPINDRIFT_SWEEP_LOG"))
                fmt::print("{:6.2f} s  {:3}  {}  {}\n", seconds, outcome.code, set, outcome.err.substr(0, 200));
        }
    }
}

void sweep(const std::string& stage, const std::string& scene) { sweep(stage, stage, scene); }
void sweep(const std::string& stage) { sweep(stage, stage); }

TEST(ValuesSweep, Shot) { sweep("shot"); }
TEST(ValuesSweep, Liquid) { sweep("liquid"); }
TEST(ValuesSweep, TrackedLiquid) { sweep("liquid", "liquid.tracked", "tracked liquid"); }
TEST(ValuesSweep, Spray) { sweep("spray"); }
TEST(ValuesSweep, Smoke) { sweep("smoke"); }
TEST(ValuesSweep, ShapedSmoke) { sweep("shaped_smoke"); }
TEST(ValuesSweep, Track) { sweep("track"); }
TEST(ValuesSweep, Texture) { sweep("texture"); }
TEST(ValuesSweep, TextureOfAVideo) { sweep("texture", "texture_history"); }
TEST(ValuesSweep, TextureByAParameter) { sweep("texture", "texture_guided"); }
TEST(ValuesSweep, Ripples) { sweep("ripples"); }
TEST(ValuesSweep, Surface) { sweep("surface"); }
TEST(ValuesSweep, Sand) { sweep("sand"); }
TEST(ValuesSweep, Grains) { sweep("grains"); }
TEST(ValuesSweep, Crowd) { sweep("crowd"); }
TEST(ValuesSweep, Render) { sweep("render"); }

TEST(Values, EveryNumberHasFiniteBounds)
{
    size_t count = 0;
    for (const auto& [table, numbers] : declared_numbers())
        for (const DeclaredNumber& number : numbers) {
            EXPECT_TRUE(std::isfinite(number.range.low) && std::isfinite(number.range.high)) << number.path;
            EXPECT_LT(number.range.low, number.range.high) << number.path;
            ++count;
        }
    EXPECT_GT(count, 300u);
}

// Values that once caused NaN, a signal, a hang or gigabytes of memory.
TEST(Values, ThatOnceBrokeTheProgramEndCleanly)
{
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"smoke", "smoke.voxel=1e30"},
        {"smoke", "smoke.voxel=1e4"},
        {"smoke", "smoke.confinement=1e38"},
        {"smoke", "smoke.confinement=1000"},
        {"smoke", "smoke.force[0].size=1e-15"},
        {"smoke", "smoke.force[0].size=1e-7"},
        {"smoke", "smoke.source[0].temperature=1e38"},
        {"smoke", "smoke.source[0].temperature=1e5"},
        {"smoke", "smoke.weight=1e6"},
        {"smoke", "smoke.weight=-100"},
        {"smoke", "smoke.source[0].radius=1e30"},
        {"smoke", "smoke.source[0].radius=1e6"},
        {"liquid", "liquid.heat.diffusivity=1e38"},
        {"liquid", "liquid.heat.diffusivity=1000"},
        {"liquid", "liquid.source[0].temperature=1e38"},
        {"liquid", "liquid.source[0].temperature=1e5"},
        {"liquid", "liquid.collider[0].center=[1e20, 0, 0]"},
        {"liquid", "liquid.collider[0].center=[1e6, 0, 0]"},
        {"liquid", "liquid.body[0].min=[-1e20, 0, 0]"},
        {"liquid", "liquid.source[0].max=[1e30, 1e30, 1e30]"},
        {"render", "render.camera.position=[1e20, 1e20, 1e20]"},
        {"render", "render.camera.position=[1e6, 1e6, 1e6]"},
        {"crowd", "crowd.cell=1e30"},
        {"crowd", "crowd.cell=1000"},
        {"crowd", "crowd.cell=0.01"},
        {"crowd", "shot.fps=1e-6"},
        {"crowd", "shot.fps=0.01"},
        {"crowd", "crowd.group[0].box=[[-1e30, -1e30], [1e30, 1e30]]"},
        {"crowd", "crowd.group[0].box=[[-1e6, -1e6], [1e6, 1e6]]"},
        {"crowd", "crowd.boundary[0].box=[[-1e6, -1e6], [1e6, 1e6]]"},
        {"surface", "surface.spacing=1e-6"},
        {"surface", "surface.voxel=1e-6"},
        {"surface", "surface.filter.erode=1e6"},
        {"surface", "surface.filter.dilate=1e6"},
        {"spray", "spray.emitter[0].rate=1e9"},
    };
    const Workplace place;
    for (const auto& [stage, scene] : value_scenes()) place.write(stage + ".toml", scene);
    for (const auto& [stage, set] : cases) {
        place.remove("out");
        const RunResult outcome = run_with_limits(place, {"run", stage + ".toml", "-o", "out", "--set", set});
        EXPECT_EQ(complaint(outcome), "") << stage << ": --set '" << set << "'";
        if (std::getenv("SPINDRIFT_SWEEP_LOG")) fmt::print("{:3}  {}  {}\n", outcome.code, set, outcome.err);
    }
}

// Unusual but valid scenes: they must work.
class UnusualScenes : public ::testing::Test {
  protected:
    void expect_works(const std::string& scene) const
    {
        place.remove("out");
        place.write("scene.toml", "[shot]\nframes = \"1-3\"\n" + scene);
        const RunResult outcome = run_with_limits(place, {"run", "scene.toml", "-o", "out"});
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
    }
    static std::string box(const std::string& stage, double voxel)
    {
        const double e = 10 * voxel;
        return fmt::format("[{0}]\nvoxel = {1}\n[{0}.domain]\nmin = [0, 0, 0]\nmax = [{2}, {2}, {2}]\n"
                           "[[{0}.source]]\nmin = [0, 0, 0]\nmax = [{3}, {3}, {2}]\n",
                           stage, voxel, e, 0.5 * e);
    }
    // Small spheres at different positions in a box of 1 m.
    static std::string spheres(const std::string& table, int count)
    {
        std::string text;
        for (int i = 0; i < count; ++i)
            text += fmt::format("[[{}]]\nshape = \"sphere\"\ncenter = [{}, {}, {}]\nradius = 0.02\n", table,
                                0.05 + 0.09 * (i % 10), 0.05 + 0.09 * (i / 10 % 10), 0.05 + 0.009 * (i / 100 % 100));
        return text;
    }
    Workplace place;
};

TEST_F(UnusualScenes, SandWithoutGravity)
{
    for (const char* model : {"grains", "fluid"})
        expect_works(fmt::format("[sand]\nmodel = \"{}\"\ngravity = [0, 0, 0]\nvoxel = 0.1\n[sand.domain]\n"
                                 "min = [0, 0, 0]\nmax = [1, 1, 1]\n[[sand.source]]\nshape = \"sphere\"\n"
                                 "center = [0.5, 0.5, 0.5]\nradius = 0.3\nvelocity = [1, 0.5, 0]\n",
                                 model));
}

// Half-spaces and the outside of a shape have no centre.
TEST_F(UnusualScenes, FlowsFromShapesWithoutBounds)
{
    for (const char* stage : {"liquid", "sand"})
        for (const char* shape : {"invert = true", "shape = \"half_space\"\npoint = [0, 0.3, 0]"})
            expect_works(fmt::format("[{0}]\nvoxel = 0.1\n[{0}.domain]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\n"
                                     "[[{0}.source]]\nmode = \"flow\"\nmax = [1, 0.8, 1]\n{1}\n",
                                     stage, shape));
}

TEST_F(UnusualScenes, VoxelsOfTenMicrometres)
{
    expect_works(box("liquid", 1e-5) + "[surface]\nsdf = true\n");
    expect_works(box("sand", 1e-5));
    expect_works("fps = 1000\n[smoke]\nvoxel = 1e-5\n[[smoke.source]]\nshape = \"sphere\"\nradius = 5e-5\n"
                 "temperature = 50\n[smoke.turbulence]\non = true\n");
}

TEST_F(UnusualScenes, AThousandCollidersAndSources)
{
    expect_works(box("liquid", 0.1) + spheres("liquid.collider", 1000));
    expect_works(box("sand", 0.1) + spheres("sand.collider", 1000));
    expect_works("[smoke]\nvoxel = 0.1\n" + spheres("smoke.source", 1) + spheres("smoke.collider", 1000));
    expect_works(box("liquid", 0.1) + spheres("liquid.source", 3000));
    expect_works("[smoke]\nvoxel = 0.1\n" + spheres("smoke.source", 3000));
}

TEST_F(UnusualScenes, ABodyOfNearlyNoMassOnAHinge)
{
    for (const char* stage : {"liquid", "sand"})
        for (const double edge : {0.02, 0.001})
            expect_works(box(stage, 0.1) +
                         fmt::format("[[{0}.body]]\nmin = [0.4, 0.6, 0.4]\nmax = [{1}, {2}, {1}]\ndensity = 0.001\n"
                                     "hinge.anchor = [0.45, 0.6, 0.4]\nhinge.torque = 100\n",
                                     stage, 0.4 + edge, 0.6 + edge));
}

} // namespace

} // namespace spindrift
