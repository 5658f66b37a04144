// A floor plan as its author drew it, in metres: where people can walk, what is in their way, where they come from,
// where they want to go, and where they are counted. free_space.h turns it into the world that agents move in.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <limits>
#include <string>

namespace spindrift {

// A named polygon, and where it stands in the scene or file, for messages: "plan.svg:12: obstacle 'bar'".
struct PlanPolygon {
    std::string name, where;
    Polygon shape;
};

struct PlanWall {
    std::string name, where;
    std::vector<Vec2d> points;
    double thickness = 0.2;
};

// All pieces of a goal have its name: who wants to get there goes to the nearest. A piece may be a single point.
struct PlanGoal {
    std::string name, where;
    std::vector<Polygon> pieces;
    std::vector<Vec2d> points;
};

// People appear anywhere in the polygons, or on the line.
struct PlanEntrance {
    std::string name, where;
    std::vector<Polygon> shapes;
    std::vector<Vec2d> line;                                         // if there are no polygons
    double rate = 1;                                                 // [1/s]
    double start = 0, end = std::numeric_limits<double>::infinity(); // [s]
};

// Who crosses it is counted.
struct PlanLine {
    std::string name, where;
    std::vector<Vec2d> points;
};

struct FloorPlan {
    std::vector<PlanPolygon> boundary; // where the floor is; walls stand around all of it
    std::vector<PlanPolygon> obstacles;
    std::vector<PlanWall> walls;
    std::vector<PlanGoal> goals;
    std::vector<PlanEntrance> entrances;
    std::vector<PlanLine> lines;
    std::vector<PlanPolygon> areas;
    std::vector<std::string> warnings; // of reading it

    // The goal of this name, which is made if there is none.
    PlanGoal& goal(const std::string& name, const std::string& where);
    // Throws bad_input for a coordinate that is no number, or beyond 10,000 km.
    void check_coordinates() const;
    // A plan that says nothing about its floor gets a rectangle around everything in it and these points.
    void add_boundary_if_missing(const std::vector<Vec2d>& also_within, double margin);
};

// A circle as a polygon around it, farther out by about 2 mm at most: 12 to 64 corners.
Polygon circle_polygon(const Vec2d& center, double radius);
Polygon box_polygon(const Vec2d& corner, const Vec2d& opposite);

} // namespace spindrift
