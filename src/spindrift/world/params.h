// What an artist can say about the world that liquids and smoke move in.
#pragma once

#include "spindrift/scene/shapes.h"

namespace spindrift {

struct ColliderParams : ShapeParams {
    float friction = 0; // Coulomb's: over the pressure of the liquid on the collider
    float stick = 0;    // share of its sliding that the liquid at the collider loses in a frame
    void visit(ParamVisitor& v);
};

// The box that a liquid or smoke lives in. A closed side is a wall; what crosses an open side is gone. Left out, it may
// go anywhere.
struct DomainParams {
    enum class Side { closed, open };
    std::optional<Vec3f> min, max;
    Side x_min = Side::closed, x_max = Side::closed, y_min = Side::closed;
    Side y_max = Side::closed, z_min = Side::closed, z_max = Side::closed;

    void visit(ParamVisitor& v);
    bool bounded() const { return min && max; }
    bool closed(int axis, int upper) const;
    // What of a box lies in the domain.
    Box3f clipped(const Box3f& box) const
    {
        return bounded() ? Box3f{box.min.cwiseMax(*min), box.max.cwiseMin(*max)} : box;
    }
};

} // namespace spindrift
