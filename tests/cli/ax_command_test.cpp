// spindrift ax on caches of points and volumes.
#include "cli/program.h"
#include "spindrift/expression/volume_files.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

// Frames 3 to 10 of points with the attribute age.
class AxCommand : public ::testing::Test {
  protected:
    AxCommand()
    {
        for (int frame = 3; frame <= 10; ++frame)
            write_particles(file("points", frame), points(frame), 0.1f, 0.02f, {{"frame", std::to_string(frame)}});
    }
    static Particles points(int frame)
    {
        Particles particles;
        particles.resize(100);
        auto& age = particles.attribute<float>("age");
        for (size_t i = 0; i < particles.size(); ++i) {
            particles.P[i] = Vec3f(0.01f * static_cast<float>(i), 0.3f, 0.2f);
            particles.v[i] = Vec3f(0, static_cast<float>(frame), 0);
            particles.id[i] = static_cast<int32_t>(i);
            age[i] = 0.1f * static_cast<float>(i);
        }
        return particles;
    }
    std::string file(const std::string& name, int frame) const
    {
        return place / fmt::format("{}.{:04}.vdb", name, frame);
    }
    RunResult ax(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), "ax");
        return place.run(arguments);
    }
    // Expects an error with this text, and no files written.
    void refused(const std::vector<std::string>& arguments, const std::string& words, int code = 2) const
    {
        const RunResult outcome = ax(arguments);
        EXPECT_EQ(outcome.code, code) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, words)) << words << "\n  is not in\n" << outcome.err;
        EXPECT_FALSE(place.has("out.0003.vdb"));
    }
    Workplace place;
};

} // namespace

TEST_F(AxCommand, ChangesPointsOfAllFrames)
{
    place.write("change.ax", "@v += v$wind * $frame;\nif (@age > 5.05f) deletepoint();\n@radius = @pscale * $gain;\n");
    place.succeed({"ax", "change.ax", "--in", "points.####.vdb", "--out", "made/out.####.vdb", "--set", "wind=1,0,0",
                   "--set", "gain=2", "-j", "2"});
    for (int frame = 3; frame <= 10; ++frame) {
        const ParticleFile made = read_particles(file("made/out", frame));
        ASSERT_EQ(made.particles.size(), 51u);
        EXPECT_EQ(made.metadata.at("frame"), std::to_string(frame));
        EXPECT_EQ(made.voxel, 0.1f);
        const auto f = static_cast<float>(frame);
        for (const Vec3f& v : made.particles.v) ASSERT_EQ(v, Vec3f(f, f, 0));
        for (const float r : *made.particles.find<float>("radius")) ASSERT_EQ(r, 0.04f);
    }
}

TEST_F(AxCommand, GivesTheSameBytesForAnyNumberOfThreads)
{
    const std::string text = "@P += curlsimplexnoise(@P) * 0.01f; @n = neighbours(0.03f) + rand(@id);";
    place.succeed({"ax", text, "--in", "points.####.vdb", "--out", "one/out.####.vdb", "-j", "1"});
    place.succeed({"ax", text, "--in", "points.####.vdb", "--out", "many/out.####.vdb", "-j", "3"});
    EXPECT_EQ(differences(results_in(place / "one"), results_in(place / "many")), std::vector<std::string>());
}

TEST_F(AxCommand, WorksOnVolumesAndKeepsThemBesidePoints)
{
    place.write("ball.toml",
                "[shot]\nframes = \"1-1\"\n[surface]\ninput = \"points.####.vdb\"\nspacing = 0.01\nsdf = true\n");
    place.remove("points.0001.vdb");
    write_particles(file("points", 1), points(1), 0.1f, 0.02f);
    place.succeed({"surface", "ball.toml", "-o", "out"});
    const std::string surface = "out/surface/surface.0001.vdb";
    place.succeed({"ax", "@surface -= 0.001f; @height = @surface;", "--in", surface, "--out", "larger.vdb"});
    const FieldFile before = read_field(place / surface, "surface"),
                    after = read_field(place / "larger.vdb", "surface");
    ASSERT_EQ(before.topology->tile_count(), after.topology->tile_count());
    size_t changed = 0;
    for (size_t i = 0; i < before.field.values().size(); ++i)
        changed += after.field.values()[i] == before.field.values()[i] - 0.001f;
    EXPECT_GT(changed, before.field.values().size() / 4);
    EXPECT_EQ(read_field(place / "larger.vdb", "height").topology->tile_count(), before.topology->tile_count());

    // Points that sample a volume of another cache.
    place.succeed({"ax", "@distance = volume(\"surface\", @P);", "--in", "points.0001.vdb", "--out", "seen.vdb",
                   "--volumes", surface});
    const ParticleFile seen = read_particles(place / "seen.vdb");
    for (const float d : *seen.particles.find<float>("distance")) EXPECT_LT(d, 0);

    // A volume in the same file is not changed.
    write_particles_beside_volumes(place / "both.vdb", seen, place / surface);
    place.succeed(
        {"ax", "@distance += 1; @inside = volume(\"surface\", @P);", "--in", "both.vdb", "--out", "both2.vdb"});
    const FieldFile kept = read_field(place / "both2.vdb", "surface");
    EXPECT_TRUE(std::equal(kept.field.values().begin(), kept.field.values().end(), before.field.values().begin(),
                           before.field.values().end()));
    const ParticleFile both = read_particles(place / "both2.vdb");
    for (const float d : *both.particles.find<float>("inside")) EXPECT_LT(d, 0);
}

TEST_F(AxCommand, RefusesInvalidOptions)
{
    const std::vector<std::string> files = {"--in", "points.####.vdb", "--out", "out.####.vdb"};
    const auto with = [&](const std::string& text, const std::vector<std::string>& more = {}) {
        std::vector<std::string> all = {text};
        all.insert(all.end(), files.begin(), files.end());
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    place.write("bad.ax", "@a = 1;\n@b = sni(@a);\n");
    refused(with("bad.ax"), "bad.ax: line 2, column 6: there is no function sni(); did you mean sin?\n"
                            "    @b = sni(@a);\n         ^\n");
    refused(with("@a = @nothing;"), "points.0003.vdb: expression: line 1, column 6: particles have no attribute");
    refused(with("missing.ax"), "missing.ax");
    refused(with("@a = $b;", {"--set", "b=x"}), "--set b=x: 'x' is not a number");
    refused(with("@a = $b;", {"--set", "b=1,2"}), "one number or three");
    refused(with("@a = $b;", {"--set", "b"}), "name=value");
    refused(with("@a = 1;", {"--set", "time=1"}), "cannot be named time");
    refused(with("@a = 1;", {"--frames", "3-12"}), "there is no file points.0011.vdb");
    refused(with("@density = 1;", {"--on", "volumes"}), "has no volume \"density\"");
    refused(with("while (1) {}"), "frame 3: the loops of the expression took more than 100000 iterations", 1);
    refused(with("int i = 0; while (i < 50) i++;", {"--loop-limit", "40"}), "more than 40 iterations", 1);
    refused({"@a = 1;", "--in", "nothing.####.vdb", "--out", "out.####.vdb"}, "no file matches");
    refused({"@a = 1;", "--in", "points.####.vdb", "--out", "out.vdb"}, "no frame number pattern");
    refused({"@a = 1;", "--in", "points.0003.vdb", "--out", "points.0003.vdb", "--force"}, "is the input");
    refused({"@a = 1;", "--in", "points.0003.vdb", "--out", "points.0004.vdb"}, "exists already");
    refused({"@a = 1;", "--in", "bad.ax", "--out", "x.vdb"}, "end in .vdb");
    place.succeed({"ax", "@a = 1;", "--in", "points.0003.vdb", "--out", "points.0004.vdb", "--force"});
}

TEST_F(AxCommand, IsDescribed)
{
    const std::string text = place.succeed({"describe", "ax"}).out;
    for (const char* part :
         {"$time", "float volume(string name, vec3f position)", "neighbours_gradient", "deletepoint"})
        EXPECT_TRUE(contains(text, part)) << part;
    EXPECT_TRUE(contains(place.succeed({"describe", "ax", "--markdown"}).out, "| `int neighbours(float radius)` |"));
}

} // namespace spindrift
