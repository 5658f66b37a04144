// Surfaces of particles written by another program: PLY point clouds and VDB points.
#include "cli/program.h"
#include "spindrift/base/random.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

constexpr float kSpacing = 0.02f, kRadius = 0.2f;

// A jittered ball that moves a little in each frame.
std::vector<Vec3f> ball(int frame)
{
    std::vector<Vec3f> points;
    Random random(3);
    const Vec3f center(0.01f * static_cast<float>(frame), 0.5f, 0);
    for (int x = -12; x < 12; ++x)
        for (int y = -12; y < 12; ++y)
            for (int z = -12; z < 12; ++z) {
                const Vec3f jitter(random.uniform(), random.uniform(), random.uniform());
                const Vec3f p = kSpacing * (Vec3i(x, y, z).cast<float>() + jitter);
                if (p.norm() < kRadius) points.push_back(center + p);
            }
    return points;
}

std::string ply(const std::vector<Vec3f>& points)
{
    std::string text = fmt::format("ply\nformat ascii 1.0\nelement vertex {}\nproperty float x\nproperty float y\n"
                                   "property float z\nproperty float vx\nproperty float vy\nproperty float vz\n"
                                   "property float heat\nend_header\n",
                                   points.size());
    for (const Vec3f& p : points) text += fmt::format("{} {} {} 1 2 3 0.5\n", p.x(), p.y(), p.z());
    return text;
}

class PointsOfOthers : public ::testing::Test {
  protected:
    void write_scene(const std::string& surface, const std::string& frames = "3-4") const
    {
        place.write("scenes/other.toml", "[shot]\nframes = \"" + frames + "\"\n[surface]\n" + surface);
    }
    Mesh mesh(int frame) const { return read_mesh(place / fmt::format("out/other/surface/surface.{:04}.ply", frame)); }
    // The run must fail with one line that contains all these parts.
    void rejected(const std::vector<std::string>& parts, bool before_anything_is_written = true) const
    {
        const RunResult outcome = place.run({"run", "scenes/other.toml"});
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        for (const std::string& part : parts)
            EXPECT_TRUE(contains(outcome.err, part)) << part << "\n  is not in\n" << outcome.err;
        EXPECT_TRUE(!before_anything_is_written || !place.has("out"));
    }
    Workplace place;
};

} // namespace

TEST_F(PointsOfOthers, AreMeshedWithoutAGivenSpacing)
{
    const double volume = 4 * kPi / 3 * std::pow(static_cast<double>(kRadius), 3);
    const auto check = [&](int frame) {
        const Mesh found = mesh(frame);
        EXPECT_TRUE(is_closed(found));
        EXPECT_NEAR(volume_of(found) / volume, 1, 0.04);
        EXPECT_LT((bounds_of(found).center() - Vec3f(0.01f * static_cast<float>(frame), 0.5f, 0)).norm(), 0.01f);
        EXPECT_LT((found.velocities.at(5) - Vec3f(1, 2, 3)).norm(), 1e-5f);
        EXPECT_EQ(std::get<std::vector<float>>(found.attributes.at("heat")).at(5), 0.5f);
    };
    for (const int frame : {3, 4}) {
        place.write(fmt::format("cache/points.{:04}.ply", frame), ply(ball(frame)));
        Particles particles;
        particles.P = ball(frame);
        particles.resize(particles.P.size());
        std::ranges::fill(particles.v, Vec3f(1, 2, 3));
        std::ranges::fill(particles.attribute<float>("heat"), 0.5f);
        // The voxel of a file says nothing about the spacing: Houdini's voxels hold any number of points.
        write_particles(place / fmt::format("cache/points.{}.vdb", frame), particles, 0.173f, 0.01f);
    }
    write_scene("input = \"../cache/points.####.ply\"\nattributes = \"heat\"\n");
    place.succeed({"run", "scenes/other.toml"});
    check(3), check(4);
    const Mesh before = mesh(3);
    place.remove("out");
    write_scene("input = \"../cache/points.$F.vdb\"\nattributes = \"heat\"\n");
    place.succeed({"run", "scenes/other.toml"});
    check(3), check(4);

    // Only the frame whose points change is computed again.
    const auto time = [&](int frame) {
        return times_in(place / "out/other/surface")[fmt::format("surface.{:04}.ply", frame)];
    };
    const std::string third = time(3), fourth = time(4);
    place.succeed({"run", "scenes/other.toml"});
    EXPECT_EQ(time(4), fourth);
    std::filesystem::copy_file(place / "cache/points.3.vdb", place / "cache/points.4.vdb",
                               std::filesystem::copy_options::overwrite_existing);
    place.succeed({"run", "scenes/other.toml"});
    EXPECT_EQ(time(3), third);
    EXPECT_NE(time(4), fourth);
    EXPECT_EQ(mesh(4).positions, mesh(3).positions);
    // Complete frames no longer need their points.
    place.remove("cache/points.4.vdb");
    place.succeed({"run", "scenes/other.toml"});
}

TEST_F(PointsOfOthers, AllFramesShareTheSpacingOfTheFirst)
{
    // The second frame has only every second point: its surface must not become coarser.
    std::vector<Vec3f> sparse;
    for (const Vec3f& p : ball(4))
        if (sparse.empty() || (p - sparse.back()).norm() > 1.2f * kSpacing) sparse.push_back(p);
    place.write("p.0003.ply", ply(ball(3)));
    place.write("p.0004.ply", ply(sparse));
    write_scene("input = \"../p.####.ply\"\nsdf = true\n");
    place.succeed({"run", "scenes/other.toml"});
    const auto voxel = [&](int frame) {
        return read_field(place / fmt::format("out/other/surface/surface.{:04}.vdb", frame), "surface").voxel;
    };
    EXPECT_NEAR(voxel(3), kSpacing, 0.1f * kSpacing);
    EXPECT_EQ(voxel(3), voxel(4));
    write_scene("input = \"../p.####.ply\"\nsdf = true\nspacing = 0.03\n");
    place.succeed({"run", "scenes/other.toml"});
    EXPECT_EQ(voxel(3), 0.03f);
}

TEST_F(PointsOfOthers, OneFileMayServeAllFrames)
{
    place.write("still.ply", ply(ball(0)));
    write_scene("input = \"../still.ply\"\n");
    place.succeed({"run", "scenes/other.toml"});
    EXPECT_EQ(mesh(3).positions, mesh(4).positions);
}

TEST_F(PointsOfOthers, FewOrNoPointsCanBeMeshed)
{
    place.write("p.0003.ply", ply({}));
    place.write("p.0004.ply", ply({}));
    write_scene("input = \"../p.####.ply\"\n");
    place.succeed({"run", "scenes/other.toml"});
    EXPECT_TRUE(mesh(3).positions.empty());
    place.remove("out");
    place.write("p.0004.ply", ply({Vec3f(1, 2, 3)}));
    rejected({"p.####.ply: cannot estimate the spacing of 1 points at fewer than nine distinct positions",
              "set surface.spacing"},
             false);
    place.succeed({"run", "scenes/other.toml", "--set", "surface.spacing=0.1"});
    EXPECT_NEAR(volume_of(mesh(4)), 0.001, 0.0004); // a drop of about one particle's volume
}

TEST_F(PointsOfOthers, UnreadableFilesAreReportedWithARemedy)
{
    write_scene("input = \"points.####.ply\"\n");
    rejected({"scenes/other.toml:4:", "no file matches scenes/points.####.ply"});
    place.write("scenes/points.0009.ply", ply(ball(9)));
    place.write("scenes/points.0010.ply", ply(ball(10)));
    rejected({"scenes/other.toml:4:", "points.0003.ply is missing; there are frames from 9 to 10 (see shot.frames)"});
    write_scene("input = \"points.abc\"\n");
    rejected({"scenes/other.toml:4:", "must end in .vdb or .ply"});
    write_scene("input = \"still.vdb\"\n");
    rejected({"scenes/other.toml:4:", "there is no file scenes/still.vdb"});
    write_scene("input = \"points.####.ply\"\nspacing = -1\n", "9-10");
    rejected({"scenes/other.toml:5:", "surface.spacing is -1 m; it must be 1e-07 to 1000000 m"});
    write_scene("input = \"points.####.ply\"\nvelocity = \"u\"\n", "9-10");
    rejected({"points.0009.ply has no vector \"u\" for the velocity"}, false);
    std::vector<Vec3f> lost = ball(9);
    lost.emplace_back(1e12f, 0, 0);
    place.write("scenes/points.0009.ply", ply(lost));
    write_scene("input = \"points.####.ply\"\n", "9-10");
    rejected({"points.0009.ply: particle", "is at (1000000000000, 0, 0) m, which is outside the grid"}, false);
    std::string broken = ply(ball(9));
    broken.replace(broken.rfind("0.5\n"), 4, "x\n");
    place.write("scenes/points.0009.ply", broken);
    write_scene("input = \"points.####.ply\"\n", "9-10");
    rejected({"points.0009.ply, line", "not a number"}, false);
}

} // namespace spindrift
