// Scene parameters of a spray.
#pragma once

#include "spindrift/scene/frame_span.h"
#include "spindrift/scene/shapes.h"
#include "spindrift/spray/collision.h"
#include "spindrift/spray/whitewater.h"

namespace spindrift {

// A source of droplets.
struct EmitterParams : ShapeParams, FrameSpan {
    enum class From { point, disc, curve, surface };
    From from = From::point;
    std::vector<std::vector<float>> points; // curve
    Vec3f direction = Vec3f(0, 1, 0);
    float spread = 0; // half angle of the cone around the direction
    float rate = 1000, speed = 1, speed_variation = 0;
    float inherit = 1; // share of the emitter's velocity added to the droplets'
    float droplet_radius = 1e-3f, droplet_variation = 0;

    void visit(ParamVisitor& v);
    // The shape that moves the emitter. For a point, a disc and a curve it only provides the centre and the keyframes.
    ShapeParams carrier() const;
};

// Solids that droplets collide with.
struct SprayColliderParams : ShapeParams {
    enum class Contact { bounce, stick, die };
    Contact contact = Contact::bounce;
    float restitution = 0.3f, friction = 0.1f;
    void visit(ParamVisitor& v);
};

// Eddies in the air: curl noise added to the wind.
struct GustParams {
    float strength = 0, size = 0.5f, change = 1;
    void visit(ParamVisitor& v);
};

// Droplets outside this box are removed. Without it there is no limit.
struct SprayDomainParams {
    std::optional<Vec3f> min, max;
    void visit(ParamVisitor& v);
    bool contains(const Vec3f& x) const { return !min || Box3f{*min, *max}.contains(x); }
};

struct SprayParams : CollisionRules {
    enum class Drag { newton, stokes };
    std::string name = "spray"; // of the stage, for messages
    Vec3f gravity = Vec3f(0, -9.81f, 0);
    float drag = 1e-4f;
    Drag drag_law = Drag::newton;
    Vec3f wind = Vec3f::Zero();
    GustParams gusts;
    int substeps = 2;
    bool collisions = true;
    float rest_time = 1.0f / 24;
    float search = 4;
    SprayDomainParams domain;
    int seed = 1;
    std::vector<EmitterParams> emitters;
    WhitewaterParams whitewater;
    std::vector<SprayColliderParams> colliders;

    void visit(ParamVisitor& v);
};

} // namespace spindrift
