// Drawings: the shapes of an SVG or GeoJSON file in metres, with what the file says about each.
//
// SVG: a shape's role is one of its classes, or starts its label or id ("goal-north"), or comes from a group or layer
// around it; which words are roles, the caller says. data-name, data-rate, data-start, data-end and data-thickness give
// the rest. The y axis points up in the result.
// GeoJSON: properties "type" (or "role", "class", "kind"), "name", "rate", "start", "end", "thickness" and "radius".
//
// Limits: text, pictures, <use>, clips and masks are ignored; curves become polylines within 1 cm.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace spindrift {

struct DrawnShape {
    std::string role, name, where; // role: any word for it; where: "plan.svg:12", for messages
    std::vector<Ring> rings;       // closed; those within others are holes
    std::vector<Ring> lines;       // open
    std::vector<Vec2d> points;
    bool filled = true;                                        // false: only the outline of its rings is drawn
    std::optional<double> rate, start, end, thickness, radius; // as in the file: lengths in its units
};

struct DrawingOptions {
    enum class Coordinates { automatic, metres, degrees };
    std::optional<float> scale; // [m] for one unit of the file
    Coordinates coordinates = Coordinates::automatic;
};

struct Drawing {
    std::vector<DrawnShape> shapes;
    std::string note; // what the user should know about how it was read; mostly empty
};

// Returns the role that a word stands for; empty if it is none.
using RoleOfWord = std::function<std::string(std::string_view word)>;

// `name` is for messages. Both throw bad_input for text that cannot be understood.
Drawing read_svg_drawing(const std::string& text, const std::string& name, const DrawingOptions& options,
                         const RoleOfWord& role_of_word);
Drawing read_geojson_drawing(const std::string& text, const std::string& name, const DrawingOptions& options);

} // namespace spindrift
