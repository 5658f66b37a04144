// Points within a radius of a point, by a tree of boxes that are halved across their longest side. It asks for no cell
// size, so that any radius, dense clumps and far strays cost what their neighbours cost. The order in which neighbours
// come depends on nothing but the positions.
#pragma once

#include "spindrift/base/math.h"

#include <vector>

namespace spindrift {

class NeighbourTree {
  public:
    // Keeps a copy of the positions. Points that are not finite have no neighbours.
    explicit NeighbourTree(const std::vector<Vec3f>& positions);

    // Points within the radius of x, x itself included if it is one of them.
    size_t count(const Vec3f& x, float radius) const;

    // Calls f(i, position) for each of them, until f returns false.
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

    int depth_ = 0;             // of the leaves
    std::vector<Point> points_; // in the order of the leaves
    std::vector<Box3f> boxes_;  // level by level
};

} // namespace spindrift
