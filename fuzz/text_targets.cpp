// Scenes (TOML), floor plans (SVG, GeoJSON) and expressions (AX).
#include "fuzz/targets.h"
#include "spindrift/base/error.h"
#include "spindrift/engine/shot.h"
#include "spindrift/expression/expression.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/plan/plan_files.h"
#include "spindrift/stages/all_stages.h"

#include <algorithm>
#include <filesystem>

namespace spindrift::fuzz {

namespace {

constexpr const char* kSvg = R"svg(<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 30" width="40m" height="30m">
<style>.x { fill: red }</style>
<g transform="translate(1 2) scale(0.5,-0.5) rotate(30 1 1) matrix(1,0,0,1,2,3)" inkscape:label="obstacle layer">
<rect x="2" y="3" width="4" height="5" rx="1"/>
<circle class="obstacle" cx="9" cy="9" r="1.5"/>
<ellipse id="pillar-1" cx="3" cy="9" rx="1.5" ry="0.5"/>
</g>
<polygon class="boundary" points="0,0 40,0 40,30 0,30"/>
<polyline class="wall" data-thickness="0.2" points="5 5 10 5 10 9"/>
<line class="line" data-name="door" x1="1" y1="2" x2="3" y2="4"/>
<path class="goal" data-name="exit" d="M 30 10 h 4 v 4 H 30 z m 1 1 l 1 0 0 1 z C 1 2 3 4 5 6 S 1 2 3 4 Q 1 2 3 4 T 5 6 A 5 3 20 1 0 8 8 Z"/>
<path id="entrance-west" data-rate="3" data-start="1" data-end="20" d="M0 10l2 0 0 3 -2 0z"/>
<use href="#entrance-west" x="3"/>
</svg>
)svg";

constexpr const char* kGeoJson = R"({"type": "FeatureCollection", "features": [
{"type": "Feature", "properties": {"type": "boundary"},
 "geometry": {"type": "Polygon", "coordinates": [[[0,0],[40,0],[40,30],[0,30],[0,0]],[[5,5],[6,5],[6,6],[5,5]]]}},
{"type": "Feature", "properties": {"type": "wall", "thickness": 0.2},
 "geometry": {"type": "LineString", "coordinates": [[5,5],[10,5],[10,9]]}},
{"type": "Feature", "properties": {"type": "obstacle", "radius": 0.5},
 "geometry": {"type": "MultiPoint", "coordinates": [[12,12],[14,14]]}},
{"type": "Feature", "properties": {"type": "goal", "name": "exit"},
 "geometry": {"type": "MultiPolygon", "coordinates": [[[[30,10],[34,10],[34,14],[30,10]]],[[[1,1],[2,1],[2,2],[1,1]]]]}},
{"type": "Feature", "properties": {"type": "entrance", "name": "west", "rate": 3, "start": 1, "end": 20},
 "geometry": {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [2.5, 3.5]},
 {"type": "MultiLineString", "coordinates": [[[0,0],[1,1]],[[2,2],[3,3]]]}]}}]}
)";

constexpr const char* kDegrees = R"({"type": "Feature", "properties": {"type": "floor"},
"geometry": {"type": "Polygon", "coordinates": [[[13.3,52.5],[13.301,52.5],[13.301,52.501],[13.3,52.5]]]}}
)";

const std::vector<std::string> kExpressions = {
    R"(// wind where it is thin
float exposed = clamp(1 - float(neighbours($radius)) / 8, 0, 1);
vec3f@v += exposed * v$wind * $dt;
if (length(vec3f@v) > $speed) vec3f@v = normalize(vec3f@v) * $speed;
)",
    R"(vec3f@color = {0.1f, 0.2f, 0.3f};
f@age += $dt;
if (f@age > 2.0f || ingroup("old")) deletepoint();
addtogroup("old");
i@kind = i@id % 3 == 0 ? 1 : 2;
)",
    R"(float sum = 0;
for (int i = 0; i < 10; ++i) { sum += pow(0.5f, i); if (i == 7) break; }
while (sum > 1.5f) sum -= 0.25f;
do { sum *= 0.5f; } while (sum > 3);
f@pscale = sum * volume("density", vec3f@P) + sin($time);
vec3f@v[1] -= dot(volumev("vel", vec3f@P), vec3f@v);
)",
    R"(mat3f m = identity3();
vec3f a = m * cross(vec3f@P, vec3f@v), b = a * 2;
float d = collider_distance(vec3f@P);
if (d < 0.1f) vec3f@P += collider_normal(vec3f@P) * (0.1f - d);
vec3f@P.x = (a.x + b.y) * 1e-3f;
)"};

std::vector<std::string> scenes()
{
    std::vector<std::string> paths, texts;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(SPINDRIFT_SOURCE_DIR) + "/scenes"))
        if (entry.path().extension() == ".toml") paths.push_back(entry.path().string());
    std::ranges::sort(paths); // cases depend on the order
    for (const std::string& path : paths) texts.push_back(read_file(path));
    return texts;
}

// Everything that `spindrift check` does except the forecast. Files named by scenes are searched in the case's folder.
void read_scene(const std::string& text, const std::string& folder)
{
    namespace fs = std::filesystem;
    for (const auto& entry : fs::directory_iterator(std::string(SPINDRIFT_SOURCE_DIR) + "/scenes"))
        if (const fs::path link = fs::path(folder) / entry.path().filename();
            entry.path().extension() != ".toml" && !fs::is_symlink(fs::symlink_status(link)))
            fs::create_symlink(entry.path(), link);
    ShotOptions options;
    options.scene = folder + "/case.toml", options.folder = folder + "/out";
    put_file(options.scene, text);
    const Shot shot(options, all_stages());
}

// Runs the expression on a few points.
void run_expression(const std::string& text, const std::string&)
{
    ExpressionOptions options;
    options.loop_limit = 1000;
    options.parameters = {{"speed", 0.5}, {"radius", 0.5}, {"wind", Vec3f(1, 0, 0)}};
    const Expression expression("case", text, options);
    Particles particles;
    particles.resize(9);
    for (size_t i = 0; i < particles.size(); ++i) {
        particles.P[i] = Vec3f(0.1f * static_cast<float>(i), 0.2f, 0.3f), particles.v[i] = Vec3f(1, 2, 3);
        particles.id[i] = static_cast<int32_t>(i);
    }
    particles.attribute<float>("age"), particles.attribute<float>("pscale"), particles.attribute<Vec3f>("color");
    ExpressionContext context;
    context.dt = 1.0 / 24;
    context.volumes["density"] = [](const Vec3f& x) { return x.x(); };
    context.vector_volumes["vel"] = [](const Vec3f& x) { return x; };
    context.collider_distance = [](const Vec3f& x) { return x.y(); };
    context.collider_normal = [](const Vec3f&) { return Vec3f(0, 1, 0); };
    expression.run(particles, context);
    particles.for_each_array([&](const std::string& name, const auto& array) {
        if (array.size() != particles.size()) found("the array " + name + " has a wrong length");
    });
}

} // namespace

std::vector<Target> text_targets()
{
    const std::vector<std::string> toml = {"liquid",      "[shot]",     "[[liquid.source]]", "[smoke]",     "[render]",
                                           "voxel = ",    "true",       "[[1, 0]]",          "\"\\u0000\"", "'''",
                                           "\"\"\"",      "1979-05-27", "{a = 1}",           "file = ",     "keyframes",
                                           "[crowd.plan]"};
    const std::vector<std::string> svg = {"<g>",
                                          "</g>",
                                          "class=\"goal\"",
                                          "transform=\"scale(0)\"",
                                          "d=\"",
                                          "M 0 0 Z",
                                          "A 0 0 0 0 0 1 1",
                                          "&lt;",
                                          "<!--",
                                          "]]>",
                                          "<![CDATA[",
                                          "points=\"\"",
                                          "rotate(90)",
                                          "1e9999",
                                          "%",
                                          "px"};
    const std::vector<std::string> json = {
        "null", "[]",          "{}",          "\"type\"", "\"Polygon\"", "\"coordinates\"",
        "true", "\"\\u0000\"", "\"\\ud800\"", "[[[]]]",   "\"Feature\"", "\"geometry\""};
    const std::vector<std::string> ax = {"vec3f@v",
                                         "f@age",
                                         "i@id",
                                         "$dt",
                                         "v$wind",
                                         "for (;;)",
                                         "while (1)",
                                         "volume(\"density\", vec3f@P)",
                                         "deletepoint()",
                                         "ingroup(\"a\")",
                                         "mat3f",
                                         "{1,2,3}",
                                         "?",
                                         "~",
                                         "<<",
                                         "break;",
                                         "string s = \"x\";",
                                         "neighbours(1.0f)",
                                         "return;",
                                         "int[3]",
                                         "length",
                                         "rand()",
                                         "%",
                                         "&&",
                                         "-"};
    const auto svg_plan = [](const std::string& text, const std::string&) {
        FloorPlan plan;
        add_svg_plan(plan, text, "case.svg", {});
        plan.check_coordinates();
    };
    const auto json_plan = [](const std::string& text, const std::string&) {
        FloorPlan plan;
        add_geojson_plan(plan, text, "case.geojson", {});
        plan.check_coordinates();
    };
    std::vector<Target> targets;
    const auto add = [&](const std::string& name, const std::vector<std::string>& seeds,
                         const std::vector<std::string>& words, const decltype(Target::run)& run) {
        Target target;
        target.name = target.ending = name;
        target.seeds = [seeds] { return seeds; };
        target.mutate = [words](const std::string& seed, Random& random) { return mutate_text(seed, words, random); };
        target.run = run;
        targets.push_back(target);
    };
    add("toml", scenes(), toml, read_scene);
    add("svg", {kSvg}, svg, svg_plan);
    add("geojson", {kGeoJson, kDegrees}, json, json_plan);
    add("ax", kExpressions, ax, run_expression);
    return targets;
}

} // namespace spindrift::fuzz
