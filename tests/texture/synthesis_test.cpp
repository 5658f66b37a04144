#include "spindrift/texture/synthesis.h"

#include "base/determinism.h"
#include "spindrift/base/error.h"
#include "spindrift/base/random.h"
#include "spindrift/mesh/remesh.h"
#include "spindrift/texture/directions.h"
#include "spindrift/texture/texture.h"
#include "texture/sequences.h"

#include <Eigen/Geometry>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

constexpr float kTexel = 0.05f;

Mesh ball_of_texels() { return remeshed(sphere_mesh({0, 0, 0}, 1, 4), 1.0746f * kTexel).mesh; }

Raster spots()
{
    ExemplarParams params;
    params.size = 64, params.feature = 8;
    return make_exemplar(params);
}

// Values of colours.
std::vector<float> values_of(const std::vector<Vec3f>& colors)
{
    return {colors.front().data(), colors.front().data() + 3 * colors.size()};
}

ExampleSet only(const Raster& exemplar) { return {.pictures = {exemplar}}; }

// A window of the exemplar with noise on it.
Window noisy_window(const Raster& exemplar, int size, int x, int y, float noise)
{
    Window window;
    Random random(3, static_cast<uint64_t>(y * 1000 + x));
    for (int j = 0; j < size; ++j)
        for (int i = 0; i < size; ++i) {
            for (int c = 0; c < exemplar.channels; ++c)
                window.values.push_back(exemplar.at(x + i, y + j)[c] + noise * random.uniform(-1, 1));
            window.known.push_back(Window::kAll);
        }
    return window;
}

// A bowl with a crown and thin walls, as a splash has.
Mesh thin_crown()
{
    Mesh mesh = sphere_mesh({0, 0, 0}, 1, 5);
    for (Vec3f& x : mesh.positions) {
        const float r = std::hypot(x.x(), x.z()), angle = std::atan2(x.z(), x.x());
        x.y() = 0.08f * x.y() + r * r * (0.6f + 0.25f * r * r * std::cos(7 * angle));
    }
    return remeshed(mesh, 1.0746f * kTexel).mesh;
}

// Whether triangles have more than edges in common: no line along an edge of either separates them.
bool overlap(const std::array<Vec2f, 3>& a, const std::array<Vec2f, 3>& b)
{
    constexpr float kTouch = 2e-3f; // texels
    for (const auto& [s, t] : {std::pair{&a, &b}, {&b, &a}})
        for (int k = 0; k < 3; ++k) {
            const Vec2f edge = (*s)[(k + 1) % 3] - (*s)[k];
            float most = -kInfinity;
            for (const Vec2f& x : *t) {
                const Vec2f d = x - (*s)[k];
                most = std::max(most, edge.x() * d.y() - edge.y() * d.x());
            }
            if (most <= kTouch * edge.norm()) return false;
        }
    return true;
}

int overlaps(const Patch& patch)
{
    int count = 0;
    const auto corners = [&](const Vec3i& t) {
        return std::array<Vec2f, 3>{patch.places[t[0]], patch.places[t[1]], patch.places[t[2]]};
    };
    for (size_t i = 0; i < patch.triangles.size(); ++i)
        for (size_t k = 0; k < i; ++k) count += overlap(corners(patch.triangles[i]), corners(patch.triangles[k]));
    return count;
}

// How far the colours around vertices are from anything in the exemplar: the mean energy of small patches.
double unlike(const Mesh& mesh, const Raster& exemplar, std::vector<float> values)
{
    std::vector<int32_t> seeds;
    Synthesis synthesis(only(exemplar), {.sizes = {9}, .iterations = 1});
    const std::vector<uint8_t> advected(mesh.positions.size(), 1);
    const std::vector<Vec3f> directions = first_directions(mesh);
    SynthesisFrame frame{.mesh = mesh, .directions = directions, .texel = kTexel, .advected = advected};
    synthesis.run(frame, seeds, values);
    return synthesis.energy();
}

// A texture that starts from nothing.
std::vector<float> made_anew(const Mesh& mesh, Synthesis synthesis, std::vector<float> values)
{
    std::vector<int32_t> seeds;
    const std::vector<uint8_t> advected(mesh.positions.size(), 0);
    const std::vector<Vec3f> directions = first_directions(mesh);
    SynthesisFrame frame{.mesh = mesh, .directions = directions, .texel = kTexel, .advected = advected};
    synthesis.run(frame, seeds, values);
    return values;
}

} // namespace

TEST(Raster, WrapsAroundAndHasBothColours)
{
    using Kind = ExemplarParams::Kind;
    for (const Kind kind : {Kind::checker, Kind::stripes, Kind::spots, Kind::crust, Kind::foam}) {
        ExemplarParams params;
        params.kind = kind, params.size = 96;
        const Raster e = make_exemplar(params);
        const auto step = [&](int left, int right) { // between two columns
            double sum = 0;
            for (int y = 0; y < e.height; ++y)
                sum += static_cast<double>((e.color(left, y) - e.color(right, y)).norm());
            return sum;
        };
        double largest = 0, light = 0;
        for (int x = 1; x < e.width; ++x) largest = std::max(largest, step(x - 1, x));
        for (size_t i = 0; i < e.values.size(); i += 3) light += static_cast<double>(e.values[i]) / (96 * 96);
        EXPECT_GT(light, 0.1);
        EXPECT_LT(light, 0.95);
        EXPECT_LE(step(95, 0), 1.1 * largest);
    }
}

// On a plane the distortion of a triangle is its scaling.
TEST(Patches, DistortionIsTheLargestScaling)
{
    const Vec3f a(0, 0, 0), b(1, 0, 0), c(0, 1, 0);
    const auto distortion = [&](float x, float y) { return distortion_of(a, b, c, {0, 0}, {x, 0}, {0.3f, y}, 1); };
    EXPECT_NEAR(distortion_of(a, b, c, {0, 0}, {1, 0}, {0, 1}, 1), 1, 1e-5f);
    EXPECT_NEAR(distortion_of(a, b, c, {5, 5}, {5, 6}, {4, 5}, 1), 1, 1e-5f); // turned and moved
    EXPECT_NEAR(distortion_of(a, b, c, {0, 0}, {2, 0}, {0, 2}, 1), 2, 1e-5f);
    EXPECT_NEAR(distortion_of(a, b, c, {0, 0}, {2, 0}, {0, 2}, 0.5f), 1, 1e-5f); // in texels of half the length
    EXPECT_NEAR(distortion_of(a, b, c, {0, 0}, {1, 0}, {0, 0.25f}, 1), 4, 1e-4f);
    EXPECT_EQ(distortion(1, -1), kInfinity);
    EXPECT_EQ(distortion(1, 0), kInfinity);
}

TEST(Patches, CoverEveryVertexWithinTheirLimits)
{
    for (const bool align : {false, true})
        for (const Mesh& mesh :
             {ball_of_texels(), remeshed(box_mesh({0, 0, 0}, {1, 0.2f, 1}), 1.0746f * kTexel).mesh}) {
            PatchSettings settings;
            settings.size = 17, settings.texel = kTexel, settings.align = align;
            const std::vector<Patch> patches = make_patches(mesh, MeshLinks(mesh), first_directions(mesh), settings, 1);
            std::vector<int> covered(mesh.positions.size(), 0);
            double area = 0;
            for (const Patch& patch : patches) {
                EXPECT_LT(patch.places.front().norm(), 1e-3f);
                double own = 0;
                for (const Vec3i& t : patch.triangles) {
                    const auto x = [&](int k) { return mesh.positions[patch.vertices[t[k]]]; };
                    const auto p = [&](int k) { return patch.places[t[k]]; };
                    EXPECT_LE(distortion_of(x(0), x(1), x(2), p(0), p(1), p(2), kTexel), 2);
                    const Vec2f ab = p(1) - p(0), ac = p(2) - p(0);
                    own += static_cast<double>(ab.x() * ac.y() - ab.y() * ac.x()) / 2;
                }
                EXPECT_LT(own, 23.0 * 23.0); // nothing lies twice on the square and its margin
                area += own;
                for (const int vertex : patch.vertices) ++covered[vertex];
            }
            EXPECT_EQ(std::ranges::count(covered, 0), 0);
            const double texels = static_cast<double>(mesh.positions.size());
            EXPECT_GT(area / texels, 2); // patches overlap
            EXPECT_LT(area / texels, 12);
        }
}

TEST(Patches, AlignmentFollowsTheDirections)
{
    const Mesh mesh = ball_of_texels();
    const std::vector<Vec3f> directions = first_directions(mesh);
    PatchSettings settings;
    settings.size = 33, settings.texel = kTexel;
    double angle[2];
    for (const bool align : {false, true}) {
        settings.align = align;
        double sum = 0, count = 0;
        for (const Patch& patch : make_patches(mesh, MeshLinks(mesh), directions, settings, 1))
            for (const Vec3i& t : patch.triangles) {
                const auto p = [&](int k) { return patch.places[t[k]]; };
                // The direction in which the first coordinate grows.
                Eigen::Matrix2f to;
                to.col(0) = p(1) - p(0), to.col(1) = p(2) - p(0);
                const Vec2f c = to.inverse() * Vec2f(1, 0);
                const auto x = [&](int k) { return mesh.positions[patch.vertices[t[k]]]; };
                const Vec3f way = c.x() * (x(1) - x(0)) + c.y() * (x(2) - x(0));
                const float cosine = way.normalized().dot(directions[patch.vertices[t[0]]]);
                sum += std::acos(static_cast<double>(std::clamp(cosine, -1.0f, 1.0f))) * 180 / kPi, count += 1;
            }
        angle[align] = sum / count;
    }
    EXPECT_LT(angle[1], 0.9 * angle[0]) << angle[0]; // a ball has no field without places where it turns
}

TEST(Patches, NoTwoTrianglesOfAPatchOverlap)
{
    for (const Mesh& mesh :
         {ball_of_texels(), remeshed(box_mesh({0, 0, 0}, {1, 0.06f, 1}), 1.0746f * kTexel).mesh, thin_crown()}) {
        const MeshLinks links(mesh);
        // Directions that whirl, so that alignment bends patches.
        std::vector<Vec3f> directions = first_directions(mesh);
        for (size_t i = 0; i < directions.size(); ++i)
            directions[i] = Eigen::AngleAxisf(6 * mesh.positions[i].x() + 4 * mesh.positions[i].z(), mesh.normals[i]) *
                            directions[i];
        const PatchSettings large{.size = 33, .texel = kTexel};
        const std::vector<Patch> patches = make_patches(mesh, links, directions, large, 1);
        for (const int size : {33, 17, 9}) {
            const PatchSettings settings{.size = size, .texel = kTexel};
            int found = 0;
            for (const Patch& patch : size == 33 ? patches : smaller_patches(mesh, links, patches, settings, 1))
                found += overlaps(patch);
            EXPECT_EQ(found, 0) << size;
        }
    }
}

TEST(Matcher, HintsThatAreInNoPictureAreLeftOut)
{
    const std::vector<Raster> pictures = {spots()};
    const Matcher matcher(pictures, {}, 17, false);
    const std::vector<Matcher::Match> hints = {{1000000, 3, 3, 0}, {-1, 3, 3, 0}, {0, 60, 3, 0}};
    const Matcher::Match found = matcher.best(noisy_window(pictures[0], 17, 20, 30, 0.1f), hints);
    EXPECT_EQ(found.picture, 0);
    EXPECT_EQ(found.x, 20);
    EXPECT_EQ(found.y, 30);
}

TEST(Matcher, FastIsNearlyAsGoodAsExhaustive)
{
    const Raster exemplar = spots();
    const std::vector<Raster> pictures = {exemplar};
    for (const int size : {17, 33}) {
        const Matcher fast(pictures, {}, size, false), slow(pictures, {}, size, true);
        double fast_energy = 0, slow_energy = 0;
        for (int i = 0; i < 20; ++i) {
            const int x = i % 5 * 6, y = i * 7 % 30;
            Window window = noisy_window(exemplar, size, x, y, 0.1f);
            if (i % 2) // holes
                for (size_t k = 0; k < window.known.size(); k += 3) window.known[k] = 0;
            if (i % 4 > 1) // a mixture of two places
                for (int k = 0; k < size * size; ++k)
                    for (int c = 0; c < 3; ++c)
                        window.values[3 * k + c] =
                            0.5f * (window.values[3 * k + c] + exemplar.at(k % size, k / size)[c]);
            const Matcher::Match found = fast.best(window), best = slow.best(window);
            fast_energy += found.energy, slow_energy += best.energy;
            if (i % 4 != 0) continue;
            EXPECT_EQ(best.x, x);
            EXPECT_EQ(best.y, y);
            EXPECT_EQ(found.x, x);
            EXPECT_EQ(found.y, y);
        }
        EXPECT_LE(fast_energy, 1.02 * slow_energy);
    }
}

TEST(Synthesis, MakesTheSurfaceLikeTheExample)
{
    const Mesh mesh = ball_of_texels();
    const Raster exemplar = spots();
    std::vector<float> values;
    Random random(7);
    for (size_t i = 0; i < mesh.positions.size(); ++i) values.insert(values.end(), 3, random.uniform());
    const double before = unlike(mesh, exemplar, values);
    values = made_anew(mesh, Synthesis(only(exemplar), {}), values);
    EXPECT_LT(unlike(mesh, exemplar, values), 0.2 * before);
    const auto mean = [](const std::vector<float>& of) {
        double sum = 0;
        for (const float v : of) sum += static_cast<double>(v);
        return sum / static_cast<double>(of.size());
    };
    EXPECT_NEAR(mean(values), mean(exemplar.values), 0.1);
}

// The matches of the same patches, of a texture that is noisy and has been turned around.
TEST(Synthesis, FastSearchIsWithinTwoPercentOfTheEnergy)
{
    using Kind = ExemplarParams::Kind;
    const auto one = [](Kind kind) {
        TextureParams params;
        params.mode = TextureParams::Mode::example, params.exemplar.size = 64, params.exemplar.feature = 8;
        params.exemplar.kind = kind;
        return params;
    };
    TextureParams guided = one(Kind::spots), two = one(Kind::spots);
    guided.select = TextureParams::Select::parameter;
    guided.examples.resize(2), guided.examples[1].kind = Kind::foam, guided.examples[1].parameter = 1;
    two.examples.resize(2), two.examples[1].kind = Kind::stripes;
    const Mesh mesh = ball_of_texels();
    const std::vector<uint8_t> none(mesh.positions.size(), 0), all(mesh.positions.size(), 1);
    const std::vector<Vec3f> directions = first_directions(mesh);
    for (const auto& [name, params] : {std::pair{"spots", one(Kind::spots)},
                                       {"crust", one(Kind::crust)},
                                       {"foam", one(Kind::foam)},
                                       {"checker", one(Kind::checker)},

                                       {"guide", guided},
                                       {"two", two}}) {
        const ExampleSet set = example_set(params, {});
        const TexelLayout& layout = set.layout;
        const int rest = layout.stride() - layout.channels;
        SynthesisFrame first{.mesh = mesh, .directions = directions, .texel = kTexel, .advected = none};
        for (const Vec3f& x : mesh.positions) first.rest.insert(first.rest.end(), rest, x.y() > 0 ? 1.0f : 0.0f);
        std::vector<float> made(all.size() * layout.channels, 0);
        std::vector<int32_t> no_seeds;
        Synthesis(set, {}).run(first, no_seeds, made);
        Random random(7);
        for (float& v : made) v += random.uniform(-0.2f, 0.2f);
        for (const int size : {33, 17, 9}) {
            double energy[2];
            for (const bool exhaustive : {false, true}) {
                std::vector<float> values = made;
                std::vector<int32_t> seeds;
                Synthesis synthesis(set, {.sizes = {size}, .iterations = 1, .exhaustive = exhaustive});
                SynthesisFrame frame{
                    .mesh = mesh, .directions = directions, .texel = kTexel, .seed = 2, .advected = all};
                frame.rest = first.rest;
                synthesis.run(frame, seeds, values);
                energy[exhaustive] = synthesis.energy();
            }
            EXPECT_LT(energy[0], 1.02 * energy[1]) << name << " " << size << ": " << energy[0] << " " << energy[1];
            EXPECT_GE(energy[0], energy[1]);
        }
    }
}

TEST(Synthesis, GivesTheSameBitsForAnyNumberOfThreads)
{
    const auto run = [] {
        const Mesh mesh = ball_of_texels();
        return made_anew(mesh, Synthesis(only(spots()), {.iterations = 2}),
                         std::vector<float>(3 * mesh.positions.size(), 0.5f));
    };
    EXPECT_TRUE(same_bits(with_threads(1, run), with_threads(4, run)));
}

// The texture of a turning ball moves along, and keeps its look, where advected colours lose it.
TEST(Synthesis, StaysSharpAndCoherentInMotion)
{
    TextureParams params;
    params.mode = TextureParams::Mode::example, params.size = 8 * kTexel, params.exemplar.feature = 8;
    params.exemplar.size = 64;
    TurningBall ball;
    Texture texture(params);
    texture.start(ball.frame(0, true)), texture.synthesize();
    const auto colors_of = [](const Mesh& mesh) { return std::get<std::vector<Vec3f>>(mesh.attributes.at("color")); };
    const Raster exemplar = spots();
    const auto unlike_example = [&] { return unlike(texture.mesh(), exemplar, values_of(colors_of(texture.mesh()))); };
    const double first = unlike_example();
    double change = 0, other = 0;
    const int frames = 10;
    for (int i = 1; i <= frames; ++i) {
        const Mesh before = texture.mesh();
        texture.carry(ball.frame(i, true), ball.seconds);
        texture.synthesize();
        const Mesh& now = texture.mesh();
        const MeshDistance nearest(before);
        const std::vector<Vec3f> was = colors_of(before), is = colors_of(now);
        for (size_t k = 0; k < is.size(); ++k) {
            const auto at = [&](const Vec3f& x) {
                const MeshDistance::Nearest found = nearest.nearest(x);
                return blended(was, before, {found.triangle, found.weights});
            };
            const double share = 1 / static_cast<double>(is.size()) / frames;
            change += share * static_cast<double>((is[k] - at(ball.back(now.positions[k], 1))).norm());
            other += share * static_cast<double>((is[k] - at(-now.positions[k])).norm()); // on the other side
        }
        EXPECT_EQ(texture.new_vertices(), 0);
    }
    EXPECT_LT(change, 0.35 * other);
    EXPECT_LT(unlike_example(), 1.5 * first);
}

// Two examples, red and blue, above and below the equator of a ball.
TEST(Synthesis, ExamplesAreChosenByLabelOrParameterOrKeptWhereTheyBegan)
{
    using Select = TextureParams::Select;
    for (const Select select : {Select::label, Select::parameter, Select::any}) {
        TextureParams params;
        params.mode = TextureParams::Mode::example, params.select = select, params.texel = 0.07f;
        params.patch = 17, params.exemplar.size = 48, params.exemplar.feature = 8;
        params.examples.resize(2);
        params.examples[0].color = Vec3f(0.2f, 0, 0), params.examples[0].second_color = Vec3f(1, 0, 0);
        params.examples[1].color = Vec3f(0, 0, 0.2f), params.examples[1].second_color = Vec3f(0, 0, 1);
        params.examples[1].kind = ExemplarParams::Kind::stripes, params.examples[1].parameter = 1;
        Mesh ball = sphere_mesh({0, 0, 0}, 1, 4);
        std::vector<int32_t> labels;
        std::vector<float> parameters;
        for (const Vec3f& x : ball.positions) labels.push_back(x.y() > 0 ? 2 : 1), parameters.push_back(x.y() > 0);
        ball.attributes["example"] = labels, ball.attributes["parameter"] = parameters;
        Texture texture(params);
        for (const bool first : {true, false}) {
            first ? texture.start(ball) : texture.carry(sphere_mesh({0, 0, 0}, 1, 4), 0.1f);
            texture.synthesize();
            const auto& colors = std::get<std::vector<Vec3f>>(texture.mesh().attributes.at("color"));
            double right = 0, clear = 0;
            for (size_t i = 0; i < colors.size(); ++i) {
                const float y = texture.mesh().positions[i].y();
                if (std::abs(y) < 0.25f) continue; // patches meet
                clear += 1, right += (colors[i].z() > colors[i].x()) == (y > 0);
            }
            EXPECT_GT(right / clear, select == Select::label ? 0.999 : 0.95) << first;
        }
    }
}

// Patches of which nothing is known begin in the first picture of any video, or in any place of any picture.
TEST(Matcher, EveryVideoBegins)
{
    const std::vector<Raster> stills(6, Raster(24, 24, 3)), videos(6, Raster(24, 24, 6));
    const std::vector<int> examples = {0, 0, 0, 1, 1, 1};
    constexpr int kTimes = 600;
    for (const int history : {0, 1}) {
        const TexelLayout layout{.channels = 3, .history = history};
        const Matcher matcher(history > 0 ? videos : stills, layout, 17, /*exhaustive=*/true, examples);
        Window window;
        window.values.assign(static_cast<size_t>(17 * 17 * layout.stride()), 0), window.known.assign(17 * 17, 0);
        std::vector<int> times(6, 0);
        for (int i = 0; i < kTimes; ++i) ++times[matcher.any(window, hash64(static_cast<uint64_t>(i))).picture];
        for (int picture = 0; picture < 6; ++picture) {
            const double expected = history == 0 ? kTimes / 6.0 : picture % 3 == 0 ? kTimes / 2.0 : 0;
            EXPECT_NEAR(times[picture], expected, 0.3 * expected) << history << " " << picture;
        }
        for (int i = 0; i < 50; ++i) EXPECT_GE(matcher.any(window, hash64(static_cast<uint64_t>(i)), 1).picture, 3);
    }
}

// Vertices near the border of a label came from a picture whose number the other label does not have.
TEST(Synthesis, LabelsMayHaveDifferentNumbersOfPictures)
{
    TextureParams params;
    params.mode = TextureParams::Mode::example, params.select = TextureParams::Select::label, params.texel = 0.07f;
    params.patch = 17, params.exemplar.size = 48, params.exemplar.feature = 8;
    params.examples.resize(2);
    params.examples[0].kind = ExemplarParams::Kind::ripples; // 48 pictures
    params.examples[0].color = Vec3f(0.2f, 0, 0), params.examples[0].second_color = Vec3f(1, 0, 0);
    params.examples[1].color = Vec3f(0, 0, 0.2f), params.examples[1].second_color = Vec3f(0, 0, 1);
    Mesh ball = sphere_mesh({0, 0, 0}, 1, 4);
    std::vector<int32_t> labels;
    for (const Vec3f& x : ball.positions) labels.push_back(x.y() > 0 ? 2 : 1);
    ball.attributes["example"] = labels;
    Texture texture(params);
    for (int frame = 0; frame < 3; ++frame) {
        frame == 0 ? texture.start(ball) : texture.carry(ball, 0.1f);
        texture.synthesize();
        const auto& colors = std::get<std::vector<Vec3f>>(texture.mesh().attributes.at("color"));
        for (size_t i = 0; i < colors.size(); ++i) {
            EXPECT_TRUE((colors[i].array() >= 0).all() && (colors[i].array() <= 1).all()) << colors[i].transpose();
            const float y = texture.mesh().positions[i].y();
            if (std::abs(y) < 0.25f) continue; // patches meet
            EXPECT_EQ(colors[i].z() > colors[i].x(), y > 0);
        }
    }
}

// Opacity and height belong to the colours.
TEST(Synthesis, FurtherChannelsFollowTheColours)
{
    TextureParams params;
    params.mode = TextureParams::Mode::example, params.texel = 0.07f, params.patch = 17;
    Raster example(48, 48, 4), height(48, 48, 1);
    const Raster colors = make_exemplar({.size = 48, .feature = 8});
    for (int y = 0; y < 48; ++y)
        for (int x = 0; x < 48; ++x) {
            std::copy_n(colors.at(x, y), 3, example.at(x, y));
            example.at(x, y)[3] = 1 - colors.at(x, y)[0], height.at(x, y)[0] = 3 * colors.at(x, y)[0];
        }
    ExampleFiles files{.frames = {example}, .attributes = {"opacity"}};
    files.height = height;
    Texture texture(params, true, {files});
    texture.start(sphere_mesh({0, 0, 0}, 1, 4)), texture.synthesize();
    const auto& made = texture.mesh().attributes;
    const auto& color = std::get<std::vector<Vec3f>>(made.at("color"));
    for (size_t i = 0; i < color.size(); ++i) {
        EXPECT_NEAR(std::get<std::vector<float>>(made.at("opacity"))[i], 1 - color[i].x(), 1e-4f);
        EXPECT_NEAR(std::get<std::vector<float>>(made.at("height"))[i], 3 * color[i].x(), 1e-4f);
    }
}

// The ground between spots goes through all hues in six frames, also on a ball that stands still.
TEST(Synthesis, VideosGoOnAsTheyDo)
{
    constexpr int kPeriod = 6, kFrames = 3 * kPeriod;
    ExampleFiles video;
    const Raster spots_of_white = make_exemplar({.size = 40, .feature = 10});
    for (int f = 0; f < 2 * kPeriod + 2; ++f) {
        Raster frame = spots_of_white;
        for (size_t i = 0; i < frame.values.size(); ++i)
            frame.values[i] *=
                static_cast<float>(0.5 + 0.5 * std::cos(2 * kPi * (f / 6.0 - static_cast<double>(i % 3) / 3)));
        video.frames.push_back(frame);
        video.history.emplace_back();
        if (f > 1) video.history.back() = {video.frames[f - 1], video.frames[f - 2]};
    }
    // The variance of the colours of vertices over time, and the share of it that has the period.
    const auto variation = [&](int history) {
        TextureParams params;
        params.mode = TextureParams::Mode::example, params.texel = 0.08f, params.patch = 17;
        params.history = history;
        Texture texture(params, true, {video});
        const Mesh ball = sphere_mesh({0, 0, 0}, 1, 3);
        texture.start(ball), texture.synthesize();
        const size_t count = texture.mesh().positions.size();
        std::vector<double> sum(count), squares(count), cosine(count), sine(count);
        for (int f = 0; f < kFrames; ++f) {
            texture.carry(ball, 0.1f), texture.synthesize();
            const auto& colors = std::get<std::vector<Vec3f>>(texture.mesh().attributes.at("color"));
            for (size_t i = 0; i < count; ++i) {
                const auto v = static_cast<double>(colors[i].x());
                sum[i] += v / kFrames, squares[i] += v * v / kFrames;
                cosine[i] += v * std::cos(2 * kPi * f / kPeriod) * 2 / kFrames;
                sine[i] += v * std::sin(2 * kPi * f / kPeriod) * 2 / kFrames;
            }
        }
        double all = 0, periodic = 0;
        for (size_t i = 0; i < count; ++i) {
            all += (squares[i] - sum[i] * sum[i]) / static_cast<double>(count);
            periodic += (cosine[i] * cosine[i] + sine[i] * sine[i]) / 2 / static_cast<double>(count);
        }
        return std::pair{all, periodic / all};
    };
    const auto [all, periodic] = variation(2);
    EXPECT_GT(periodic, 0.8);
    double light = 0; // mean square of the ground
    for (const float v : spots_of_white.values)
        light += static_cast<double>(v * v) / static_cast<double>(spots_of_white.values.size());
    EXPECT_GT(all, 0.7 * light * 0.5 * 0.5 / 2);
    EXPECT_LT(variation(0).first, 0.2 * all); // without a history nothing tells which frame comes next
}

// Contrast, and the mean change from frame to frame where the surface goes, are those of the example.
TEST(Synthesis, VideosOnAMovingSurfaceChangeAsTheExampleDoes)
{
    TextureParams params;
    params.mode = TextureParams::Mode::example, params.history = 1, params.texel = kTexel;
    params.exemplar.kind = ExemplarParams::Kind::ripples, params.exemplar.size = 64;
    params.color = Vec3f::Zero(), params.second_color = Vec3f::Ones();
    const ExampleSet set = example_set(params, {});
    const auto moments = [](const std::vector<float>& values) { // the standard deviation
        double sum = 0, squares = 0;
        for (const float v : values)
            sum += static_cast<double>(v), squares += static_cast<double>(v) * static_cast<double>(v);
        const auto n = static_cast<double>(values.size());
        return std::sqrt(squares / n - sum / n * sum / n);
    };
    double example_change = 0, example_contrast = 0;
    for (const Raster& picture : set.pictures) {
        std::vector<float> values;
        double change = 0;
        for (size_t i = 0; i < picture.pixels(); ++i) {
            const float* texel = &picture.values[i * picture.channels];
            values.push_back(texel[0]), change += static_cast<double>(std::abs(texel[0] - texel[3]));
        }
        const auto n = static_cast<double>(set.pictures.size());
        example_contrast += moments(values) / n;
        example_change += change / static_cast<double>(picture.pixels()) / n;
    }
    const TurningBall ball;
    Texture texture(params);
    texture.start(ball.frame(0, true)), texture.synthesize();
    double change = 0, contrast = 0;
    constexpr int kUnseen = 4, kFrames = 12;
    for (int i = 1; i <= kFrames; ++i) {
        const Mesh before = texture.mesh();
        texture.carry(ball.frame(i, true), ball.seconds), texture.synthesize();
        if (i <= kUnseen) continue;
        const Mesh& now = texture.mesh();
        const MeshDistance nearest(before);
        std::vector<float> values;
        double own = 0;
        for (size_t k = 0; k < now.positions.size(); ++k) {
            const MeshDistance::Nearest at = nearest.nearest(ball.back(now.positions[k], 1));
            const auto& was = std::get<std::vector<Vec3f>>(before.attributes.at("color"));
            values.push_back(std::get<std::vector<Vec3f>>(now.attributes.at("color"))[k].x());
            own += static_cast<double>(std::abs(values.back() - blended(was, before, {at.triangle, at.weights}).x()));
        }
        change += own / static_cast<double>(values.size()) / (kFrames - kUnseen);
        contrast += moments(values) / (kFrames - kUnseen);
    }
    fmt::print("change {:.4f} of {:.4f}, contrast {:.4f} of {:.4f}\n", change, example_change, contrast,
               example_contrast);
    EXPECT_NEAR(change / example_change, 1, 0.3);
    EXPECT_NEAR(contrast / example_contrast, 1, 0.2);
}

TEST(Synthesis, ExamplesThatCannotWorkAreRefused)
{
    TextureParams params;
    params.mode = TextureParams::Mode::example;
    const auto message = [&](const Raster& exemplar) -> std::string {
        try {
            const Texture texture(params, true, {{.frames = {exemplar}}});
        } catch (const Error& e) {
            return e.what();
        }
        return {};
    };
    Raster picture = spots();
    EXPECT_EQ(message(picture), "");
    Raster tiny = picture;
    tiny.height = 20;
    EXPECT_NE(message(tiny).find("64 x 20 pixels"), std::string::npos);
    Raster constant = picture;
    std::ranges::fill(constant.values, 0.3f);
    EXPECT_NE(message(constant).find("same colour"), std::string::npos);
    picture.values[77] = std::nanf("");
    EXPECT_NE(message(picture).find("has the value nan in pixel (25, 0)"), std::string::npos);
}

} // namespace spindrift
