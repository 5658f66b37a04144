// Which shapes are too thin for a grid, and what they separate.
#include "spindrift/scene/shapes.h"

#include "io/temp_folder.h"

#include <fstream>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

TEST(ThinShapes, FlatScaledCubesAndSpheresAreThin)
{
    for (const auto kind : {ShapeParams::Kind::box, ShapeParams::Kind::sphere}) {
        ShapeParams flat;
        flat.shape = kind, flat.center = Vec3f::Constant(0.5f);
        flat.scale = {{0, 1, 1, 1}, {10, 1, 0.01f, 1}, {20, 1, 1, 1}};
        const Shape shape(flat, "a test");
        EXPECT_TRUE(shape.is_wall_below(0.06f)) << "between its first and its last key";
        EXPECT_TRUE(shape.meets(Vec3f(0.4f, 0.6f, 0.4f), Vec3f(0.4f, 0.4f, 0.4f), 10));
        EXPECT_FALSE(shape.meets(Vec3f(0.4f, 0.6f, 0.4f), Vec3f(0.6f, 0.6f, 0.4f), 10)) << "both above it";
        EXPECT_FALSE(shape.meets(Vec3f(1.2f, 0.6f, 0.5f), Vec3f(1.2f, 0.4f, 0.5f), 10)) << "beside it";
        flat.scale = {};
        EXPECT_FALSE(Shape(flat, "a test").is_wall_below(0.06f));
    }
}

// Floor and wall of a tray touch, but their middles do not.
TEST(ThinShapes, PlatesThatTouchAtAnEdgeLeaveNoGap)
{
    ShapeParams floor, wall;
    floor.min = Vec3f(-0.4f, -0.002f, -1), floor.max = Vec3f(0.4f, 0, 1);
    wall.min = Vec3f(0.4f, -0.002f, -1), wall.max = Vec3f(0.402f, 0.2f, 1);
    const Vec3f inside(0.399f, 0.005f, 0), outside(0.4008f, -0.005f, 0);
    EXPECT_TRUE(Shape(floor, "a test").meets(inside, outside, 0) || Shape(wall, "a test").meets(inside, outside, 0));
    const Vec3f above(0.39f, 0.0001f, 0), corner(0.3999f, 0.0001f, 0.3f);
    for (const ShapeParams& plate : {floor, wall})
        EXPECT_FALSE(Shape(plate, "a test").meets(above, corner, 0)) << "along the floor";
}

// A capsule flattened across its axis is a plate; one that is only thin is a rod, in any direction.
TEST(ThinShapes, FlattenedCapsulesAreThin)
{
    ShapeParams flat;
    flat.shape = ShapeParams::Kind::capsule, flat.radius = 0.1f;
    flat.start = Vec3f(0, 0.5f, 0), flat.end = Vec3f(0.6f, 0.5f, 0.6f);
    flat.scale = {{0, 1, 0.01f, 1}};
    const Shape shape(flat, "a test");
    EXPECT_TRUE(shape.is_wall_below(0.06f));
    EXPECT_NEAR(shape.width(), 0.2f, 1e-3f);
    const auto crosses = [&](const Vec3f& at) {
        return shape.meets(at + Vec3f(0, 0.1f, 0), at - Vec3f(0, 0.1f, 0), 0);
    };
    EXPECT_TRUE(crosses(Vec3f(0.3f, 0.5f, 0.3f)));
    EXPECT_TRUE(crosses(Vec3f(0.36f, 0.5f, 0.24f)));
    EXPECT_FALSE(crosses(Vec3f(0.4f, 0.5f, 0.2f))) << "beside it";
    EXPECT_FALSE(shape.meets(Vec3f(0, 0.51f, 0), Vec3f(0.6f, 0.51f, 0.6f), 0)) << "above it";
    flat.scale = {};
    EXPECT_FALSE(Shape(flat, "a test").is_wall_below(0.06f));
    flat.radius = 0.01f;
    EXPECT_FALSE(Shape(flat, "a test").is_wall_below(0.06f)) << "a rod";
    EXPECT_NEAR(Shape(flat, "a test").width(), 0.02f, 1e-5f);
}

// What separates at a cell of 0.05 m, and what does not: strips as wide as a cell are plates, and narrower ones rods.
TEST(ThinShapes, AStripOneCellWideIsAPlate)
{
    constexpr float kVoxel = 0.05f;
    for (const float width : {kVoxel, 0.999f * kVoxel}) {
        ShapeParams strip;
        strip.min = Vec3f(0, 0.2f, 0), strip.max = Vec3f(width, 0.201f, 0.6f);
        const Shape shape(strip, "a test");
        EXPECT_EQ(shape.is_wall_below(2 * kVoxel), width == kVoxel);
        EXPECT_EQ(shape.width() < kVoxel, width < kVoxel);
    }
}

// Scaled at some time, by itself or by its parent; each has its own keys.
TEST(ThinShapes, TheScaleOfAnyTimeCounts)
{
    ShapeParams cube;
    cube.scale = {{0, 1, 1, 0.1f}, {40, 1, 1, 0.1f}};
    EXPECT_FALSE(Shape(cube, "a test").is_wall_below(0.06f));
    MotionParams null;
    null.scale = {{10, 1, 1, 1}, {20, 0.2f, 0.2f, 0.2f}, {30, 1, 1, 1}};
    const auto parent = std::make_shared<const Motion>(null, Vec3f::Zero());
    EXPECT_TRUE(Shape(cube, "a test", parent).is_wall_below(0.06f)) << "0.02 m at frame 20";
    cube.scale = {{0, 1, 0.01f, 0.01f}};
    EXPECT_FALSE(Shape(cube, "a test").is_wall_below(0.1f)) << "a rod";
    EXPECT_NEAR(Shape(cube, "a test").width(), 0.01f, 1e-6f);
    cube.max = Vec3f::Constant(0.001f), cube.scale = {{0, 300, 300, 300}};
    EXPECT_FALSE(Shape(cube, "a test").is_wall_below(0.1f));
    EXPECT_NEAR(Shape(cube, "a test").width(), 0.3f, 1e-4f);
}

// A closed box from x = `low` to `high`.
std::string box_text(float low, float high, int first_vertex)
{
    std::string text;
    for (int k = 0; k < 8; ++k)
        text += "v " + std::to_string(k & 4 ? high : low) + (k & 2 ? " 1" : " 0") + (k & 1 ? " 1\n" : " 0\n");
    for (const auto& q :
         {std::array{1, 2, 4, 3}, {5, 7, 8, 6}, {1, 5, 6, 2}, {3, 4, 8, 7}, {1, 3, 7, 5}, {2, 6, 8, 4}}) {
        text += "f";
        for (const int vertex : q) text += " " + std::to_string(vertex + first_vertex);
        text += "\n";
    }
    return text;
}

TEST(ThinShapes, AMeshSequenceThatIsThinInTheMiddleIsThin)
{
    const TempFolder folder;
    for (int frame = 1; frame <= 5; ++frame)
        std::ofstream(folder / ("press." + std::to_string(frame) + ".obj"))
            << box_text(0, frame == 3 ? 0.02f : 0.5f, 0);
    ShapeParams press;
    press.shape = ShapeParams::Kind::mesh, press.file = folder / "press.#.obj";
    const Shape shape(press, "a test");
    EXPECT_TRUE(shape.is_wall_below(0.06f));
    EXPECT_FALSE(shape.is_wall_below(0.01f));
    EXPECT_FALSE(shape.triangles_change());
}

// Two chambers with a wall of 4 mm in between.
TEST(ThinShapes, AnInvertedMeshMayBeDividedByAThinWall)
{
    const TempFolder folder;
    std::ofstream(folder / "tank.obj") << box_text(0, 0.5f, 0) << box_text(0.504f, 1, 8);
    ShapeParams tank;
    tank.shape = ShapeParams::Kind::mesh, tank.file = folder / "tank.obj", tank.invert = true;
    const Shape shape(tank, "a test");
    EXPECT_TRUE(shape.is_divided_below(0.05f));
    EXPECT_FALSE(shape.is_divided_below(0.003f));
    tank.invert = false;
    EXPECT_FALSE(Shape(tank, "a test").is_divided_below(0.05f));
}

// Its two large sides have one triangle each that reaches the edge with one corner only.
TEST(ThinShapes, AWedgeOfLargeTrianglesIsThinAtItsEdge)
{
    const TempFolder folder;
    const std::string file = folder / "wedge.obj";
    std::ofstream(file) << "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 1 0.2 0\nv 1 0.2 1\n"
                           "f 1 2 3\nf 1 3 4\nf 1 6 5\nf 1 4 6\nf 2 5 6\nf 2 6 3\nf 1 5 2\nf 4 3 6\n";
    ShapeParams wedge;
    wedge.shape = ShapeParams::Kind::mesh, wedge.file = file;
    const Shape shape(wedge, "a test");
    EXPECT_TRUE(shape.is_wall_below(0.06f));
    EXPECT_FALSE(shape.is_wall_below(0.001f));
}

} // namespace

} // namespace spindrift
