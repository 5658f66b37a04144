// Scene parameters of colliders and of the domain.
#pragma once

#include "spindrift/scene/shapes.h"

namespace spindrift {

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
