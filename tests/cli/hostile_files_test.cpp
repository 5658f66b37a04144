// Files and names that are broken by accident or on purpose: one message, no crash, no hang.
#include "cli/program.h"
#include "spindrift/io/state_file.h"
#include "spindrift/io/vdb.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace spindrift {

namespace {

class HostileFiles : public ::testing::Test {
  protected:
    // Expects one line with these parts within a short time.
    std::string refused(const std::vector<std::string>& arguments, const std::vector<std::string>& parts,
                        rlim_t file_limit = RLIM_INFINITY) const
    {
        Child child(program_command(arguments), place.path(), file_limit);
        EXPECT_TRUE(child.ends_within(60));
        const RunResult outcome = child.wait();
        EXPECT_TRUE(outcome.code == 1 || outcome.code == 2) << outcome.code << " " << outcome.out << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("spindrift: ")) << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        for (const std::string& part : parts)
            EXPECT_TRUE(contains(outcome.err, part)) << part << "\n  is not in\n" << outcome.err;
        return outcome.err;
    }
    void scene(const std::string& lines) const
    {
        place.write("scene.toml", "[shot]\nframes = \"1-1\"\n[surface]\n" + lines);
    }
    Workplace place;
};

TEST_F(HostileFiles, PipesAndDevicesAreRefused)
{
    ASSERT_EQ(::mkfifo((place / "pipe.ply").c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo((place / "pipe.toml").c_str(), 0600), 0);
    std::filesystem::create_symlink("/dev/zero", place / "zero.obj");
    std::filesystem::create_symlink("/dev/zero", place / "zero.svg");
    refused({"check", "pipe.toml"}, {"pipe.toml: is a pipe or a device"});
    refused({"info", "pipe.ply"}, {"pipe.ply"});
    place.write("scene.toml", small_scene() + "[[liquid.collider]]\nshape = \"mesh\"\nfile = \"zero.obj\"\n");
    refused({"check", "scene.toml"}, {"scene.toml:25:8: ", "zero.obj: it is a pipe or a device"});
    place.write("scene.toml", small_scene() + "[[liquid.collider]]\nshape = \"mesh\"\nfile = \"pipe.ply\"\n");
    refused({"check", "scene.toml"}, {"scene.toml:25:8: ", "pipe.ply: it is a pipe or a device"});
    ASSERT_EQ(::mkfifo((place / "pipe.png").c_str(), 0600), 0);
    place.write("scene.toml", small_scene() + "[texture]\nmode = \"example\"\nexample_file = \"pipe.png\"\n");
    refused({"check", "scene.toml"}, {"scene.toml:", "pipe.png: it is a pipe, a device or a folder, not a picture"});
    place.write("scene.toml",
                "[crowd]\nplan.file = \"zero.svg\"\n[[crowd.group]]\ncount = 1\nbox = [[0, 0], [1, 1]]\n");
    refused({"check", "scene.toml"}, {"scene.toml:2:", "zero.svg: it is a pipe or a device"});
}

// A sparse file takes no disk space, but reading it would exhaust the memory.
TEST_F(HostileFiles, AHugeSparseFileIsRefusedBeforeItIsRead)
{
    for (const std::string name : {"long.vdb", "long.ply"}) {
        place.write(name, "not what its name says, and then nothing for a long time");
        std::filesystem::resize_file(place / name, uint64_t(1) << 40);
        refused({"info", name}, {name + " is not a "});
    }
    place.write("long.obj", "v 0 0 0\n");
    std::filesystem::resize_file(place / "long.obj", uint64_t(1) << 40);
    refused({"info", "long.obj"}, {"long.obj: it has 1099511627776 bytes"});
}

TEST_F(HostileFiles, ControlCharactersNeverReachTheTerminal)
{
    scene("input = \"a\\u001b[31m\\u009b.ply\"\n");
    const std::string message = refused({"check", "scene.toml"}, {"a\\x1b[31m\\xc2\\x9b.ply"});
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
    refused({"info", "b\x1b]0;title\x07.vdb"}, {"b\\x1b]0;title\\x07.vdb"});
    place.write("scene.toml", "[\"\\u001b[2J\"]\n");
    EXPECT_EQ(refused({"check", "scene.toml"}, {}).find('\x1b'), std::string::npos);
    place.write("tiny.toml", "[shot]\nframes = \"1-1\"\n[[spray.emitter]]\nrate = 10\n");
    place.succeed({"run", "tiny.toml", "-o", "c\x1b[2J"});
    place.succeed({"run", "tiny.toml", "-o", "c\x1b[2J", "--set", "spray.seed=2"});
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--delete", "all"}, {}}) {
        std::vector<std::string> words = {"versions", "tiny.toml", "-o", "c\x1b[2J"};
        words.insert(words.end(), more.begin(), more.end());
        EXPECT_EQ(place.succeed(words).out.find('\x1b'), std::string::npos);
    }
    // Names in other languages are printed unchanged.
    refused({"info", "größe.vdb"}, {"größe.vdb"});
}

TEST_F(HostileFiles, ANameWithANulIsNotTruncated)
{
    write_file(place / "p.ply", "ply\n");
    scene("input = \"p.ply\\u0000x.ply\"\n");
    refused({"check", "scene.toml"}, {"scene.toml:4:9: holds a NUL character"});
}

TEST_F(HostileFiles, ExceedingTheFileSizeLimitIsReported)
{
    refused({"new", "splash"}, {"cannot write splash.toml: the file is larger than the system allows"}, 100);
    place.write("small.toml", small_scene());
    refused({"liquid", "small.toml", "-o", "out"}, {"the file is larger than the system allows"}, 4096);
    Particles points;
    points.resize(64);
    write_particles(place / "p.vdb", points, 0.2f, 0.05f);
    refused({"ax", "f@heat = 1;", "--in", "p.vdb", "-o", "q.vdb"},
            {"cannot write q.vdb: the file is larger than the system allows"}, 100);
}

TEST_F(HostileFiles, PointsAtOnePositionAreMeshedAsASphere)
{
    Particles points;
    points.resize(50);
    for (Vec3f& x : points.P) x = Vec3f(1, 2, 3);
    write_particles(place / "p.vdb", points, 0.2f, 0.062f);
    scene("input = \"p.vdb\"\n");
    const std::string out = place.succeed({"run", "scene.toml", "-o", "out"}).out;
    EXPECT_TRUE(contains(out, "spacing 0.09994 ")) << out;
    EXPECT_FALSE(contains(out, "triangles 0 ")) << out;
}

// ------------------------------------------------------------------------------------------------ states and records

// The fingerprint stored in a stage's state.
std::string fingerprint_in(const std::string& bytes)
{
    const size_t title = bytes.find('\n') + 1;
    uint64_t size = 0;
    std::memcpy(&size, bytes.data() + title, sizeof size);
    return bytes.substr(title + sizeof size, size);
}

struct Forgery {
    std::string what, stage;
    std::function<void(StateFile&)> change;
};

class ForgedStates : public HostileFiles {
  protected:
    // Runs to the second frame, forges the state with a valid checksum, and resumes. The run must detect the forgery,
    // start again, and give the result of an undisturbed run.
    void expect_detected(const std::string& text, const std::vector<Forgery>& forgeries)
    {
        for (const char* folder : {"good", "half"}) place.remove(folder); // of another scene
        place.write("scene.toml", text);
        place.succeed({"run", "scene.toml", "-o", "good"});
        const Files good = results_in(place / "good");
        place.succeed({"run", "scene.toml", "-o", "half", "--frames", "1-2"});
        const auto go_back = [&] {
            place.remove("out");
            std::filesystem::copy(place / "half", place / "out", std::filesystem::copy_options::recursive);
        };
        go_back();
        const std::string resumed = place.succeed({"run", "scene.toml", "-o", "out"}).out;
        EXPECT_FALSE(contains(resumed, "cannot resume from")) << resumed; // the unchanged state is accepted
        for (const Forgery& forgery : forgeries) {
            SCOPED_TRACE(forgery.what);
            go_back();
            const std::string path = place / "out/" + forgery.stage + "/spindrift.state";
            const std::string fingerprint = fingerprint_in(read_file(path));
            StateFile state;
            ASSERT_TRUE(read_state(path, fingerprint, state));
            forgery.change(state);
            write_file(path, state_bytes(fingerprint, state)); // write_state() would refuse some of these
            Child child(program_command({"run", "scene.toml", "-o", "out"}), place.path());
            EXPECT_TRUE(child.ends_within(120));
            const RunResult outcome = child.wait();
            EXPECT_EQ(outcome.code, 0) << outcome.err;
            EXPECT_TRUE(
                contains(outcome.out, fmt::format("cannot resume from out/{}/spindrift.state: ", forgery.stage)))
                << outcome.out;
            EXPECT_EQ(differences(good, results_in(place / "out")), std::vector<std::string>());
        }
    }
};

const char* const kSand = R"([shot]
frames = "1-3"
[sand]
voxel = 0.1
[sand.domain]
min = [-0.4, 0, -0.4]
max = [0.4, 0.6, 0.4]
[[sand.source]]
shape = "sphere"
center = [0, 0.3, 0]
radius = 0.15
[grains]
)";

const char* const kSpray = R"([shot]
frames = "1-3"
[[spray.emitter]]
from = "disc"
center = [0.7, 0.1, 0.3]
radius = 0.02
direction = [0, 1, 0]
speed = 3
rate = 500
droplet_radius = 0.002
)";

const char* const kSmoke = R"([shot]
frames = "1-3"
[smoke]
voxel = 0.1
[smoke.turbulence]
on = true
[[smoke.source]]
shape = "sphere"
radius = 0.15
temperature = 80
[[smoke.collider]]
shape = "sphere"
center = [0, 0.5, 0]
radius = 0.2
)";

const char* const kShapedSmoke = R"([shot]
frames = "1-3"
[shaped_smoke]
voxel = 0.1
markers = 3000
controls = 200
[shaped_smoke.vortices]
radius = 0.15
[[shaped_smoke.source]]
shape = "sphere"
radius = 0.4
[[shaped_smoke.target]]
min = [-0.5, -0.2, -0.2]
max = [0.5, 0.2, 0.2]
)";

const char* const kCrowd = R"([shot]
frames = "1-3"
[crowd]
[[crowd.boundary]]
box = [[0, 0], [12, 8]]
[[crowd.goal]]
name = "exit"
box = [[10, 3], [12, 5]]
[[crowd.group]]
count = 20
box = [[1, 1], [5, 7]]
visit = [{ goal = "exit" }]
)";

TEST_F(ForgedStates, OfSandAreDetected)
{
    expect_detected(
        kSand,
        {
            {"no mass", "sand", [](StateFile& s) { s.particles.attributes.erase("mass"); }},
            {"no such material", "sand", [](StateFile& s) { s.particles.attribute<int32_t>("material")[0] = 1 << 30; }},
            {"nowhere", "sand", [](StateFile& s) { s.particles.P[0].x() = std::nanf(""); }},
            {"too little stress", "sand", [](StateFile& s) { s.fields["stress"].resize(5); }},
            {"arrays of different lengths", "sand", [](StateFile& s) { s.particles.v.resize(2); }},
            {"grains of nobody", "grains", [](StateFile& s) { s.particles.attribute<int32_t>("parent")[0] = -7; }},
            {"no parents", "grains", [](StateFile& s) { s.particles.attributes.erase("parent"); }},
            {"fewer ids", "grains", [](StateFile& s) { s.particles.id.resize(3); }},
        });
}

TEST_F(ForgedStates, OfSprayAreDetected)
{
    expect_detected(kSpray, {
                                {"no radius", "spray", [](StateFile& s) { s.particles.attributes.erase("radius"); }},
                                {"no size", "spray",
                                 [](StateFile& s) { s.particles.attribute<float>("radius")[0] = std::nanf(""); }},
                                {"far away", "spray", [](StateFile& s) { s.particles.P[0].x() = 1e30f; }},
                                {"fewer velocities", "spray", [](StateFile& s) { s.particles.v.resize(3); }},
                            });
}

TEST_F(ForgedStates, OfCrowdsAreDetected)
{
    expect_detected(
        kCrowd,
        {
            {"no such person", "crowd", [](StateFile& s) { s.particles.id[0] = 1 << 30; }},
            {"no such goal", "crowd", [](StateFile& s) { s.particles.attribute<int32_t>("goal")[0] = 77; }},
            {"nowhere", "crowd", [](StateFile& s) { s.particles.P[0].x() = std::nanf(""); }},
            {"cells out of order", "crowd", [](StateFile& s) { s.tiles["cells"][0] = 1 << 30; }},
            {"pressure without bounds", "crowd", [](StateFile& s) { s.tiles["inner"][0] = 0x7ff0000000000000; }},
            {"no groups", "crowd", [](StateFile& s) { s.tiles["groups"].clear(); }},
            {"giants", "crowd", [](StateFile& s) { s.particles.P[0].z() = 1e6f; }},
            {"an endless time", "crowd", [](StateFile& s) { s.numbers["time_bits"] = 0x7ff0000000000000; }},
        });
}

TEST_F(ForgedStates, OfTurbulentSmokeAreDetected)
{
    expect_detected(kSmoke, {
                                {"fewer eddies", "smoke", [](StateFile& s) { s.particles.P.resize(3); }},
                                {"eddies nowhere", "smoke", [](StateFile& s) { s.particles.P[0].x() = std::nanf(""); }},
                                {"eddies far away", "smoke", [](StateFile& s) { s.particles.P[0].x() = 1e30f; }},
                                {"no energy", "smoke",
                                 [](StateFile& s) { s.particles.attributes.begin()->second = std::vector<float>(1); }},
                                {"too little density", "smoke", [](StateFile& s) { s.fields["density"].resize(7); }},
                            });
}

TEST_F(ForgedStates, OfALiquidAreDetected)
{
    std::string text = small_scene();
    text = text.substr(0, text.find("[surface]"));
    text.replace(text.find("1-6"), 3, "1-3");
    expect_detected(text, {
                              {"nowhere", "liquid", [](StateFile& s) { s.particles.P[7].y() = INFINITY; }},
                              {"far away", "liquid", [](StateFile& s) { s.particles.P[7].y() = 1e20f; }},
                              {"an odd speed", "liquid", [](StateFile& s) { s.numbers["speed_bits"] = 0x7fc00000; }},
                              {"a frame before the first", "liquid", [](StateFile& s) { s.numbers["frame"] = -5; }},
                          });
}

TEST_F(ForgedStates, OfATextureAreDetected)
{
    std::string text = small_scene();
    text = text.substr(0, text.find("[surface]"));
    text.replace(text.find("1-6"), 3, "1-3");
    expect_detected(
        text + "[texture]\nmode = \"example\"\nsize = 0.6\n",
        {
            {"no colours", "texture", [](StateFile& s) { s.fields.erase("texture.v.color"); }},
            {"fewer directions", "texture", [](StateFile& s) { s.fields["texture.v.direction"].resize(9); }},
            {"no surface", "texture", [](StateFile& s) { s.fields.erase("surface.P"); }},
            {"no such vertex", "texture", [](StateFile& s) { s.tiles["surface.triangles"][4] = 1 << 30; }},
            {"fewer velocities", "texture", [](StateFile& s) { s.fields["surface.v"].resize(3); }},
            {"a frame before the first", "texture", [](StateFile& s) { s.numbers["frame"] = -5; }},
        });
}

TEST_F(ForgedStates, OfShapedSmokeAreDetected)
{
    expect_detected(
        kShapedSmoke,
        {
            {"nowhere", "shaped_smoke", [](StateFile& s) { s.particles.P[0].x() = std::nanf(""); }},
            {"no such target", "shaped_smoke", [](StateFile& s) { s.tiles["targets"][0] = 1 << 30; }},
            {"fewer targets", "shaped_smoke", [](StateFile& s) { s.tiles["targets"].resize(3); }},
            {"controls far away", "shaped_smoke", [](StateFile& s) { s.fields["control.P"][0] = 1e30f; }},
            {"fewer steps", "shaped_smoke", [](StateFile& s) { s.fields["control.step"].resize(9); }},
            {"a vortex without size", "shaped_smoke", [](StateFile& s) { s.fields["vortex.sigma"][0] = 0; }},
            {"half a vector", "shaped_smoke", [](StateFile& s) { s.fields["vortex.omega"].pop_back(); }},
            {"an odd density", "shaped_smoke", [](StateFile& s) { s.numbers["reference_bits"] = 0x7ff0000000000000; }},
            {"no such group", "shaped_smoke", [](StateFile& s) { s.numbers["group"] = 77; }},
            {"a frame before the first", "shaped_smoke", [](StateFile& s) { s.numbers["frame"] = -5; }},
        });
}

// Of a track, and of a liquid that tracks its surface.
TEST_F(ForgedStates, OfTrackedSurfacesAreDetected)
{
    std::string text = small_scene();
    text = text.substr(0, text.find("[surface]"));
    text.replace(text.find("1-6"), 3, "1-3");
    const auto forgeries = [](const std::string& stage) {
        return std::vector<Forgery>{
            {"no vertices", stage, [](StateFile& s) { s.fields.erase("surface.now.P"); }},
            {"a vertex nowhere", stage, [](StateFile& s) { s.fields["surface.now.P"][0] = std::nanf(""); }},
            {"no such vertex", stage, [](StateFile& s) { s.tiles["surface.now.triangles"][4] = 1 << 30; }},
            {"fewer velocities", stage, [](StateFile& s) { s.fields["surface.now.v"].resize(3); }},
            {"a grid of two numbers", stage, [](StateFile& s) { s.fields["surface.grid"].resize(2); }},
            {"cells far away", stage, [](StateFile& s) { s.tiles["surface.cells"][0] = 1ull << 40; }},
            {"fewer origins", stage, [](StateFile& s) { s.tiles["surface.origin_triangles"].resize(3); }},
            {"an odd volume", stage, [](StateFile& s) { s.numbers["surface.volume_bits"] = 0x7ff0000000000000; }},
            {"a frame before the first", stage, [](StateFile& s) { s.numbers["frame"] = -5; }},
        };
    };
    expect_detected(text + "[track]\n", forgeries("track"));
    text.replace(text.find("voxel = 0.05"), 12, "voxel = 0.05\nsurface = \"tracked\"");
    expect_detected(text, forgeries("liquid"));
}

TEST_F(ForgedStates, OfRipplesAreDetected)
{
    std::string text = small_scene();
    text = text.substr(0, text.find("[surface]"));
    text.replace(text.find("1-6"), 3, "1-3");
    expect_detected(
        text + "[ripples]\n",
        {
            {"too few heights", "ripples", [](StateFile& s) { s.fields["ripples.difference"].resize(7); }},
            {"too few distances", "ripples", [](StateFile& s) { s.fields["ripples.distance"].resize(7); }},
            {"tiles in disorder", "ripples", [](StateFile& s) { std::ranges::reverse(s.tiles["ripples"]); }},
            {"no cells", "ripples", [](StateFile& s) { s.numbers["ripples.voxel_bits"] = 0; }},
            {"no energy", "ripples", [](StateFile& s) { s.fields.erase("ripples.turbulence.energy"); }},
            {"a frame before the first", "ripples", [](StateFile& s) { s.numbers["frame"] = -5; }},
        });
}

// A line with a valid checksum that no run would write: it must not lead to any other file.
TEST_F(HostileFiles, AForgedRecordCannotReachOtherFiles)
{
    place.write("small.toml", small_scene());
    place.succeed({"liquid", "small.toml", "-o", "out", "--frames", "1-2"});
    place.write("out/liquid/notes.txt", "mine");
    const std::string record = place.read("out/liquid/spindrift.record");
    for (const std::string line : {"begin 4 /notes.txt", "done 4 - /../../small.toml 4", "begin 4 #", "begin x vdb",
                                   "done 4 - vdb -7", "forget 4", ""}) {
        SCOPED_TRACE(line);
        const std::string seal = fmt::format("{:08x}", static_cast<uint32_t>(hash_bytes(line, 3)));
        place.write("out/liquid/spindrift.record", record + line + " " + seal + "\n");
        for (const std::string set : {"liquid.flip=0.9", "liquid.flip=0.95"})
            refused({"liquid", "small.toml", "-o", "out", "--set", set}, {"spindrift.record has an invalid line "});
        EXPECT_EQ(place.read("out/liquid/notes.txt"), "mine");
    }
    place.write("out/liquid/spindrift.record", record);
    place.succeed({"liquid", "small.toml", "-o", "out", "--frames", "1-3"});
}

TEST_F(HostileFiles, BodiesWithInvalidPositionsAreNotDrawn)
{
    std::string text = small_scene();
    text.replace(text.find("1-6"), 3, "1-1");
    text += "[[liquid.body]]\nshape = \"sphere\"\ncenter = [0.7, 0.5, 0.3]\nradius = 0.1\n";
    place.write("scene.toml", text);
    place.succeed({"run", "scene.toml", "-o", "out"});
    const std::string path = "out/liquid/liquid.0001.bodies.json", whole = place.read(path);
    for (const auto& [from, to] : {std::pair("\"orient\": [0, 0, 0, 1]", "\"orient\": [0, 0, 0, 0]"),
                                   std::pair("\"v\": [0, 0, 0]", "\"v\": [9e99,0]")}) {
        std::string changed = whole;
        ASSERT_NE(changed.find(from), std::string::npos) << whole;
        changed.replace(changed.find(from), std::strlen(from), to);
        ASSERT_EQ(changed.size() - whole.size(), std::strlen(to) - std::strlen(from));
        place.write(path, changed);
        place.remove("out/render");
        refused({"render", "scene.toml", "-o", "out"}, {path});
    }
}

TEST_F(HostileFiles, MeshesWithHugeCoordinatesAreRefused)
{
    place.write("far.obj", "v 0 0 0\nv 1e20 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    for (const char* table : {"source", "collider", "body"}) {
        place.write("scene.toml",
                    small_scene() + fmt::format("[[liquid.{}]]\nshape = \"mesh\"\nfile = \"far.obj\"\n", table));
        refused({"check", "scene.toml"}, {"scene.toml:25:8: ", "far.obj has a vertex at (1e+20, 0, 0) m"});
    }
}

TEST_F(HostileFiles, ADamagedRecordIsReportedWithLineAndRemedy)
{
    place.write("small.toml", small_scene());
    place.succeed({"liquid", "small.toml", "-o", "out", "--frames", "1-3"});
    const std::string record = place.read("out/liquid/spindrift.record");
    const Files before = times_in(place / "out");
    std::string changed = record;
    changed[changed.find("done 2") + 5] = '3';
    place.write("out/liquid/spindrift.record", changed);
    refused({"liquid", "small.toml", "-o", "out"}, {"out/liquid/spindrift.record is damaged in line ", "delete it"});
    changed = record;
    changed[changed.find("voxel = ") + 8] = '7';
    place.write("out/liquid/spindrift.record", changed);
    refused({"liquid", "small.toml", "-o", "out"}, {"out/liquid/spindrift.record is damaged in line "});
    place.write("out/liquid/spindrift.record", record);
    EXPECT_TRUE(place.has("out/liquid/liquid.0003.vdb"));
    place.succeed({"liquid", "small.toml", "-o", "out"});
}

} // namespace
} // namespace spindrift
