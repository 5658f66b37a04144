// Scene parameters of colliders and of the domain.
#pragma once

#include "spindrift/scene/frame_span.h"
#include "spindrift/scene/shapes.h"

namespace spindrift {

// A source of a liquid or of sand: a shape that is filled once at the start of the shot, or kept filled while it flows.
struct FillingParams : ShapeParams, FrameSpan {
    enum class Mode { initial, flow };
    Mode mode = Mode::initial;
    Vec3f velocity = Vec3f::Zero();
    float inherit = 1; // share of the shape's own velocity that is added to the initial velocity
    int material = 0;

    // Whether it is a flow that is kept filled at this time [frames].
    bool flows_at(float frame) const { return mode == Mode::flow && contains(frame); }

  protected:
    // All but `material`, which means something else to each, and the frames. `material_name`: "liquid".
    void visit_filling(ParamVisitor& v, const char* material_name);
};

struct ColliderParams : ShapeParams {
    float friction = 0; // Coulomb coefficient
    float stick = 0;    // share of its tangential velocity that liquid at the collider loses per frame
    void visit(ParamVisitor& v);
};

// The simulation box. Closed sides are walls; particles that cross an open side are deleted. Without min and max it is
// unbounded.
struct DomainParams {
    enum class Side { closed, open };
    std::optional<Vec3f> min, max;
    Side x_min = Side::closed, x_max = Side::closed, y_min = Side::closed;
    Side y_max = Side::closed, z_min = Side::closed, z_max = Side::closed;

    void visit(ParamVisitor& v);
    bool bounded() const { return min && max; }
    bool closed(int axis, int upper) const;
    // Intersection of a box with the domain.
    Box3f clipped(const Box3f& box) const
    {
        return bounded() ? Box3f{box.min.cwiseMax(*min), box.max.cwiseMin(*max)} : box;
    }
};

} // namespace spindrift
