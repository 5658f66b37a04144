// A floor plan as drawn, in metres: walkable floor, obstacles, walls, goals, entrances, and the lines and areas where
// people are counted. free_space.h turns it into the space that agents move in.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <limits>
#include <string>

namespace spindrift {

// A named polygon, and its place in the scene or file for messages: "plan.svg:12: obstacle 'bar'".
struct PlanPolygon {
    std::string name, where;
    Polygon shape;
};

struct PlanWall {
    std::string name, where;
    std::vector<Vec2d> points;
    double thickness = 0.2;
};

// All pieces with the same name form one goal; agents walk to the nearest. A piece may be a single point.
struct PlanGoal {
    std::string name, where;
    std::vector<Polygon> pieces;
    std::vector<Vec2d> points;
};

// People appear at random in the polygons or on the line.
struct PlanEntrance {
    std::string name, where;
    std::vector<Polygon> shapes;
    std::vector<Vec2d> line;                                         // used if there are no polygons
    double rate = 1;                                                 // [1/s]
    double start = 0, end = std::numeric_limits<double>::infinity(); // [s]
};

// Counts the people who cross it.
struct PlanLine {
    std::string name, where;
    std::vector<Vec2d> points;
};

struct FloorPlan {
    std::vector<PlanPolygon> boundary; // the walkable floor; its outline is a wall
    std::vector<PlanPolygon> obstacles;
    std::vector<PlanWall> walls;
    std::vector<PlanGoal> goals;
    std::vector<PlanEntrance> entrances;
    std::vector<PlanLine> lines;
    std::vector<PlanPolygon> areas;
    std::vector<std::string> warnings; // from reading the plan

    // Returns the goal of this name, and adds it if there is none.
    PlanGoal& goal(const std::string& name, const std::string& where);
    // Throws bad_input for coordinates that are not finite or beyond 10,000 km.
    void check_coordinates() const;
    // If the plan has no boundary, adds a rectangle around everything in it and these points.
    void add_boundary_if_missing(const std::vector<Vec2d>& also_within, double margin);
};

// A polygon of 12 to 64 corners around a circle, at most about 2 mm outside it.
Polygon circle_polygon(const Vec2d& center, double radius);
Polygon box_polygon(const Vec2d& corner, const Vec2d& opposite);

} // namespace spindrift
