// Sand at colliders thinner than a cell.
#include "sand/sands.h"

#include "io/temp_folder.h"
#include "spindrift/sand/grain_points.h"

#include <gtest/gtest.h>

#include <fstream>

namespace spindrift {

namespace {

SandScene sand_above_a_plate(float degrees, float thickness = 0.004f)
{
    SandScene scene(0.5f, {-0.4f, 0, -0.3f}, {0.4f, 1.2f, 0.3f}, 0.04f);
    scene.fill_box({-0.2f, 0.6f, -0.15f}, {0.2f, 0.8f, 0.15f});
    ColliderParams plate;
    plate.min = Vec3f(-2, 0.4f - 0.5f * thickness, -2), plate.max = Vec3f(2, 0.4f + 0.5f * thickness, 2);
    plate.friction = 0.3f;
    plate.rotate = {{0, 0, 0, 1, degrees}};
    scene.params.colliders = {plate};
    return scene;
}

size_t behind(const Particles& particles, float degrees)
{
    const double angle = degrees * kPi / 180;
    const Vec3f normal = Vec3d(-std::sin(angle), std::cos(angle), 0).cast<float>();
    return static_cast<size_t>(std::count_if(particles.P.begin(), particles.P.end(),
                                             [&](const Vec3f& x) { return (x - Vec3f(0, 0.4f, 0)).dot(normal) < 0; }));
}

TEST(SandSheets, HoldGrains)
{
    for (const float degrees : {0.0f, 20.0f}) {
        const auto sand = sand_above_a_plate(degrees).start();
        const double mass = sand->mass();
        for (int frame = 0; frame < 20; ++frame) {
            sand->advance();
            ASSERT_EQ(behind(sand->particles(), degrees), 0u) << degrees << " degrees, frame " << frame;
        }
        EXPECT_NEAR(sand->mass(), mass, 1e-5 * mass);
    }
}

// Regression: in the wedge between a plate of 1 mm and a wall, sand accelerated without bound.
TEST(SandSheets, SandInAWedgeDoesNotAccelerate)
{
    const auto sand = sand_above_a_plate(35, 0.001f).start();
    const float fall = 0.8f - (0.4f - 0.4f * std::tan(35 * static_cast<float>(kPi) / 180)); // to the lowest corner
    float fastest = 0;
    for (int frame = 0; frame < 24; ++frame) {
        sand->advance();
        ASSERT_EQ(behind(sand->particles(), 35), 0u) << "frame " << frame;
        for (const Vec3f& v : sand->particles().v) fastest = std::max(fastest, v.norm());
    }
    EXPECT_LT(fastest, std::sqrt(2 * 9.81f * fall));
}

// A plate of 2 mm in cells of 4 cm that rises, sinks or turns.
TEST(SandSheets, HoldSandWhileTheyMove)
{
    struct Motion {
        float degrees, rise, turn; // at first; [m] and [deg] a frame
    };
    for (const Motion& m : {Motion{20, 0.01f, 0}, Motion{20, -0.02f, 0}, Motion{0, 0, 1}}) {
        SandScene scene = sand_above_a_plate(0);
        ColliderParams& plate = scene.params.colliders[0];
        plate.min.y() = 0.399f, plate.max.y() = 0.401f;
        plate.rotate = {{1, 0, 0, 1, m.degrees}, {101, 0, 0, 1, m.degrees + 100 * m.turn}};
        plate.translate = {{1, 0, 0, 0}, {101, 0, 100 * m.rise, 0}};
        const Shape shape(plate, "a test");
        const auto behind_now = [&](const Particles& particles, int frame) {
            const auto now = static_cast<float>(frame);
            const Vec3f at = shape.placed(Vec3f(0, 0.4f, 0), now), above = shape.placed(Vec3f(0, 1.4f, 0), now);
            return std::count_if(particles.P.begin(), particles.P.end(),
                                 [&](const Vec3f& x) { return (x - at).dot(above - at) < 0; });
        };
        const auto hold = [&](auto& sand, const char* model) {
            for (int frame = 2; frame <= 18; ++frame) {
                sand.advance();
                ASSERT_EQ(behind_now(sand.particles(), frame), 0)
                    << model << ", " << m.rise << " m and " << m.turn << " degrees a frame, frame " << frame;
            }
        };
        hold(*scene.start(), "grains");
        hold(*scene.start_fluid(), "fluid");
    }
}

// Sand that lands on plates of 4 mm in cells of 4 cm: level, tilted, and one that rises and turns. Each grain stays on
// the side of its particle, although ellipsoids reach through the plate.
TEST(SandSheets, HoldGrainsForRendering)
{
    struct Motion {
        float degrees, rise, turn; // at first; [m] and [deg] a frame
    };
    for (const Motion& m : {Motion{0, 0, 0}, Motion{20, 0, 0}, Motion{5, 0.01f, 1}}) {
        SandScene scene = sand_above_a_plate(0);
        ColliderParams& plate = scene.params.colliders[0];
        plate.rotate = {{1, 0, 0, 1, m.degrees}, {101, 0, 0, 1, m.degrees + 100 * m.turn}};
        plate.translate = {{1, 0, 0, 0}, {101, 0, 100 * m.rise, 0}};
        const Shape shape(plate, "a test");
        const auto sand = scene.start();
        GrainPoints grains(scene.params, {}, kFps, {shape});
        grains.start(sand->particles(), 1);
        const size_t at_first = grains.points().size();
        for (int frame = 2; frame <= 18; ++frame) {
            sand->advance();
            const GrainReport report = grains.advance(sand->particles());
            EXPECT_LT(report.given_up, at_first / 100) << "frame " << frame;
            const auto now = static_cast<float>(frame);
            const Vec3f at = shape.placed(Vec3f(0, 0.4f, 0), now), above = shape.placed(Vec3f(0, 1.4f, 0), now);
            for (const Vec3f& x : grains.points().P)
                ASSERT_GT((x - at).dot(above - at), 0) << m.degrees << " degrees, frame " << frame;
        }
    }
}

// An open mesh that tips about an axis along no edge of the grid. Regression: sand in the parts that it cuts off cells
// was splatted to cells below the tray, which could not push it back.
TEST(SandSheets, DoNotCompressSandInATippingTray)
{
    const TempFolder folder;
    const std::string file = folder / "tray.obj";
    std::ofstream(file) << "v -0.3 0 -0.2\nv 0.3 0 -0.2\nv 0.3 0 0.2\nv -0.3 0 0.2\n"
                        << "v -0.3 0.12 -0.2\nv 0.3 0.12 -0.2\nv 0.3 0.12 0.2\nv -0.3 0.12 0.2\n"
                        << "f 1 2 3\nf 1 3 4\nf 1 2 6\nf 1 6 5\nf 2 3 7\nf 2 7 6\nf 3 4 8\nf 3 8 7\nf 4 1 5\nf 4 5 8\n";
    SandScene scene(0.5f, {-0.6f, 0, -0.4f}, {0.6f, 1, 0.4f}, 0.04f);
    scene.fill_box({-0.28f, 0.5f, -0.18f}, {0.28f, 0.58f, 0.18f});
    ColliderParams tray;
    tray.shape = ShapeParams::Kind::mesh, tray.file = file;
    tray.translate = {{1, 0, 0.48f, 0}}, tray.rotate = {{1, 0.3f, 0, 1, 0}, {12, 0.3f, 0, 1, 35}};
    const Shape shape(tray, "a test", nullptr, true);
    scene.params.colliders = {tray};
    GranularSand sand(scene.params, {shapes_of(scene.params.sources), {shape}, {}}, kFps);
    sand.start(1);
    const double mass = sand.mass();
    for (int frame = 2; frame <= 18; ++frame) {
        EXPECT_LE(sand.advance().fullest, 1.02f) << "frame " << frame;
        for (const Vec3f& x : sand.particles().P)
            ASSERT_GT(shape.carried(x, static_cast<float>(frame), 1).y(), 0.48f) << "frame " << frame;
    }
    EXPECT_NEAR(sand.mass(), mass, 1e-5 * mass);
}

// In a gutter of two plates of 2 mm, 60 degrees apart.
TEST(SandSheets, DoNotCompressSandWhereTheyMeet)
{
    SandScene scene(0.5f, {-0.4f, 0, -0.3f}, {0.4f, 1.2f, 0.3f}, 0.04f);
    scene.fill_box({-0.1f, 0.6f, -0.15f}, {0.1f, 0.8f, 0.15f});
    ColliderParams plate;
    plate.min = Vec3f(0, 0.399f, -2), plate.max = Vec3f(2, 0.401f, 2);
    plate.pivot = Vec3f(0, 0.4f, 0), plate.friction = 0.3f;
    scene.params.colliders = {plate, plate};
    for (int side = 0; side < 2; ++side) scene.params.colliders[side].rotate = {{0, 0, 0, 1, side ? 120.0f : 60.0f}};
    const auto sand = scene.start();
    for (int frame = 0; frame < 20; ++frame) {
        EXPECT_LE(sand->advance().fullest, 1.02f) << "frame " << frame;
        for (const Vec3f& x : sand->particles().P)
            ASSERT_GT(x.y(), 0.4f + std::tan(static_cast<float>(kPi) / 3) * std::abs(x.x())) << "frame " << frame;
    }
}

// Sand that fills one side of a plate sums to the capacity of the cells on that side, and adds nothing to the other.
TEST(SandSheets, SplattingStaysOnOneSide)
{
    constexpr float kVoxel = 0.04f;
    SandScene scene = sand_above_a_plate(25, 0.001f);
    scene.params.sources.clear();
    scene.fill_box({-0.32f, 0.08f, -0.28f}, {0.32f, 0.8f, 0.28f});
    const auto above = [](const Vec3f& x) { // [m]
        const float angle = 25 * static_cast<float>(kPi) / 180;
        return (x - Vec3f(0, 0.4f, 0)).dot(Vec3f(-std::sin(angle), std::cos(angle), 0));
    };
    Particles particles = scene.start([&](const Vec3f& x) { return above(x) > 0; })->state().particles;
    SandGrid grid;
    grid.sort(particles, kVoxel, scene.params.gravity);
    Solids solids(scene.params.domain, shapes_of(scene.params.colliders), kFps, scene.params.colliders);
    solids.find_sheets(kVoxel), solids.set_frame(1);
    SolidCells room;
    room.update(grid.topology, solids, kVoxel);
    grid.splat(particles, scene.params.materials, SandGrid::Splat::volumes, {room.sight()});
    double sum = 0, below = 0;
    for (int t = 0; t < grid.topology.tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = grid.topology.first_cell(t) + cell_in_tile(c);
            const float filled = grid.filled.tile(t)[c];
            sum += static_cast<double>(filled);
            if (above((cell.cast<float>() + Vec3f::Constant(0.5f)) * kVoxel) < -0.01f * kVoxel)
                below += static_cast<double>(filled);
        }
    EXPECT_NEAR(8 * sum, static_cast<double>(particles.size()), 1e-4 * sum);
    EXPECT_EQ(below, 0);
    grid.refill(particles, scene.params.materials, room.sight());
    double again = 0;
    for (const float filled : grid.filled.values()) again += static_cast<double>(filled);
    EXPECT_NEAR(again, sum, 1e-5 * sum);
}

// A sheet of two triangles, which has no inside, below either model.
TEST(SandSheets, MayBeOpenMeshes)
{
    const TempFolder folder;
    const std::string file = folder / "sheet.obj";
    std::ofstream(file) << "v -1 0.3 -1\nv 1 0.5 -1\nv 1 0.5 1\nv -1 0.3 1\nf 1 2 3\nf 1 3 4\n";
    ShapeParams sheet;
    sheet.shape = ShapeParams::Kind::mesh, sheet.file = file;
    const Shape shape(sheet, "a test", nullptr, true);
    SandScene scene = sand_above_a_plate(0);
    scene.params.colliders = {};
    GranularSand grains(scene.params, {shapes_of(scene.params.sources), {shape}, {}}, kFps);
    FluidSand fluid(scene.params, shapes_of(scene.params.sources), {shape}, kFps);
    const auto hold = [](auto& sand, const char* model) {
        sand.start(1);
        for (int frame = 2; frame <= 20; ++frame) {
            sand.advance();
            for (const Vec3f& x : sand.particles().P)
                ASSERT_GT(x.y(), 0.4f + 0.1f * x.x()) << model << ", frame " << frame;
        }
    };
    hold(grains, "grains");
    hold(fluid, "fluid");
}

TEST(SandSheets, HoldFluidSand)
{
    const auto sand = sand_above_a_plate(20).start_fluid();
    for (int frame = 0; frame < 20; ++frame) {
        sand->advance();
        ASSERT_EQ(behind(sand->particles(), 20), 0u) << "frame " << frame;
    }
}

} // namespace

} // namespace spindrift
