#include "spindrift/texture/features.h"

#include "spindrift/mesh/remesh.h"
#include "texture/sequences.h"

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

const Mat3f kGradient = (Mat3f() << 0.7f, -1.1f, 0.4f, 0.3f, -0.5f, 0.9f, -0.8f, 0.2f, 0.6f).finished();
const Vec3f kAxes(1, 0.7f, 1.4f); // of an ellipsoid

// Triangles of all shapes, the same at all levels.
Mesh ellipsoid(int levels)
{
    Mesh mesh = rough_ball(levels, 0.25f);
    for (Vec3f& x : mesh.positions) x = x.cwiseProduct(kAxes);
    return mesh;
}

Vec3f normal_of_ellipsoid(const Vec3f& x) { return x.cwiseQuotient(kAxes.cwiseProduct(kAxes)).normalized(); }

float curvature_of_ellipsoid(const Vec3f& x)
{
    const Vec3f squares = kAxes.cwiseProduct(kAxes);
    const float support = 1 / x.cwiseQuotient(squares).norm();
    return (squares.sum() - x.squaredNorm()) * support * support * support / (2 * squares.prod());
}

std::vector<Vec3f> velocities(const Mesh& mesh, const std::function<Vec3f(const Vec3f&)>& at)
{
    std::vector<Vec3f> result;
    for (const Vec3f& x : mesh.positions) result.push_back(at(x));
    return result;
}

// Root mean square of the differences from what is expected at each vertex.
double error(const Mesh& mesh, const std::vector<float>& values, const std::function<float(size_t)>& expected)
{
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i)
        sum += std::pow(static_cast<double>(values[i] - expected(i)), 2) / static_cast<double>(mesh.positions.size());
    return std::sqrt(sum);
}

double largest(const std::vector<float>& values, float expected)
{
    double most = 0;
    for (const float v : values) most = std::max(most, static_cast<double>(std::abs(v - expected)));
    return most;
}

} // namespace

TEST(FlowFeatures, CurvatureOfSpheresAndCylinders)
{
    for (const int levels : {4, 5}) { // the error is that of a parabola two edges wide
        const double most = 2 * std::pow(0.25, levels - 1);
        const Mesh drop = sphere_mesh({3, 1, -2}, 0.5f, levels);
        EXPECT_LT(largest(flow_features(drop, {}).curvature, 2), 2 * most) << levels;
        EXPECT_LT(largest(flow_features(inside_out(drop), {}).curvature, -2), 2 * most) << levels; // a bubble
    }
    EXPECT_LT(largest(flow_features(rough_ball(5), {}).curvature, 1), 0.03);
    // A tube with open ends.
    constexpr int kAround = 48, kAlong = 30;
    Mesh tube;
    for (int j = 0; j <= kAlong; ++j)
        for (int i = 0; i < kAround; ++i) {
            const float angle = static_cast<float>(2 * kPi) * (static_cast<float>(i) + 0.5f * static_cast<float>(j)) /
                                static_cast<float>(kAround);
            tube.positions.emplace_back(0.25f * std::cos(angle), 0.25f * std::sin(angle),
                                        0.03f * static_cast<float>(j));
        }
    for (int j = 0; j < kAlong; ++j)
        for (int i = 0; i < kAround; ++i) {
            const int a = j * kAround + i, b = j * kAround + (i + 1) % kAround;
            tube.triangles.emplace_back(a, b, a + kAround), tube.triangles.emplace_back(b, b + kAround, a + kAround);
        }
    EXPECT_LT(largest(flow_features(tube, {}).curvature, 2), 0.05); // 1 / (2 r)
}

TEST(FlowFeatures, CurvatureConvergesOnAnEllipsoid)
{
    double before = 0;
    for (const int levels : {4, 5, 6}) {
        const Mesh mesh = ellipsoid(levels);
        const double now = error(mesh, flow_features(mesh, {}).curvature,
                                 [&](size_t i) { return curvature_of_ellipsoid(mesh.positions[i]); });
        if (levels > 4) {
            EXPECT_LT(now, 0.4 * before) << levels;
        }
        before = now;
    }
    EXPECT_LT(before, 0.005); // of values around 1
}

TEST(FlowFeatures, DivergenceOfSwellingAndRotation)
{
    const Mesh mesh = rough_ball(4);
    const FlowFeatures swells = flow_features(mesh, velocities(mesh, [](const Vec3f& x) { return x; }));
    EXPECT_LT(largest(swells.divergence, 2), 1e-3);
    EXPECT_LT(largest(swells.stretch, 1), 1e-3);
    EXPECT_LT(largest(swells.squash, 1), 1e-3);
    EXPECT_LT(largest(swells.viscous, 2), 0.15); // the surface Laplacian of x is -2 x
    const auto turning = [](const Vec3f& x) { return Vec3f(Vec3f(1, -3, 2).cross(x) + Vec3f(5, 6, 7)); };
    const FlowFeatures turns = flow_features(mesh, velocities(mesh, turning));
    for (const auto* values : {&turns.divergence, &turns.stretch, &turns.squash}) EXPECT_LT(largest(*values, 0), 1e-3);
    EXPECT_LT(largest(turns.viscous, 0), 0.02);
}

TEST(FlowFeatures, StretchingOfALinearFlowConvergesOnAnEllipsoid)
{
    double before = 0;
    for (const int levels : {4, 5, 6}) {
        const Mesh mesh = ellipsoid(levels);
        const FlowFeatures features =
            flow_features(mesh, velocities(mesh, [](const Vec3f& x) { return Vec3f(kGradient * x); }));
        std::vector<float> divergence, most, least;
        for (const Vec3f& x : mesh.positions) {
            const Vec3f n = normal_of_ellipsoid(x), u = n.unitOrthogonal(), v = n.cross(u);
            Eigen::Matrix2f strain; // in the exact tangent plane
            strain << u.dot(kGradient * u), u.dot(kGradient * v), v.dot(kGradient * u), v.dot(kGradient * v);
            divergence.push_back(strain.trace());
            const Eigen::Matrix2f symmetric = 0.5f * (strain + strain.transpose());
            const Vec2f rates = Eigen::SelfAdjointEigenSolver<Eigen::Matrix2f>(symmetric).eigenvalues();
            least.push_back(rates[0]), most.push_back(rates[1]);
        }
        const double now = error(mesh, features.divergence, [&](size_t i) { return divergence[i]; }) +
                           error(mesh, features.stretch, [&](size_t i) { return most[i]; }) +
                           error(mesh, features.squash, [&](size_t i) { return least[i]; });
        if (levels > 4) {
            EXPECT_LT(now, 0.4 * before) << levels;
        }
        before = now;
    }
    EXPECT_LT(before, 0.003);
}

TEST(FlowFeatures, AreExactForQuadraticFlowsOnAPlane)
{
    const Mesh mesh = plane_mesh(1, 24, 5);
    const auto u = [](const Vec3f& x) {
        return Vec3f(0.5f * x.x() * x.x() + 2 * x.z(), 3 * x.x() * x.z(), x.x() - 1.5f * x.z() * x.z());
    };
    const FlowFeatures features = flow_features(mesh, velocities(mesh, u));
    EXPECT_LT(largest(features.curvature, 0), 1e-4);
    EXPECT_LT(
        error(mesh, features.divergence, [&](size_t i) { return mesh.positions[i].x() - 3 * mesh.positions[i].z(); }),
        1e-3);
    const auto stretching_at = [&](size_t i, float sign) { // in x and z: the trace, and the radius of Mohr's circle
        const Vec3f& x = mesh.positions[i];
        return 0.5f * (x.x() - 3 * x.z()) + sign * std::hypot(0.5f * (x.x() + 3 * x.z()), 1.5f);
    };
    EXPECT_LT(error(mesh, features.stretch, [&](size_t i) { return stretching_at(i, 1); }), 1e-3);
    EXPECT_LT(error(mesh, features.squash, [&](size_t i) { return stretching_at(i, -1); }), 1e-3);
    EXPECT_LT(largest(features.viscous, Vec3f(1, 0, -3).norm()), 0.01);
}

// u = x y c on a sphere: the surface Laplacian of x y is -6 x y, and the rotation w x n is -(grad x y) (c . n).
TEST(FlowFeatures, ViscousForceOfAHarmonicOnASphere)
{
    const Vec3f c(0.3f, 1, -0.5f);
    double before = 0;
    for (const int levels : {3, 4, 5}) {
        const Mesh mesh = sphere_mesh({0, 0, 0}, 1, levels);
        const FlowFeatures features =
            flow_features(mesh, velocities(mesh, [&](const Vec3f& x) { return Vec3f(x.x() * x.y() * c); }));
        const double now = error(mesh, features.viscous, [&](size_t i) {
            const Vec3f& x = mesh.positions[i];
            const Vec3f gradient = Vec3f(x.y(), x.x(), 0) - 2 * x.x() * x.y() * x;
            return (-6 * x.x() * x.y() * c - 2 * c.dot(x) * gradient).norm();
        });
        if (levels > 3) {
            EXPECT_LT(now, 0.6 * before) << levels;
        }
        before = now;
    }
    EXPECT_LT(before, 0.04); // of values up to 3
}

TEST(FlowFeatures, SmoothingRemovesNoiseAndKeepsTheRest)
{
    const Mesh mesh = sphere_mesh({0, 0, 0}, 1, 5);
    Random random(7);
    const auto noisy = velocities(mesh, [&](const Vec3f& x) {
        const Vec3f noise(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
        return Vec3f(x + 0.1f * noise);
    });
    const auto two = [](size_t) { return 2.0f; };
    const double rough = error(mesh, flow_features(mesh, noisy).divergence, two),
                 smooth = error(mesh, flow_features(mesh, noisy, 0.1f).divergence, two);
    EXPECT_GT(rough, 0.2);
    EXPECT_LT(smooth, 0.4 * rough);
}

TEST(FlowFeatures, BadMeshesGiveFiniteValues)
{
    const std::vector<Vec3f> none;
    EXPECT_TRUE(flow_features(Mesh(), none).curvature.empty());
    Mesh mesh = box_mesh({0, 0, 0}, {1, 1, 1}); // creases
    mesh = joined(mesh, sphere_mesh({3, 0, 0}, 0.01f, 0));
    Mesh pinched = sphere_mesh({6, 0, 0}, 0.1f, 3); // edges of no length, or hardly any
    for (size_t t = 0; t < pinched.triangles.size(); t += 9)
        pinched.positions[pinched.triangles[t][0]] =
            pinched.positions[pinched.triangles[t][1]] + Vec3f(0, t % 2 == 0 ? 1e-8f : 0, 0);
    mesh = joined(mesh, pinched);
    mesh.positions.insert(mesh.positions.end(), 5, Vec3f(9, 9, 9)); // an isolated vertex, and a triangle without area
    const int last = static_cast<int>(mesh.positions.size()) - 1;
    mesh.triangles.emplace_back(last - 2, last - 1, last);
    mesh.triangles.emplace_back(0, 0, 1);
    std::vector<uint8_t> left_out(mesh.positions.size()); // all around some vertices
    for (size_t i = 0; i < left_out.size(); ++i) left_out[i] = i % 11 != 0;
    const auto u = velocities(mesh, [](const Vec3f& x) { return x; });
    for (const FlowFeatures& features :
         {flow_features(mesh, u), flow_features(mesh, u, 0.1f), flow_features(mesh, u, 0, left_out)})
        for (const auto* values :
             {&features.curvature, &features.divergence, &features.stretch, &features.squash, &features.viscous})
            for (const float v : *values) EXPECT_TRUE(std::isfinite(v));
}

TEST(FlowFeatures, LeaveOutWhatLiesOnWalls)
{
    Mesh mesh = box_mesh({-1, -1, -1}, {1, 1, 1});
    mesh = remeshed(mesh, 0.15f).mesh; // the top is the liquid's surface, the rest is on walls
    std::vector<uint8_t> left_out;
    for (const Vec3f& x : mesh.positions) left_out.push_back(x.y() < 0.9999f);
    const std::vector<float> all = flow_features(mesh, {}).curvature,
                             own = flow_features(mesh, {}, 0, left_out).curvature;
    EXPECT_GT(*std::ranges::max_element(all), 2);
    EXPECT_LT(largest(own, 0), 1e-3);
}

TEST(Stretching, FindsTheEigenvectorInTheTangentPlane)
{
    const Vec3f n = Vec3f(1, 2, -2).normalized(), a = n.unitOrthogonal(), b = n.cross(a);
    const Stretching flow = stretching(3 * a * a.transpose() - b * b.transpose() + 7 * n * n.transpose(), n);
    EXPECT_NEAR(flow.most, 3, 1e-5f);
    EXPECT_NEAR(flow.least, -1, 1e-5f);
    EXPECT_NEAR(std::abs(flow.direction.dot(a)), 1, 1e-5f);
    EXPECT_NEAR(flow.stability(), 1, 1e-5f);
    const Stretching even = stretching(2 * Mat3f::Identity(), n);
    EXPECT_NEAR(even.stability(), 0, 1e-5f);
    EXPECT_NEAR(even.direction.norm(), 1, 1e-5f);
    EXPECT_EQ(stretching(Mat3f::Zero(), n).stability(), 0);
}

// The bound that the header promises, for random perturbations; and that some come near it.
TEST(Stretching, StabilityBoundsHowMuchPerturbationsTurnTheDirection)
{
    constexpr float kShare = 0.01f;
    const Vec3f n = Vec3f::UnitZ();
    Random random(11);
    for (const float least : {-1.0f, 0.0f, 0.5f, 0.8f}) {
        Mat3f strain = Mat3f::Zero();
        strain(0, 0) = 1, strain(1, 1) = least;
        const Stretching flow = stretching(strain, n);
        float largest = 0;
        for (int k = 0; k < 200; ++k) {
            // Eigenvalues add up to the same share of those of the strain, in random directions.
            const float angle = random.uniform(0, static_cast<float>(2 * kPi));
            const Vec3f p(std::cos(angle), std::sin(angle), 0), q(-p.y(), p.x(), 0);
            const float size = 0.5f * kShare * (std::abs(flow.most) + std::abs(flow.least));
            const Stretching turned = stretching(strain + size * (p * p.transpose() - q * q.transpose()), n);
            largest = std::max(largest, std::asin(std::min(1.0f, flow.direction.cross(turned.direction).norm())));
        }
        const float bound = kShare / (2 * flow.stability());
        EXPECT_LT(largest, 1.1f * bound) << least;
        EXPECT_GT(largest, 0.9f * bound) << least;
    }
}

} // namespace spindrift
