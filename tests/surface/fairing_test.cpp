#include "spindrift/surface/fairing.h"

#include "mesh/test_meshes.h"
#include "spindrift/base/random.h"

#include <gtest/gtest.h>
#include <set>

using namespace spindrift;

namespace {

constexpr float kNoise = 0.02f;

// A ball with randomly displaced vertices.
Contour bumpy_ball()
{
    Contour contour;
    contour.mesh = sphere_mesh(Vec3f(1, 2, 3), 1, 4);
    Random random(4);
    for (Vec3f& p : contour.mesh.positions)
        p += kNoise * Vec3f(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    compute_normals(contour.mesh);
    contour.kinds.assign(contour.mesh.positions.size(), VertexKind::free);
    return contour;
}

// Reference: repeated half steps to the mean of the neighbours.
std::vector<Vec3d> stepped(const Mesh& mesh, std::vector<Vec3d> values, int steps)
{
    std::vector<std::set<int>> neighbours(values.size());
    for (const Vec3i& t : mesh.triangles)
        for (int k = 0; k < 3; ++k) neighbours[t[k]].insert({t[(k + 1) % 3], t[(k + 2) % 3]});
    for (int step = 0; step < steps; ++step) {
        std::vector<Vec3d> next(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
            Vec3d mean = Vec3d::Zero();
            for (const int j : neighbours[i]) mean += values[j];
            next[i] = 0.5 * (values[i] + mean / static_cast<double>(neighbours[i].size()));
        }
        values = next;
    }
    return values;
}

} // namespace

TEST(Fairing, ChebyshevSumEqualsRepeatedSteps)
{
    for (const int steps : {2, 8, 32}) {
        Contour contour = bumpy_ball();
        const size_t count = contour.mesh.positions.size();
        std::vector<Vec3d> x(count), lost(count);
        for (size_t i = 0; i < count; ++i) x[i] = contour.mesh.positions[i].cast<double>();
        const std::vector<Vec3d> smooth = stepped(contour.mesh, x, steps);
        for (size_t i = 0; i < count; ++i) lost[i] = x[i] - smooth[i];
        lost = stepped(contour.mesh, lost, steps);

        fair(contour, MeshLinks(contour.mesh), std::vector<float>(count, 1), {.passes = 1, .steps = steps});
        for (size_t i = 0; i < count; ++i) {
            const Vec3d expected = smooth[i] + 1.1 * lost[i];
            EXPECT_LT((contour.mesh.positions[i].cast<double>() - expected).norm(), 0.02 * kNoise);
        }
    }
}

TEST(Fairing, VerticesWithoutStrengthStay)
{
    Contour contour = bumpy_ball();
    const Mesh before = contour.mesh;
    fair(contour, MeshLinks(before), std::vector<float>(before.positions.size(), 0), {});
    EXPECT_EQ(contour.mesh.positions, before.positions);
    for (size_t i = 0; i < before.normals.size(); ++i)
        EXPECT_LT((contour.mesh.normals[i] - before.normals[i]).norm(), 1e-6f);
}
