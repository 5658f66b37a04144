#include "spindrift/bodies/params.h"
#include "spindrift/scene/limits.h"

namespace spindrift {

namespace {

bool are_axes(const std::string& text) { return text.find_first_not_of("xyz") == std::string::npos; }

Vec3d free_axes(const std::string& fixed)
{
    Vec3d free = Vec3d::Ones();
    for (const char c : fixed) free[c - 'x'] = 0;
    return free;
}

} // namespace

void BodyPartParams::visit(ParamVisitor& v)
{
    visit_form(v);
    v("rotation", rotation, unit::degrees, between(-1e6, 1e6),
      "Turn about x, then y, then z, through the shape's middle.");
    v.require(shape != Kind::half_space, "shape", "a half-space has no end, and cannot be a body");
}

Eigen::Quaterniond BodyPartParams::turn() const
{
    const Vec3d radians = rotation.cast<double>() * (kPi / 180);
    return Eigen::Quaterniond(Eigen::AngleAxisd(radians.z(), Vec3d::UnitZ()) *
                              Eigen::AngleAxisd(radians.y(), Vec3d::UnitY()) *
                              Eigen::AngleAxisd(radians.x(), Vec3d::UnitX()));
}

void HingeParams::visit(ParamVisitor& v)
{
    v("anchor", anchor, unit::metres, limits::position(), "A point on the axis. Left out: there is no hinge.");
    v("axis", axis, unit::none, limits::direction(), "Direction of the axis, of any length.");
    v("speed", speed, unit::degrees_per_second, between(-1e6, 1e6),
      "At which a motor turns the body, if it has torque.");
    v("torque", torque, unit::newton_metres, between(0, 1e12), "The most that the motor has. 0: no motor.");
    v.require(axis.cast<double>().norm() > 0, "axis", "must not be zero");
}

void BodyParams::visit(ParamVisitor& v)
{
    v("name", name, "For messages and files; by default body and its number.");
    BodyPartParams::visit(v);
    v.list("part", parts, "More shapes that are fixed to the first and turned with it.");
    v("density", density, unit::kg_per_metre3, limits::density(),
      "Of the whole body; what nothing may move is a collider, not a body. Below 1, about that of air, it counts as "
      "1.");
    v("mass", mass, unit::kilograms, between(1e-9, 1e15),
      "Of the whole body, instead of its density, and with the same least.");
    v("velocity", velocity, unit::metres_per_second, limits::velocity(),
      "Of the centre of mass, when the shot starts or the body is released.");
    v("spin", spin, unit::degrees_per_second, between(-1e6, 1e6),
      "Turning about x, y and z when the shot starts or the body is released.");
    v("release", release, unit::frames, between(-1e6, 1e6),
      "Frame from which on the body moves freely, by default the first. Until then nothing moves it but its keyframes "
      "(translate, rotate), and it keeps their velocity when it is released; velocity and spin are added to it.");
    held.visit_keys(v);
    v("friction", friction, unit::none, between(0, 1e3),
      "Coulomb's, on walls, colliders and sand; among bodies the geometric mean of both. Left out: 0.5, and as rough "
      "as "
      "the sand itself for sand.");
    v("restitution", restitution, unit::none, between(0, 1),
      "Share of the speed that is left after a bounce off walls and colliders; among bodies the geometric mean.");
    v("fixed_move", fixed_move, "Axes that it does not move along, such as \"xz\".");
    v("fixed_turn", fixed_turn, "Axes that it does not turn about, such as \"xyz\".");
    v.group("hinge", hinge, "Keeps the body on an axis.");
    v.require(are_axes(fixed_move), "fixed_move", "must be made of the letters x, y and z");
    v.require(are_axes(fixed_turn), "fixed_turn", "must be made of the letters x, y and z");
    const bool keyed = !held.translate.empty() || !held.rotate.empty();
    v.require(!keyed || release != std::numeric_limits<int>::min(), held.translate.empty() ? "rotate" : "translate",
              "moves a body until it is released; say when, as in release = 24, or make it a collider");
    v.require(!keyed || !hinge.anchor, "hinge", "a body with keyframes would leave its hinge; leave one of them out");
    v.require(!hinge.anchor || (fixed_move.empty() && fixed_turn.empty()), "hinge",
              "a body with a hinge turns about it alone; leave fixed_move and fixed_turn out");
}

Vec3d BodyParams::free_to_move() const { return free_axes(fixed_move); }
Vec3d BodyParams::free_to_turn() const { return free_axes(fixed_turn); }

} // namespace spindrift
