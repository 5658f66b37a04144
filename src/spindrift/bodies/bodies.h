// Rigid bodies that a solver couples with what it moves, in both directions. How a solver uses them in a step:
//
//     bodies.accelerate(gravity, dt);                     // V of each body without the material's forces
//     shares.update(topology, bodies.solids(), voxel);    // phi_s: world/rigid_shares.h
//     for each body b: bodies.motion(b), bodies.inverse_mass(b), bodies.center(b)  // J M^-1 J^T in the solver's matrix
//     bodies.push(b, impulse);                            // dt F of (5.23), document 000
//     bodies.move(frame_at_the_end, dt);                  // contacts, hinges, motors; new places
//
// Six numbers describe a motion or an impulse: along x, y, z, and about them through the centre of mass, in the axes of
// the world. `lever()` is a row of J^T, without the share: the velocity of a point along an axis is lever . motion, and
// an impulse along the axis at this point is lever * impulse (the moment is x cross the force; (5.21) and (5.22) have
// it the other way round). `inverse_mass` is what hinges and fixed axes leave free: a wheel on its axle does not give
// way to pressure as one that floats, and the solve knows it.
//
// `solids()` answers where a body is (signed distance, velocity at a point, what it carried along);
// Solids::set_bodies() of world/ lets everything that meets colliders meet bodies too.
//
// A body's state is its motion and nothing else (see bullet_world.h): state() and restore() resume exactly.
#pragma once

#include "spindrift/bodies/bullet_world.h"
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
// What a velocity along an axis at `arm` from the centre of mass is made of.
inline Vec6d lever(const Vec3d& arm, int axis)
{
    const Vec3d unit = Vec3d::Unit(axis);
    return six(unit, arm.cross(unit));
}

class Bodies {
  public:
    // The loaded shapes of a body: its own and those of its parts, in their order.
    using Shapes = std::vector<Shape>;
    Bodies(const std::vector<BodyParams>& params, const std::vector<Shapes>& shapes, const DomainParams& domain,
           const std::vector<Shape>& colliders, float fps = 24);
    Bodies(const Bodies&) = delete;
    // Loads the shapes of bodies that are not part of a scene; see shapes_of() in scene/shapes.h.
    static std::vector<Shapes> shapes_of(const std::vector<BodyParams>& params);

    // Everything where the scene has it. Throws bad_input for a body that starts, or is released, inside something
    // else; `where` says where each of them is in the scene.
    void start(float frame, const std::vector<std::string>& where = {});

    bool empty() const { return solids_.empty(); }
    size_t size() const { return solids_.size(); }
    const std::vector<RigidSolid>& solids() const { return solids_; }
    const std::string& name(size_t b) const { return names_[b]; }
    const RigidMotion& place(size_t b) const { return motion_[b]; }
    const Vec3d& center(size_t b) const { return motion_[b].position; }
    double mass(size_t b) const { return masses_[b].mass; }
    double volume(size_t b) const { return masses_[b].volume; }
    // About the centre of mass, in the axes of the world [kg m2].
    Mat3d inertia(size_t b) const;
    Mat6d inverse_mass(size_t b) const; // zero for a body that is held
    // Whether it is not yet released: it moves by its keyframes alone, as a collider does.
    bool held(size_t b) const { return frame_ < static_cast<float>(params_[b].release); }
    Vec6d motion(size_t b) const;
    // Momentum [kg m/s], and angular momentum about the centre of mass.
    Vec6d momentum(size_t b) const;
    // The largest component of the velocity of any point of any body [m/s].
    float speed() const;
    // The same of those that come as near to a box as `margin` [m] within so many seconds.
    float speed_near(const Box3f& box, float margin, float seconds) const;
    // Coulomb's coefficient, if the scene has one.
    std::optional<float> friction(size_t b) const { return params_[b].friction; }

    // Changes the motion by an impulse [N s, N m s].
    void push(size_t b, const Vec6d& impulse);
    void accelerate(const Vec3f& acceleration, double dt);
    // Lets `dt` seconds pass until a moment, in frames.
    void move(float to_frame, double dt);

    const std::vector<RigidMotion>& state() const { return motion_; }
    void restore(std::vector<RigidMotion> motion, float frame);

  private:
    struct Mass {
        double mass, volume;
        Mat3d inertia; // in the body's own axes
    };
    void place_solids();
    RigidMotion motion_while_held(size_t b, float frame) const;
    void expect_room(float frame, const std::vector<std::string>& where) const;
    Eigen::Matrix<double, 6, Eigen::Dynamic> freedom(size_t b) const;

    std::vector<BodyParams> params_;
    std::vector<std::string> names_;
    std::vector<RigidSolid> solids_;
    std::vector<Mass> masses_;
    std::vector<RigidMotion> start_, motion_; // start_: before any keyframe
    std::vector<Motion> keyframes_;           // until each is released
    float fps_;
    std::vector<BulletWorld::Body> definitions_;
    std::unique_ptr<BulletWorld> world_;
    float frame_ = 0;
};

} // namespace spindrift
