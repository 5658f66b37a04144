// Interpolation weights restricted to samples on the same side of thin walls, normalised to 1. Used to splat and to
// interpolate.
#pragma once

#include "spindrift/field/mac.h"

namespace spindrift {

struct SeenSamples {
    CellMask27 cells = 0; // around a reference cell, see Sight
    FaceMask faces = 0;
    std::optional<Vec3i> home; // step from the reference cell to the cell that the position belongs to
};
// Visibility from a position [m] of the samples around a reference cell at most one cell away.
SeenSamples seen_samples(const Sight& sight, const Topology& topology, float voxel, const Vec3f& x,
                         const Vec3i& around);
// True if every position in a cell sees all samples around it.
bool sees_all_samples(const Sight& sight, int tile, int cell);

constexpr int kCenters = -1; // in place of an axis: cell centres instead of faces

// Calls body(step, weight, way) for those of the eight samples around a position that it sees: `step` leads from its
// cell to the sample's cell, `way` from the position to the sample [cells]. `f` is the position within the cell, 0 to
// 1. If no cell centre is visible, uses the cell that the position belongs to, if any.
template <class Body> void for_each_seen(const SeenSamples& seen, int axis, const Vec3f& f, const Body& body)
{
    struct Sample {
        Vec3i step;
        float weight;
        Vec3f way;
    };
    Sample samples[8];
    int count = 0;
    float weights = 0;
    Vec3f among = f - Vec3f::Constant(0.5f);
    if (axis != kCenters) among[axis] += 0.5f;
    const Vec3i first(floor_int(among.x()), floor_int(among.y()), floor_int(among.z()));
    const Vec3f share = among - first.cast<float>();
    for (int k = 0; k < 8; ++k) {
        const Vec3i up(k >> 2, k >> 1 & 1, k & 1), step = first + up;
        const bool in_sight = axis == kCenters ? step.cwiseAbs().maxCoeff() <= 1 &&
                                                     (seen.cells >> neighbour_slot(step.x(), step.y(), step.z()) & 1)
                                               : in_face_mask(axis, step) && (seen.faces >> face_bit(axis, step) & 1);
        if (!in_sight) continue;
        float w = 1;
        for (int b = 0; b < 3; ++b) w *= up[b] ? share[b] : 1 - share[b];
        samples[count++] = {step, w, up.cast<float>() - share};
        weights += w;
    }
    constexpr float kLeast = 1e-3f; // smaller weights are numerically zero
    if (weights >= kLeast)
        for (int k = 0; k < count; ++k) body(samples[k].step, samples[k].weight / weights, samples[k].way);
    else if (axis == kCenters && seen.home && seen.home->cwiseAbs().maxCoeff() <= 1)
        body(*seen.home, 1.0f, Vec3f(seen.home->cast<float>() + Vec3f::Constant(0.5f) - f));
}

// Weighted means of the visible faces or cell centres at a position [m]; nothing if none is visible.
std::optional<Vec3f> mean_seen(const MacField& field, const SeenSamples& seen, float voxel, const Vec3f& x);
std::optional<float> mean_seen(const Field<float>& field, const SeenSamples& seen, float voxel, const Vec3f& x);

} // namespace spindrift
