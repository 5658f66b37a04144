// Rigid bodies with two-way coupling to a material (liquid, sand). Use in a solver's step:
//
//     bodies.accelerate(gravity, dt);                     // V of each body without the material's forces
//     shares.update(topology, bodies.solids(), voxel);    // phi_s: world/rigid_shares.h
//     for each body b: bodies.motion(b), bodies.inverse_mass(b), bodies.center(b)  // J M^-1 J^T in the solver's matrix
//     bodies.push(b, impulse);                            // dt F of [Narain 2011, (5.23)]
//     bodies.move(frame_at_the_end, dt);                  // contacts, hinges, motors; new poses
//
// The order of a step is thus: gravity on the bodies, pressure on bodies and material, then contacts, hinges and
// motors. The material that a body hits during the step is stopped in front of its new pose (liquid/contact.cpp). A
// body moves at most one cell per step. The pressure solve couples both ways [Batty 2007]: a body adds six columns to
// the matrix (liquid/body_coupling.h). Viscosity, friction and surface tension act on the liquid at a body, but not on
// the body.
//
// Motions and impulses are six numbers: along x, y, z and about x, y, z through the centre of mass, in world axes.
// `lever()` is a row of J^T without the volume fraction: the velocity of a point along an axis is lever . motion, and
// an impulse along the axis at this point is lever * impulse. The moment is x cross force; [Narain 2011, (5.21) and
// (5.22)] have the opposite order. `inverse_mass` includes hinges and fixed axes, so that the solve does not push a
// wheel off its axle only for Bullet to put it back.
//
// `solids()` gives the bodies' geometry (signed distance, velocity at a point, motion since the previous pose).
// Solids::set_bodies() of world/ adds bodies to everything that collides with colliders.
//
// A body's state is only its motion (see bullet_dynamics.h): state() and restore() resume exactly.
#pragma once

#include "spindrift/bodies/bullet_dynamics.h"
#include "spindrift/bodies/mass.h"

namespace spindrift {

using Vec6d = Eigen::Matrix<double, 6, 1>;
using Mat6d = Eigen::Matrix<double, 6, 6>;

inline Vec6d six(const Vec3d& along, const Vec3d& about)
{
    Vec6d all;
    for (int a = 0; a < 3; ++a) all[a] = along[a], all[3 + a] = about[a];
    return all;
}
// Motion whose dot product with a body's motion is the velocity along an axis at `arm` from the centre of mass.
inline Vec6d lever(const Vec3d& arm, int axis)
{
    const Vec3d unit = Vec3d::Unit(axis);
    return six(unit, arm.cross(unit));
}

class Bodies {
  public:
    // The loaded shapes of a body: its own, then those of its parts.
    using Shapes = std::vector<Shape>;
    Bodies(const std::vector<BodyParams>& params, const std::vector<Shapes>& shapes, const DomainParams& domain,
           const std::vector<Shape>& colliders, float fps = 24);
    Bodies(const Bodies&) = delete;
    // Loads the shapes of bodies that are not part of a scene; see shapes_of() in scene/shapes.h.
    static std::vector<Shapes> shapes_of(const std::vector<BodyParams>& params);

    // Puts all bodies at their initial state. Throws bad_input for a body that starts or is released inside a solid;
    // `where` are the bodies' positions in the scene file.
    void start(float frame, const std::vector<std::string>& where = {});

    bool empty() const { return solids_.empty(); }
    size_t size() const { return solids_.size(); }
    const std::vector<RigidSolid>& solids() const { return solids_; }
    const std::string& name(size_t b) const { return names_[b]; }
    const RigidMotion& place(size_t b) const { return motion_[b]; }
    const Vec3d& center(size_t b) const { return motion_[b].position; }
    double mass(size_t b) const { return masses_[b].mass; }
    double volume(size_t b) const { return masses_[b].volume; }
    // Inertia about the centre of mass, in world axes [kg m2].
    Mat3d inertia(size_t b) const;
    Mat6d inverse_mass(size_t b) const; // zero for a held body
    // True before the release frame: the body follows its keyframes, like a collider.
    bool held(size_t b) const { return frame_ < static_cast<float>(params_[b].release); }
    Vec6d motion(size_t b) const;
    // Momentum [kg m/s], and angular momentum about the centre of mass.
    Vec6d momentum(size_t b) const;
    // Upper bound on any velocity component of any point of any body [m/s].
    float speed() const;
    // As speed(), of the bodies that may come within `margin` [m] of a box in that time [s].
    float speed_near(const Box3f& box, float margin, float seconds) const;
    // Coulomb coefficient, if the scene gives one.
    std::optional<float> friction(size_t b) const { return params_[b].friction; }

    // Changes the motion by an impulse [N s, N m s].
    void push(size_t b, const Vec6d& impulse);
    void accelerate(const Vec3f& acceleration, double dt);
    // Advances by `dt` seconds to a time in frames.
    void move(float to_frame, double dt);

    const std::vector<RigidMotion>& state() const { return motion_; }
    void restore(std::vector<RigidMotion> motion, float frame);

  private:
    struct Mass {
        double mass, volume;
        Mat3d inertia; // in body axes
    };
    void place_solids();
    RigidMotion motion_while_held(size_t b, float frame) const;
    void check_overlaps(float frame, const std::vector<std::string>& where) const;
    Eigen::Matrix<double, 6, Eigen::Dynamic> free_motions(size_t b) const;

    std::vector<BodyParams> params_;
    std::vector<std::string> names_;
    std::vector<RigidSolid> solids_;
    std::vector<Mass> masses_;
    std::vector<RigidMotion> start_, motion_; // start_: before any keyframe
    std::vector<Motion> keyframes_;           // until the release
    float fps_;
    std::vector<BulletDynamics::Body> definitions_;
    std::unique_ptr<BulletDynamics> dynamics_;
    float frame_ = 0;
};

} // namespace spindrift
