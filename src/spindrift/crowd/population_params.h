// Scene parameters of the people of a crowd: groups, starts, entrances and goals.
#pragma once

#include "spindrift/crowd/agents.h"
#include "spindrift/crowd/params.h"
#include "spindrift/plan/plan_params.h"

namespace spindrift {

// A goal to visit.
struct VisitParams {
    std::string goal;
    float from = 0; // [s]
    void visit(ParamVisitor& v);
};

// People with common parameters. They stand in the shapes at the start, or come in through an entrance.
struct GroupParams : PlanShapeParams {
    enum class Heading { goals, opposite };
    std::string name, entrance;
    int count = 0;
    Rows rings; // [x, y, inner radius, outer radius]
    Heading heading = Heading::goals;
    std::vector<VisitParams> visits;
    int rounds = 1;
    bool leave = true;
    float start = 0; // [s]
    float speed = 1.34f, speed_deviation = 0.26f;
    std::optional<float> radius;
    float priority = 1;
    Driver driver = Driver::crowd;
    Rows path; // [time, x, y]
    void visit(ParamVisitor& v);
};

struct PopulationParams : CrowdParams {
    std::string name = "crowd"; // of the stage, for messages
    float cell = 2;
    float longest_step = 0.05f;
    float rate = 1;
    int seed = 1;
    FloorPlanParams plan;
    std::vector<GroupParams> groups;
    void visit(ParamVisitor& v);
    float radius_of(const GroupParams& group) const { return group.radius.value_or(radius); }
    float largest_radius() const;
};

} // namespace spindrift
