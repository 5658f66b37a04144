#include "spindrift/field/sight.h"

namespace spindrift {

FaceMask shifted(FaceMask mask, const Vec3i& step)
{
    FaceMask out = 0;
    for (int slot = 0; slot < 27; ++slot) {
        const Vec3i way(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1), before = way - step;
        for (int a = 0; a < 3; ++a)
            if (in_face_mask(a, way) && in_face_mask(a, before) && (mask >> face_bit(a, before) & 1))
                out |= FaceMask(1) << face_bit(a, way);
    }
    return out;
}

CellMask27 shifted(CellMask27 mask, const Vec3i& step)
{
    CellMask27 out = 0;
    for (int slot = 0; slot < 27; ++slot) {
        const Vec3i before = Vec3i(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1) - step;
        if (before.cwiseAbs().maxCoeff() <= 1 && (mask >> neighbour_slot(before.x(), before.y(), before.z()) & 1))
            out |= 1u << slot;
    }
    return out;
}

} // namespace spindrift
