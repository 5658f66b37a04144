#include "spindrift/liquid/surface_solids.h"

namespace spindrift {

// Distances of SolidCells are exact up to three cells. What is nearer to the cell's centre than that may be nearer
// still to a point of the cell, and may have moved since.
bool SurfaceSolids::far(const Vec3f& x) const
{
    constexpr float kNear = 2.9f; // [cells]
    const Vec3f p = x / voxel_;
    const Vec3i cell(floor_int(p.x()), floor_int(p.y()), floor_int(p.z()));
    const int index = topology_.find(tile_of_cell(cell));
    if (index == topology_.tile_count()) return false;
    const SolidTile* tile = cells_.tile(index);
    return !tile || tile->distance[offset_of_cell(cell)] > kNear;
}

float SurfaceSolids::exact_distance(const Vec3f& x) const
{
    const float d = std::min(solids_.collider_distance(x), solids_.body_distance(x));
    return solids_.has_sheets() ? std::min(d, solids_.sheet_distance(x) - surface_voxel_) : d;
}

float SurfaceSolids::distance(const Vec3f& x) const { return far(x) ? kInfinity : exact_distance(x); }

Vec3f SurfaceSolids::normal(const Vec3f& x) const
{
    const float step = 0.05f * surface_voxel_;
    const auto slope = [&](const Vec3f& at) {
        Vec3f n;
        for (int a = 0; a < 3; ++a) {
            const Vec3f e = step * Vec3f::Unit(a);
            n[a] = exact_distance(at + e) - exact_distance(at - e);
        }
        return n;
    };
    Vec3f n = slope(x);
    if (n.norm() < step) n = slope(x + step * kGenericDirection); // in the middle of a plate
    const float length = n.norm();
    return length > 0 && std::isfinite(length) ? Vec3f(n / length) : Vec3f(Vec3f::UnitY());
}

// The nearest side of a thin solid may be the one that the liquid is not on.
Vec3f SurfaceSolids::surface_point(const Vec3f& x, const Vec3f& mesh_normal) const
{
    const float step = 0.25f * surface_voxel_;
    constexpr int kMostSteps = 8;
    Vec3f liquid = x, at = x;
    for (int i = 0; i < kMostSteps && exact_distance(liquid) < 0; ++i) liquid -= step * mesh_normal;
    const Vec3f nearest = normal(x);
    if (normal(liquid).dot(nearest) < 0)
        for (int i = 0; i < kMostSteps && exact_distance(at) < 0 && normal(at).dot(nearest) > 0; ++i)
            at -= step * nearest;
    for (int i = 0; i < 3; ++i) {
        // Of a sheet, the sheet itself, not the voxel on either side of it.
        const float d = std::min(solids_.collider_distance(at), solids_.body_distance(at));
        if (std::abs(d) < 1e-3f * surface_voxel_) break;
        at -= d * normal(at);
    }
    return at;
}

Vec3f SurfaceSolids::kept_on_side(const Vec3f& x, const Vec3f& from) const
{
    if (!solids_.has_sheets() || far(x) || !solids_.parted(x, solids_.moved_with_sheet(from))) return from;
    return solids_.moved_back_with_sheet(x);
}

} // namespace spindrift
