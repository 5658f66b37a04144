#include "spindrift/spray/params.h"
#include "spindrift/scene/limits.h"

namespace spindrift {

void EmitterParams::visit(ParamVisitor& v)
{
    v("from", from, choices("point", "disc", "curve", "surface"),
      "Where droplets are emitted: at the centre, on a disc around it, along a curve, or on the shape's surface.");
    ShapeParams::visit(v);
    v.rows("points", points, 3, unit::metres, "Corners [x, y, z] of a curve.");
    v("direction", direction, unit::none, limits::direction(),
      "Direction of emission, of any length, and axis of a disc. [0, 0, 0]: along the normal of the surface.");
    v("spread", spread, unit::degrees, between(0, 180), "Half angle of the cone of random directions.");
    v("rate", rate, unit::per_second, between(0, 1e9), "Droplets emitted per second.");
    v("speed", speed, unit::metres_per_second, limits::speed(), "Initial speed of droplets.");
    v("speed_variation", speed_variation, unit::none, between(0, 1),
      "Random variation of the speed, up and down, as a share of it.");
    v("inherit", inherit, unit::none, between(0, 1),
      "Share of the emitter's own velocity that is added to that of the droplets.");
    v("droplet_radius", droplet_radius, unit::metres, limits::size(), "Mean radius of the droplets.");
    v("droplet_variation", droplet_variation, unit::none, between(0, 1),
      "Random variation of the radius, up and down, as a share of it.");
    FrameSpan::visit(v, "the emission");
    v.require(from != From::curve || points.size() >= 2, "points",
              "must have at least two corners [x, y, z] for from = \"curve\"");
    v.require(from == From::surface || direction.cast<double>().norm() > 0, "direction",
              "must not be zero unless from = \"surface\"");
    v.require(from != From::surface || (shape != Kind::half_space && !invert), "from",
              "an unbounded shape cannot emit from its surface; use a box, a sphere or a mesh");
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
      "Reaction of droplets that hit the collider: bounce off, stick to it and move with it, or be removed.");
    v("restitution", restitution, unit::none, between(0, 1),
      "Share of the normal speed that a droplet keeps when it bounces.");
    v("friction", friction, unit::none, between(0, 1),
      "Share of the tangential speed that a droplet loses when it bounces.");
}

void GustParams::visit(ParamVisitor& v)
{
    v("strength", strength, unit::metres_per_second, limits::speed(), "Root mean square velocity of the gusts.");
    v("size", size, unit::metres, limits::size(), "Size of the eddies.");
    v("change", change, unit::per_second, between(0, 1e4), "Rate at which the eddies change; 0: never.");
}

void SprayDomainParams::visit(ParamVisitor& v)
{
    v("min", min, unit::metres, limits::position(), "Lower corner. Without min and max there is no limit.");
    v("max", max, unit::metres, limits::position(), "Upper corner.");
    v.require(min.has_value() == max.has_value(), min ? "min" : "max", "a domain needs both min and max, or neither");
    if (min && max)
        v.require((min->array() < max->array()).all(), "max", "every component of max must be above that of min");
}

void SprayParams::visit(ParamVisitor& v)
{
    v("gravity", gravity, unit::metres_per_second2, limits::acceleration(), "Gravitational acceleration.");
    v("drag", drag, unit::none, between(0, 1e3),
      "Drag coefficient of the air, which slows small droplets more. Dimensionless for Newton's law, in m2/s for "
      "Stokes'.");
    v("drag_law", drag_law, choices("newton", "stokes"),
      "Deceleration: drag / radius * speed^2 (Newton, for visible droplets) or drag / radius^2 * speed (Stokes, for "
      "mist).");
    v("wind", wind, unit::metres_per_second, limits::velocity(), "Velocity of the air.");
    v.group("gusts", gusts, "Eddies in the air, added to the wind.");
    v("substeps", substeps, unit::none, between(1, 1000), "Time steps per frame.");
    v("collisions", collisions, "Whether droplets that meet merge or break up.");
    v("surface_tension", surface_tension, unit::newtons_per_metre, between(1e-9, 1e9),
      "Surface tension; 0.072 for water. Less makes a finer spray, more makes fewer and larger droplets.");
    v("density", density, unit::kg_per_metre3, between(1e-6, 1e9), "Density of the liquid.");
    v("min_radius", min_radius, unit::metres, between(1e-9, 1e6), "Smallest radius of a droplet.");
    v("max_radius", max_radius, unit::metres, between(1e-9, 1e6), "Largest radius of a droplet.");
    v("perturbation", perturbation, unit::none, between(0, 1),
      "Randomness of the pieces of a broken droplet: the largest angle [rad] that each piece adds.");
    v("max_satellites", max_satellites, unit::none, between(0, kMostSatellites),
      "Largest number of droplets that a collision may add.");
    v("rest_time", rest_time, unit::seconds, between(0, 1e6),
      "Time after a collision in which a droplet does not collide again.");
    v("search", search, unit::none, between(0, 1000),
      "How far ahead droplets search for collisions: up to this many radii of their displacement in a substep. "
      "Collisions "
      "with faster droplets may be missed.");
    v.group("domain", domain, "Box outside which droplets are removed.");
    v("seed", seed, unit::none, limits::seed(), "Seed of the random numbers.");
    v.list("emitter", emitters, "Sources of droplets.");
    v.group("whitewater", whitewater, "Droplets, foam and bubbles emitted by a liquid.");
    v.list("collider", colliders, "Solids that droplets collide with.");
    v.require(min_radius <= max_radius, "max_radius", "must not be below min_radius");
}

} // namespace spindrift
