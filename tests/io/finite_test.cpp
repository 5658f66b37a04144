// Non-finite numbers are never written to files.
#include "spindrift/io/finite.h"

#include "io/temp_folder.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/state_file.h"
#include "spindrift/io/vdb.h"

namespace spindrift {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Runs write(), which must throw NotFinite and leave the folder empty; returns the reason.
template <class Write> std::string refusal(const TempFolder& folder, const Write& write)
{
    try {
        write();
    } catch (const NotFinite& error) {
        EXPECT_TRUE(folder.files().empty());
        return error.values;
    }
    return "written";
}

TEST(Finite, CountsNonFiniteNumbers)
{
    std::vector<float> values(200000, 1.0f);
    expect_finite("file", "v", std::span<const float>(values));
    values[7] = kNan, values[99999] = kInfinity, values[199999] = -kInfinity;
    try {
        expect_finite("file", "v", std::span<const float>(values));
        FAIL();
    } catch (const NotFinite& error) {
        EXPECT_EQ(error.values, "3 of 200000 numbers of \"v\" are not finite");
        EXPECT_STREQ(error.what(), "cannot write file: 3 of 200000 numbers of \"v\" are not finite");
    }
}

TEST(Finite, NoWriterAcceptsNonFiniteNumbers)
{
    const TempFolder folder;
    Particles particles;
    particles.resize(4);
    for (int i = 0; i < 4; ++i) particles.id[i] = i;
    const auto points = [&] { write_particles(folder / "p.vdb", particles, 0.1f, 0.05f); };
    const auto state = [&] { write_state(folder / "state", "x", {{}, particles}); };
    particles.v[2].y() = kNan;
    EXPECT_EQ(refusal(folder, points), "1 of 12 numbers of \"v\" are not finite");
    EXPECT_EQ(refusal(folder, state), "1 of 12 numbers of \"v\" are not finite");
    particles.v[2].y() = 0;
    particles.attribute<float>("heat")[3] = kInfinity;
    EXPECT_EQ(refusal(folder, points), "1 of 4 numbers of \"heat\" are not finite");
    EXPECT_EQ(refusal(folder,
                      [&] {
                          write_state(folder / "state", "x", {{}, {}, {}, {{"rho", {1, kNan}}}});
                      }),
              "1 of 2 numbers of \"rho\" are not finite");

    const Topology topology({morton_of_tile({0, 0, 0})});
    Field<float> density(topology, 1.0f, 0.0f);
    density.tile(0)[5] = kNan;
    EXPECT_EQ(refusal(folder,
                      [&] {
                          write_fields(folder / "f.vdb", {{"density", &density}}, 0.1f);
                      }),
              "1 of 512 numbers of \"density\" are not finite");
    density.tile(0)[5] = 1e6f;
    EXPECT_EQ(refusal(folder,
                      [&] {
                          write_fields(folder / "f.vdb", {{"density", &density}}, 0.1f, {}, {}, true);
                      }),
              "1 of 512 numbers of \"density\" are larger than 65504, the maximum of the file format");

    Mesh mesh;
    mesh.positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, kInfinity}};
    mesh.triangles = {{0, 1, 2}};
    EXPECT_EQ(refusal(folder, [&] { write_mesh(folder / "m.ply", mesh); }), "1 of 9 numbers of \"P\" are not finite");
    Image image(2, 1);
    image.at(1, 0).x() = kNan;
    EXPECT_EQ(refusal(folder, [&] { write_image(folder / "i.exr", image); }),
              "1 of 6 numbers of \"color\" are not finite");
}

// OpenVDB itself refuses to create grids with cells below 14 micrometres.
TEST(Finite, GridsOfMicrometresAreWrittenAndRead)
{
    const TempFolder folder;
    for (const float voxel : {1e-6f, 1e-5f, 1.9e-5f, 2.1e-5f}) {
        const Topology topology({morton_of_tile({0, 0, 0})});
        Field<float> density(topology, 0.0f);
        density.tile(0)[offset_in_tile(1, 2, 3)] = 7;
        write_fields(folder / "f.vdb", {{"density", &density}}, voxel);
        const FieldFile file = read_field(folder / "f.vdb", "density");
        EXPECT_FLOAT_EQ(file.voxel, voxel);
        EXPECT_FLOAT_EQ(file.origin.x(), 0.5f * voxel);
        EXPECT_EQ(file.field.at({1, 2, 3}), 7);

        Particles particles;
        particles.resize(2);
        particles.P = {{3.25f * voxel, 2 * voxel, -voxel}, {-5 * voxel, 0, 0}}, particles.id = {4, 9};
        write_particles(folder / "p.vdb", particles, voxel, voxel);
        const ParticleFile points = read_particles(folder / "p.vdb");
        ASSERT_EQ(points.particles.size(), 2u);
        EXPECT_FLOAT_EQ(points.voxel, voxel);
        for (size_t i = 0; i < 2; ++i) {
            const size_t at = points.particles.id[i] == 4 ? 0 : 1;
            EXPECT_LT((points.particles.P[i] - particles.P[at]).norm(), 1e-4f * voxel);
        }
    }
}

} // namespace

} // namespace spindrift
