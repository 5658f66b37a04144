// Contacts, hinges and motors, by the Bullet library in double precision. This is the only room, and bullet_world.cpp
// the only file, that knows of it.
//
// A step is a function of the bodies' motion alone: Bullet's world is built anew for each, so that nothing that it
// remembers (contacts, impulses to start from, the order of pairs) has to be saved for a shot that is resumed. It costs
// some microseconds a body, and stacks need more iterations for want of a good start.
//
// Where it is weak: other bodies touch the convex hull of a mesh, not its hollows (make it of parts instead). A
// collider that is a mesh has a surface but no inside. A collider that grows pushes bodies out of its way, but gives
// them no speed by that.
#pragma once

#include "spindrift/bodies/params.h"
#include "spindrift/world/params.h"
#include "spindrift/world/rigid_solid.h"

#include <functional>
#include <memory>

namespace spindrift {

class BulletWorld {
  public:
    struct Body {
        const RigidSolid* solid = nullptr; // its shapes
        double mass = 1;
        Vec3d inertia = Vec3d::Ones();                                 // about its principal axes [kg m2]
        Eigen::Quaterniond principal = Eigen::Quaterniond::Identity(); // from these to the solid's own axes
        double friction = 0.5, restitution = 0;
        Vec3d free_to_move = Vec3d::Ones(), free_to_turn = Vec3d::Ones();
        struct Hinge {
            Vec3d anchor, axis;                 // in the world
            Vec3d anchor_in_body, axis_in_body; // from the centre of mass, in the solid's own axes
            double speed, torque;               // of the motor [rad/s, N m]
        };
        std::optional<Hinge> hinge;
        // Until this frame it is where `held` has it, and pushes others as a collider does.
        float release = -kInfinity;
        std::function<RigidMotion(float frame)> held = {};
    };
    // The closed sides of the domain and the colliders stand in their way.
    BulletWorld(std::vector<Body> bodies, const DomainParams& domain, std::vector<Shape> colliders);
    ~BulletWorld();

    // Moves the bodies on by `dt` seconds, while colliders go from where they are at one frame to another. What becomes
    // of those that are held is unspecified.
    void step(std::vector<RigidMotion>& bodies, float from_frame, float to_frame, double dt) const;

    // Two things that overlap, and by how much [m], all bodies taken to be free; `other` is a body, or -1 for a wall or
    // collider.
    struct Overlap {
        int body, other;
        double depth;
    };
    std::vector<Overlap> overlaps(const std::vector<RigidMotion>& bodies, float frame) const;

  private:
    struct Scene;
    class Moment;
    std::unique_ptr<Scene> scene_;
};

} // namespace spindrift
