// The samples of a grid around a place that are on its own side of thin walls, with weights that add up to 1: what the
// place is shared out to, or made of.
#pragma once

#include "spindrift/field/mac.h"

namespace spindrift {

struct SeenSamples {
    CellMask27 cells = 0; // around a cell, see Sight
    FaceMask faces = 0;
    std::optional<Vec3i> home; // the way from that cell to the one that the place belongs to
};
// What a place [m] sees around a cell at most one cell away from it.
SeenSamples seen_samples(const Sight& sight, const Topology& topology, float voxel, const Vec3f& x,
                         const Vec3i& around);
// True if every place in a cell sees all samples around it.
bool sees_all_samples(const Sight& sight, int tile, int cell);

constexpr int kCenters = -1; // in place of an axis: cell centres instead of faces

// Calls body(step, weight, way) for the samples of the eight around a place that it sees: the step from its cell, and
// the way from the place in cells. `f` is the place within the cell, 0 to 1. A place that sees no centre among the
// eight has the one it belongs to, and one that sees nothing has none.
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
    constexpr float kLeast = 1e-3f; // weight: less is next to nothing
    if (weights >= kLeast)
        for (int k = 0; k < count; ++k) body(samples[k].step, samples[k].weight / weights, samples[k].way);
    else if (axis == kCenters && seen.home && seen.home->cwiseAbs().maxCoeff() <= 1)
        body(*seen.home, 1.0f, Vec3f(seen.home->cast<float>() + Vec3f::Constant(0.5f) - f));
}

// Means of the faces, or cells, that a place [m] sees; nothing if it sees none.
std::optional<Vec3f> mean_seen(const MacField& field, const SeenSamples& seen, float voxel, const Vec3f& x);
std::optional<float> mean_seen(const Field<float>& field, const SeenSamples& seen, float voxel, const Vec3f& x);

} // namespace spindrift
