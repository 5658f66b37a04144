#include "spindrift/texture/guide.h"

#include "spindrift/base/state_error.h"
#include "spindrift/texture/texture.h"
#include "texture/sequences.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

constexpr float kFrame = 0.1f; // [s]

// Frames with known motion: each has a mesh of its own, and `back` is where a place was one frame before.
struct MovingSurface {
    std::function<Mesh(int)> mesh;
    std::function<Vec3f(const Vec3f&, int)> back;

    Mesh frame(int number) const
    {
        Mesh result = mesh(number);
        for (const Vec3f& x : result.positions) result.velocities.push_back((x - back(x, number)) / kFrame);
        return result;
    }
};

const std::vector<float>& foam_of(const Mesh& mesh)
{
    return std::get<std::vector<float>>(mesh.attributes.at("parameter"));
}

// The integral over the surface.
double total_of(const Mesh& mesh)
{
    const auto& foam = foam_of(mesh);
    double sum = 0;
    for (const Vec3i& t : mesh.triangles) {
        const Vec3f cross =
            (mesh.positions[t[1]] - mesh.positions[t[0]]).cross(mesh.positions[t[2]] - mesh.positions[t[0]]);
        sum += static_cast<double>(cross.norm() * (foam[t[0]] + foam[t[1]] + foam[t[2]])) / 6;
    }
    return sum;
}

TextureParams only_carried()
{
    TextureParams params;
    params.mode = TextureParams::Mode::guide, params.rule = TextureParams::Rule::foam;
    params.foam.reach = 0, params.foam.life = 1e9f;
    return params;
}

// Carries foam that only stretching and shrinking changes. Calls check(texture, frame) after each frame. Returns the
// largest relative difference of the total from the first one.
double largest_change(const MovingSurface& surface, int frames, const std::function<float(const Vec3f&)>& foam,
                      const TextureParams& params, const std::function<void(const Texture&, int)>& check = {})
{
    Mesh first = surface.frame(0);
    std::vector<float> values;
    for (const Vec3f& x : first.positions) values.push_back(foam(x));
    first.attributes["parameter"] = values;
    Texture texture(params);
    texture.start(std::move(first));
    const double total = total_of(texture.mesh());
    double change = 0;
    for (int i = 1; i <= frames; ++i) {
        texture.carry(surface.frame(i), kFrame);
        change = std::max(change, std::abs(total_of(texture.mesh()) / total - 1));
        if (check) check(texture, i);
    }
    EXPECT_EQ(texture.new_vertices(), 0);
    return change;
}

double mean_difference(const Texture& texture, const std::function<float(const Vec3f&)>& expected)
{
    const Mesh& mesh = texture.mesh();
    double sum = 0;
    for (size_t i = 0; i < mesh.positions.size(); ++i)
        sum += static_cast<double>(std::abs(foam_of(mesh)[i] - expected(mesh.positions[i])));
    return sum / static_cast<double>(mesh.positions.size());
}

Mesh turned_ball(int number)
{
    const Eigen::AngleAxisf other(0.7f * static_cast<float>(number * number), Vec3f(3, 1, -2).normalized());
    Mesh mesh = sphere_mesh({0, 0, 0}, 1, 4);
    for (Vec3f& x : mesh.positions) x = other * x;
    return mesh;
}

// Swells and shrinks, to twice the area and half of it.
struct Swelling {
    static float radius(int frame) { return std::pow(2.0f, 0.5f * std::sin(0.3f * static_cast<float>(frame))); }
    static MovingSurface surface()
    {
        return {[](int frame) {
                    Mesh mesh = turned_ball(frame);
                    for (Vec3f& x : mesh.positions) x *= radius(frame);
                    return mesh;
                },
                [](const Vec3f& x, int frame) { return Vec3f(radius(frame - 1) / radius(frame) * x); }};
    }
};

// A ball that keeps its shape, and whose surface flows from one pole to the other and back: the tangent of half the
// angle from the pole changes by a factor, the same everywhere.
struct Swinging {
    static float factor(int frame) { return 0.6f * std::sin(0.2f * static_cast<float>(frame)); } // logarithm, in all
    static Vec3f moved(const Vec3f& x, float logarithm)
    {
        const float half = std::exp(logarithm) * std::tan(0.5f * std::acos(std::clamp(x.y(), -1.0f, 1.0f)));
        const float angle = 2 * std::atan(half), side = std::hypot(x.x(), x.z());
        const float scale = side > 0 ? std::sin(angle) / side : 1;
        return {scale * x.x(), std::cos(angle), scale * x.z()};
    }
    // The area around a place was larger by this at the start.
    static float density(const Vec3f& x, int frame)
    {
        const float grown = std::exp(factor(frame));
        return std::pow(2 / (grown * (1 + x.y()) + (1 - x.y()) / grown), 2.0f);
    }
    static MovingSurface surface()
    {
        return {[](int frame) { return turned_ball(frame); },
                [](const Vec3f& x, int frame) { return moved(x, factor(frame - 1) - factor(frame)); }};
    }
};

} // namespace

TEST(Foam, TotalIsKeptOnABallThatSwellsAndShrinks)
{
    const auto start = [](const Vec3f& x) { return 0.2f * (1 + x.y()); };
    const auto check = [&](const Texture& texture, int frame) {
        const float square = Swelling::radius(frame) * Swelling::radius(frame);
        const auto expected = [&](const Vec3f& x) { return start(x / std::sqrt(square)) / square; };
        // Interpolation makes differences smaller, from 0.4 by 0.02 after 100 frames.
        EXPECT_LT(mean_difference(texture, expected), 0.015f / square) << frame;
    };
    EXPECT_LT(largest_change(Swelling::surface(), 100, start, only_carried(), check), 0.001);
}

TEST(Foam, TotalIsKeptWhereTheSurfaceConverges)
{
    const auto check = [](const Texture& texture, int frame) {
        if (frame % 8 != 0) return;
        const auto density = [&](const Vec3f& x) { return 0.25f * Swinging::density(x, frame); };
        EXPECT_LT(mean_difference(texture, density), 0.01) << frame;
        const float most = *std::ranges::max_element(foam_of(texture.mesh())); // at the pole that it converges at
        if (frame == 8) {
            EXPECT_GT(most, 0.7f);
        }
    };
    EXPECT_LT(largest_change(
                  Swinging::surface(), 100, [](const Vec3f&) { return 0.25f; }, only_carried(), check),
              0.001);
}

// Stretched along x and squashed more along z, so that the area becomes 0.55 times as large.
TEST(Foam, TotalIsKeptInAPlane)
{
    MovingSurface surface;
    surface.mesh = [](int frame) { return plane_mesh(1, 60, static_cast<uint64_t>(frame)); };
    surface.back = [](const Vec3f& x, int) { return Vec3f(std::exp(-0.02f) * x.x(), 0, std::exp(0.05f) * x.z()); };
    const auto start = [](const Vec3f& x) { return 0.5f * std::exp(-x.squaredNorm() / 0.08f); };
    const auto check = [&](const Texture& texture, int frame) {
        const auto t = static_cast<float>(frame);
        EXPECT_LT(mean_difference(texture,
                                  [&](const Vec3f& x) {
                                      const Vec3f was(std::exp(-0.02f * t) * x.x(), 0, std::exp(0.05f * t) * x.z());
                                      return std::exp(0.03f * t) * start(was);
                                  }),
                  0.01)
            << frame;
    };
    EXPECT_LT(largest_change(surface, 20, start, only_carried(), check), 0.001);
}

TEST(Foam, UniformFoamStaysSoWhereTheSurfaceOnlySlides)
{
    const TwistingBall ball{.angle = 0.05f, .seconds = kFrame, .levels = 4};
    MovingSurface twisting;
    twisting.mesh = [&](int frame) {
        Mesh mesh = ball.frame(frame);
        mesh.velocities.clear(); // frame() adds them
        return mesh;
    };
    twisting.back = [&](const Vec3f& x, int) { return ball.back(x); };
    const auto check = [](const Texture& texture, int frame) {
        if (frame != 100) return;
        EXPECT_LT(mean_difference(texture, [](const Vec3f&) { return 0.5f; }), 0.02);
    };
    EXPECT_LT(largest_change(
                  twisting, 100, [](const Vec3f&) { return 0.5f; }, only_carried(), check),
              0.005);
}

// Without the rule of foam too, and with a parameter that is negative somewhere.
TEST(Foam, TotalOfAParameterThatExpressionsChangeIsKept)
{
    TextureParams params = only_carried();
    params.rule = TextureParams::Rule::none;
    EXPECT_LT(largest_change(
                  Swelling::surface(), 25, [](const Vec3f& x) { return 0.2f * (1 + x.y()); }, params),
              0.001);
    EXPECT_LT(largest_change(
                  Swinging::surface(), 25, [](const Vec3f&) { return 0.25f; }, params),
              0.001);
    const auto start = [](const Vec3f& x) { return x.y() > 0 ? 5.0f : -3.0f; };
    EXPECT_LT(largest_change(Swelling::surface(), 25, start, params), 0.01);
}

// Finer than the mesh.
TEST(Foam, TotalIsKeptOnTexels)
{
    TextureParams params = only_carried();
    params.texel = 0.04f;
    EXPECT_LT(largest_change(
                  Swelling::surface(), 25, [](const Vec3f& x) { return 0.2f * (1 + x.y()); }, params),
              0.001);
}

TEST(Foam, AreaRatiosOfFoldsAndTearsAreBounded)
{
    const Mesh before = sphere_mesh({0, 0, 0}, 1, 3), now = sphere_mesh({0, 0, 0}, 1, 3);
    Random random(3);
    std::vector<SurfacePoint> from;
    for (size_t i = 0; i < now.positions.size(); ++i)
        from.push_back({static_cast<int>(random.bits() % before.triangles.size()), Vec3f::Constant(1.0f / 3)});
    from[7].triangle = -1;
    for (const float ratio : area_ratios(before, now, from)) {
        EXPECT_GE(ratio, 0);
        EXPECT_LE(ratio, 8);
    }
    for (auto& at : from) at.triangle = -1;
    for (const float ratio : area_ratios(before, now, from)) EXPECT_EQ(ratio, 1);
}

TEST(Foam, FollowsItsEquation)
{
    FoamParams params;
    params.reach = 0.02f, params.life = 0.5f, params.rate = 3;
    // Dr/Dt = k max(rho H - r, 0) - r / tau, in small steps here.
    const auto expected = [&](double r, double curvature, double seconds) {
        for (int i = 0; i < 100000; ++i) r += seconds / 100000 * (3 * std::max(0.02 * curvature - r, 0.0) - r / 0.5);
        return r;
    };
    const std::vector<float> curvature = {40, 5, 0, -30};
    std::vector<float> foam = {0, 0.5f, 0.9f, 0.5f};
    const std::vector<float> start = foam;
    for (int i = 0; i < 24; ++i) change_foam(params, curvature, 1.0f / 48, foam);
    for (size_t i = 0; i < foam.size(); ++i)
        EXPECT_NEAR(static_cast<double>(foam[i]),
                    expected(static_cast<double>(start[i]), static_cast<double>(curvature[i]), 0.5), 0.015)
            << i;
    params.rate.reset(); // at once
    foam = {0, 0.5f, 0.9f, 0.5f};
    change_foam(params, curvature, 0, foam);
    for (size_t i = 0; i < foam.size(); ++i) EXPECT_FLOAT_EQ(foam[i], i == 0 ? 0.8f : start[i]);
    change_foam(params, {1000, 0, 0, 0}, 0, foam);
    EXPECT_EQ(foam[0], 1);
}

// A wave rises and is gone: foam appears on its crest, not in its trough, and then decays.
TEST(Foam, AppearsOnCrestsAndIsGoneAfterItsTime)
{
    const auto height = [](const Vec3f& x, int frame) {
        return frame >= 3 ? 0.0f : 0.1f * std::cos(static_cast<float>(2 * kPi) * x.x());
    };
    MovingSurface surface;
    surface.mesh = [&](int frame) {
        Mesh mesh = plane_mesh(1, 60, static_cast<uint64_t>(frame));
        for (Vec3f& x : mesh.positions) x.y() = height(x, frame);
        return mesh;
    };
    surface.back = [&](const Vec3f& x, int frame) { return Vec3f(x.x(), height(x, frame - 1), x.z()); };
    TextureParams params = only_carried();
    params.foam.reach = 0.2f, params.foam.life = 0.5f;
    Texture texture(params);
    texture.start(surface.frame(0));
    const auto mean = [&](float x) {
        double sum = 0, count = 0;
        for (size_t i = 0; i < texture.mesh().positions.size(); ++i) {
            const Vec3f& at = texture.mesh().positions[i];
            if (std::abs(at.x() - x) > 0.05f || std::abs(at.z()) > 0.9f) continue;
            sum += static_cast<double>(foam_of(texture.mesh())[i]), count += 1;
        }
        return sum / count;
    };
    const double asked = 0.2 * 0.5 * 0.1 * 4 * kPi * kPi; // reach times half of y''
    EXPECT_NEAR(mean(0), asked, 0.1 * asked);
    EXPECT_LT(mean(0.5f), 0.02 * asked);
    for (int i = 1; i <= 2; ++i) texture.carry(surface.frame(i), kFrame);
    EXPECT_NEAR(mean(0), asked, 0.1 * asked); // as long as the crest is there
    for (int i = 3; i <= 22; ++i) texture.carry(surface.frame(i), kFrame);
    EXPECT_LT(mean(0), 1.2 * std::exp(-2 / 0.5) * asked); // 2 s later
    EXPECT_GT(mean(0), 0.5 * std::exp(-2 / 0.5) * asked);
}

TEST(Foam, AStateWithoutItIsRefused)
{
    Texture texture(only_carried()), other(only_carried());
    texture.start(sphere_mesh({0, 0, 0}, 1, 2)), texture.synthesize();
    EXPECT_NO_THROW(other.restore(texture.mesh(), Mesh()));
    Mesh mesh = texture.mesh();
    mesh.attributes["parameter"] = std::vector<int32_t>(mesh.positions.size(), 0); // of another type
    EXPECT_THROW(other.restore(mesh, Mesh()), StateError);
    mesh.attributes.erase("parameter");
    EXPECT_THROW(other.restore(mesh, Mesh()), StateError);
}

TEST(Foam, IsShownInTheSecondColour)
{
    TextureParams params = only_carried();
    params.foam.reach = 0.5f, params.color = Vec3f(0, 0.2f, 1), params.second_color = Vec3f(1, 1, 0);
    Texture texture(params);
    texture.start(joined(sphere_mesh({0, 0, 0}, 1, 3), sphere_mesh({4, 0, 0}, 0.1f, 3)));
    texture.synthesize();
    const auto& colors = std::get<std::vector<Vec3f>>(texture.mesh().attributes.at("color"));
    EXPECT_LT((colors.front() - Vec3f(0.5f, 0.6f, 0.5f)).norm(), 0.05f);
    EXPECT_LT((colors.back() - Vec3f(1, 1, 0)).norm(), 1e-6f); // more foam than fits
}

} // namespace spindrift
