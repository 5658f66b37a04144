#include "spindrift/spray/params.h"
#include "spindrift/scene/limits.h"

namespace spindrift {

void EmitterParams::visit(ParamVisitor& v)
{
    v("from", from, choices("point", "disc", "curve", "surface"),
      "Droplets come from the centre, from a disc of the radius around it, from a curve, or from the shape's surface.");
    ShapeParams::visit(v);
    v.rows("points", points, 3, unit::metres, "Corners [x, y, z] of a curve.");
    v("direction", direction, unit::none, limits::direction(),
      "In which droplets start, of any length, and the axis of a disc. [0, 0, 0]: away from the surface.");
    v("spread", spread, unit::degrees, between(0, 180), "Half the angle of the cone in which directions vary.");
    v("rate", rate, unit::per_second, between(0, 1e9), "How many droplets appear in a second.");
    v("speed", speed, unit::metres_per_second, limits::speed(), "At which droplets start.");
    v("speed_variation", speed_variation, unit::none, between(0, 1), "Speeds vary by this share up and down.");
    v("inherit", inherit, unit::none, between(0, 1),
      "Share of the emitter's own motion, where it has any, that is added to that velocity.");
    v("droplet_radius", droplet_radius, unit::metres, limits::size(), "Mean radius of the droplets.");
    v("droplet_variation", droplet_variation, unit::none, between(0, 1), "Radii vary by this share up and down.");
    v("first_frame", first_frame, unit::frames, limits::frame(), "Starts at this frame; by default with the shot.");
    v("last_frame", last_frame, unit::frames, limits::frame(), "Ends after this frame; by default with the shot.");
    v.require(first_frame <= last_frame, "last_frame", "the emitter ends before it starts");
    v.require(from != From::curve || points.size() >= 2, "points",
              "must have at least two corners [x, y, z] for from = \"curve\"");
    v.require(from == From::surface || direction.cast<double>().norm() > 0, "direction",
              "must not be zero: only a surface has a direction of its own");
    v.require(from != From::surface || (shape != Kind::half_space && !invert), "from",
              "a shape without bounds has no surface to emit from; use a box, a sphere or a mesh");
}

ShapeParams EmitterParams::carrier() const
{
    ShapeParams carrier = *this;
    if (from != From::surface) carrier.shape = Kind::sphere;
    return carrier;
}

void SprayColliderParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("contact", contact, choices("bounce", "stick", "die"),
      "What droplets do that meet the collider: bounce off, stay on it and move along, or disappear.");
    v("restitution", restitution, unit::none, between(0, 1), "Share of its speed that a droplet bounces back with.");
    v("friction", friction, unit::none, between(0, 1), "Share of its sliding that a droplet loses when it bounces.");
}

void GustParams::visit(ParamVisitor& v)
{
    v("strength", strength, unit::metres_per_second, limits::speed(),
      "Root mean square of the air's velocity in gusts.");
    v("size", size, unit::metres, limits::size(), "Of the eddies.");
    v("change", change, unit::per_second, between(0, 1e4), "How often the gusts become others; 0: never.");
}

void SprayDomainParams::visit(ParamVisitor& v)
{
    v("min", min, unit::metres, limits::position(), "Lower corner; without min and max droplets may go anywhere.");
    v("max", max, unit::metres, limits::position(), "Upper corner.");
    v.require(min.has_value() == max.has_value(), min ? "min" : "max", "a domain needs both min and max, or neither");
    if (min && max)
        v.require((min->array() < max->array()).all(), "max", "every component of max must be above that of min");
}

void SprayParams::visit(ParamVisitor& v)
{
    v("gravity", gravity, unit::metres_per_second2, limits::acceleration(), "Acceleration of everything.");
    v("drag", drag, unit::none, between(0, 1e3),
      "How much the air holds droplets back, smaller ones more; without unit for Newton's law, in m2/s for Stokes'.");
    v("drag_law", drag_law, choices("newton", "stokes"),
      "Newton: drag / radius * speed^2, for droplets that can be seen. Stokes: drag / radius^2 * speed, for mist.");
    v("wind", wind, unit::metres_per_second, limits::velocity(), "Velocity of the air.");
    v.group("gusts", gusts, "Eddies in the air.");
    v("substeps", substeps, unit::none, between(1, 1000), "Steps in a frame.");
    v("collisions", collisions, "Let droplets merge and break up where they meet.");
    v("surface_tension", surface_tension, unit::newtons_per_metre, between(1e-9, 1e9),
      "Holds droplets together; water has 0.072. Less makes a finer spray, more makes fewer and larger droplets.");
    v("density", density, unit::kg_per_metre3, between(1e-6, 1e9), "Of the liquid.");
    v("min_radius", min_radius, unit::metres, between(1e-9, 1e6), "No droplet becomes smaller than this.");
    v("max_radius", max_radius, unit::metres, between(1e-9, 1e6), "No droplet becomes larger than this.");
    v("perturbation", perturbation, unit::none, between(0, 1),
      "How wildly the pieces of a broken droplet fly: the angle [rad] that each of them adds at most.");
    v("max_satellites", max_satellites, unit::none, between(0, kMostSatellites),
      "How many droplets a collision may add.");
    v("rest_time", rest_time, unit::seconds, between(0, 1e6),
      "How long a droplet that has collided does not collide again.");
    v("search", search, unit::none, between(0, 1000),
      "How far ahead droplets look for others: their way in a substep counts up to this many radii each. What passes "
      "faster is met by chance only.");
    v.group("domain", domain, "The box outside which droplets disappear.");
    v("seed", seed, unit::none, limits::seed(), "Another number is another spray.");
    v.list("emitter", emitters, "Where droplets come from.");
    v.group("whitewater", whitewater, "Droplets, foam and bubbles that a liquid makes.");
    v.list("collider", colliders, "Solids in the way of the droplets.");
    v.require(min_radius <= max_radius, "max_radius", "must not be below min_radius");
}

} // namespace spindrift
