// Minimal scenes with every table of a stage, and a list of all numbers that a scene can set.
#pragma once

#include "spindrift/engine/graph.h"
#include "spindrift/scene/limits.h"
#include "spindrift/stages/all_stages.h"

#include <fmt/format.h>

namespace spindrift {

// Tables that several scenes share; {0} is the name of a stage.
inline const std::string kLiquidTables = R"([liquid]
voxel = 0.1
[liquid.domain]
min = [0, 0, 0]
max = [1, 1, 0.6]
[[liquid.source]]
max = [0.4, 0.5, 0.6]
)";
inline const std::string kSmokeTables = R"([smoke]
voxel = 0.1
[[smoke.source]]
shape = "sphere"
radius = 0.3
temperature = 50
)";
inline const std::string kSandTables = R"([sand]
voxel = 0.1
[sand.domain]
min = [0, 0, 0]
max = [1, 1, 0.6]
[[sand.source]]
max = [0.4, 0.5, 0.6]
)";
inline const std::string kForceTables = R"([[{0}.force]]
kind = "noise"
[[{0}.force]]
kind = "wind"
velocity = [1, 0, 0]
[[{0}.force]]
kind = "attraction"
points = [[0, 1, 0]]
)";
inline const std::string kBodyTables = R"([[{0}.body]]
min = [0.5, 0.6, 0.2]
max = [0.7, 0.8, 0.4]
[[{0}.body.part]]
min = [0.6, 0.6, 0.2]
max = [0.8, 0.8, 0.4]
[[{0}.body]]
min = [0.1, 0.6, 0.2]
max = [0.3, 0.8, 0.4]
hinge.anchor = [0.2, 0.7, 0.3]
hinge.torque = 1
)";
inline const std::string kCrowdTables = R"([crowd]
cell = 1
[[crowd.boundary]]
box = [[0, 0], [20, 10]]
[[crowd.obstacle]]
circles = [[6, 5, 1]]
[[crowd.wall]]
points = [[12, 0], [12, 4]]
[[crowd.goal]]
name = "exit"
box = [[18, 4], [20, 6]]
[[crowd.entrance]]
name = "door"
box = [[0, 4], [1, 6]]
rate = 5
[[crowd.line]]
name = "line"
points = [[10, 0], [10, 10]]
[[crowd.area]]
box = [[12, 2], [16, 8]]
[[crowd.group]]
count = 20
box = [[2, 1], [5, 9]]
visit = [{ goal = "exit" }]
[[crowd.group]]
entrance = "door"
visit = [{ goal = "exit" }]
)";

// By the name of the stage whose parameters are varied, or of a variant.
inline std::map<std::string, std::string> value_scenes()
{
    const std::string shot = "[shot]\nframes = \"1-3\"\n\n";
    const auto with = [](const std::string& text, const char* stage) { return fmt::format(fmt::runtime(text), stage); };
    std::map<std::string, std::string> scenes;
    scenes["shot"] = shot + kLiquidTables;
    scenes["liquid"] = shot + kLiquidTables + R"(mode = "flow"
temperature = 20
velocity = [1, 0, 0]
[[liquid.sink]]
min = [0.8, 0, 0]
[[liquid.collider]]
shape = "sphere"
center = [0.7, 0, 0.3]
radius = 0.2
)" + with(kForceTables, "liquid") +
                       with(kBodyTables, "liquid") + "[liquid.turbulence]\non = true\n";
    scenes["tracked liquid"] = shot + kLiquidTables + "[liquid.tracked]\nvoxel = 0.05\n";
    scenes["tracked liquid"].replace(scenes["tracked liquid"].find("voxel = 0.1"), 11,
                                     "voxel = 0.1\nsurface = \"tracked\"");
    scenes["spray"] = shot + kLiquidTables + R"([spray.whitewater]
trapped_air = 10
wave_crests = 10
[[spray.emitter]]
rate = 500
center = [0.5, 0.5, 0.3]
[[spray.collider]]
shape = "sphere"
center = [0.5, 0, 0.3]
)";
    scenes["smoke"] = shot + kSmokeTables + R"([[smoke.source.scalar]]
name = "fuel"
[[smoke.scalar]]
name = "fuel"
[[smoke.collider]]
shape = "sphere"
center = [0, 0.8, 0]
radius = 0.2
)" + with(kForceTables, "smoke") +
                      "[smoke.turbulence]\non = true\nrefine = 2\n";
    scenes["shaped_smoke"] = shot + R"([shaped_smoke]
voxel = 0.1
markers = 2000
controls = 100
wind = [[1, 0, 0, 0]]
[shaped_smoke.vortices]
radius = 0.3
[[shaped_smoke.source]]
shape = "sphere"
[[shaped_smoke.target]]
shape = "sphere"
center = [1, 0, 0]
)";
    scenes["track"] = shot + kLiquidTables + R"([track]
voxel = 0.05
[[track.source]]
max = [0.5, 0.4, 0.6]
)";
    scenes["texture"] = shot + kLiquidTables + "[texture]\nmode = \"react\"\nstart_steps = 20\n";
    const std::string example =
        shot + kLiquidTables + "[texture]\nmode = \"example\"\ntexel = 0.1\npatch = 9\nexample_size = 32\n";
    scenes["texture_history"] = example + "example = \"ripples\"\nhistory = 1\norientation = 1\n";
    scenes["texture_guided"] = example + "select = \"parameter\"\n[[texture.examples]]\n" +
                               "[[texture.examples]]\nkind = \"foam\"\nparameter = 1\n";
    scenes["ripples"] = shot + kLiquidTables + "[ripples]\n";
    scenes["surface"] = shot + kLiquidTables + "[surface]\nsdf = true\nfilter.smooth = 1\n";
    scenes["sand"] = shot + kSandTables + R"(mode = "flow"
[[sand.material]]
friction = 0.5
[[sand.impulse]]
center = [0.2, 0, 0.3]
frame = 1
[[sand.collider]]
shape = "sphere"
center = [0.7, 0, 0.3]
radius = 0.2
)" + with(kBodyTables, "sand");
    scenes["grains"] = shot + kSandTables + "[grains]\n";
    scenes["crowd"] = shot + kCrowdTables;
    const std::string picture = "[render]\nwidth = 16\nheight = 9\nsamples = 1\n";
    scenes["render"] = shot + kLiquidTables + kSmokeTables + "[surface]\n[[spray.emitter]]\nrate = 100\n" + picture;
    return scenes;
}

// A number that a scene can set: its path and range. Vectors and rows are set by their components.
struct DeclaredNumber {
    std::string path; // e.g. liquid.source[0].radius
    Range range;
    int components = 1; // 3 for a vector
    int columns = 0;    // of rows
    bool integer = false;
    std::string unit = {};
};

// Collects all numbers of a stage, for the first item of each list.
class NumberCollector : public ParamVisitor {
  public:
    NumberCollector(std::string path, std::vector<DeclaredNumber>& numbers) : path_(std::move(path)), numbers_(numbers)
    {
    }

  protected:
    void number(const ParamInfo& i, float&) override { add(i); }
    void integer(const ParamInfo& i, int&) override { add(i).integer = true; }
    void vector(const ParamInfo& i, Vec3f&) override { add(i).components = 3; }
    void optional_number(const ParamInfo& i, std::optional<float>&) override { add(i); }
    void optional_vector(const ParamInfo& i, std::optional<Vec3f>&) override { add(i).components = 3; }
    void boolean(const ParamInfo&, bool&) override {}
    void text(const ParamInfo&, std::string&) override {}
    void texts(const ParamInfo&, std::vector<std::string>&) override {}
    void choice(const ParamInfo&, int&) override {}
    void table(const ParamInfo& i, int columns, std::vector<std::vector<float>>&) override
    {
        DeclaredNumber& rows = add(i);
        rows.columns = columns, rows.range = limits::in_rows();
    }
    void group_of(const ParamInfo& i, const std::function<void(ParamVisitor&)>& visit) override
    {
        NumberCollector inner(path_ + "." + i.name, numbers_);
        visit(inner);
    }
    void list_of(const ParamInfo& i, const ListAccess& access) override
    {
        NumberCollector inner(path_ + "." + i.name + "[0]", numbers_);
        access.visit_default(inner);
    }

  private:
    DeclaredNumber& add(const ParamInfo& i)
    {
        DeclaredNumber& number = numbers_.emplace_back(path_ + "." + i.name, i.range);
        number.unit = i.unit;
        return number;
    }
    std::string path_;
    std::vector<DeclaredNumber>& numbers_;
};

// All numbers of [shot] and all stages, by table name.
inline std::map<std::string, std::vector<DeclaredNumber>> declared_numbers()
{
    std::map<std::string, std::vector<DeclaredNumber>> all;
    NumberCollector shot("shot", all["shot"]);
    ShotParams().visit(shot);
    for (const StageKind& kind : all_stages()) {
        NumberCollector collector(kind.name, all[kind.name]);
        kind.make({kind.name, kind.name})->visit(collector);
    }
    return all;
}

} // namespace spindrift
