#include "spindrift/texture/directions.h"

#include "spindrift/texture/texture.h"
#include "texture/dominant_direction.h"
#include "texture/sequences.h"

#include <Eigen/Geometry>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

// The angle between two axes [degrees].
double angle_between(const Vec3f& a, const Vec3f& b)
{
    return std::atan2(static_cast<double>(a.cross(b).norm()), static_cast<double>(std::abs(a.dot(b)))) * 180 / kPi;
}

Vec3f along(float degrees) // in the plane y = 0
{
    const float angle = degrees * static_cast<float>(kPi) / 180;
    return {std::cos(angle), 0, std::sin(angle)};
}

// A steady flow along a surface that keeps its shape, with another mesh in each frame.
struct SteadyFlow {
    std::function<Mesh(int)> mesh;
    std::function<Vec3f(const Vec3f&)> velocity;
    float seconds = 0.02f;

    Mesh frame(int number) const
    {
        Mesh result = mesh(number);
        compute_normals(result);
        for (const Vec3f& x : result.positions) result.velocities.push_back(velocity(x));
        return result;
    }
};

constexpr float kNoControl = 1e-6f; // directions are carried along, and turn with the surface only

Texture turned(const SteadyFlow& flow, int frames, float orientation)
{
    TextureParams params;
    params.orientation = orientation;
    Texture texture(params, /*motion=*/false);
    texture.start(flow.frame(0));
    for (int i = 1; i <= frames; ++i) texture.carry(flow.frame(i), flow.seconds);
    return texture;
}

const std::vector<Vec3f>& directions_of(const Texture& texture)
{
    return std::get<std::vector<Vec3f>>(texture.mesh().attributes.at("direction"));
}

// Fastest stretching by 1 a second, 70 degrees from where directions start.
Vec3f pure_strain(const Vec3f& x)
{
    const Vec3f v = along(70), w = along(160);
    return v * v.dot(x) - w * w.dot(x);
}

Mesh turned_ball(int number)
{
    const Eigen::AngleAxisf other(0.7f * static_cast<float>(number * number), Vec3f(3, 1, -2).normalized());
    Mesh mesh = sphere_mesh({0, 0, 0}, 1, 4);
    for (Vec3f& x : mesh.positions) x = other * x;
    return mesh;
}

// On a ball. The strain in the tangent plane is that of diag(-2, 0, 2), but for an isotropic part.
Vec3f strain_of_ball(const Vec3f& x)
{
    const Vec3f u(-2 * x.x(), 0, 2 * x.z());
    return u - x.dot(u) * x;
}

Stretching exact_stretching(const Vec3f& place)
{
    const Vec3f x = place.normalized();
    Mat3f strain = Mat3f::Zero();
    strain(0, 0) = -2, strain(2, 2) = 2;
    return stretching(strain - x.dot(strain * x) * Mat3f::Identity(), x);
}

bool is_anisotropic(const Vec3f& x)
{
    const Stretching exact = exact_stretching(x);
    return exact.gap() * exact.stability() > 1;
}

} // namespace

// da/dt = -lambda sin(a) with lambda = strength * gap = 2 * 2: integrated by small steps here.
TEST(Orientation, TurnsAsTheEquationSaysInStepsOfAnySize)
{
    const Vec3f n = Vec3f::UnitY(), v = along(70);
    const Mat3f strain = v * v.transpose() - along(160) * along(160).transpose();
    double expected = 70 * kPi / 180;
    for (int i = 0; i < 100000; ++i) expected -= 4 * std::sin(expected) * 0.5 / 100000;
    expected *= 180 / kPi;
    for (const int steps : {1, 10}) {
        std::vector<Vec3f> directions = {along(0)};
        for (int i = 0; i < steps; ++i)
            turn_to_stretching({n}, {strain}, 2, 0.5f / static_cast<float>(steps), directions);
        EXPECT_NEAR(angle_between(directions[0], v), expected, 0.05) << steps;
        EXPECT_GT(expected, 5);
    }
    // The nearer end of the axis; steps that are far too large; and none.
    std::vector<Vec3f> directions = {along(200), along(355)};
    turn_to_stretching({n, n}, {strain, strain}, 1000, 100, directions);
    EXPECT_LT((directions[0] - along(250)).norm(), 1e-4f);
    EXPECT_LT((directions[1] - along(430)).norm(), 1e-4f);
    directions = {along(20)};
    turn_to_stretching({n}, {Mat3f::Identity()}, 1000, 100, directions);
    EXPECT_LT((directions[0] - along(20)).norm(), 1e-6f);
}

TEST(Orientation, FollowsPureStrainOnAPlane)
{
    const SteadyFlow flow = {[](int i) { return plane_mesh(1, 20, static_cast<uint64_t>(i)); }, pure_strain};
    const auto mean = [&](float orientation) {
        const Texture texture = turned(flow, 20, orientation);
        double sum = 0;
        for (const Vec3f& d : directions_of(texture))
            sum += angle_between(d, along(70)) / static_cast<double>(directions_of(texture).size());
        return sum;
    };
    // After 0.4 s.
    EXPECT_LT(mean(5), 5);
    EXPECT_GT(mean(kNoControl), 45);
}

// Where the flow does not stretch directions differently, nothing changes.
TEST(Orientation, DoesNothingWhereTheFlowIsIsotropic)
{
    SteadyFlow flow = {[](int i) { return turned_ball(i); }, [](const Vec3f& x) { return Vec3f(0.05f * x); }};
    const Texture with = turned(flow, 10, 10), without = turned(flow, 10, kNoControl);
    for (size_t i = 0; i < directions_of(with).size(); ++i)
        EXPECT_LT(angle_between(directions_of(with)[i], directions_of(without)[i]), 0.5);
}

TEST(Orientation, FollowsTheFlowOnASphere)
{
    const SteadyFlow flow = {[](int i) { return turned_ball(i); }, strain_of_ball};
    const auto measure = [&](float orientation) {
        const Texture texture = turned(flow, 20, orientation);
        double sum = 0, count = 0;
        for (size_t i = 0; i < directions_of(texture).size(); ++i) {
            const Vec3f& x = texture.mesh().positions[i];
            if (!is_anisotropic(x)) continue;
            sum += angle_between(directions_of(texture)[i], exact_stretching(x).direction), count += 1;
        }
        EXPECT_GT(count, 0.5 * static_cast<double>(directions_of(texture).size()));
        return sum / count;
    };
    EXPECT_LT(measure(20), 5);
    EXPECT_GT(measure(kNoControl), 15);
}

// A texture of stripes on a sphere, made anew in each frame. The mean angle between stripes and the direction in which
// the flow stretches least, where it is strongly anisotropic. In the mean of several flows, since without control
// stripes have the direction in which they began: each flow, and the same one with stretching and squeezing swapped.
TEST(Orientation, TheTextureThatIsSynthesizedFollowsTheFlow)
{
    const auto measure = [&](float orientation, const Eigen::Quaternionf& to_flow) {
        TextureParams params;
        params.mode = TextureParams::Mode::example, params.orientation = orientation;
        params.exemplar.kind = ExemplarParams::Kind::stripes, params.exemplar.size = 64, params.exemplar.feature = 6;
        params.size = 0.3f, params.patch = 17;
        params.color = Vec3f::Zero(), params.second_color = Vec3f::Ones();
        Texture texture(params, /*motion=*/false);
        const SteadyFlow flow = {
            turned_ball, [&](const Vec3f& x) { return Vec3f(to_flow.conjugate() * strain_of_ball(to_flow * x)); },
            0.04f};
        texture.start(flow.frame(0)), texture.synthesize();
        for (int i = 1; i <= 8; ++i) texture.carry(flow.frame(i), flow.seconds), texture.synthesize();
        const Mesh& mesh = texture.mesh();
        std::vector<Vec3f> across;
        for (size_t i = 0; i < mesh.positions.size(); ++i)
            across.push_back(
                (to_flow.conjugate() * exact_stretching(to_flow * mesh.positions[i]).direction).cross(mesh.normals[i]));
        return mean_angle(mesh, std::get<std::vector<Vec3f>>(mesh.attributes.at("color")), across, 3,
                          [&](size_t i) { return is_anisotropic(to_flow * mesh.positions[i]); });
    };
    constexpr int kFlows = 4;
    double with = 0, without = 0;
    for (int k = 0; k < kFlows; ++k) {
        Random random(static_cast<uint64_t>(k / 2));
        Eigen::Quaternionf turn;
        for (float& c : turn.coeffs()) c = random.uniform(-1, 1);
        turn.normalize();
        if (k % 2) turn = Eigen::AngleAxisf(static_cast<float>(kPi) / 2, Vec3f::UnitY()) * turn;
        with += measure(20, turn) / kFlows, without += measure(kNoControl, turn) / kFlows;
    }
    fmt::print("angle to the flow: {:.1f} degrees; without control {:.1f}\n", with, without);
    EXPECT_LT(with, 15);
    EXPECT_NEAR(without, 45, 10);
}

TEST(DominantDirection, IsThatOfStripes)
{
    const Mesh plane = plane_mesh(1, 60, 3);
    const auto stripes_across = [](const Mesh& mesh, const std::function<float(const Vec3f&)>& phase) {
        std::vector<Vec3f> colors;
        for (const Vec3f& x : mesh.positions) {
            const float c = 0.5f + 0.5f * std::sin(phase(x));
            colors.emplace_back(c, 1 - c, 0.3f);
        }
        return colors;
    };
    const auto colors = stripes_across(plane, [](const Vec3f& x) { return 20 * along(115).dot(x); });
    for (const float angle : {25.0f, 205.0f, 55.0f, 115.0f}) {
        const std::vector<Vec3f> field(plane.positions.size(), along(angle));
        const double expected = angle_between(along(angle), along(25));
        EXPECT_NEAR(mean_angle(plane, colors, field), expected, 2) << angle;
    }
    Mesh ball = sphere_mesh({0, 0, 0}, 1, 5);
    compute_normals(ball);
    std::vector<Vec3f> parallels, meridians;
    for (const Vec3f& x : ball.positions) {
        parallels.push_back(Vec3f(Vec3f::UnitY().cross(x)).stableNormalized());
        meridians.push_back(x.cross(parallels.back()));
    }
    const auto bands =
        stripes_across(ball, [](const Vec3f& x) { return 24 * std::asin(std::clamp(x.y(), -1.0f, 1.0f)); });
    const auto off_poles = [&](size_t i) { return std::abs(ball.positions[i].y()) < 0.9f; };
    EXPECT_LT(mean_angle(ball, bands, parallels, 6, off_poles), 3);
    EXPECT_GT(mean_angle(ball, bands, meridians, 6, off_poles), 87);
    std::vector<Vec3f> noise;
    Random random(5);
    for (size_t i = 0; i < ball.positions.size(); ++i) noise.push_back(Vec3f::Constant(random.uniform()));
    EXPECT_NEAR(mean_angle(ball, noise, parallels, 6, off_poles), 45, 3);
}

} // namespace spindrift
