#include "spindrift/world/params.h"
#include "spindrift/scene/limits.h"

#include <fmt/format.h>

namespace spindrift {

void FillingParams::visit_filling(ParamVisitor& v, const char* material_name)
{
    ShapeParams::visit(v);
    v("mode", mode, choices("initial", "flow"),
      "initial: filled once at the start. flow: kept filled from first_frame to last_frame.");
    v("velocity", velocity, unit::metres_per_second, limits::velocity(),
      fmt::format("Initial velocity of the {}.", material_name).c_str());
    v("inherit", inherit, unit::none, between(0, 1), "Share of the shape's own velocity that is added to it.");
}

void ColliderParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("friction", friction, unit::none, between(0, 1e3),
      "Coulomb coefficient: how strongly the collider slows, or drags along, liquid or sand that is pressed against "
      "it. 0: free slip. The friction on sand is limited by the sand's own.");
    v("stick", stick, unit::none, between(0, 1),
      "Share of its tangential velocity that liquid or sand at the collider loses per frame, even without pressure. 1: "
      "no slip.");
}

void DomainParams::visit(ParamVisitor& v)
{
    v("min", min, unit::metres, limits::position(), "Lower corner; the domain is unbounded without min and max.");
    v("max", max, unit::metres, limits::position(), "Upper corner.");
    const auto sides = choices("closed", "open");
    v("x_min", x_min, sides, "closed: a wall; open: liquid and smoke leave the simulation here.");
    v("x_max", x_max, sides, "Like x_min.");
    v("y_min", y_min, sides, "Like x_min.");
    v("y_max", y_max, sides, "Like x_min.");
    v("z_min", z_min, sides, "Like x_min.");
    v("z_max", z_max, sides, "Like x_min.");
    v.require(min.has_value() == max.has_value(), min ? "min" : "max", "a domain needs both min and max, or neither");
    if (min && max)
        v.require((min->array() < max->array()).all(), "max", "every component of max must be above that of min");
}

bool DomainParams::closed(int axis, int upper) const
{
    const Side sides[3][2] = {{x_min, x_max}, {y_min, y_max}, {z_min, z_max}};
    return sides[axis][upper] == Side::closed;
}

} // namespace spindrift
