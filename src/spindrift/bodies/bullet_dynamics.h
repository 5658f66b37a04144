// Contacts, hinges and motors of rigid bodies, by the Bullet library in double precision. bullet_dynamics.cpp is the
// only file that includes Bullet.
//
// A step is a function of the bodies' motion alone: the Bullet simulation is rebuilt for each step, so that none of its
// internal state (contacts, warm-start impulses, order of pairs) has to be saved to resume a shot. This costs some
// microseconds per body, and stacks need more iterations for lack of a warm start.
//
// Limits: other bodies collide with the convex hull of a mesh (build concave bodies from parts). A mesh collider has a
// surface but no interior. A growing collider pushes bodies away but gives them no velocity.
#pragma once

#include "spindrift/bodies/params.h"
#include "spindrift/world/params.h"
#include "spindrift/world/rigid_solid.h"

#include <functional>
#include <memory>

namespace spindrift {

class BulletDynamics {
  public:
    struct Body {
        const RigidSolid* solid = nullptr; // the body's shapes
        double mass = 1;
        Vec3d inertia = Vec3d::Ones();                                 // about the principal axes [kg m2]
        Eigen::Quaterniond principal = Eigen::Quaterniond::Identity(); // from principal axes to the solid's axes
        double friction = 0.5, restitution = 0;
        Vec3d free_to_move = Vec3d::Ones(), free_to_turn = Vec3d::Ones();
        struct Hinge {
            Vec3d anchor, axis;                 // in world space
            Vec3d anchor_in_body, axis_in_body; // relative to the centre of mass, in the solid's axes
            double speed, torque;               // of the motor [rad/s, N m]
        };
        std::optional<Hinge> hinge;
        // Before this frame the body follows `held` and pushes others like a collider.
        float release = -kInfinity;
        std::function<RigidMotion(float frame)> held = {};
    };
    // Bodies collide with the closed sides of the domain and with the colliders.
    BulletDynamics(std::vector<Body> bodies, const DomainParams& domain, std::vector<Shape> colliders);
    ~BulletDynamics();

    // Advances the bodies by `dt` seconds while colliders move between the two frames. The motion of held bodies is
    // unspecified on return.
    void step(std::vector<RigidMotion>& bodies, float from_frame, float to_frame, double dt) const;

    // An overlap and its depth [m], treating all bodies as free; `other` is a body, or -1 for a wall or collider.
    struct Overlap {
        int body, other;
        double depth;
    };
    std::vector<Overlap> overlaps(const std::vector<RigidMotion>& bodies, float frame) const;

  private:
    struct Setup;
    class Simulation;
    std::unique_ptr<Setup> setup_;
};

} // namespace spindrift
