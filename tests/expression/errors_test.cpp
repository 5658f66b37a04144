// Any text gives a result or an error with a position; none ends the process.
#include "samples.h"

namespace spindrift {

namespace {

using testing::AssertionResult;

AssertionResult says(const std::string& message, const std::string& part)
{
    if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "no '" << part << "' in:\n" << message;
}

// Runs any text; true if there was no error.
bool runs(const std::string& text)
{
    try {
        run(text, sample_particles(20));
        return true;
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()), "");
        return false;
    }
}

std::string repeat(const std::string& text, int times)
{
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

} // namespace

TEST(ExpressionErrors, NameStageLineColumnAndShowTheLine)
{
    const std::string text = "float a = 1;\nvec3f@v += a *\t;\n";
    const std::string message = error_of(ExitCode::bad_input, [&] { Expression("liquid.after_forces", text); });
    EXPECT_EQ(message, "liquid.after_forces: line 2, column 16: unexpected ';'\n"
                       "    vec3f@v += a * ;\n"
                       "                   ^");
}

TEST(ExpressionErrors, PointAtWhatIsWrong)
{
    const struct {
        const char* text;
        const char* position;
        const char* message;
    } cases[] = {
        {"@a = b;", "line 1, column 6", "variable \"b\" hasn't been declared"},
        {"\n  @a = legnth(@v);", "line 2, column 8", "there is no function legnth(); did you mean length?"},
        {"@a = $gian;", "line 1, column 6", "there is no parameter $gian"},
        {"@a = @missing;", "line 1, column 6", "no attribute \"missing\"; there are: P, v, id, Cd, age, kind, rad"},
        {"int@age = 1;", "line 1, column 1", "\"age\" holds float values, not int32"},
        {"float@P = 1;", "line 1, column 1", "@P is a vec3f, not a float"},
        {"@a = @v;", "line 1, column 1", "cannot assign a scalar value from a vector"},
        {"float@a = 1; double@a = 2;", "line 1, column 14", "@a is used as float and as double"},
        {"s@name = \"x\";", "line 1, column 1", "@name is a string"},
        {"mat4f@m = 1;", "line 1, column 1", "particles hold float, int32 and vec3f"},
        {"string s = \"x\";", "line 1, column 1", "string variables are not supported"},
        {"@a = volume(\"smoke\", @P);", "line 1, column 13",
         "there is no volume \"smoke\"; no volumes are available here"},
        {"@a = volume(1, @P);", "line 1, column 6", "must be a name in quotes"},
        {"@a = volume(\"x\", 1);", "line 1, column 6", "float volume(string name, vec3f position)"},
        {"@a = neighbours_mean(\"v\", 1);", "line 1, column 22", "\"v\" holds vec3f values, not float"},
        {"@a = rand();", "line 1, column 6", "wrong number of arguments"},
        {"@a = deletepoint();", "line 1, column 6", "deletepoint() returns no value"},
        {"if (@age > 0) { @a = getcoordx(); }", "line 1, column 22", "is available on volumes only"},
        {"@a = 1; /* b */", "line 1, column 9", "comments are not supported; use //"},
        {"break;", "line 1, column 1", "used outside of loop"},
        {"int i = 1; int i = 2;", "line 1, column 12", "already been declared"},
        {"addtogroup(\"a b\");", "line 1, column 12", "letters, digits and _"},
    };
    for (const auto& c : cases) {
        const std::string message = complaint(c.text);
        EXPECT_TRUE(says(message, "test: " + std::string(c.position))) << c.text;
        EXPECT_TRUE(says(message, c.message)) << c.text;
    }
    EXPECT_TRUE(says(complaint("@a = collider_distance(@P);"), "needs colliders, but there are none"));
}

TEST(ExpressionErrors, LeaveParticlesUnchangedIfAnInputIsMissing)
{
    const Expression expression("test", "@P += 1; @new = 1; @a = @missing;");
    const Particles before = sample_particles(10);
    Particles particles = before;
    EXPECT_THROW(expression.check(particles, {}), Error);
    EXPECT_THROW(expression.run(particles, {}), Error);
    EXPECT_EQ(particles.P, before.P);
    EXPECT_FALSE(particles.attributes.contains("new"));
}

TEST(ExpressionErrors, ReportParametersOfTheWrongType)
{
    ExpressionOptions options;
    options.parameters = {{"wind", Vec3f(1, 0, 0)}, {"gain", 1.0}};
    EXPECT_TRUE(says(complaint("@a = $wind;", {}, options), "$wind is a vector; write v$wind"));
    EXPECT_TRUE(says(complaint("v@a = v$gain;", {}, options), "$gain is a number; write $gain"));
    options.parameters = {{"time", 1.0}};
    EXPECT_TRUE(says(complaint("@a = 1;", {}, options), "a parameter cannot be named time"));
}

TEST(HostileExpression, LoopsEndAtTheirLimit)
{
    for (const char* text : {"while (true) {}", "for (;;) { @age += 1; }", "do { @age += 1; } while (1);",
                             "int i = 0; while (i < 2000000) { ++i; } @age = i;",
                             "for (int i = 0; i < 1000; ++i) for (int k = 0; k < 1000; ++k) @age += k;",
                             "@age = neighbours_mean(\"age\", 1e9f); while (@age > -1) {}"}) {
        ExpressionContext context;
        context.frame = 31;
        const std::string message = error_of(ExitCode::failed, [&] { run(text, sample_particles(), context); });
        EXPECT_TRUE(says(message, "test: frame 31: ")) << text;
        EXPECT_TRUE(says(message, "more than 100000 iterations")) << text;
    }
    ExpressionOptions options;
    options.loop_limit = 10;
    EXPECT_TRUE(says(error_of(ExitCode::failed,
                              [&] { run("@a = neighbours_mean(\"age\", 9.0f);", sample_particles(), {}, options); }),
                     "more than 10 iterations"));
    options.loop_limit = 2000001;
    const Particles after = run("int i = 0; while (i < 2000000) { ++i; } @age = i;", sample_particles(2), {}, options);
    EXPECT_EQ((*after.find<float>("age"))[1], 2e6f);
}

TEST(HostileExpression, UndefinedArithmeticHasDefinedResults)
{
    Particles particles = sample_particles(40);
    auto& n = particles.attribute<int32_t>("n");
    auto& d = particles.attribute<int32_t>("d");
    auto& x = particles.attribute<float>("x");
    const int32_t smallest = std::numeric_limits<int32_t>::min(), largest = std::numeric_limits<int32_t>::max();
    for (size_t i = 0; i < particles.size(); ++i) {
        n[i] = i % 2 ? smallest : 7;
        d[i] = static_cast<int32_t>(i % 5) - 2;
        x[i] = i % 2 ? 1e30f : -1e30f;
    }
    const Particles after = run("i@q = i@n / i@d; i@r = i@n % i@d; i@s = 1 << i@n; i@t = 5 >> i@d; i@u = @x;"
                                "vec3f k = {1, 2, 3}; @y = k[i@n]; k[i@d * 1000] = 4;"
                                "mat3f m = identity3(); @z = m[i@n, i@n];",
                                particles);
    for (size_t i = 0; i < particles.size(); ++i) {
        const int64_t quotient = d[i] == 0 ? 0 : int64_t(n[i]) / d[i];
        ASSERT_EQ((*after.find<int32_t>("q"))[i],
                  static_cast<int32_t>(quotient)); // the one quotient that overflows wraps
        if (d[i] == 0 || d[i] == -1) {
            ASSERT_EQ((*after.find<int32_t>("r"))[i], 0);
        }
        ASSERT_EQ((*after.find<int32_t>("s"))[i], static_cast<int32_t>(1u << (static_cast<uint32_t>(n[i]) & 31)));
        ASSERT_EQ((*after.find<int32_t>("t"))[i], 5 >> (static_cast<uint32_t>(d[i]) & 31));
        ASSERT_EQ((*after.find<int32_t>("u"))[i], i % 2 ? largest : smallest);
        ASSERT_EQ((*after.find<float>("y"))[i], 3);
        ASSERT_EQ((*after.find<float>("z"))[i], 1);
    }
    EXPECT_EQ((*run("i@c = 1 / 0; @f = 5 % 0;").find<int32_t>("c"))[0], 0);
}

TEST(HostileExpression, NonFiniteValuesEndTheRun)
{
    for (const char* text : {"@P = @age / 0.0f;", "@v = {0.0f / 0.0f, 1, 2};", "@age = 1.0f / (@id - 7);",
                             "@a = sqrt(-1.0f - @age);", "v@a = normalize({0.0f, 0.0f, 0.0f} * @age);"}) {
        const std::string message = error_of(ExitCode::failed, [&] { run(text); });
        EXPECT_TRUE(says(message, "not finite")) << text;
    }
    EXPECT_TRUE(says(error_of(ExitCode::failed, [&] { run("@age = 1.0f / (@id - 7);"); }), "id 7 "));
}

TEST(HostileExpression, OversizedTextIsRefused)
{
    EXPECT_TRUE(says(complaint(std::string(1 << 20, 'x')), "1048576 bytes; the limit is 65536"));
    EXPECT_TRUE(says(complaint("@a = 1;\n@b = \xff;"), "line 2, column 6: byte 0xff is not UTF-8"));
    EXPECT_TRUE(says(complaint(std::string("@a = 1;\0@b = 2;", 15)), "column 8: byte 0x00 is a control character"));
    EXPECT_TRUE(says(complaint("@a = \xc3;"), "not UTF-8"));
    for (const std::string& text :
         {"@a = " + repeat("(", 3000) + "1" + repeat(")", 3000) + ";", "@a = 1" + repeat("+1", 20000) + ";",
          repeat("if (1) ", 5000) + "@a = 1;", repeat("{", 20000), repeat("!", 30000) + "1;",
          "@a" + repeat("=@b", 9000), "@a = " + repeat("1 ? 2 : ", 5000) + "3;", repeat("for (;;) ", 5000) + "{}",
          repeat("do ", 5000), "@a = " + repeat("-", 30000) + "1;", "@a = " + repeat("abs(", 9000),
          repeat("while (1) {", 1000)})
        EXPECT_TRUE(says(complaint(text), "operators and brackets in one statement")) << text.substr(0, 30);
    EXPECT_TRUE(says(complaint("if (@age > 1) {}" + repeat("else if (@age > 1) {}", 2000)), "more than 250 else"));
    EXPECT_TRUE(says(complaint(repeat("for (;;) {", 20) + repeat("}", 20)), "loops nest deeper than 12"));
}

TEST(HostileExpression, TextAtTheLimitsRuns)
{
    EXPECT_TRUE(runs("@a = " + repeat("(", 390) + "1" + repeat(")", 390) + ";"));
    EXPECT_TRUE(runs("@a = 1" + repeat(" + @age", 390) + ";"));
    EXPECT_TRUE(runs(repeat("if (@age > 1) ", 190) + "@a = 1;"));
    EXPECT_TRUE(runs("if (@age > 1) {}" + repeat("else if (@age > 1) { @a = 1; }", 240)));
    EXPECT_TRUE(runs(repeat("for (int i = 0; i < 1; ++i) {", 12) + "@a = 1;" + repeat("}", 12)));
    EXPECT_TRUE(runs(repeat("@a = @age;", 6000)));
    EXPECT_TRUE(runs(repeat("{", 390) + "@a = 1;" + repeat("}", 390)));
    EXPECT_TRUE(runs("@" + std::string(60000, 'b') + " = 1;"));
    EXPECT_TRUE(runs(""));
    EXPECT_TRUE(runs("// \xc3\xa9t\xc3\xa9\n;;"));
}

// Generates programs that mostly parse and rarely make sense.
class ProgramWriter {
  public:
    explicit ProgramWriter(uint64_t seed) : random_(seed) {}

    std::string program()
    {
        std::string text;
        for (uint64_t i = 0, count = 1 + below(5); i < count; ++i) text += statement(0) + "\n";
        return text;
    }

  private:
    using Words = std::vector<std::string>;
    uint64_t below(uint64_t n) { return random_.bits() % n; }
    const std::string& one_of(const Words& words) { return words[below(words.size())]; }

    std::string value(int depth)
    {
        static const Words leaves = {"0", "1", "2.5f", "0.0", "@age", "i@kind", "@P", "v@v", "@new", "a", "b", "c"};
        static const Words operators = {"+", "-", "*", "/", "%", "==", "<", "&&", "<<", "^"};
        static const Words functions = {"abs",          "argsort", "clamp",    "cross", "determinant", "diag",
                                        "fit",          "floor",   "floormod", "pow",   "inverse",     "polardecompose",
                                        "rand",         "sort",    "length",   "max",   "lerp",        "isnan",
                                        "simplexnoise", "trace",   "transform"};
        if (depth > 4) return one_of(leaves);
        const auto part = [&] { return value(depth + 1); };
        switch (below(9)) {
        case 0:
        case 1:
            return "(" + part() + one_of(operators) + part() + ")";
        case 2:
            return one_of({"-", "!", "~", "+"}) + part();
        case 3:
            return one_of(functions) + "(" + list(below(4), depth) + ")";
        case 4:
            return "(" + part() + "?" + part() + ":" + part() + ")";
        case 5:
            return "{" + list(below(8) == 0 ? 9 : 2 + below(3), depth) + "}";
        case 6:
            return one_of({"int", "float", "double", "bool"}) + "(" + part() + ")";
        case 7:
            return one_of({"a", "b", "c"}) + "[" + list(1 + below(2), depth) + "]";
        default:
            return one_of(leaves);
        }
    }

    std::string list(uint64_t count, int depth)
    {
        std::string text;
        for (uint64_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + value(depth + 1);
        return text;
    }

    std::string statement(int depth)
    {
        static const Words types = {"int",   "float", "double", "bool",  "int64", "vec2i",
                                    "vec3f", "vec3d", "vec4f",  "mat3f", "mat4d"};
        const std::string name = one_of({"a", "b", "c"});
        const auto inner = [&] { return depth > 3 ? "@age += 1;" : statement(depth + 1); };
        switch (below(9)) {
        case 0:
        case 1:
            return one_of(types) + " " + name + (below(4) ? "=" + value(0) : "") + ";";
        case 2:
            return one_of({"@age", "v@v", "i@kind", "@new"}) + one_of({"=", "+=", "*=", "/=", "%="}) + value(0) + ";";
        case 3:
            return name + one_of({"=", "-=", "<<="}) + value(0) + ";";
        case 4:
            return "if(" + value(0) + "){" + inner() + "}" + (below(2) ? "else{" + inner() + "}" : "");
        case 5:
            return "for(int i=0;i<3;++i){" + inner() + "}";
        case 6:
            return "while(" + value(0) + "){" + inner() + "}";
        case 7:
            return value(0) + ";";
        default:
            return below(2) ? "return;" : "{" + inner() + "}";
        }
    }

    Random random_;
};

TEST(HostileExpression, ProgramsThatParseAreRefusedOrRun)
{
    int ran = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) ran += runs(ProgramWriter(seed).program());
    EXPECT_GT(ran, 10);
    // AX bugs found by such programs.
    EXPECT_TRUE(runs("int64 a = int(1) + 1; @age = float(@age);"));
    EXPECT_TRUE(runs("mat3f m = identity3(); int64 i = 1; @age = m[i, true];"));
    EXPECT_EQ((*run("@a = pow(2.0, 3) + pow(2.0, -1);").find<float>("a"))[0], 8.5f);
}

// Random sequences of tokens: rarely valid.
TEST(HostileExpression, NonsenseIsRefusedOrRuns)
{
    const std::vector<std::string> pieces = {"@age",        "@P",      "vec3f@v",
                                             "i@kind",      "@new",    "$dt",
                                             "v$x",         "1",       "2.5f",
                                             "\"x\"",       "+",       "-",
                                             "*",           "/",       "%",
                                             "=",           "+=",      "==",
                                             "<",           "&&",      "!",
                                             "?",           ":",       "(",
                                             ")",           "{",       "}",
                                             "[",           "]",       ";",
                                             ";",           ";",       ",",
                                             "if",          "else",    "for",
                                             "while",       "do",      "return",
                                             "break",       "float",   "vec3f a",
                                             "a",           "int b",   "b",
                                             "mat3f m",     "m",       "string",
                                             "length(",     "rand(",   "sort(",
                                             "cross(",      "volume(", "ingroup(",
                                             "neighbours(", ".x",      "deletepoint()",
                                             "++",          "~",       "<<"};
    Random random(99);
    int ran = 0;
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        const auto length = 1 + random.bits() % 14;
        for (uint64_t i = 0; i < length; ++i) text += pieces[random.bits() % pieces.size()] + " ";
        ran += runs(text);
        ran += runs("@new = " + text + ";");
    }
    EXPECT_GT(ran, 20);
}

} // namespace spindrift
