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
