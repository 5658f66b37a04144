// Expressions in scenes: parameters, and every file of scenes/ax compared with `spindrift ax` on the same frame.
#include "cli/program.h"
#include "spindrift/io/vdb.h"

#include <filesystem>
#include <regex>

namespace spindrift {

namespace {

using Values = std::vector<std::pair<std::string, std::string>>; // name, and value as in --set

// The parameters of the example at the top of an .ax file.
Values values_in(const std::string& text)
{
    Values values;
    const std::regex option("--set ([a-z]+)=([-0-9.,]+)");
    for (std::sregex_iterator it(text.begin(), text.end(), option), end; it != end; ++it)
        values.emplace_back((*it)[1], (*it)[2]);
    return values;
}

// parameters = { wind = [4,0,1], radius = 0.05 }
std::string as_toml(const Values& values)
{
    std::string text;
    for (const auto& [name, value] : values)
        text +=
            fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, contains(value, ",") ? "[" + value + "]" : value);
    return "parameters = { " + text + " }\n";
}

constexpr const char* kDroplets = R"([shot]
frames = "1-4"

[liquid]
voxel = 0.05

[liquid.domain]
min = [0, 0, 0]
max = [1, 0.8, 0.6]

[[liquid.source]]
max = [0.4, 0.4, 0.6]

[[spray.emitter]]
from = "disc"
center = [0.5, 0.25, 0.3]
radius = 0.05
direction = [0.3, 1, 0]
speed = 5
speed_variation = 0.9
spread = 20
rate = 3000
droplet_radius = 0.001

[surface]
sdf = true
)";

constexpr const char* kSmoke = R"([shot]
frames = "1-2"

[smoke]
voxel = 0.05

[[smoke.source]]
shape = "sphere"
center = [0, 0.5, 0]
radius = 0.3
)";

class SceneExpressions : public ::testing::Test {
  protected:
    SceneExpressions()
    {
        std::filesystem::copy(std::string(SPINDRIFT_SOURCE_DIR) + "/scenes/ax", place / "ax");
        place.write("plain.toml", kDroplets);
    }
    // Writes the scene with one more expression.
    void write_scene(const std::string& stage, const std::string& lines) const
    {
        place.write("with.toml", std::string(kDroplets) + "\n[[" + stage + ".expression]]\n" + lines);
    }
    void refused(const std::string& lines, const std::string& words) const
    {
        write_scene("spray", lines);
        const RunResult outcome = place.run({"check", "with.toml"});
        EXPECT_EQ(outcome.code, 2);
        EXPECT_TRUE(contains(outcome.err, words)) << words << "\n  is not in\n" << outcome.err;
    }
    Workplace place;
};

void expect_near(const std::vector<float>& a, const std::vector<float>& b, const std::string& what)
{
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-3f * (1 + std::abs(a[i]))) << what;
}
void expect_near(const std::vector<int32_t>& a, const std::vector<int32_t>& b, const std::string& what)
{
    ASSERT_EQ(a, b) << what;
}
void expect_near(const std::vector<Vec3f>& a, const std::vector<Vec3f>& b, const std::string& what)
{
    for (size_t i = 0; i < a.size(); ++i) ASSERT_LT((a[i] - b[i]).norm(), 1e-3f * (1 + a[i].norm())) << what;
}

// Compares points by id: both files must have the same ones, with the same attributes. Positions in files are rounded.
void expect_same_points(const std::string& one, const std::string& other, const std::string& what)
{
    std::vector<Particles> sets;
    for (const std::string& path : {one, other}) {
        ParticleFile file = read_particles(path);
        if (!file.particles.attributes.contains("pscale"))
            file.particles.attribute<float>("pscale").assign(file.particles.size(), file.pscale);
        std::vector<size_t> order(file.particles.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::sort(order, {}, [&](size_t i) { return file.particles.id[i]; });
        Particles sorted = file.particles;
        for (size_t i = 0; i < order.size(); ++i) {
            sorted.P[i] = file.particles.P[order[i]], sorted.v[i] = file.particles.v[order[i]];
            sorted.id[i] = file.particles.id[order[i]];
        }
        for (auto& [name, array] : sorted.attributes)
            std::visit(
                [&, &name = name](auto& values) {
                    const auto& from = std::get<std::decay_t<decltype(values)>>(file.particles.attributes.at(name));
                    for (size_t i = 0; i < order.size(); ++i) values[i] = from[order[i]];
                },
                array);
        sets.push_back(std::move(sorted));
    }
    ASSERT_EQ(sets[0].id, sets[1].id) << what;
    EXPECT_GT(sets[0].size(), 0u) << what;
    expect_near(sets[0].P, sets[1].P, what + ": P"), expect_near(sets[0].v, sets[1].v, what + ": v");
    for (const auto& [name, array] : sets[0].attributes) {
        ASSERT_TRUE(sets[1].attributes.contains(name)) << what << ": " << name;
        std::visit(
            [&, &name = name](const auto& values) {
                expect_near(values, std::get<std::decay_t<decltype(values)>>(sets[1].attributes.at(name)),
                            what + ": " + name);
            },
            array);
    }
    EXPECT_EQ(sets[0].attributes.size(), sets[1].attributes.size()) << what;
}

} // namespace

TEST_F(SceneExpressions, EveryPointFileGivesTheSameInASceneAsOnFrames)
{
    place.succeed({"run", "plain.toml", "-o", "plain"});
    const std::string frame = "plain/spray/spray.0004.vdb", level_set = "plain/surface/surface.####.vdb";
    size_t files = 0, with_parameters = 0;
    for (const auto& entry : std::filesystem::directory_iterator(place / "ax")) {
        const std::string name = entry.path().filename().string();
        ++files;
        const std::string text = read_file(entry.path().string());
        const Values values = values_in(text);
        with_parameters += !values.empty();
        if (contains(text, "// On volumes")) continue; // tested below
        std::vector<std::string> ax = {"ax",     "ax/" + name, "--in",      frame,
                                       "--out",  "made.vdb",   "--volumes", "plain/surface/surface.0004.vdb",
                                       "--force"};
        for (const auto& [parameter, value] : values) ax.insert(ax.end(), {"--set", parameter + "=" + value});
        place.succeed(ax);
        write_scene("spray", "file = \"ax/" + name + "\"\nvolumes = \"" + level_set + "\"\n" + as_toml(values));
        place.remove("with");
        place.succeed({"liquid", "with.toml", "-o", "with"});
        place.succeed({"spray", "with.toml", "-o", "with"});
        expect_same_points(place / "with/spray/spray.0004.vdb", place / "made.vdb", name);

        // Also run it in simulation steps, where particles have the attributes that it needs. A liquid has no ages.
        for (const std::string stage : {"spray", "liquid"}) {
            if (stage == "liquid" && contains(text, "@age")) continue;
            const bool own_level_set = stage == "liquid"; // available after advection
            write_scene(stage, "at = \"after_advection\"\nfile = \"ax/" + name + "\"\n" + as_toml(values) +
                                   (own_level_set ? "" : "volumes = \"" + level_set + "\"\n"));
            place.remove("with");
            const RunResult outcome = place.run({stage == "spray" ? "spray" : "liquid", "with.toml", "-o", "with"});
            EXPECT_EQ(outcome.code, 0) << name << " in " << stage << ": " << outcome.err;
        }
    }
    EXPECT_EQ(files, 15u);
    EXPECT_EQ(with_parameters, 13u);
}

TEST_F(SceneExpressions, EveryVolumeFileGivesTheSameInASceneAsOnFrames)
{
    const Values values = values_in(place.read("ax/fog_by_height.ax"));
    place.write("plain.toml", kSmoke);
    place.write("with.toml", std::string(kSmoke) +
                                 "\n[[smoke.expression]]\nat = \"before_writing\"\n"
                                 "file = \"ax/fog_by_height.ax\"\n" +
                                 as_toml(values));
    place.succeed({"run", "plain.toml", "-o", "plain"});
    place.succeed({"run", "with.toml", "-o", "with"});
    std::vector<std::string> ax = {"ax",      "ax/fog_by_height.ax", "--in", "plain/smoke/smoke.0002.vdb", "--out",
                                   "made.vdb"};
    for (const auto& [parameter, value] : values) ax.insert(ax.end(), {"--set", parameter + "=" + value});
    place.succeed(ax);
    const FieldFile in_scene = read_field(place / "with/smoke/smoke.0002.vdb", "density"),
                    on_file = read_field(place / "made.vdb", "density"),
                    plain = read_field(place / "plain/smoke/smoke.0002.vdb", "density");
    const auto sum = [](const FieldFile& file) {
        double total = 0;
        for (const float value : file.field.values()) total += static_cast<double>(value);
        return total;
    };
    EXPECT_NEAR(sum(in_scene), sum(on_file), 1e-5 * sum(on_file));
    EXPECT_LT(sum(in_scene), 0.8 * sum(plain));
    EXPECT_GT(sum(in_scene), 0);
}

// A parameter is part of what frames are made from, and --set can change it.
TEST_F(SceneExpressions, ParametersAreSettings)
{
    write_scene("spray", "code = \"if (vec3f@P.y > $top) deletepoint();\"\nparameters = { top = 0.3 }\n");
    place.succeed({"spray", "with.toml", "-o", "with"});
    const std::vector<std::string> other = {"spray", "with.toml", "-o",
                                            "with",  "--set",     "spray.expression[0].parameters.top=0.4"};
    const std::string said = place.succeed(other).out;
    EXPECT_TRUE(contains(said, "spray: expression[0].parameters.top was 0.3 and is 0.4 now; "
                               "this run has --set, so its frames go to with/spray/versions/"))
        << said;
    for (const auto& entry : std::filesystem::directory_iterator(place / "with/spray/versions"))
        for (const Vec3f& x : read_particles(entry.path().string() + "/spray.0004.vdb").particles.P)
            EXPECT_LE(x.y(), 0.401f);
    for (const Vec3f& x : read_particles(place / "with/spray/spray.0004.vdb").particles.P) EXPECT_LE(x.y(), 0.301f);
}

TEST_F(SceneExpressions, InvalidParametersAreReportedWithTheirPosition)
{
    const std::string code = "code = \"vec3f@v += v$wind * $dt;\"\n";
    refused(code, "there is no parameter $wind (set with --set, in a scene with parameters)");
    refused(code + "parameters = { wind = 3 }\n", "$wind is a number; write $wind");
    refused(code + "parameters = { wind = [1, 2] }\n",
            ":30:23: spray.expression[0].parameters.wind must be a list of 3 numbers, not a list of 2");
    refused(code + "parameters = { wind = \"strong\" }\n",
            "spray.expression[0].parameters.wind must be a number, not the text \"strong\"");
    refused(code + "parameters = { wind = nan }\n", "spray.expression[0].parameters.wind is nan; it must be finite");
    refused(code + "parameters = { wind = [1, 0, 0], time = 2 }\n", "a parameter cannot be named time");
    refused(code + "parameters = { \"my wind\" = 1 }\n", "parameters.my wind is not a valid name");
    refused(code + "parameters = 3\n", "spray.expression[0].parameters must be a table, not the integer 3");
    refused("file = \"ax/decimate.ax\"\nparameters = { keeep = 0.5 }\n", "did you mean $keeep?");
}

} // namespace spindrift
