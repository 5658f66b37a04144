// Drawings: the shapes of an SVG or GeoJSON file in metres, with their roles and properties.
//
// SVG: a shape's role is one of its classes, or the start of its label or id ("goal-north"), or that of an enclosing
// group or layer; the caller defines which words are roles. The attributes data-name, data-rate, data-start, data-end
// and data-thickness hold its properties. The y axis points up in the result.
// GeoJSON: properties "type" (or "role", "class", "kind"), "name", "rate", "start", "end", "thickness" and "radius".
//
// Limits: text, images, <use>, clips and masks are ignored; curves become polylines within 1 cm.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace spindrift {

struct DrawnShape {
    std::string role, name, where; // role: any word for it; where: "plan.svg:12", for messages
    std::vector<Ring> rings;       // closed; rings inside others are holes
    std::vector<Ring> lines;       // open
    std::vector<Vec2d> points;
    bool filled = true;                                        // false: only the outline of the rings is drawn
    std::optional<double> rate, start, end, thickness, radius; // as in the file: lengths in its units
};

struct DrawingOptions {
    enum class Coordinates { automatic, metres, degrees };
    std::optional<float> scale; // metres per unit of the file
    Coordinates coordinates = Coordinates::automatic;
};

struct Drawing {
    std::vector<DrawnShape> shapes;
    std::string note; // information for the user about the conversion; usually empty
};

// Returns the role that a word denotes; empty if none.
using RoleOfWord = std::function<std::string(std::string_view word)>;

// `name` is used in messages. Both throw bad_input for text that cannot be parsed.
Drawing read_svg_drawing(const std::string& text, const std::string& name, const DrawingOptions& options,
                         const RoleOfWord& role_of_word);
Drawing read_geojson_drawing(const std::string& text, const std::string& name, const DrawingOptions& options);

} // namespace spindrift
