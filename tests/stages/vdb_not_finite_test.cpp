// Points of other programs with values that are not finite, written with OpenVDB because this program would refuse to.
#include "cli/program.h"

#include <cmath>
#include <gtest/gtest.h>
#include <openvdb/openvdb.h>
#include <openvdb/points/PointConversion.h>

namespace spindrift {

namespace {

namespace points = openvdb::points;

class PointsThatAreNotFinite : public ::testing::Test {
  protected:
    // 64 points with an attribute that is 1 except for two of them.
    void write(const std::string& attribute, float odd) const
    {
        openvdb::initialize();
        std::vector<openvdb::Vec3f> positions;
        for (int i = 0; i < 64; ++i)
            positions.emplace_back(0.1f * float(i % 4), 0.1f * float(i / 4 % 4), 0.1f * float(i / 16));
        const auto transform = openvdb::math::Transform::createLinearTransform(0.2);
        auto grid = points::createPointDataGrid<points::NullCodec, points::PointDataGrid>(positions, *transform);
        points::appendAttribute<float>(grid->tree(), attribute, 1.0f);
        for (auto leaf = grid->tree().beginLeaf(); leaf; ++leaf) {
            points::AttributeWriteHandle<float> handle(leaf->attributeArray(attribute));
            for (openvdb::Index k = 0; k < handle.size(); ++k) handle.set(k, k == 3 || k == 60 ? odd : 1.0f);
        }
        grid->setName("points");
        openvdb::io::File file(place / "p.vdb");
        file.write({grid});
        file.close();
    }
    void scene(const std::string& lines) const
    {
        place.write("scene.toml", "[shot]\nframes = \"1-1\"\n[surface]\ninput = \"p.vdb\"\n" + lines);
    }
    void refused(const std::string& part) const
    {
        const RunResult outcome = place.run({"run", "scene.toml"});
        EXPECT_EQ(outcome.code, 2);
        EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
    }

    Workplace place;
};

TEST_F(PointsThatAreNotFinite, AreReportedByTheSurface)
{
    write("heat", std::nanf(""));
    scene("attributes = \"heat\"\n");
    refused("p.vdb: the attribute \"heat\" of 2 of 64 particles is not finite");
    scene("");
    place.succeed({"run", "scene.toml"});
    scene("attributes = \"heat\"\n[[surface.expression]]\ncode = \"if (!isfinite(f@heat)) f@heat = 0;\"\n");
    place.succeed({"run", "scene.toml"});
    write("pscale", INFINITY);
    scene("");
    refused("p.vdb: the radius \"pscale\" of 2 of 64 points is not finite");
}

TEST_F(PointsThatAreNotFinite, AreReportedByExpressions)
{
    write("heat", std::nanf(""));
    const RunResult outcome = place.run({"ax", "vec3f@v = 0;", "--in", "p.vdb", "-o", "q.vdb"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "p.vdb: the attribute \"heat\" of 2 of 64 points is not finite")) << outcome.err;
    EXPECT_EQ(place.succeed({"ax", "if (!isfinite(f@heat)) f@heat = 0;", "--in", "p.vdb", "-o", "r.vdb"}).err, "");
}

TEST(VelocitiesThatAreNotFinite, AreRefusedByATrackedSurface)
{
    const Workplace place;
    openvdb::initialize();
    const auto grid = openvdb::Vec3SGrid::create();
    grid->setName("vel");
    grid->setTransform(openvdb::math::Transform::createLinearTransform(0.1));
    grid->fill(openvdb::CoordBBox({-8, -8, -8}, {7, 7, 7}), {1, 0, 0});
    for (const char* name : {"vel.0001.vdb", "vel.0003.vdb"}) openvdb::io::File(place / name).write({grid});
    grid->tree().setValue({1, 2, 3}, {0, std::nanf(""), 0});
    openvdb::io::File(place / "vel.0002.vdb").write({grid});
    place.write("scene.toml", "[shot]\nframes = \"1-3\"\n[track]\ninput = \"vel.####.vdb\"\nvoxel = 0.05\n"
                              "[[track.source]]\nshape = \"sphere\"\nradius = 0.2\n");
    const RunResult outcome = place.run({"run", "scene.toml"});
    EXPECT_NE(outcome.code, 0);
    EXPECT_TRUE(contains(outcome.err, "vel.0002.vdb has 1 values that are not finite")) << outcome.err;
}

} // namespace
} // namespace spindrift
