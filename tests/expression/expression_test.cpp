// Every language construct against the same computation in C++.
#include "base/determinism.h"
#include "samples.h"
#include "spindrift/expression/field_sampler.h"
#include "spindrift/expression/functions.h"
#include "spindrift/expression/volume_expression.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

// Runs `text` and expects `expected(particles, i)` in the attribute "out" of every particle.
template <class T, class Expected> void expect_out(const std::string& text, const Expected& expected)
{
    const Particles before = sample_particles();
    const Particles after = run(text, before);
    const auto* out = after.find<T>("out");
    ASSERT_NE(out, nullptr) << text;
    for (size_t i = 0; i < before.size(); ++i) ASSERT_EQ((*out)[i], T(expected(before, i))) << text << " at " << i;
}
template <class Expected> void expect_float(const std::string& text, const Expected& expected)
{
    expect_out<float>(text, expected);
}
template <class Expected> void expect_int(const std::string& text, const Expected& expected)
{
    expect_out<int32_t>(text, expected);
}
template <class Expected> void expect_vector(const std::string& text, const Expected& expected)
{
    expect_out<Vec3f>(text, expected);
}

float age(const Particles& p, size_t i) { return (*p.find<float>("age"))[i]; }
int kind(const Particles& p, size_t i) { return (*p.find<int32_t>("kind"))[i]; }
Vec3f colour(const Particles& p, size_t i) { return (*p.find<Vec3f>("Cd"))[i]; }

} // namespace

TEST(Expression, ComputesWithNumbers)
{
    expect_float("f@out = @age * 2.0f + 1.0f;", [](auto& p, size_t i) { return age(p, i) * 2 + 1; });
    expect_float("f@out = -@age / 3.0f;", [](auto& p, size_t i) { return -age(p, i) / 3; });
    expect_float("f@out = @age; @out *= @age; @out -= 1;", [](auto& p, size_t i) { return age(p, i) * age(p, i) - 1; });
    expect_float("double@out = 1.0 / 3.0;", [](auto&, size_t) { return static_cast<float>(1.0 / 3.0); });
    expect_int("i@out = i@kind * 3 - 1;", [](auto& p, size_t i) { return kind(p, i) * 3 - 1; });
    expect_int("i@out = i@kind / 3;", [](auto& p, size_t i) { return kind(p, i) / 3; });
    expect_int("i@out = (i@kind << 2) ^ 5;", [](auto& p, size_t i) { return (kind(p, i) * 4) ^ 5; });
    expect_int("i@out = (i@kind & 3) | (~i@kind & 8);",
               [](auto& p, size_t i) { return (kind(p, i) & 3) | (~kind(p, i) & 8); });
    // AX's % takes the sign of the divisor.
    expect_int("i@out = i@kind % 3;", [](auto& p, size_t i) { return ((kind(p, i) % 3) + 3) % 3; });
    expect_int("i@out = i@kind++ + ++i@kind;", [](auto& p, size_t i) { return 2 * kind(p, i) + 2; });
    expect_int("i@out = @age;", [](auto& p, size_t i) { return static_cast<int>(age(p, i)); });
    expect_int("bool@out = i@kind;", [](auto& p, size_t i) { return kind(p, i) != 0; });
    expect_int("int64@out = 3; @out += i@kind;", [](auto& p, size_t i) { return 3 + kind(p, i); });
}

TEST(Expression, ComputesWithVectors)
{
    expect_vector("v@out = v@Cd * 2.0f - v@v;", [](auto& p, size_t i) -> Vec3f { return 2 * colour(p, i) - p.v[i]; });
    expect_vector("v@out = {@age, 1.0f, 2.0f};", [](auto& p, size_t i) -> Vec3f { return Vec3f(age(p, i), 1, 2); });
    expect_vector("v@out = v@Cd; v@out.y = 7; v@out[2] = v@Cd.x;",
                  [](auto& p, size_t i) -> Vec3f { return Vec3f(colour(p, i).x(), 7, colour(p, i).x()); });
    expect_vector("v@out = @age;", [](auto& p, size_t i) -> Vec3f { return Vec3f::Constant(age(p, i)); });
    expect_vector("v@out = cross(v@v, v@Cd);", [](auto& p, size_t i) -> Vec3f { return p.v[i].cross(colour(p, i)); });
    expect_vector("vec3d@out = v@v;", [](auto& p, size_t i) -> Vec3f { return p.v[i]; });
    expect_float("f@out = dot(v@v, v@v);", [](auto& p, size_t i) {
        const Vec3f v = p.v[i];
        return v.x() * v.x() + v.y() * v.y() + v.z() * v.z();
    });
    expect_vector("mat3f turn = {0,1,0, -1,0,0, 0,0,1}; v@out = v@v * turn;",
                  [](auto& p, size_t i) -> Vec3f { return Vec3f(-p.v[i].y(), p.v[i].x(), p.v[i].z()); });
}

TEST(Expression, TakesBranchesAndLoops)
{
    expect_float("if (@age > 2) f@out = 1; else if (@age > 1) f@out = 2; else f@out = 3;", [](auto& p, size_t i) {
        return age(p, i) > 2 ? 1 : age(p, i) > 1 ? 2 : 3;
    });
    expect_float("f@out = @age > 2 && i@kind < 0 || i@kind == 5 ? 1 : 0;",
                 [](auto& p, size_t i) { return (age(p, i) > 2 && kind(p, i) < 0) || kind(p, i) == 5 ? 1 : 0; });
    expect_int("int sum = 0; for (int k = 0; k < i@kind; ++k) { if (k == 2) continue; sum += k; } i@out = sum;",
               [](auto& p, size_t i) {
                   int sum = 0;
                   for (int k = 0; k < kind(p, i); ++k) sum += k == 2 ? 0 : k;
                   return sum;
               });
    expect_int("int n = 0; float x = @age; while (x > 0.5f) { x *= 0.5f; ++n; if (n == 2) break; } i@out = n;",
               [](auto& p, size_t i) {
                   int n = 0;
                   for (float x = age(p, i); x > 0.5f && n < 2; x *= 0.5f) ++n;
                   return n;
               });
    expect_int("int n = 0; do { ++n; } while (n < 3); i@out = n;", [](auto&, size_t) { return 3; });
    expect_float("f@out = 1; if (@age > 2) return; f@out = 2;",
                 [](auto& p, size_t i) { return age(p, i) > 2 ? 1 : 2; });
    expect_float("float never; f@out = never;", [](auto&, size_t) { return 0; });
    expect_float("int x = 1; { int x = 2; } f@out = x;", [](auto&, size_t) { return 1; });
}

TEST(Expression, CallsFunctionsOfAx)
{
    expect_float("f@out = pow(@rad, 3.0f);",
                 [](auto& p, size_t i) { return std::pow((*p.template find<float>("rad"))[i], 3.0f); });
    expect_float("f@out = sin(@age) + exp(@age) * sqrt(@age);",
                 [](auto& p, size_t i) { return std::sin(age(p, i)) + std::exp(age(p, i)) * std::sqrt(age(p, i)); });
    expect_float("f@out = clamp(@age, 1.0f, 2.0f) + max(@age, 3.0f);",
                 [](auto& p, size_t i) { return std::clamp(age(p, i), 1.0f, 2.0f) + std::max(age(p, i), 3.0f); });
    expect_int("i@out = floor(@age) + abs(i@kind);",
               [](auto& p, size_t i) { return static_cast<int>(std::floor(age(p, i))) + std::abs(kind(p, i)); });
}

TEST(Expression, ReadsTimeAndParameters)
{
    ExpressionContext context;
    context.frame = 12, context.time = 0.5, context.dt = 0.02, context.fps = 25;
    ExpressionOptions options;
    options.parameters = {{"gain", 3.0}, {"wind", Vec3f(1, 2, 3)}};
    Expression expression(
        "test", "@t = $time + $dt; @f = $frame * $fps; @g = $gain; v@w = v$wind * $gain; i@h = i$gain;", options);
    Particles particles = sample_particles(3);
    expression.run(particles, context);
    EXPECT_EQ((*particles.find<float>("t"))[1], 0.5f + 0.02f);
    EXPECT_EQ((*particles.find<float>("f"))[1], 300);
    EXPECT_EQ((*particles.find<Vec3f>("w"))[2], Vec3f(3, 6, 9));
    EXPECT_EQ((*particles.find<int32_t>("h"))[0], 3);
    expression.set("gain", -1.0); // without recompiling
    expression.run(particles, context);
    EXPECT_EQ((*particles.find<Vec3f>("w"))[2], Vec3f(-1, -2, -3));
}

TEST(Expression, WritesParticleArraysInPlace)
{
    const Particles before = sample_particles();
    ExpressionContext context;
    context.dt = 0.25;
    const Particles after = run("@P += @v * $dt; @id += 5;", before, context);
    for (size_t i = 0; i < before.size(); ++i) {
        ASSERT_EQ(after.P[i], before.P[i] + before.v[i] * 0.25f);
        ASSERT_EQ(after.id[i], before.id[i] + 5);
    }
    EXPECT_TRUE(same_bits(after.v, before.v));
    EXPECT_EQ(after.attributes, before.attributes);
}

TEST(Expression, AddsMissingAttributesThatItWrites)
{
    const Particles after = run("@distance += 2; vec3f@orient = {1, 2, 3}; int@seen = 1; if (false) double@other = 1;");
    EXPECT_EQ(*after.find<float>("distance"), std::vector<float>(after.size(), 2));
    EXPECT_EQ((*after.find<Vec3f>("orient"))[4], Vec3f(1, 2, 3));
    EXPECT_EQ(*after.find<int32_t>("seen"), std::vector<int32_t>(after.size(), 1));
    EXPECT_EQ(*after.find<float>("other"), std::vector<float>(after.size(), 0));
}

TEST(Expression, DeletesPoints)
{
    const Particles before = sample_particles();
    const Particles after = run("if (@age > 2) deletepoint();", before);
    size_t k = 0;
    for (size_t i = 0; i < before.size(); ++i) {
        if (age(before, i) > 2) continue;
        ASSERT_LT(k, after.size());
        ASSERT_EQ(after.id[k], before.id[i]);
        ASSERT_EQ(after.P[k], before.P[i]);
        ASSERT_EQ(age(after, k), age(before, i));
        ++k;
    }
    EXPECT_EQ(k, after.size());
    EXPECT_EQ(run("deletepoint();", before).size(), 0u);
    EXPECT_EQ(run("@age = 1;", run("deletepoint();", before)).size(), 0u);
    // The values of a deleted point do not matter.
    EXPECT_EQ(run("@P = 1.0 / 0.0; deletepoint();", before).size(), 0u);
}

TEST(Expression, KeepsGroups)
{
    const Particles before = sample_particles();
    const std::string text = R"(
if (@age > 2) addtogroup("old");
if (@age > 3) removefromgroup("old");
i@out = ingroup("old") + 2 * ingroup("nobody");)";
    const Particles after = run(text, before);
    EXPECT_FALSE(after.attributes.contains("group_nobody"));
    for (size_t i = 0; i < before.size(); ++i) {
        const int expected = age(before, i) > 2 && age(before, i) <= 3;
        ASSERT_EQ((*after.find<int32_t>("group_old"))[i], expected);
        ASSERT_EQ((*after.find<int32_t>("out"))[i], expected);
    }
    EXPECT_EQ(run("if (!ingroup(\"old\")) deletepoint();", after).size(),
              static_cast<size_t>(
                  std::count(after.find<int32_t>("group_old")->begin(), after.find<int32_t>("group_old")->end(), 1)));
}

TEST(Expression, SamplesVolumesAndColliders)
{
    ExpressionContext context;
    context.volumes["density"] = [](const Vec3f& x) { return 2 * x.x() + 1; };
    context.vector_volumes["wind"] = [](const Vec3f& x) -> Vec3f { return x.cross(Vec3f(0, 1, 0)); };
    context.collider_distance = [](const Vec3f& x) { return x.norm() - 0.3f; };
    context.collider_normal = [](const Vec3f& x) { return x.normalized(); };
    const Particles before = sample_particles();
    const Particles after = run("@d = volume(\"density\", @P + @v); v@w = volumev(\"wind\", @P);"
                                "@c = collider_distance(@P); v@n = collider_normal(@P);",
                                before, context);
    for (size_t i = 0; i < before.size(); ++i) {
        ASSERT_EQ((*after.find<float>("d"))[i], context.volumes["density"](before.P[i] + before.v[i]));
        ASSERT_EQ((*after.find<Vec3f>("w"))[i], context.vector_volumes["wind"](before.P[i]));
        ASSERT_EQ((*after.find<float>("c"))[i], context.collider_distance(before.P[i]));
        ASSERT_EQ((*after.find<Vec3f>("n"))[i], context.collider_normal(before.P[i]));
    }
}

TEST(Expression, SamplesFieldsOfASimulation)
{
    std::vector<uint64_t> codes;
    for (int x = -1; x <= 0; ++x)
        for (int y = -1; y <= 0; ++y)
            for (int z = -1; z <= 0; ++z) codes.push_back(morton_of_tile({x, y, z}));
    const Topology topology(codes);
    const float voxel = 0.1f;
    Field<float> heat(topology, 0, -5.0f);
    Field<Vec3f> wind(topology, Vec3f::Zero());
    const auto linear = [](const Vec3f& x) { return 2 + Vec3f(1, -3, 0.5f).dot(x); };
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int i = 0; i < kTileCells; ++i) {
            const Vec3f centre =
                voxel * ((topology.first_cell(t) + cell_in_tile(i)).cast<float>() + Vec3f::Constant(0.5f));
            heat.tile(t)[i] = linear(centre);
            wind.tile(t)[i] = 3 * centre;
        }
    ExpressionContext context;
    context.volumes["heat"] = field_sampler(heat, voxel);
    context.vector_volumes["wind"] = field_sampler(wind, voxel);
    const Particles before = sample_particles();
    const Particles after =
        run("@h = volume(\"heat\", @P); v@w = volumev(\"wind\", @P); @far = volume(\"heat\", @P + 1e20f);"
            "@out = volume(\"heat\", @P + 5.0f);",
            before, context);
    for (size_t i = 0; i < before.size(); ++i) {
        ASSERT_NEAR((*after.find<float>("h"))[i], linear(before.P[i]), 1e-5);
        ASSERT_LT(((*after.find<Vec3f>("w"))[i] - 3 * before.P[i]).norm(), 1e-5f);
        ASSERT_EQ((*after.find<float>("far"))[i], -5);
        ASSERT_EQ((*after.find<float>("out"))[i], -5);
    }
}

TEST(Expression, RethrowsSamplerExceptions)
{
    ExpressionContext context;
    context.volumes["density"] = [](const Vec3f&) -> float { fail("the cache is gone"); };
    EXPECT_EQ(error_of(ExitCode::failed, [&] { run("@d = volume(\"density\", @P);", sample_particles(), context); }),
              "the cache is gone");
}

TEST(Expression, ExamplesOfTheFunctionsCompile)
{
    for (const ExpressionFunction& function : expression_functions()) {
        const bool on_points = function.where != ExpressionFunction::Where::volumes;
        EXPECT_NO_THROW(on_points ? (void)Expression("test", function.example)
                                  : (void)VolumeExpression("test", function.example))
            << function.example;
        EXPECT_TRUE(contains(function.example, std::string(function.name) + "("));
        EXPECT_TRUE(contains(function.signature, std::string(function.name) + "("));
        EXPECT_TRUE(contains(describe_expressions(), function.help));
    }
}

// Ranges that do not fill vector registers, at all sizes and offsets, and any thread count give the same bits.
TEST(Expression, GivesTheSameBitsForAnyThreadCountAndRange)
{
    const std::string text = R"(
vec3f way = vec3f@v * 0.01f;
float speed = length(way);
for (int k = 0; k < 3; ++k) way += curlsimplexnoise(vec3f@P * 4.0f) * speed;
vec3f@P += way + pow(@rad, 1.7f) * sin(@age) * normalize(vec3f@v);
@noise = simplexnoise(vec3f@P) + rand(@id) + neighbours_mean("age", 0.05f);
if (@noise > 1.5f) deletepoint();)";
    const Expression expression("test", text);
    const Particles before = sample_particles(20011);
    const auto with = [&](int threads) {
        return with_threads(threads, [&] {
            Particles particles = before;
            expression.run(particles, {});
            return particles;
        });
    };
    const Particles one = with(1);
    EXPECT_LT(one.size(), before.size());
    EXPECT_GT(one.size(), 0u);
    for (const int threads : {2, 3, 8}) EXPECT_TRUE(same_bits(with(threads), one)) << threads;

    const Expression plain("test", "@P += v@v * 0.1f; @age = pow(@age, 1.3f) / (1.0f + length(@v)) + sin(@age);");
    Particles whole = before;
    plain.run(whole, {});
    for (size_t part = 1; part < 70; part += 3) {
        Particles few = before;
        few.resize(part);
        plain.run(few, {});
        for (size_t i = 0; i < part; ++i) {
            ASSERT_EQ(few.P[i], whole.P[i]) << part;
            ASSERT_EQ(age(few, i), age(whole, i)) << part;
        }
    }
}

} // namespace spindrift
