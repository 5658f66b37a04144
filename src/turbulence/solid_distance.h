// The distance to solids between cell centres, smooth enough to be differentiated once: a quadratic spline.
#pragma once

#include "turbulence/sampler.h"

namespace spindrift {

struct Distance {
    float value; // [m]
    Vec3f slope;
};

// get(cell) is the distance at a cell's centre; the point is in cells.
template <class Get> Distance spline_distance(const Vec3f& point, float voxel, const Get& get)
{
    Vec3i nearest;
    float weight[3][3], slope[3][3];
    for (int a = 0; a < 3; ++a) {
        nearest[a] = floor_int(point[a]);
        const float f = point[a] - static_cast<float>(nearest[a]) - 0.5f;
        weight[a][0] = 0.5f * (0.5f - f) * (0.5f - f), slope[a][0] = f - 0.5f;
        weight[a][1] = 0.75f - f * f, slope[a][1] = -2 * f;
        weight[a][2] = 0.5f * (0.5f + f) * (0.5f + f), slope[a][2] = f + 0.5f;
    }
    Distance out{0, Vec3f::Zero()};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 3; ++k) {
                const float d = get(Vec3i(nearest.x() + i - 1, nearest.y() + j - 1, nearest.z() + k - 1));
                const float wx = weight[0][i], wy = weight[1][j], wz = weight[2][k];
                out.value += d * wx * wy * wz;
                out.slope += d * Vec3f(slope[0][i] * wy * wz, wx * slope[1][j] * wz, wx * wy * slope[2][k]);
            }
    out.slope /= voxel;
    return out;
}

// A copy of a flow's distance field, which outlives it.
class SolidDistance {
  public:
    // Without solids, `distance` is null.
    void set(const Field<float>* distance, const Topology& topology, float voxel);
    bool any() const { return any_; }
    const Field<float>& field() const { return field_; }
    // At one point [m]; exact where it is less than `near`. Make the sampler with sampler().
    Distance at(const Vec3f& x, float near, Sampler& sampler) const;
    Sampler sampler() const { return Sampler(field_.topology()); }
    size_t bytes() const { return field_.bytes(); }

    // The cells around a box [m], for many points in it.
    class Patch {
      public:
        // False if no solid is nearer than `near`.
        bool gather(const SolidDistance& solids, const Vec3f& low, const Vec3f& high, float near);
        Distance at(const Vec3f& x) const;

      private:
        float get(const Vec3i& cell) const
        {
            const Vec3i c = cell - first_;
            return values_[static_cast<size_t>((c.x() * size_.y() + c.y()) * size_.z() + c.z())];
        }
        float voxel_ = 1;
        Vec3i first_ = Vec3i::Zero(), size_ = Vec3i::Zero();
        std::vector<float> values_;
    };

  private:
    // At a cell, or where its tile is missing at the nearest cell of the tile `home`.
    float at_cell(const Vec3i& cell, const Vec3i& home, Sampler& sampler) const;
    // Beyond it nothing depends on the distance.
    float far(float near) const { return near + 4 * voxel_; }
    Vec3i cell_of(const Vec3f& x) const
    {
        const Vec3f p = x / voxel_;
        return {floor_int(p.x()), floor_int(p.y()), floor_int(p.z())};
    }

    bool any_ = false;
    float voxel_ = 1;
    Field<float> field_;
};

} // namespace spindrift
