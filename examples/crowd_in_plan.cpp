// Embeds a crowd: people leave a room through a door. Shows how to set up a floor plan and a group, and how to read
// positions.
//
//     example_crowd_in_plan out        writes out/crowd.0001.vdb to out/crowd.0048.vdb
#include "spindrift/crowd/population.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/vdb.h"

#include <cstdio>

using namespace spindrift;

int main(int argc, char** argv)
{
    const std::string folder = argc > 1 ? argv[1] : ".";

    // 1. The plan, in metres: a floor, a wall with a gap, and a goal behind it. It could also be read from an SVG or
    // GeoJSON drawing.
    PopulationParams params;
    params.cell = 1;
    PlanAreaParams floor;
    floor.box = {{0, 0}, {16, 10}};
    PlanWallParams below, above;
    below.points = {{10, 0}, {10, 4}}, above.points = {{10, 6}, {10, 10}};
    PlanGoalParams exit;
    exit.name = "exit", exit.box = {{14, 4}, {16, 6}};
    params.plan.boundary = {floor}, params.plan.walls = {below, above}, params.plan.goals = {exit};

    // 2. Sixty people on the left, who walk to the goal.
    GroupParams visitors;
    visitors.name = "visitors", visitors.count = 60, visitors.box = {{1, 1}, {8, 9}};
    VisitParams visit;
    visit.goal = "exit";
    visitors.visits = {visit};
    params.groups = {visitors};

    // 3. Advance frame by frame. The plan lies on the floor: plan y is world -z.
    Population crowd(params, 24);
    crowd.start(1);
    for (int frame = 1; frame <= 48; ++frame) {
        if (frame > 1) crowd.advance();
        const Agents& agents = crowd.crowd().agents();
        Particles people;
        people.resize(agents.size());
        for (size_t i = 0; i < agents.size(); ++i) {
            people.P[i] = Vec3f(agents.x[i].x(), 0, -agents.x[i].y());
            people.v[i] = Vec3f(agents.v[i].x(), 0, -agents.v[i].y()), people.id[i] = agents.id[i];
        }
        write_particles(frame_path(folder + "/crowd.####.vdb", frame), people, params.cell, params.radius);
        if (frame % 12 == 0) std::printf("frame %d: %zu people\n", frame, people.size());
    }
}
