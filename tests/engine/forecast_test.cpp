// Compares the forecasts of `check` with the memory and disk space that runs actually use.
#include "spindrift/engine/forecast.h"

#include "cli/program.h"

#include <fstream>
#include <regex>

namespace spindrift {

namespace {

constexpr double kTolerance = 0.3;

TEST(Forecast, ExtrapolatesPowersAndVolumesWithMargins)
{
    const auto power = [](double k) { return 5e4 / (k * k); };
    EXPECT_NEAR(extrapolated(power(4), power(8), 4, {1, 3}), power(1), 1e-6 * power(1));
    EXPECT_NEAR(extrapolated(power(4), power(8), 4, {3, 3}), 64 * power(4), 1e-6);
    const auto volume = [](double k) { return std::pow(64 / k + 12, 3); };
    EXPECT_NEAR(extrapolated_volume(volume(4), volume(8), 4), volume(1), 1e-6 * volume(1));
    EXPECT_EQ(extrapolated(0, 0, 4, {}), 0);
    EXPECT_EQ(extrapolated_volume(0, 0, 4), 0);
}

double bytes_of(const std::string& number, const std::string& unit)
{
    const std::map<std::string, double> units = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
    return std::stod(number) * units.at(unit);
}

struct Need {
    double memory = 0, disk = 0;
};

// The forecast of each stage.
std::map<std::string, Need> forecast_of(const Workplace& place)
{
    const std::string text = place.succeed({"check", "scene.toml"}).out;
    static const std::regex line(R"((\w+) +memory +([\d.]+) (\w+) +disk +([\d.]+) (\w+) .*)");
    std::map<std::string, Need> needs;
    std::istringstream lines(text);
    for (std::string l; std::getline(lines, l);)
        if (std::smatch found; std::regex_match(l, found, line))
            needs[found[1]] = {bytes_of(found[2], found[3]), bytes_of(found[4], found[5])};
    return needs;
}

// A value from a process's status, such as VmRSS [bytes]; 0 if the process has ended.
double status_of(pid_t process, const std::string& name)
{
    std::ifstream file(fmt::format("/proc/{}/status", process));
    for (std::string word; file >> word;)
        if (double kilobytes = 0; word == name + ":" && file >> kilobytes) return 1024 * kilobytes;
    return 0;
}

// Memory of the programs that a process has started, such as a video encoder [bytes]. Excludes forked copies of the
// process itself, which read files of other programs: these share its memory.
double memory_of_helpers(pid_t process)
{
    double bytes = 0;
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
    std::error_code ended;
    const auto program = [&](pid_t p) { return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", p), ended); };
    for (pid_t child = 0; children >> child;)
        if (program(child) != program(process)) bytes += status_of(child, "VmRSS");
    return bytes;
}

// Peak memory of a run including the programs that it starts [bytes].
double peak_memory(const Workplace& place, const std::vector<std::string>& arguments)
{
    std::vector<std::string> command = program_command(arguments);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        const int nothing = ::open("/dev/null", O_WRONLY);
        if (::chdir(place.path().c_str()) == 0 && ::dup2(nothing, STDOUT_FILENO) >= 0) ::execv(words[0], words.data());
        ::_exit(127);
    }
    int status = 0;
    double together = 0;
    rusage usage = {};
    while (::wait4(child, &status, WNOHANG, &usage) == 0) {
        if (const double helpers = memory_of_helpers(child); helpers > 0)
            together = std::max(together, status_of(child, "VmRSS") + helpers);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return std::max(1024.0 * static_cast<double>(usage.ru_maxrss), together);
}

double bytes_in(const std::string& folder)
{
    double bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
    return bytes;
}

// Runs these stages (command and folder name) one by one and compares memory, without that of the program itself, and
// disk space with the forecast.
void expect_forecast_matches(const std::string& scene, const std::vector<std::pair<std::string, std::string>>& stages)
{
    const Workplace place;
    place.write("scene.toml", scene);
    std::map<std::string, Need> forecast = forecast_of(place);
    const double program = peak_memory(place, {"describe", "shot"});
    for (const auto& [command, stage] : stages) {
        const double memory = peak_memory(place, {command, "scene.toml", "-o", "out"}) - program;
        const double disk = bytes_in(place / "out/" + stage);
        const Need need = {forecast[stage].memory - program, forecast[stage].disk};
        std::cout << fmt::format("{:<8} memory {:7.1f} MB, forecast {:7.1f} ({:+.0f} %)   disk {:7.2f} MB, forecast "
                                 "{:7.2f} ({:+.0f} %)\n",
                                 stage, 1e-6 * memory, 1e-6 * need.memory, 100 * (need.memory / memory - 1),
                                 1e-6 * disk, 1e-6 * need.disk, 100 * (need.disk / disk - 1));
        EXPECT_NEAR(need.memory, memory, kTolerance * memory) << stage;
        EXPECT_NEAR(need.disk, disk, kTolerance * disk) << stage;
    }
}

TEST(Forecast, MatchesALiquidWithSprayAndPictures)
{
    expect_forecast_matches(R"([shot]
frames = "1-4"
[liquid]
voxel = 0.03
[liquid.domain]
min = [0, 0, 0]
max = [2, 1, 0.8]
[[liquid.source]]
max = [0.8, 0.8, 0.8]
[spray.whitewater]
trapped_air = 400
wave_crests = 400
[[spray.emitter]]
rate = 400000
center = [1.5, 0.3, 0.4]
speed = 3
[surface]
[render]
width = 480
height = 270
samples = 4
)",
                            {{"liquid", "liquid"}, {"spray", "spray"}, {"surface", "surface"}, {"render", "render"}});
}

TEST(Forecast, MatchesRipples)
{
    expect_forecast_matches(R"([shot]
frames = "1-3"
[liquid]
voxel = 0.05
[liquid.domain]
min = [0, 0, 0]
max = [2, 1, 1]
[[liquid.source]]
max = [1, 0.5, 1]
[ripples]
refine = 4
)",
                            {{"liquid", "liquid"}, {"ripples", "ripples"}});
}

const char* const kSmoke = R"([shot]
frames = "1-24"
[smoke]
voxel = 0.03
[[smoke.source]]
shape = "sphere"
radius = 0.25
temperature = 80
velocity = [0, 1, 0]
)";

TEST(Forecast, MatchesSmoke) { expect_forecast_matches(kSmoke, {{"smoke", "smoke"}}); }

// Smoke moves 417 cells a frame, which takes minutes.
TEST(Forecast, DoesNotWaitForAFrameThatTakesLong)
{
    const Workplace place;
    place.write("fast.toml", R"([shot]
frames = "1-3"
[smoke]
voxel = 0.1
[[smoke.source]]
shape = "sphere"
radius = 0.3
velocity = [1000, 1000, 1000]
)");
    const RunResult result = place.succeed(
        {"rehearse", "fast.toml", "-o", "out", "--stage", "smoke", "--seconds", "0.5", "--frames", "1-3", "-j", "2"});
    EXPECT_TRUE(contains(result.out, "\nframe 1 disk ") && contains(result.out, " cut_short 1\n")) << result.out;
    EXPECT_FALSE(contains(result.out, "frame 2")) << result.out;
}

// An earlier version forecast 3.6 MB of memory and 9 MB of files for a run that took 1.8 GB and 616 MB.
TEST(Forecast, MatchesTurbulentSmoke)
{
    std::string scene = kSmoke;
    scene.replace(scene.find("0.03"), 4, "0.06");
    expect_forecast_matches(scene + "[smoke.turbulence]\non = true\n", {{"smoke", "smoke"}});
}

TEST(Forecast, MatchesShapedSmoke)
{
    expect_forecast_matches(R"([shot]
frames = "1-6"
[shaped_smoke]
voxel = 0.03
markers = 300000
controls = 6000
[shaped_smoke.vortices]
radius = 0.15
speed = 0.3
[[shaped_smoke.source]]
shape = "sphere"
center = [0, 0.5, 0]
radius = 0.4
[[shaped_smoke.target]]
shape = "capsule"
start = [-0.6, 0.5, 0]
end = [0.6, 0.5, 0]
radius = 0.2
)",
                            {{"shaped_smoke", "shaped_smoke"}});
}

const char* const kFallingBall = R"([shot]
frames = "1-6"
[liquid]
voxel = 0.04
[liquid.domain]
min = [0, 0, 0]
max = [1.6, 1.2, 0.8]
[[liquid.source]]
max = [1.6, 0.3, 0.8]
[[liquid.source]]
shape = "sphere"
center = [0.8, 0.6, 0.4]
radius = 0.18
velocity = [0, -3, 0]
)";

TEST(Forecast, MatchesALiquidThatTracksItsSurface)
{
    std::string scene = kFallingBall;
    scene.replace(scene.find("voxel = 0.04"), 12, "voxel = 0.04\nsurface = \"tracked\"");
    expect_forecast_matches(scene + "[liquid.tracked]\nvoxel = 0.013\n", {{"liquid", "liquid"}});
}

TEST(Forecast, MatchesATrackAndItsTexture)
{
    expect_forecast_matches(std::string(kFallingBall) + R"([track]
voxel = 0.016
[texture]
of = "track"
mode = "example"
size = 0.2
)",
                            {{"liquid", "liquid"}, {"track", "track"}, {"texture", "texture"}});
}

TEST(Forecast, MatchesATextureOfMeshesOfAnotherProgram)
{
    const Workplace place;
    place.write("other.toml", std::string(kFallingBall) + "[track]\nvoxel = 0.02\n");
    place.succeed({"run", "other.toml", "-o", "other"});
    expect_forecast_matches(fmt::format("[shot]\nframes = \"1-6\"\n[texture]\ninput = \"{}\"\nmode = \"react\"\n"
                                        "size = 0.2\nstart_steps = 100\n",
                                        place / "other/track/track.####.ply"),
                            {{"texture", "texture"}});
}

TEST(Forecast, MatchesFluidSand)
{
    expect_forecast_matches(R"([shot]
frames = "1-4"
[sand]
voxel = 0.02
model = "fluid"
[sand.domain]
min = [-0.6, 0, -0.6]
max = [0.6, 1, 0.6]
[[sand.source]]
shape = "sphere"
center = [0, 0.4, 0]
radius = 0.3
)",
                            {{"sand", "sand"}});
}

TEST(Forecast, MatchesSandAndItsGrains)
{
    expect_forecast_matches(R"([shot]
frames = "1-3"
[sand]
voxel = 0.02
[sand.domain]
min = [-0.6, 0, -0.6]
max = [0.6, 1, 0.6]
[[sand.source]]
shape = "sphere"
center = [0, 0.4, 0]
radius = 0.3
[grains]
each = 8
)",
                            {{"sand", "sand"}, {"grains", "grains"}});
}

TEST(Forecast, MatchesAViscousLiquidAndItsVolumes)
{
    expect_forecast_matches(R"([shot]
frames = "1-6"
[liquid]
voxel = 0.02
viscosity = 5
[liquid.domain]
min = [0, 0, 0]
max = [1, 1, 1]
[[liquid.source]]
min = [0.2, 0.3, 0.2]
max = [0.8, 0.9, 0.8]
color = [0.9, 0.6, 0.1]
[surface]
mode = "averaged"
sdf = true
attributes = "color"
[render]
width = 480
height = 270
samples = 4
format = "exr"
)",
                            {{"liquid", "liquid"}, {"surface", "surface"}, {"render", "render"}});
}

// Half of the sand enters in the second half of the shot.
TEST(Forecast, MatchesSandThatFlowsIn)
{
    expect_forecast_matches(R"([shot]
frames = "1-16"
[sand]
voxel = 0.03
[sand.domain]
min = [-0.6, 0, -0.6]
max = [0.6, 1.2, 0.6]
[[sand.source]]
min = [-0.2, 0.9, -0.2]
max = [0.2, 1.0, 0.2]
mode = "flow"
velocity = [0, -1.5, 0]
[render]
width = 320
height = 180
samples = 4
)",
                            {{"sand", "sand"}, {"grains", "grains"}, {"render", "render"}});
}

TEST(Forecast, MatchesSmokeWithCustomScalars)
{
    expect_forecast_matches(R"([shot]
frames = "1-8"
[smoke]
voxel = 0.04
half = true
sparse = false
[smoke.domain]
min = [-1, 0, -1]
max = [1, 2, 1]
[[smoke.scalar]]
name = "fuel"
[[smoke.scalar]]
name = "soot"
[[smoke.source]]
shape = "sphere"
center = [0, 0.4, 0]
radius = 0.3
temperature = 80
color = [1, 0.3, 0.1]
[[smoke.source.scalar]]
name = "fuel"
value = 2
[render]
width = 160
height = 120
samples = 4
)",
                            {{"smoke", "smoke"}, {"render", "render"}});
}

TEST(Forecast, MatchesSprayAndItsMesh)
{
    expect_forecast_matches(R"([shot]
frames = "1-12"
[spray]
[[spray.emitter]]
from = "disc"
radius = 0.05
direction = [0, 1, 0]
spread = 25
speed = 4
rate = 20000
droplet_radius = 0.003
droplet_variation = 0.9
[surface]
)",
                            {{"spray", "spray"}, {"surface", "surface"}});
}

TEST(Forecast, MatchesAFewPeopleAndTheirPictures)
{
    expect_forecast_matches(R"([shot]
frames = "1-24"
[crowd]
cell = 0.5
maps = "exr"
[[crowd.boundary]]
box = [[0, 0], [40, 20]]
[[crowd.goal]]
name = "exit"
box = [[38, 8], [40, 12]]
[[crowd.group]]
count = 600
box = [[1, 1], [20, 19]]
visit = [{ goal = "exit" }]
[render]
width = 320
height = 180
samples = 4
)",
                            {{"crowd", "crowd"}, {"render", "render"}});
}

TEST(Forecast, MatchesACrowd)
{
    expect_forecast_matches(R"([shot]
frames = "1-4"
[crowd]
cell = 1
[[crowd.boundary]]
box = [[0, 0], [400, 300]]
[[crowd.goal]]
name = "exit"
box = [[390, 0], [400, 300]]
[[crowd.group]]
count = 40000
box = [[5, 5], [300, 295]]
visit = [{ goal = "exit" }]
)",
                            {{"crowd", "crowd"}});
}

} // namespace

} // namespace spindrift
