#include "spindrift/world/params.h"
#include "spindrift/scene/limits.h"

namespace spindrift {

void ColliderParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("friction", friction, unit::none, between(0, 1e3),
      "Coulomb's coefficient: how strongly liquid or sand that is pressed against the collider is held back, or taken "
      "along if it moves. 0: it slides. Sand is held by no more than its own friction.");
    v("stick", stick, unit::none, between(0, 1),
      "Share of its sliding that liquid or sand at the collider loses in a frame, pressed against it or not. 1: it "
      "clings.");
}

void DomainParams::visit(ParamVisitor& v)
{
    v("min", min, unit::metres, limits::position(), "Lower corner; without min and max there are no bounds.");
    v("max", max, unit::metres, limits::position(), "Upper corner.");
    const auto sides = choices("closed", "open");
    v("x_min", x_min, sides, "A wall, or a side through which liquid or smoke leaves the shot.");
    v("x_max", x_max, sides, "As x_min.");
    v("y_min", y_min, sides, "As x_min.");
    v("y_max", y_max, sides, "As x_min.");
    v("z_min", z_min, sides, "As x_min.");
    v("z_max", z_max, sides, "As x_min.");
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
