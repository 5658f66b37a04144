// Trilinear interpolation anywhere in a sparse grid, using only samples that exist.
#pragma once

#include "spindrift/field/mac.h"

namespace spindrift {

// Caches the last tile, so use one sampler per tile or thread. Points are in cells.
class Sampler {
  public:
    explicit Sampler(const Topology& topology) : topology_(&topology), index_(topology.tile_count()) {}

    // The cell that contains a point; its tile may be missing.
    Topology::Cell cell_at(const Vec3f& point)
    {
        const Vec3i cell = floor_of(within_reach(point));
        return {find(tile_of_cell(cell)), offset_of_cell(cell)};
    }

    // Calls body(tile, offset, weight) for those of the eight samples around a point whose tiles exist. Samples lie at
    // `place` within their cells.
    template <class Body> void for_each_sample(const Vec3f& point, const Vec3f& place, const Body& body)
    {
        const Vec3f p = within_reach(point) - place;
        const Vec3i low = floor_of(p);
        const Vec3f share = p - low.cast<float>();
        for (int corner = 0; corner < 8; ++corner) {
            const Vec3i step(corner >> 2, corner >> 1 & 1, corner & 1), cell = low + step;
            const int tile = find(tile_of_cell(cell));
            if (tile == topology_->tile_count()) continue;
            const float weight = (step.x() ? share.x() : 1 - share.x()) * (step.y() ? share.y() : 1 - share.y()) *
                                 (step.z() ? share.z() : 1 - share.z());
            body(tile, offset_of_cell(cell), weight);
        }
    }

    // Components without any existing face near the point take the value of `otherwise`.
    Vec3f velocity(const MacField& field, const Vec3f& point, const Vec3f& otherwise = Vec3f::Zero())
    {
        Vec3f out;
        for (int a = 0; a < 3; ++a) {
            float sum = 0, weights = 0;
            for_each_sample(point, 0.5f * (Vec3f::Ones() - Vec3f::Unit(a)), [&](int tile, int offset, float weight) {
                sum += weight * field.u[a].tile(tile)[offset], weights += weight;
            });
            out[a] = weights > 1e-6f ? sum / weights : otherwise[a];
        }
        return out;
    }

    // Interpolates values at cell centres, weighted by `open` (0 or 1); `otherwise` if all weights are zero.
    float value(const Field<float>& field, const Field<float>& open, const Vec3f& point, float otherwise)
    {
        float sum = 0, weights = 0;
        for_each_sample(point, Vec3f::Constant(0.5f), [&](int tile, int offset, float weight) {
            const float counts = weight * open.tile(tile)[offset];
            sum += counts * field.tile(tile)[offset], weights += counts;
        });
        return weights > 1e-6f ? sum / weights : otherwise;
    }

  private:
    static Vec3i floor_of(const Vec3f& p) { return {floor_int(p.x()), floor_int(p.y()), floor_int(p.z())}; }
    static Vec3f within_reach(const Vec3f& p) { return p.cwiseMax(-kReach).cwiseMin(kReach); }
    int find(const Vec3i& tile)
    {
        if (tile != tile_) tile_ = tile, index_ = topology_->find(tile);
        return index_;
    }

    static constexpr float kReach = static_cast<float>(kTileReach - 2) * kTileSize;
    const Topology* topology_;
    Vec3i tile_ = Vec3i::Constant(std::numeric_limits<int>::max());
    int index_;
};

} // namespace spindrift
