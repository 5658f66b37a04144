// Wraps a simulation field as a volume that expressions can sample.
#pragma once

#include "spindrift/field/tiles.h"

#include <functional>

namespace spindrift {

// Trilinear between cell centres; background outside the tiles. The field must outlive the function.
template <class T> std::function<T(const Vec3f&)> field_sampler(const Field<T>& field, float voxel)
{
    return [&field, voxel](const Vec3f& x) -> T {
        const Vec3f at = x / voxel - Vec3f::Constant(0.5f);
        if (!(at.array().abs() < static_cast<float>(kTileReach)).all()) return field.background();
        const Vec3i low(floor_int(at.x()), floor_int(at.y()), floor_int(at.z()));
        const Vec3f w = at - low.cast<float>();
        const auto along_z = [&](int dx, int dy) -> T {
            const Vec3i cell = low + Vec3i(dx, dy, 0);
            return (1 - w.z()) * field.at(cell) + w.z() * field.at(cell + Vec3i(0, 0, 1));
        };
        const auto across = [&](int dx) -> T { return (1 - w.y()) * along_z(dx, 0) + w.y() * along_z(dx, 1); };
        return (1 - w.x()) * across(0) + w.x() * across(1);
    };
}

} // namespace spindrift
