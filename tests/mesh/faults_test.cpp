#include "spindrift/mesh/faults.h"

#include "mesh/test_meshes.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

bool contains(const std::optional<std::string>& text, const std::string& part)
{
    return text && text->find(part) != std::string::npos;
}

} // namespace

TEST(MeshFaults, NameTheTriangleWithAnOpenEdge)
{
    const Mesh closed = box_mesh({0, 0, 0}, {1, 1, 1});
    EXPECT_FALSE(open_edge(closed));
    EXPECT_FALSE(open_edge(inside_out(closed)));

    Mesh open = closed;
    open.triangles.pop_back(); // 1 7 5
    EXPECT_EQ(open_edge(open), "triangle 2 has an edge from (1, 0, 1) to (1, 1, 1) that no other triangle has");

    // Two boxes that share an edge: four triangles meet there.
    Mesh shared = with_joined_vertices(joined(closed, box_mesh({1, 1, 0}, {2, 2, 1})));
    EXPECT_TRUE(contains(open_edge(shared), "that 4 triangles have")) << open_edge(shared).value_or("none");

    Mesh turned = closed;
    std::swap(turned.triangles[7][0], turned.triangles[7][1]);
    EXPECT_TRUE(contains(open_edge(turned), "in the same direction")) << open_edge(turned).value_or("none");

    Mesh flat = closed; // collapsed triangles do not count
    flat.triangles.insert(flat.triangles.begin(), {0, 1, 1});
    EXPECT_FALSE(open_edge(flat));
    flat.triangles.pop_back();
    EXPECT_TRUE(contains(open_edge(flat), "triangle 3 has an edge")) << "counted as in the file";
}

TEST(MeshFaults, DescribeWhatIsOdd)
{
    const Mesh ball = sphere_mesh({0, 0, 0}, 1, 3);
    EXPECT_TRUE(oddities(ball).empty());
    ASSERT_EQ(oddities(inside_out(ball)).size(), 1u);
    EXPECT_TRUE(contains(oddities(inside_out(ball))[0], "inside out"));

    Mesh degenerate = ball;
    degenerate.triangles.emplace_back(5, 5, 6);
    ASSERT_EQ(oddities(degenerate).size(), 1u);
    EXPECT_TRUE(contains(oddities(degenerate)[0], "1 triangle without area, the first is 512"));

    const Mesh two = joined(ball, sphere_mesh({0.9f, 0.3f, 0.1f}, 0.7f, 3));
    ASSERT_EQ(oddities(two).size(), 1u);
    EXPECT_TRUE(contains(oddities(two)[0], "passes through itself"));
    // Mirror images, whose edges meet edges exactly.
    EXPECT_EQ(oddities(joined(ball, sphere_mesh({1, 0, 0}, 1, 3))).size(), 1u);
    EXPECT_TRUE(oddities(joined(ball, sphere_mesh({2.5f, 0, 0}, 0.7f, 3))).empty()) << "parts that do not meet";
    const Mesh box = box_mesh({0, 0, 0}, {1, 1, 1});
    EXPECT_TRUE(oddities(joined(box, box_mesh({1, 0.2f, 0.3f}, {2, 0.8f, 0.7f}))).empty()) << "parts that touch";
    EXPECT_TRUE(oddities(joined(ball, sphere_mesh({0, 0, 0}, 0.7f, 3))).empty()) << "one within the other";
    EXPECT_TRUE(oddities(joined(ball, inside_out(sphere_mesh({0, 0, 0}, 0.7f, 3)))).empty()) << "a cavity";
    const Mesh lost = joined(ball, inside_out(sphere_mesh({2.5f, 0, 0}, 0.7f, 3)));
    ASSERT_EQ(oddities(lost).size(), 1u);
    EXPECT_TRUE(contains(oddities(lost)[0], "a part that is inside out, with triangle 512"));
}
