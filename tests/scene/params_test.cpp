#include "spindrift/scene/params.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

struct Nozzle {
    float radius = 0.25f;
    void visit(ParamVisitor& v) { v("radius", radius, unit::metres, above(0), "Radius of the opening."); }
};

struct Solver {
    int iterations = 200;
    void visit(ParamVisitor& v) { v("iterations", iterations, unit::none, between(1, 1000), "Most iterations."); }
};

struct Everything {
    enum class Transfer { pic, flip, apic };
    float voxel = 0.02f;
    Vec3f gravity = Vec3f(0, -9.81f, 0);
    Transfer transfer = Transfer::apic;
    bool reseed = true;
    std::string file = "a \"b\"\n";
    std::optional<float> limit;
    std::optional<Vec3f> wind;
    std::vector<std::vector<float>> keys;
    Solver solver;
    std::vector<Nozzle> nozzles;

    void visit(ParamVisitor& v)
    {
        v("voxel", voxel, unit::metres, above(0), "Edge of a cell.");
        v("gravity", gravity, unit::metres_per_second2, anything(), "Pull.");
        v("transfer", transfer, choices("pic", "flip", "apic"), "Blend.");
        v("reseed", reseed, "Whether to reseed.");
        v("file", file, "A file.");
        v("limit", limit, unit::seconds, at_least(0), "Longest step; no limit if absent.");
        v("wind", wind, unit::metres_per_second, anything(), "Wind; still air if absent.");
        v.rows("keys", keys, 4, unit::none, "Keyframes.");
        v.group("solver", solver, "The solver.");
        v.list("nozzle", nozzles, "Openings.");
    }
};

VisitFunction visit_of(Everything& params)
{
    return [&params](ParamVisitor& v) { params.visit(v); };
}

TEST(Range, ContainsClosedEndsButNotOpenEnds)
{
    EXPECT_FALSE(above(0).contains(0));
    EXPECT_TRUE(above(0).contains(1e-300));
    EXPECT_TRUE(at_least(0).contains(0));
    EXPECT_FALSE(at_least(0).contains(-1e-300));
    EXPECT_TRUE(between(0, 1).contains(1));
    EXPECT_FALSE(between(0, 1).contains(1.0001));
    EXPECT_FALSE(anything().contains(std::nan("")));
    EXPECT_FALSE((Range{0, 1, false, true}).contains(1));
}

TEST(Range, DescribesItsBounds)
{
    EXPECT_EQ(anything().text(), "any number");
    EXPECT_EQ(above(0).text(), "above 0");
    EXPECT_EQ(at_least(-2.5).text(), "at least -2.5");
    EXPECT_EQ(between(0, 1).text(), "0 to 1");
    EXPECT_EQ((Range{0, 1, true, false}).text(), "above 0 and at most 1");
    EXPECT_EQ((Range{-std::numeric_limits<double>::infinity(), 3, false, true}).text(), "below 3");
}

TEST(NearestName, FindsTypingErrors)
{
    const std::vector<std::string> names = {"voxel", "gravity", "viscosity", "half_space", "min", "max"};
    EXPECT_EQ(nearest_name("voxle", names), "voxel");
    EXPECT_EQ(nearest_name("vox", names), "voxel");
    EXPECT_EQ(nearest_name("Gravity", names), "gravity");
    EXPECT_EQ(nearest_name("viscocity", names), "viscosity");
    EXPECT_EQ(nearest_name("half-space", names), "half_space");
    EXPECT_EQ(nearest_name("mix", names), "min"); // both are one letter away: the first declared
}

TEST(NearestName, IsEmptyIfNoNameIsSimilar)
{
    EXPECT_EQ(nearest_name("temperature", {"voxel", "gravity"}), "");
    EXPECT_EQ(nearest_name("x", {"y"}), "");
    EXPECT_EQ(nearest_name("", {"voxel"}), "");
    EXPECT_EQ(nearest_name("voxel", {}), "");
    EXPECT_EQ(nearest_name(std::string(1 << 20, 'v'), {"voxel"}), ""); // in a short time
}

TEST(CanonicalText, ContainsAllValuesIncludingDefaults)
{
    Everything params;
    params.limit = 0.5f;
    params.keys = {{0, 1, 2, 3}, {10, 0.5f, 0, 0}};
    params.nozzles = {{0.5f}, {}};
    EXPECT_EQ(canonical_text(visit_of(params)), "voxel = 0.02\n"
                                                "gravity = [0, -9.81, 0]\n"
                                                "transfer = \"apic\"\n"
                                                "reseed = true\n"
                                                "file = \"a \\\"b\\\"\\u000a\"\n"
                                                "limit = 0.5\n"
                                                "wind = unset\n"
                                                "keys = [[0, 1, 2, 3], [10, 0.5, 0, 0]]\n"
                                                "solver.iterations = 200\n"
                                                "nozzle = 2 items\n"
                                                "nozzle[0].radius = 0.5\n"
                                                "nozzle[1].radius = 0.25\n");
}

TEST(CanonicalText, DistinguishesNeighbouringFloats)
{
    Everything a, b;
    for (const float x : {0.1f, 1.0f, 3.4e38f, 1.2e-38f, 16777216.0f}) {
        a.voxel = x;
        b.voxel = std::nextafter(x, 0.0f);
        EXPECT_NE(canonical_text(visit_of(a)), canonical_text(visit_of(b))) << x;
    }
}

TEST(DescribeText, AlignsItsColumns)
{
    Everything params;
    const std::string text = describe_text("liquid", visit_of(params));
    EXPECT_TRUE(text.starts_with("[liquid]\n  voxel")) << text;
    // Every help starts in the same column.
    const auto column = [&](const std::string& help) {
        const size_t at = text.find(help);
        EXPECT_NE(at, std::string::npos) << help;
        return at - text.rfind('\n', at);
    };
    for (const char* help : {"Pull.", "Blend.", "Whether to reseed.", "Radius of the opening.", "Most iterations."})
        EXPECT_EQ(column(help), column("Edge of a cell.")) << help << "\n" << text;
    EXPECT_NE(text.find("= 0.02 m "), std::string::npos) << text;
    EXPECT_NE(text.find("pic | flip | apic"), std::string::npos) << text;
    EXPECT_NE(text.find("integer, 1 to 1000"), std::string::npos) << text;
}

TEST(DescribeText, ShowsAnUnlimitedFrameAsNotSet)
{
    int first = std::numeric_limits<int>::min(), last = std::numeric_limits<int>::max();
    const VisitFunction visit = [&](ParamVisitor& v) {
        v("first_frame", first, unit::frames, anything(), "");
        v("last_frame", last, unit::frames, anything(), "");
    };
    EXPECT_EQ(describe_text("source", visit), "[source]\n"
                                              "  first_frame  (not set) frames  integer  \n"
                                              "  last_frame   (not set) frames  integer  \n");
    EXPECT_EQ(canonical_text(visit), "first_frame = unset\nlast_frame = unset\n");
    first = last = 12;
    EXPECT_EQ(canonical_text(visit), "first_frame = 12\nlast_frame = 12\n");
}

TEST(DescribeMarkdown, IsOneTableWithEscapedBars)
{
    Everything params;
    const std::string text = describe_markdown("liquid", visit_of(params));
    EXPECT_NE(text.find("| `voxel` | `0.02` | m | above 0 | Edge of a cell. |\n"), std::string::npos) << text;
    EXPECT_NE(text.find("| `transfer` | `\"apic\"` |  | pic \\| flip \\| apic | Blend. |\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("| `nozzle[].radius` | `0.25` | m |"), std::string::npos) << text;
    EXPECT_NE(text.find("| `solver.iterations` |"), std::string::npos) << text;
}

TEST(DescribeJson, NestsGroupsAndListsAndHasDefaultsAsValues)
{
    Nozzle nozzle;
    nozzle.radius = 0.5f;
    EXPECT_EQ(describe_json("nozzle", [&](ParamVisitor& v) { nozzle.visit(v); }),
              "{\"name\": \"nozzle\", \"parameters\": [{\"name\": \"radius\", \"type\": \"number\", "
              "\"help\": \"Radius of the opening.\", \"unit\": \"m\", \"default\": 0.5, \"above\": 0}]}\n");
    Everything params;
    const std::string text = describe_json("liquid", visit_of(params));
    for (const char* part :
         {"\"default\": [0, -9.81, 0]", "\"choices\": [\"pic\", \"flip\", \"apic\"]",
          "\"default\": \"a \\\"b\\\"\\u000a\"", "\"default\": null", "\"minimum\": 1, \"maximum\": 1000",
          "\"name\": \"nozzle\", \"type\": \"list of tables\", \"help\": \"Openings.\", "
          "\"parameters\": [{\"name\": \"radius\""})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(DescribeJson, ContainsNoInfinity)
{
    float reach = kInfinity;
    const std::string text =
        describe_json("x", [&](ParamVisitor& v) { v("reach", reach, unit::metres, above(0), ""); });
    EXPECT_NE(text.find("\"default\": null"), std::string::npos) << text;
    EXPECT_EQ(text.find("inf"), std::string::npos) << text;
}

} // namespace
} // namespace spindrift
