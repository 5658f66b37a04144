#include "spindrift/texture/texture.h"

#include "spindrift/base/state_error.h"
#include "texture/sequences.h"
#include "texture/spots.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

const std::vector<Vec3f>& colors_of(const Mesh& mesh)
{
    return std::get<std::vector<Vec3f>>(mesh.attributes.at("color"));
}

// Black and white checks on a turning ball.
TextureParams checks(TextureParams::Mode mode)
{
    TextureParams params;
    params.mode = mode, params.size = 0.4f;
    params.color = Vec3f::Zero(), params.second_color = Vec3f::Ones();
    return params;
}

Texture carried(const TextureParams& params, const TurningBall& ball, int frames)
{
    Texture texture(params);
    texture.start(ball.frame(0, true)), texture.synthesize();
    for (int i = 1; i <= frames; ++i) texture.carry(ball.frame(i, true), ball.seconds), texture.synthesize();
    return texture;
}

// The share of vertices whose colour is neither black nor white, and of those that have the wrong one.
struct Look {
    double gray = 0, wrong = 0;
};
Look look_at(const Texture& texture, const TextureParams& params, const TurningBall& ball, int frames)
{
    Look look;
    const Mesh& mesh = texture.mesh();
    const double share = 1.0 / static_cast<double>(mesh.positions.size());
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        const float value = colors_of(mesh)[i].x();
        const Vec3f place = ball.back(mesh.positions[i], frames) / params.size;
        if (value > 0.05f && value < 0.95f) look.gray += share;
        if ((value > 0.5f) != (pattern_at(Pattern::checker, place, 1) > 0.5f)) look.wrong += share;
    }
    return look;
}

} // namespace

TEST(Texture, ColoursMoveAlongAndBlur)
{
    TurningBall ball;
    ball.levels = 5;
    const TextureParams params = checks(TextureParams::Mode::colors);
    const Look look = look_at(carried(params, ball, 40), params, ball, 40);
    EXPECT_LT(look.wrong, 0.25); // checks are nine edges wide
    EXPECT_GT(look.gray, 0.3);
}

TEST(Texture, ParametersMoveAlongAndStaySharp)
{
    TurningBall ball;
    ball.levels = 5;
    const TextureParams params = checks(TextureParams::Mode::parameters);
    const Texture texture = carried(params, ball, 40);
    const Look look = look_at(texture, params, ball, 40);
    EXPECT_LT(look.wrong, 0.1); // places move a little inwards, onto chords
    EXPECT_EQ(look.gray, 0);
    EXPECT_TRUE(texture.mesh().attributes.contains("reference"));
}

TEST(Texture, KeepsTheColoursOfTheSurface)
{
    TextureParams params = checks(TextureParams::Mode::colors);
    params.pattern = TextureParams::Start::surface;
    TurningBall ball;
    Mesh first = ball.frame(0, true), second = ball.frame(1, true);
    first.attributes["color"] = std::vector<Vec3f>(first.positions.size(), {0.1f, 0.5f, 0.9f});
    second.attributes["color"] = std::vector<Vec3f>(second.positions.size(), {1, 1, 1}); // of another frame
    Texture texture(params);
    texture.start(first), texture.carry(second, ball.seconds);
    for (const Vec3f& c : colors_of(texture.mesh())) EXPECT_LT((c - Vec3f(0.1f, 0.5f, 0.9f)).norm(), 1e-5f);
}

TEST(Texture, CarriesWhatItIsTold)
{
    TextureParams params = checks(TextureParams::Mode::parameters);
    params.carry = {"foam", "label"};
    TurningBall ball;
    Mesh first = ball.frame(0, true);
    const size_t count = first.positions.size();
    std::vector<float> foam;
    for (const Vec3f& x : first.positions) foam.push_back(x.y());
    first.attributes["foam"] = foam;
    first.attributes["label"] = std::vector<int32_t>(count, 3);
    first.attributes["other"] = foam;
    Texture texture(params);
    texture.start(first);
    for (int i = 1; i <= 5; ++i) texture.carry(ball.frame(i, true), ball.seconds);
    const Mesh& mesh = texture.mesh();
    EXPECT_FALSE(mesh.attributes.contains("other"));
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        EXPECT_NEAR(std::get<std::vector<float>>(mesh.attributes.at("foam"))[i], ball.back(mesh.positions[i], 5).y(),
                    0.03f);
        EXPECT_EQ(std::get<std::vector<int32_t>>(mesh.attributes.at("label"))[i], 3);
    }
}

TEST(Texture, NewSurfaceStartsAfresh)
{
    for (const auto mode : {TextureParams::Mode::colors, TextureParams::Mode::parameters, TextureParams::Mode::react}) {
        TextureParams params = checks(mode);
        params.start_steps = 20, params.steps = 0;
        TurningBall ball;
        Texture texture(params);
        texture.start(ball.frame(0, true)), texture.synthesize();
        Mesh drop = sphere_mesh({5, 0, 0}, 0.5f, 3);
        Mesh both = ball.frame(1, true);
        both.velocities.resize(both.positions.size() + drop.positions.size(), Vec3f::Zero());
        const size_t count = both.positions.size();
        both = joined(std::move(both), drop);
        texture.carry(both, ball.seconds), texture.synthesize();
        EXPECT_EQ(texture.new_vertices(), static_cast<int>(drop.positions.size()));
        int black = 0, white = 0;
        for (size_t i = count; i < both.positions.size(); ++i)
            (colors_of(texture.mesh())[i].x() < 0.5f ? black : white) += 1;
        if (mode != TextureParams::Mode::react) {
            EXPECT_GT(black, 20);
            EXPECT_GT(white, 20);
            continue;
        }
        const auto& a = std::get<std::vector<float>>(texture.mesh().attributes.at("morphogen_a"));
        for (size_t i = count; i < a.size(); ++i) EXPECT_NEAR(a[i], 4.0f / 3, 0.3f); // the steady state
    }
}

// A ball appears beside another in the middle of the shot, or alone after a frame without surface. It has as many spots
// at once as if it had been there from the start, and a cap that appears on a ball joins the spots that are there.
TEST(Texture, SpotsGrowOnSurfaceThatAppears)
{
    TextureParams params;
    params.mode = TextureParams::Mode::react, params.size = 0.5f, params.start_steps = 1500;
    const Mesh ball = sphere_mesh({0, 0, 0}, 1, 5), other = sphere_mesh({5, 0, 0}, 1, 5);
    const auto still = [](Mesh mesh) {
        mesh.velocities.assign(mesh.positions.size(), Vec3f::Zero());
        return mesh;
    };
    const auto spots_on = [&](const Mesh& mesh, size_t begin, size_t end) {
        const auto value = [&](const char* name) { return std::get<std::vector<float>>(mesh.attributes.at(name)); };
        Morphogens values = {value("morphogen_a"), value("morphogen_b")};
        for (size_t i = 0; i < values.a.size(); ++i)
            if (i < begin || i >= end) values.a[i] = 0, values.b[i] = 1;
        return spots_of(mesh, params.reaction, values);
    };
    Texture from_start(params);
    from_start.start(still(other)), from_start.synthesize();
    const size_t count = ball.positions.size();
    const int expected = spots_on(from_start.mesh(), 0, count);
    EXPECT_GT(expected, 20);
    for (const bool alone : {false, true}) {
        Texture texture(params);
        texture.start(alone ? Mesh() : still(ball)), texture.synthesize();
        texture.carry(still(alone ? other : joined(ball, other)), 0.1f), texture.synthesize();
        const Mesh& mesh = texture.mesh();
        EXPECT_NEAR(spots_on(mesh, mesh.positions.size() - count, mesh.positions.size()), expected, 0.15 * expected)
            << alone;
    }
    Mesh open = still(ball), whole = still(ball);
    std::erase_if(open.triangles, [&](const Vec3i& t) { return ball.positions[t[0]].y() > 0.3f; });
    params.reach = 0.05f;
    Texture texture(params);
    texture.start(open), texture.synthesize();
    texture.carry(whole, 0.1f), texture.synthesize();
    EXPECT_GT(texture.new_vertices(), 500);
    EXPECT_NEAR(spots_on(texture.mesh(), 0, count), expected, 0.15 * expected);
}

// As the surface is stretched its area grows to 1.71 times, and the number of spots follows. Meinhardt's move apart
// instead.
TEST(Texture, SpotsThatReactDivideWhereTheSurfaceStretches)
{
    TextureParams params;
    params.mode = TextureParams::Mode::react, params.size = 1;
    params.reaction.system = ReactionParams::System::gray_scott;
    params.start_steps = 2500, params.steps = 300;
    const auto spots_after = [&](float stretch) {
        const auto mesh_at = [&](int frame) {
            Mesh mesh = sphere_mesh({0, 0, 0}, 1, 5);
            for (Vec3f& x : mesh.positions) x.x() *= 1 + stretch * static_cast<float>(frame);
            return mesh;
        };
        Texture texture(params);
        texture.start(mesh_at(0)), texture.synthesize();
        for (int frame = 1; frame <= 10; ++frame) texture.carry(mesh_at(frame), 0.1f), texture.synthesize();
        EXPECT_GT(texture.reaction().iterations, 0);
        const auto value = [&](const char* name) {
            return std::get<std::vector<float>>(texture.mesh().attributes.at(name));
        };
        return spots_of(texture.mesh(), params.reaction, {value("morphogen_a"), value("morphogen_b")});
    };
    const int still = spots_after(0), stretched = spots_after(0.1f);
    EXPECT_GT(still, 10);
    EXPECT_GT(stretched, 1.3 * still) << still;
    EXPECT_LT(stretched, 1.9 * still) << still;
}

TEST(Texture, AStateWithoutItsValuesIsRefused)
{
    for (const auto mode : {TextureParams::Mode::colors, TextureParams::Mode::parameters, TextureParams::Mode::react}) {
        TextureParams params = checks(mode);
        params.start_steps = 1;
        Texture texture(params), other(params);
        texture.start(TurningBall().frame(0, true)), texture.synthesize();
        EXPECT_NO_THROW(other.restore(texture.mesh(), Mesh()));
        for (const char* name : {"color", "reference", "morphogen_a"}) {
            Mesh mesh = texture.mesh();
            if (mesh.attributes.erase(name) == 0 ||
                (mode != TextureParams::Mode::colors && name == std::string("color")))
                continue;
            EXPECT_THROW(other.restore(mesh, Mesh()), StateError) << name;
        }
    }
}

} // namespace spindrift
