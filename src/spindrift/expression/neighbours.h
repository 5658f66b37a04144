// Fixed-radius neighbour search by a balanced k-d tree that splits boxes across their longest side. There is no cell
// size, so the cost follows the number of neighbours found, for any radius, dense clumps and far strays. Neighbours
// come in an order that depends only on the positions.
#pragma once

#include "spindrift/base/math.h"

#include <vector>

namespace spindrift {

class NeighbourTree {
  public:
    // Copies the positions. Non-finite points have no neighbours.
    explicit NeighbourTree(const std::vector<Vec3f>& positions);

    // Number of points within the radius of x, including x itself if it is in the set.
    size_t count(const Vec3f& x, float radius) const;

    // Calls f(i, position) for each point within the radius until f returns false.
    template <class F> void for_each(const Vec3f& x, float radius, const F& f) const
    {
        if (radius >= 0 && x.allFinite()) visit(0, 0, x, radius * radius, f);
    }

  private:
    struct Point {
        Vec3f position;
        uint32_t index;
    };
    size_t begin_of(int level, size_t node) const { return points_.size() * node >> level; }
    const Box3f& box(int level, size_t node) const { return boxes_[(size_t(1) << level) - 1 + node]; }

    template <class F> bool visit(int level, size_t node, const Vec3f& x, float radius2, const F& f) const
    {
        if (nearest2(box(level, node), x) > radius2) return true;
        if (level < depth_)
            return visit(level + 1, 2 * node, x, radius2, f) && visit(level + 1, 2 * node + 1, x, radius2, f);
        for (size_t k = begin_of(level, node), end = begin_of(level, node + 1); k < end; ++k)
            if ((points_[k].position - x).squaredNorm() <= radius2 && !f(points_[k].index, points_[k].position))
                return false;
        return true;
    }
    size_t count(int level, size_t node, const Vec3f& x, float radius2) const;
    static float nearest2(const Box3f& box, const Vec3f& x)
    {
        return (x.cwiseMax(box.min).cwiseMin(box.max) - x).squaredNorm();
    }

    int depth_ = 0;             // level of the leaves
    std::vector<Point> points_; // in leaf order
    std::vector<Box3f> boxes_;  // level by level
};

} // namespace spindrift
