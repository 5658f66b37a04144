// Distance to solids interpolated between cell centres by a quadratic spline, which has a continuous gradient.
#pragma once

#include "spindrift/turbulence/sampler.h"

namespace spindrift {

struct Distance {
    float value; // [m]
    Vec3f slope;
};

// Distances at the samples of a tile.
struct TileDistances {
    alignas(64) float value[kTileCells], slope[3][kTileCells];
};

// A copy of a flow's distance field, which may outlive the flow.
class SolidDistance {
  public:
    // `distance` is null if there are no solids.
    void set(const Field<float>* distance, const Topology& topology, float voxel);
    bool any() const { return any_; }
    const Field<float>& field() const { return field_; }
    // At one point [m]; exact if less than `near`. Create the sampler with sampler().
    Distance at(const Vec3f& x, float near, Sampler& sampler) const;
    Sampler sampler() const { return Sampler(field_.topology()); }
    size_t bytes() const { return field_.bytes(); }

    // The cells around a box [m], for sampling many points in it.
    class Patch {
      public:
        // Returns false if no solid is nearer than `near`.
        bool gather(const SolidDistance& solids, const Vec3f& low, const Vec3f& high, float near);
        // Samples 8 x 8 x 8 points from `first`, which must lie in the box.
        void sample(const Vec3f& first, float spacing, TileDistances& out) const;

      private:
        // A line of cells along z.
        const float* line(int x, int y) const
        {
            return values_.data() + static_cast<ptrdiff_t>(x * size_.y() + y) * size_.z();
        }
        float voxel_ = 1;
        Vec3i first_ = Vec3i::Zero(), size_ = Vec3i::Zero();
        std::vector<float> values_;
    };

  private:
    // At a cell; if its tile is missing, at the nearest cell of the tile `home`.
    float at_cell(const Vec3i& cell, const Vec3i& home, Sampler& sampler) const;
    // Distances are clamped to this value.
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
