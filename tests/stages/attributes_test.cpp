// Checks the velocities and sizes that other programs read from files against the motion between frames.
#include "cli/program.h"
#include "spindrift/base/random.h"
#include "spindrift/field/block.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"
#include "spindrift/mesh/mesh.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unordered_map>

namespace spindrift {

namespace {

std::string frame_of(const std::string& stage, int frame, const std::string& ending = "vdb")
{
    return fmt::format("out/{0}/{0}.{1:04}.{2}", stage, frame, ending);
}

// Trilinear interpolation of values at cell centres; position in cells.
template <class T> T interpolated(const Field<T>& field, const Vec3f& cells)
{
    const Vec3f p = cells - Vec3f::Constant(0.5f);
    const Vec3i low(floor_int(p.x()), floor_int(p.y()), floor_int(p.z()));
    const Vec3f f = p - low.cast<float>();
    T sum = 0 * field.background();
    for (int c = 0; c < 8; ++c) {
        const Vec3i step(c >> 2, c >> 1 & 1, c & 1);
        const Vec3f share = step.cast<float>().cwiseProduct(2 * f - Vec3f::Ones()) + Vec3f::Ones() - f;
        sum += share.prod() * field.at(low + step);
    }
    return sum;
}

// In water at rest except for its eddies, only the ripples move. Traces each vertex back by its velocity and returns
// its distance to the previous frame's surface, as a fraction of that of the untraced vertex.
double missed_motion_of_ripples(const std::string& tables)
{
    const Workplace place;
    place.write("ripples.toml", R"([shot]
frames = "1-7"

[liquid]
voxel = 0.05

[liquid.domain]
min = [0, 0, 0]
max = [0.8, 0.6, 0.8]

[[liquid.source]]
max = [0.8, 0.325, 0.8]

)" + tables);
    place.succeed({"run", "ripples.toml", "-o", "out"});
    double missed = 0, change = 0;
    for (int frame = 2; frame <= 7; ++frame) {
        const Mesh mesh = read_mesh(place / frame_of("ripples", frame, "ply"));
        const FieldFile before = read_field(place / frame_of("ripples", frame - 1, "vdb"), "surface");
        const auto square_of_distance = [&](const Vec3f& x) {
            const double distance = static_cast<double>(interpolated(before.field, x / before.voxel));
            return distance * distance;
        };
        for (size_t i = 0; i < mesh.positions.size(); ++i) {
            const Vec3f &x = mesh.positions[i], lowest(0.1f, 0.25f, 0.1f), highest(0.7f, 0.6f, 0.7f);
            if ((x.array() < lowest.array()).any() || (x.array() > highest.array()).any()) continue;
            missed += square_of_distance(x - mesh.velocities[i] / 24), change += square_of_distance(x);
        }
    }
    const double share = std::sqrt(missed / change);
    std::fprintf(stderr, "ripples: %.3f of their motion is missed\n", share);
    return share;
}

} // namespace

TEST(Attributes, SprayHasEachDropletsRadiusAsPscale)
{
    const Workplace place;
    place.write("spray.toml", R"([shot]
frames = "1-3"

[spray]

[[spray.emitter]]
direction = [0, 1, 0]
rate = 20000
droplet_radius = 0.002
droplet_variation = 0.8
)");
    place.succeed({"run", "spray.toml", "-o", "out"});
    const Particles droplets = read_particles(place / frame_of("spray", 3)).particles;
    const auto *radius = droplets.find<float>("radius"), *pscale = droplets.find<float>("pscale");
    ASSERT_GT(droplets.size(), 500u);
    ASSERT_TRUE(radius && pscale) << "pscale is the same for all";
    EXPECT_EQ(*radius, *pscale);
    EXPECT_GT(*std::ranges::max_element(*radius), 1.5f * *std::ranges::min_element(*radius));
    EXPECT_FALSE(droplets.attributes.contains("rest")) << "which is a position elsewhere";
}

// Advecting this frame's density with vel must give the next frame's, for a frame as short as one step.
TEST(Attributes, SmokeVelocityAdvectsItsDensity)
{
    const Workplace place;
    place.write("smoke.toml", R"([shot]
frames = "1-5"
fps = 200

[smoke]
voxel = 0.05
buoyancy = 0
keep_mass = false

[smoke.domain]
min = [-0.4, 0, -0.4]
max = [0.4, 0.8, 0.4]

[smoke.turbulence]
on = true
refine = 4
strength = 1
start_energy = 0.5

[[smoke.source]]
shape = "box"
min = [-0.3, 0.1, -0.3]
max = [0.3, 0.7, 0.3]
noise.amount = 1
noise.size = 0.15
last_frame = 1
)");
    place.succeed({"run", "smoke.toml", "-o", "out"});
    const FieldSet before = read_fields(place / frame_of("smoke", 4), {"density", "vel"});
    const FieldFile after = read_field(place / frame_of("smoke", 5), "density");
    const FieldFile& density = before.numbers.at("density");
    const FieldFileOf<Vec3f>& vel = before.vectors.at("vel");
    double error = 0, change = 0;
    for (int t = 0; t < after.field.topology().tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = after.field.topology().first_cell(t) + cell_in_tile(c);
            const Vec3f x = (cell.cast<float>() + Vec3f::Constant(0.5f)) * after.voxel;
            if ((x - Vec3f(0, 0.4f, 0)).cwiseAbs().maxCoeff() > 0.25f) continue;
            const Vec3f u = interpolated(vel.field, x / vel.voxel);
            const float carried = interpolated(density.field, (x - u / 200) / density.voxel);
            const auto square = [](float d) { return static_cast<double>(d) * static_cast<double>(d); };
            error += square(after.field.tile(t)[c] - carried);
            change += square(after.field.tile(t)[c] - density.field.at(cell));
        }
    EXPECT_GT(change, 1);
    std::fprintf(stderr, "smoke: error %.3f of the change\n", std::sqrt(error / change));
    EXPECT_LT(std::sqrt(error / change), 0.3);
}

// Sand that is thrown apart stretches and splits its particles, and grains change particles. Every grain must move by
// its velocity.
TEST(Attributes, GrainsHaveTheVelocityOfTheirOwnMotion)
{
    const Workplace place;
    place.write("sand.toml", R"([shot]
frames = "1-6"
fps = 96

[sand]
voxel = 0.03

[sand.domain]
min = [-0.6, 0, -0.6]
max = [0.6, 1, 0.6]

[[sand.source]]
shape = "sphere"
center = [0, 0.3, 0]
radius = 0.12

[[sand.impulse]]
center = [0, 0.25, 0]
radius = 0.2
speed = 4
frame = 1

[grains]
each = 12
)");
    place.succeed({"run", "sand.toml", "-o", "out"});
    const auto read = [&](int frame) { return read_particles(place / frame_of("grains", frame)).particles; };
    for (int frame = 3; frame <= 6; ++frame) {
        const Particles before = read(frame - 1), now = read(frame);
        std::unordered_map<int32_t, Vec3f> was;
        for (size_t i = 0; i < before.size(); ++i) was[before.id[i]] = before.P[i];
        double error = 0, motion = 0;
        size_t count = 0;
        for (size_t i = 0; i < now.size(); ++i) {
            if (!was.contains(now.id[i])) continue;
            const Vec3f u = 96 * (now.P[i] - was[now.id[i]]);
            error += static_cast<double>((now.v[i] - u).squaredNorm());
            motion += static_cast<double>(u.squaredNorm());
            ++count;
        }
        ASSERT_GT(count, 2000u);
        EXPECT_LT(std::sqrt(error / motion), 0.001) << "frame " << frame;
    }
}

TEST(Attributes, RipplesHaveTheVelocityOfTheirMotion)
{
    EXPECT_LT(missed_motion_of_ripples("[ripples]\nsdf = true\nstart_energy = 0.02\n"), 0.3);
}

// The surface is reconstructed in each frame, so it also moves by more or less than the particles do.
TEST(Attributes, RipplesSimulatedByTheLiquidHaveTheVelocityOfTheirMotion)
{
    EXPECT_LT(missed_motion_of_ripples("[liquid.turbulence]\non = true\nrefine = 4\nstart_energy = 0.02\n"
                                       "[ripples]\nsdf = true\n"),
              0.75);
}

TEST(Attributes, ColoursAreRenderedUnchanged)
{
    const Workplace place;
    place.write("paint.toml", R"([shot]
frames = "1-1"

[liquid]
voxel = 0.1

[liquid.domain]
min = [0, 0, 0]
max = [1, 1, 1]

[[liquid.source]]
max = [1, 0.6, 1]
color = [0.02, 0.7, 0.02]

[render]
show = "liquid"
color_by = "color"
format = "exr"
width = 48
height = 48
samples = 4
floor = false
edges = false
camera.position = [0.5, 0.4, 4]
camera.target = [0.5, 0.3, 0.5]
)");
    place.succeed({"run", "paint.toml", "-o", "out"});
    const Image image = read_image(place / frame_of("render", 1, "exr"));
    const Vec3f middle = image.at(24, 24);
    EXPECT_GT(middle.y(), 5 * middle.x()) << middle.transpose();
    EXPECT_GT(middle.y(), 5 * middle.z());
}

TEST(Attributes, InfoGivesBoundsInMetres)
{
    const Workplace place;
    Particles particles;
    particles.resize(3);
    particles.P = {Vec3f(-1.5f, 0, 0), Vec3f(2.5f, 0.5f, 0), Vec3f(0, 0.375f, 8)};
    write_particles(place / "p.vdb", particles, 0.5f, 0.1f);
    const std::string text = place.succeed({"info", "p.vdb"}).out;
    EXPECT_TRUE(contains(text, "bounds        (-1.5, 0, 0) to (2.5, 0.5, 8) m")) << text;
    EXPECT_TRUE(contains(text, "voxels        [-3, 0, 0] to [5, 1, 16]")) << text;
}

// Uses the script of docs/attributes.md, where Debian's Blender is installed.
TEST(Attributes, BlenderReadsColoursAndVelocitiesOfMeshes)
{
    if (std::system("command -v blender > /dev/null 2>&1") != 0) GTEST_SKIP() << "Blender is not installed";
    const Workplace place;
    Mesh mesh;
    mesh.positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    mesh.triangles = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
    mesh.velocities = {{1, 0, 0}, {0, 2, 0}, {0, 0, 3}, {4, 5, 6}};
    mesh.attributes["color"] = std::vector<Vec3f>{{1, 0, 0.5f}, {0, 1, 0}, {0.2f, 0, 0}, {1, 1, 1}};
    write_mesh(place / "mesh.ply", mesh);
    const std::string page = read_file(SPINDRIFT_SOURCE_DIR "/docs/attributes.md"), fence = "```python\n";
    const size_t begin = page.find(fence) + fence.size();
    ASSERT_LT(begin, page.size());
    place.write("look.py", page.substr(begin, page.find("```", begin) - begin) + R"(
import sys
mesh = load(sys.argv[-1])
colors = mesh.color_attributes[0]
for loop in mesh.loops:
    assert tuple(mesh.vertices[loop.vertex_index].co) == ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))[loop.vertex_index]
    velocity = tuple(mesh.attributes["velocity"].data[loop.vertex_index].vector)
    assert velocity == ((1, 0, 0), (0, 2, 0), (0, 0, 3), (4, 5, 6))[loop.vertex_index], velocity
    color = colors.data[loop.index].color
    wanted = ((1, 0, 0.5), (0, 1, 0), (0.2, 0, 0), (1, 1, 1))[loop.vertex_index]
    assert all(abs(a - b) < 0.01 for a, b in zip(color, wanted)), tuple(color)
print("CORNERS", len(mesh.loops))
)");
    Child blender(blender_command(place / "look.py", {place / "mesh.ply"}), place.path());
    ASSERT_TRUE(blender.ends_within(120));
    const RunResult result = blender.wait();
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_TRUE(contains(result.out, "CORNERS 12")) << result.out;
}

// A surface of a spray that the scene names as its particles.
TEST(Attributes, SprayCanBeMeshed)
{
    const Workplace place;
    Particles spray;
    spray.resize(2);
    spray.P = {Vec3f(0, 1, 0), Vec3f(0.05f, 1, 0)};
    spray.attribute<float>("radius") = spray.attribute<float>("pscale") = {0.008f, 0.0007f};
    write_particles(place / "spray.0001.vdb", spray, 0.01f, 0);
    place.write("mesh.toml", "[shot]\nframes = \"1-1\"\n[surface]\ninput = \"spray.####.vdb\"\n");
    place.succeed({"run", "mesh.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / frame_of("surface", 1, "ply"));
    float large = 0, small = 0;
    for (const Vec3f& x : mesh.positions) {
        const bool right = x.x() > 0.03f;
        float& most = right ? small : large;
        most = std::max(most, (x - spray.P[right]).norm());
    }
    EXPECT_NEAR(large, 0.008f, 0.0003f);
    EXPECT_NEAR(small, 0.0007f, 0.0003f);
}

// An earlier version merged all of them into one body 30 thousand times as large.
TEST(Attributes, SeparateDropsOfEqualRadiusAreNotMerged)
{
    const Workplace place;
    Random random(1);
    for (const size_t count : {60, 1}) {
        Particles drops;
        drops.resize(count);
        for (Vec3f& x : drops.P) x = Vec3f(random.uniform(0, 2), random.uniform(0, 2), random.uniform(0, 2));
        write_particles(place / "drops.0001.vdb", drops, 0.1f, 0.01f);
        place.write("mesh.toml", "[shot]\nframes = \"1-1\"\n[surface]\ninput = \"drops.####.vdb\"\n");
        place.succeed({"run", "mesh.toml", "-o", "out"});
        const Mesh mesh = read_mesh(place / frame_of("surface", 1, "ply"));
        EXPECT_NEAR(volume_of(mesh) / (static_cast<double>(count) * 4 * kPi / 3 * 1e-6), 1, 0.1) << count;
    }
}

TEST(Attributes, ASceneMeshesItsOwnSpray)
{
    const Workplace place;
    place.write("spray.toml", R"([shot]
frames = "1-2"

[spray]

[[spray.emitter]]
from = "disc"
radius = 0.2
direction = [0, 1, 0]
rate = 2000
droplet_radius = 0.003
droplet_variation = 0.8

[surface]
)");
    place.succeed({"run", "spray.toml", "-o", "out"});
    const Particles droplets = read_particles(place / frame_of("spray", 2)).particles;
    double volume = 0;
    for (const float r : *droplets.find<float>("radius")) volume += 4 * kPi / 3 * std::pow(static_cast<double>(r), 3);
    ASSERT_GT(droplets.size(), 50u);
    EXPECT_NEAR(volume_of(read_mesh(place / frame_of("surface", 2, "ply"))) / volume, 1, 0.03);
}

} // namespace spindrift
