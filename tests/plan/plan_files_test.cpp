#include "spindrift/plan/plan_files.h"

#include "io/temp_folder.h"
#include "plan/plans.h"
#include "spindrift/io/svg_path.h"
#include "spindrift/plan/free_space.h"
#include "spindrift/plan/plane.h"

#include <fstream>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

FloorPlan from_svg(const std::string& body, const PlanFileParams& params = {},
                   const std::string& head = R"(viewBox="0 0 20 10")")
{
    FloorPlan plan;
    add_svg_plan(plan, "<svg xmlns=\"http://www.w3.org/2000/svg\" " + head + ">\n" + body + "\n</svg>", "plan.svg",
                 params);
    return plan;
}

FloorPlan from_geojson(const std::string& text, const PlanFileParams& params = {})
{
    FloorPlan plan;
    add_geojson_plan(plan, text, "plan.geojson", params);
    return plan;
}

double area(const Ring& ring) { return std::abs(signed_area(ring)); }

TEST(SvgPlan, ReadsEveryKindOfShape)
{
    const FloorPlan plan = from_svg(R"svg(
        <rect class="floor" width="20" height="10"/>
        <g id="obstacles">
          <circle cx="3" cy="3" r="1" id="pillar-a"/>
          <ellipse cx="8" cy="3" rx="2" ry="1" transform="rotate(90 8 3)"/>
          <polygon points="10,1 12,1 11,3"/>
        </g>
        <polyline class="wall" points="14,0 14,4 16,4" stroke-width="0.3"/>
        <line class="measured line" x1="18" y1="0" x2="18" y2="10" data-name="middle"/>
        <path id="goal-north" d="M0 0h2v1h-2z"/>
        <g inkscape:label="Goals"><rect id="north" x="4" y="0" width="1" height="1"/></g>
        <rect class="entrance" data-rate="2.5" data-start="1" data-end="9" x="0" y="8" width="1" height="2" id="west"/>
        <rect data-type="zone" x="5" y="5" width="1" height="1" id="middle"/>
        <defs><rect class="obstacle" width="100" height="100"/></defs>
        <rect class="obstacle" style="display: none" width="100" height="100"/>
        <text class="obstacle">no shape</text>)svg");
    ASSERT_EQ(plan.boundary.size(), 1u);
    EXPECT_NEAR(area(plan.boundary[0].shape.outer), 200, 1e-9);
    ASSERT_EQ(plan.obstacles.size(), 3u);
    EXPECT_EQ(plan.obstacles[0].name, "a");
    EXPECT_EQ(plan.obstacles[0].where, "plan.svg:5: obstacle 'a'");
    EXPECT_NEAR(area(plan.obstacles[0].shape.outer), kPi, 0.02);
    double top = 0, right = 0; // the ellipse was rotated upright
    for (const Vec2d& p : plan.obstacles[1].shape.outer) top = std::max(top, p.y()), right = std::max(right, p.x());
    EXPECT_NEAR(top, 9, 0.02);
    EXPECT_NEAR(right, 9, 0.02);
    ASSERT_EQ(plan.walls.size(), 1u);
    EXPECT_EQ(plan.walls[0].points.size(), 3u);
    EXPECT_NEAR(plan.walls[0].thickness, 0.3, 1e-12);
    EXPECT_EQ(plan.walls[0].points[0], Vec2d(14, 10)); // y is up
    ASSERT_EQ(plan.lines.size(), 1u);
    EXPECT_EQ(plan.lines[0].name, "middle");
    ASSERT_EQ(plan.goals.size(), 1u); // both pieces of north
    EXPECT_EQ(plan.goals[0].name, "north");
    EXPECT_EQ(plan.goals[0].pieces.size(), 2u);
    ASSERT_EQ(plan.entrances.size(), 1u);
    EXPECT_EQ(plan.entrances[0].rate, 2.5);
    EXPECT_EQ(plan.entrances[0].start, 1);
    EXPECT_EQ(plan.entrances[0].end, 9);
    ASSERT_EQ(plan.areas.size(), 1u);
    EXPECT_TRUE(plan.warnings.empty());
}

TEST(SvgPlan, UnitsScalesAndNestedTransforms)
{
    const std::string shape = R"svg(<g transform="translate(100,200)"><g transform="scale(2)" class="obstacle">
        <rect transform="matrix(0 1 -1 0 10 0)" x="1" y="2" width="30" height="4"/></g></g>)svg";
    // Millimetres on a sheet of 2 m.
    FloorPlan plan = from_svg(shape, {}, R"(width="2000mm" viewBox="0 0 1000 1000")");
    const Ring& outer = plan.obstacles.at(0).shape.outer;
    // (1, 2) -> (8, 1) -> (16, 2) -> (116, 202), in units of 2 mm.
    EXPECT_NEAR((outer[0] - Vec2d(0.232, 2.0 - 0.404)).norm(), 0, 1e-12);
    EXPECT_NEAR(area(outer), 0.002 * 0.002 * 4 * 120, 1e-12);
    PlanFileParams params;
    params.scale = 0.5f;
    plan = from_svg(shape, params, R"(width="2000mm" viewBox="0 0 1000 1000")");
    EXPECT_NEAR(area(plan.obstacles.at(0).shape.outer), 0.25 * 4 * 120, 1e-9);
}

TEST(SvgPlan, CompoundPathsHaveHoles)
{
    const FloorPlan plan = from_svg(R"(<path class="floor" d="M0 0H20V10H0zM5 2v4h4v-4zm1 1h1v1h-1z M0,0"/>)");
    ASSERT_EQ(plan.boundary.size(), 2u); // an island in the hole
    EXPECT_EQ(plan.boundary[0].shape.holes.size(), 1u);
    EXPECT_NEAR(FreeSpace(plan, 0.05).walkable().area(), 200 - 16 + 1, 1e-6);
}

Vec2d end_of(const std::string& d) { return svg_path(d, 0.001).back().points.back(); }

TEST(SvgPath, CommandsAbsoluteAndRelative)
{
    EXPECT_EQ(end_of("M1 2 3 4"), Vec2d(3, 4));
    EXPECT_EQ(end_of("m1,2,3,4"), Vec2d(4, 6));
    EXPECT_EQ(end_of("M1-2L.5.5-1e1+3"), Vec2d(-10, 3));
    EXPECT_EQ(end_of("M1 2h3v4H0V-1"), Vec2d(0, -1));
    EXPECT_EQ(end_of("M1 1l1 0 0 1z l5 5"), Vec2d(6, 6));
    EXPECT_EQ(end_of("M0 0c0 1 1 1 1 0s1-1 1 0"), Vec2d(2, 0));
    EXPECT_EQ(end_of("M0 0Q1 1 2 0T4 0t2 0"), Vec2d(6, 0));
    EXPECT_EQ(end_of("M0 0a1 1 0 012 0"), Vec2d(2, 0)); // flags need no space after them
}

TEST(SvgPath, CurvesHaveTheExactShape)
{
    // The area under a quadratic (x, 2 t (1 - t)), and of the reflected one below.
    const auto half = svg_path("M0 0Q1 1 2 0T4 0", 1e-4);
    ASSERT_EQ(half.size(), 1u);
    double above = 0;
    for (size_t i = 1; i < half[0].points.size(); ++i) {
        const Vec2d &a = half[0].points[i - 1], &b = half[0].points[i];
        if (b.x() <= 2 + 1e-9) above += 0.5 * (a.y() + b.y()) * (b.x() - a.x());
    }
    EXPECT_NEAR(above, 2.0 / 3, 1e-3);
    // Points of an arc are on its ellipse for each of the four arcs.
    for (const char* flags : {"0 0", "0 1", "1 0", "1 1"}) {
        const auto arc = svg_path(std::string("M0 0A3 2 30 ") + flags + " 2 1", 1e-3);
        const auto other = svg_path("M2 1A3 2 30 " + std::string(flags) + " 0 0", 1e-3);
        Ring whole = arc[0].points;
        whole.insert(whole.end(), other[0].points.begin() + 1, other[0].points.end() - 1);
        // An arc and its counterpart have the same radii: both lie on conics x'^2/9 + y'^2/4 = 1 about their centres.
        EXPECT_GT(whole.size(), 5u);
        const Eigen::Rotation2Dd back(-kPi / 6);
        const auto unit = [&](const Vec2d& p) { return Vec2d((back * p).cwiseQuotient(Vec2d(3, 2))); };
        const Vec2d a = unit(arc[0].points[0]), b = unit(arc[0].points[1]), c = unit(arc[0].points.back());
        // The centre of the circle through three of them. All must be at distance one.
        Eigen::Matrix2d m;
        m << 2 * (b - a).transpose(), 2 * (c - a).transpose();
        const Vec2d center = m.inverse() * Vec2d(b.squaredNorm() - a.squaredNorm(), c.squaredNorm() - a.squaredNorm());
        for (const Vec2d& p : arc[0].points) EXPECT_NEAR((unit(p) - center).norm(), 1, 1e-9);
        const bool large = flags[0] == '1';
        EXPECT_EQ(arc[0].points.size() > 33, large);
    }
    // Radii too small for the distance are enlarged to fit: half a circle of radius 5.
    const auto grown = svg_path("M0 0A1 1 0 0 1 10 0", 1e-3);
    EXPECT_NEAR(area(grown[0].points), 12.5 * kPi, 0.1);
}

TEST(SvgPlan, ReportsErrors)
{
    const auto message = [](const std::string& text) {
        return error_of(ExitCode::bad_input, [&] {
            FloorPlan plan;
            add_svg_plan(plan, text, "plan.svg", {});
        });
    };
    EXPECT_TRUE(contains(message("<svg>\n<rect>\n</svg>"), "plan.svg:3: not an SVG file"));
    EXPECT_TRUE(contains(message(""), "not an SVG file"));
    EXPECT_TRUE(contains(message("<html/>"), "outermost element is <html>"));
    const std::string unmarked = message("<svg><rect width='1' height='1'/></svg>");
    for (const char* part : {"no shape has a role", "wall, obstacle", "goal (exit", "id=\"goal-north\"",
                             "property \"type\"", "up (north) is -z", "lower left corner"})
        EXPECT_TRUE(contains(unmarked, part)) << part << "\n" << unmarked;
    EXPECT_TRUE(contains(message("<svg><rect class='wall' width='1e300' height='1e300'/></svg>"), "beyond 10,000 km"));
    EXPECT_TRUE(
        contains(from_svg("<rect class='wall' width='1' height='1'/><rect width='1' height='1'/>").warnings.at(0),
                 "plan.svg:2 was ignored, because it has no role"));
    TempFolder folder;
    FloorPlan plan;
    EXPECT_TRUE(contains(error_of(ExitCode::bad_input, [&] { add_plan_file(plan, folder / "no.svg", {}, "s.toml:3"); }),
                         "s.toml:3: cannot read the floor plan"));
    std::ofstream(folder / "plan.dxf") << "x";
    EXPECT_TRUE(
        contains(error_of(ExitCode::bad_input, [&] { add_plan_file(plan, folder / "plan.dxf", {}, "s.toml:3"); }),
                 "neither .svg nor .geojson"));
}

const char* const kGeojson = R"({"type": "FeatureCollection", "features": [
  {"type": "Feature", "properties": {"type": "boundary"},
   "geometry": {"type": "Polygon", "coordinates": [[[0,0],[20,0],[20,10],[0,10],[0,0]],[[5,5],[5,6],[6,6],[6,5],[5,5]]]}},
  {"type": "Feature", "properties": {"type": "obstacle", "name": "bar"},
   "geometry": {"type": "MultiPolygon", "coordinates": [[[[1,1],[2,1],[2,2],[1,1]]], [[[3,1],[4,1],[4,2],[3,1]]]]}},
  {"type": "Feature", "properties": {"type": "pillar", "radius": 0.5}, "geometry": {"type": "Point", "coordinates": [8, 8]}},
  {"type": "Feature", "properties": {"type": "wall", "thickness": 0.4},
   "geometry": {"type": "LineString", "coordinates": [[10,0],[10,3]]}},
  {"type": "Feature", "id": 7, "properties": {"type": "exit"}, "geometry": {"type": "Point", "coordinates": [19, 5, 3]}},
  {"type": "Feature", "properties": {"type": "entrance", "name": "west", "rate": 3},
   "geometry": {"type": "LineString", "coordinates": [[0,4],[0,6]]}},
  {"type": "Feature", "properties": null, "geometry": null}
]})";

TEST(GeojsonPlan, ReadsEveryKindOfFeature)
{
    const FloorPlan plan = from_geojson(kGeojson);
    ASSERT_EQ(plan.boundary.size(), 1u);
    EXPECT_EQ(plan.boundary[0].shape.holes.size(), 1u);
    ASSERT_EQ(plan.obstacles.size(), 3u);
    EXPECT_EQ(plan.obstacles[1].where, "plan.geojson: feature 2: obstacle 'bar'");
    EXPECT_NEAR(area(plan.obstacles[2].shape.outer), kPi / 4, 0.02);
    ASSERT_EQ(plan.walls.size(), 1u);
    EXPECT_EQ(plan.walls[0].thickness, 0.4);
    ASSERT_EQ(plan.goals.size(), 1u);
    EXPECT_EQ(plan.goals[0].name, "7");
    EXPECT_EQ(plan.goals[0].points.at(0), Vec2d(19, 5));
    ASSERT_EQ(plan.entrances.size(), 1u);
    EXPECT_EQ(plan.entrances[0].rate, 3);
    EXPECT_TRUE(plan.warnings.empty());
    EXPECT_NEAR(FreeSpace(plan, 0.25).walkable().area(), 200 - 1 - 1 - 1.2 - kPi / 4, 0.01);
}

TEST(GeojsonPlan, ConvertsDegreesToMetres)
{
    // A hundredth of a degree at 60 degrees north: published lengths of a degree there are 55,800 m and 111,412 m.
    const std::string text = R"({"type": "FeatureCollection",
        "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}, "features": [
        {"type": "Feature", "properties": {"type": "boundary"}, "geometry": {"type": "Polygon",
         "coordinates": [[[24.995,59.995],[25.005,59.995],[25.005,60.005],[24.995,60.005],[24.995,59.995]]]}}]})";
    const FloorPlan plan = from_geojson(text);
    const Ring& outer = plan.boundary.at(0).shape.outer;
    EXPECT_NEAR((outer[1] - outer[0]).norm(), 558.00, 0.05);
    EXPECT_NEAR((outer[2] - outer[1]).norm(), 1114.12, 0.05);
    EXPECT_TRUE(contains(plan.warnings.at(0), "metres east and north of (25.000000, 60.000000)"));
    PlanFileParams metres;
    metres.coordinates = PlanFileParams::Coordinates::metres;
    const FloorPlan plane = from_geojson(text, metres);
    EXPECT_NEAR((plane.boundary.at(0).shape.outer[1] - plane.boundary.at(0).shape.outer[0]).norm(), 0.01, 1e-9);
}

TEST(GeojsonPlan, ReportsErrors)
{
    const auto message = [](const std::string& text) {
        return error_of(ExitCode::bad_input, [&] { from_geojson(text); });
    };
    EXPECT_TRUE(contains(message("{\n\"type\": }"), "plan.geojson:2: not valid JSON"));
    EXPECT_TRUE(contains(message("[1, 2]"), "must be an object"));
    EXPECT_TRUE(contains(message(R"({"type": "FeatureCollection"})"), "no array \"features\""));
    EXPECT_TRUE(contains(message(R"({"type": "Feature", "properties": {"type": "wall"},
        "geometry": {"type": "LineString", "coordinates": [[1, 2], ["x", 3]]}})"),
                         "feature 1 has a position that is not [x, y]"));
    EXPECT_TRUE(contains(message(R"({"type": "Feature", "geometry": {"type": "Blob", "coordinates": []}})"), "'Blob'"));
    EXPECT_TRUE(contains(message(R"({"type": "Point", "coordinates": [1e999, 0]})"), "plan.geojson"));
    EXPECT_TRUE(contains(message(std::string(100000, '[')), "not valid JSON"));
}

// Damages a text at random places. The result must be a plan or a bad_input error, not a crash or a hang.
template <class Read> void fuzz(const std::string& text, uint64_t seed, const Read& read)
{
    Random random(seed);
    size_t good = 0;
    for (int i = 0; i < 1500; ++i) {
        std::string damaged = text;
        for (uint64_t edits = 1 + random.bits() % 4; edits > 0; --edits) {
            const size_t at = random.bits() % damaged.size();
            const char* const pieces[] = {"-",  "1e308", "nan", "\"", "<", ">",    "0",
                                          "[[", "]",     "z",   "A",  ".", "\xff", "}"};
            switch (random.bits() % 6) {
            case 0:
                damaged.erase(at, 1 + random.bits() % 8);
                break;
            case 1:
                damaged.insert(at, pieces[random.bits() % std::size(pieces)]);
                break;
            case 2:
                damaged[at] = static_cast<char>(random.bits());
                break;
            default: // another number
                if (const size_t digit = damaged.find_first_of("0123456789", at); digit != std::string::npos)
                    damaged[digit] = static_cast<char>('0' + random.bits() % 10);
            }
            if (damaged.empty()) damaged = " ";
        }
        try {
            const FloorPlan plan = read(damaged);
            FreeSpace(plan, 0.25);
            ++good;
        } catch (const Error& e) {
            EXPECT_NE(std::string(e.what()), "");
            EXPECT_EQ(static_cast<int>(e.code), static_cast<int>(ExitCode::bad_input)) << e.what() << "\n" << damaged;
        }
    }
    EXPECT_GT(good, 100u);
}

TEST(PlanFiles, DamagedFilesAreErrorsOrPlans)
{
    fuzz(kGeojson, 1, [](const std::string& text) { return from_geojson(text); });
    const std::string svg = R"svg(<svg viewBox="0 0 20 10"><rect class="floor" width="20" height="10"/>
        <g class="obstacle" transform="translate(1 1) rotate(10)"><path d="M1 1h2v2h-2z M5 5c1 0 1 1 0 1zA1 2 30 0 1 7 7"/>
        <circle cx="9" cy="3" r="1"/><polygon points="10,1 12,1 11,3"/></g>
        <polyline class="wall" points="14,0 14,4 16,4" stroke-width="0.3"/><rect id="goal-a" x="1" width="1" height="1"/></svg>)svg";
    fuzz(svg, 2, [](const std::string& text) {
        FloorPlan plan;
        add_svg_plan(plan, text, "plan.svg", {});
        return plan;
    });
}

TEST(PlanParams, ReadsAScene)
{
    TempFolder folder;
    std::ofstream(folder / "plan.geojson") << kGeojson;
    std::ofstream(folder / "scene.toml") << R"([crowd.plan]
file = "plan.geojson"
[[crowd.obstacle]]
circles = [[2, 8, 0.5], [4, 8, 0.5]]
[[crowd.wall]]
points = [[15, 0], [15, 4]]
thickness = 0.1
[[crowd.goal]]
name = "stage"
box = [[18, 1], [19, 2]]
points = [[1, 9]]
[[crowd.entrance]]
name = "east"
polygon = [[19, 8], [20, 8], [20, 9]]
rate = 0.5
end = 30
[[crowd.line]]
name = "middle"
points = [[10, 0], [10, 10]]
[[crowd.area]]
name = "front"
box = [[16, 0], [20, 4]]
)";
    const SceneFile scene(folder / "scene.toml");
    FloorPlanParams params;
    scene.read("crowd", [&](ParamVisitor& v) { params.visit(v); });
    const FloorPlan plan = read_floor_plan(params, scene, "crowd");
    EXPECT_EQ(plan.boundary.size(), 1u);
    ASSERT_EQ(plan.obstacles.size(), 5u);
    EXPECT_TRUE(contains(plan.obstacles[4].where, "scene.toml:3")) << plan.obstacles[4].where;
    EXPECT_EQ(plan.walls.size(), 2u);
    ASSERT_EQ(plan.goals.size(), 2u);
    EXPECT_EQ(plan.goals[1].name, "stage");
    EXPECT_EQ(plan.goals[1].pieces.size() + plan.goals[1].points.size(), 2u);
    ASSERT_EQ(plan.entrances.size(), 2u);
    EXPECT_EQ(plan.entrances[1].end, 30);
    EXPECT_EQ(plan.lines.size(), 1u);
    EXPECT_EQ(plan.areas.size(), 1u);

    const auto message = [&](const std::string& text) {
        std::ofstream(folder / "bad.toml") << text;
        return error_of(ExitCode::bad_input, [&] {
            const SceneFile bad(folder / "bad.toml");
            FloorPlanParams bad_params;
            bad.read("crowd", [&](ParamVisitor& v) { bad_params.visit(v); });
            read_floor_plan(bad_params, bad, "crowd");
        });
    };
    EXPECT_TRUE(contains(message("[[crowd.goal]]\nbox = [[0, 0], [1, 1]]\n"), "a goal needs a name"));
    EXPECT_TRUE(contains(message("[[crowd.obstacle]]\npolygon = [[0, 0], [1, 1]]\n"), "three corners"));
    EXPECT_TRUE(contains(message("[[crowd.obstacle]]\ncircles = [[0, 0, 0]]\n"), "radius"));
    EXPECT_TRUE(contains(message("[[crowd.wall]]\npoints = [[0, 0]]\n"), "two points"));
    EXPECT_TRUE(contains(message("[crowd.plan]\nfile = \"no.svg\"\n"), "bad.toml:2"));
}

TEST(FloorPlan, WithoutABoundaryGetsOneAroundEverything)
{
    FloorPlan plan;
    plan.obstacles.push_back(obstacle(box_polygon({1, 1}, {2, 2})));
    plan.add_boundary_if_missing({{-3, 0}, {5, 7}}, 2);
    ASSERT_EQ(plan.boundary.size(), 1u);
    EXPECT_EQ(plan.boundary[0].shape.outer[0], Vec2d(-5, -2));
    EXPECT_EQ(plan.boundary[0].shape.outer[2], Vec2d(7, 9));
    FloorPlan nothing;
    nothing.add_boundary_if_missing({}, 2);
    EXPECT_TRUE(nothing.boundary.empty());
}

} // namespace
} // namespace spindrift
