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
      "Rotation about x, then y, then z, through the shape's middle.");
    v.require(shape != Kind::half_space, "shape", "a half-space is unbounded and cannot be a body");
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
    v("anchor", anchor, unit::metres, limits::position(), "A point on the axis; without it there is no hinge.");
    v("axis", axis, unit::none, limits::direction(), "Direction of the axis, of any length.");
    v("speed", speed, unit::degrees_per_second, between(-1e6, 1e6), "Target speed of the motor, if it has torque.");
    v("torque", torque, unit::newton_metres, between(0, 1e12), "Maximum torque of the motor; 0: no motor.");
    v.require(axis.cast<double>().norm() > 0, "axis", "must not be zero");
}

void BodyParams::visit(ParamVisitor& v)
{
    v("name", name, "Name in messages and files; by default \"body\" and its number.");
    BodyPartParams::visit(v);
    v.list("part", parts, "More shapes, fixed to the first and rotated with it.");
    v("density", density, unit::kg_per_metre3, limits::density(),
      "Density of the whole body; values below 1, about that of air, count as 1. Use a collider for immovable "
      "objects.");
    v("mass", mass, unit::kilograms, between(1e-9, 1e15),
      "Mass of the whole body; overrides density, with the same lower bound.");
    v("velocity", velocity, unit::metres_per_second, limits::velocity(),
      "Velocity of the centre of mass when the shot starts or the body is released.");
    v("spin", spin, unit::degrees_per_second, between(-1e6, 1e6),
      "Angular velocity when the shot starts or the body is released.");
    v("release", release, unit::frames, between(-1e6, 1e6),
      "Frame from which the body moves freely; by default the first. Before, only its keyframes (translate, rotate) "
      "move it; at the release it keeps their velocity, to which velocity and spin are added.");
    held.visit_keys(v);
    v("friction", friction, unit::none, between(0, 1e3),
      "Coulomb coefficient on walls, colliders and sand; between two bodies, the geometric mean. By default 0.5, and "
      "on sand that of the sand itself.");
    v("restitution", restitution, unit::none, between(0, 1),
      "Fraction of the speed kept in a bounce off walls and colliders; between two bodies, the geometric mean.");
    v("fixed_move", fixed_move, "Axes along which the body cannot move, such as \"xz\".");
    v("fixed_turn", fixed_turn, "Axes about which the body cannot turn, such as \"xyz\".");
    v.group("hinge", hinge, "Constrains the body to rotate about an axis.");
    v.require(are_axes(fixed_move), "fixed_move", "may only contain the letters x, y and z");
    v.require(are_axes(fixed_turn), "fixed_turn", "may only contain the letters x, y and z");
    const bool keyed = !held.translate.empty() || !held.rotate.empty();
    v.require(!keyed || release != std::numeric_limits<int>::min(), held.translate.empty() ? "rotate" : "translate",
              "moves a body only until its release; set the frame, as in release = 24, or make it a collider");
    v.require(!keyed || !hinge.anchor, "hinge", "a body cannot have both keyframes and a hinge; remove one of them");
    v.require(!hinge.anchor || (fixed_move.empty() && fixed_turn.empty()), "hinge",
              "a hinged body only rotates about its hinge; remove fixed_move and fixed_turn");
}

Vec3d BodyParams::free_to_move() const { return free_axes(fixed_move); }
Vec3d BodyParams::free_to_turn() const { return free_axes(fixed_turn); }

} // namespace spindrift
