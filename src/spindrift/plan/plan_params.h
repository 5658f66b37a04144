// Scene parameters of a crowd's floor plan, and their conversion to a FloorPlan.
#pragma once

#include "spindrift/io/drawing.h"
#include "spindrift/plan/floor_plan.h"
#include "spindrift/scene/scene_file.h"

namespace spindrift {

using Rows = std::vector<std::vector<float>>;

// One or more polygons given by corners, boxes or circles.
struct PlanShapeParams {
    Rows polygon, box, boxes, circles;
    void visit(ParamVisitor& v);
    bool given() const { return !polygon.empty() || !box.empty() || !boxes.empty() || !circles.empty(); }
    std::vector<Polygon> polygons() const;
};

struct PlanAreaParams : PlanShapeParams { // boundary, obstacle, area
    std::string name;
    void visit(ParamVisitor& v);
};

struct PlanWallParams {
    std::string name;
    Rows points;
    float thickness = 0.2f;
    void visit(ParamVisitor& v);
};

struct PlanGoalParams : PlanShapeParams {
    std::string name;
    Rows points;
    void visit(ParamVisitor& v);
};

struct PlanEntranceParams : PlanShapeParams {
    std::string name;
    Rows line;
    float rate = 1, start = 0;
    std::optional<float> end;
    void visit(ParamVisitor& v);
};

struct PlanLineParams {
    std::string name;
    Rows points;
    void visit(ParamVisitor& v);
};

// Help text: how a drawing stores roles, and how its axes map to the scene.
extern const char* const kDrawingHelp;

// Options for reading a drawing.
struct PlanFileParams : DrawingOptions {
    std::string file;
    void visit(ParamVisitor& v);
};

struct FloorPlanParams {
    PlanFileParams plan;
    std::vector<PlanAreaParams> boundary, obstacles, areas;
    std::vector<PlanWallParams> walls;
    std::vector<PlanGoalParams> goals;
    std::vector<PlanEntranceParams> entrances;
    std::vector<PlanLineParams> lines;
    void visit(ParamVisitor& v);
};

// The plan described by a table of the scene: its file, if there is one, and the shapes added in the scene.
FloorPlan read_floor_plan(const FloorPlanParams& params, const SceneFile& scene, const std::string& table);
// The same without a scene: the file's path is taken as it is.
FloorPlan read_floor_plan(const FloorPlanParams& params);

} // namespace spindrift
