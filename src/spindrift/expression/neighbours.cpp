#include "spindrift/expression/neighbours.h"

#include "spindrift/base/parallel.h"

namespace spindrift {

namespace {
constexpr size_t kLeafPoints = 16;
} // namespace

NeighbourTree::NeighbourTree(const std::vector<Vec3f>& positions) : points_(positions.size())
{
    constexpr float far_away = std::numeric_limits<float>::max();
    parallel_for(
        points_.size(),
        [&](size_t i) {
            const bool finite = positions[i].allFinite();
            points_[i] = {finite ? positions[i] : Vec3f::Constant(far_away), static_cast<uint32_t>(i)};
        },
        4096);
    while ((points_.size() >> depth_) > kLeafPoints) ++depth_;
    boxes_.resize((size_t(2) << depth_) - 1);
    for (int level = 0; level <= depth_; ++level)
        parallel_for(size_t(1) << level, [&](size_t node) {
            const size_t begin = begin_of(level, node), end = begin_of(level, node + 1);
            Box3f bounds;
            for (size_t k = begin; k < end; ++k) bounds.add(points_[k].position);
            boxes_[(size_t(1) << level) - 1 + node] = bounds;
            if (level == depth_ || begin == end) return;
            int axis = 0;
            bounds.size().maxCoeff(&axis);
            const auto at = [&](size_t k) { return points_.begin() + static_cast<std::ptrdiff_t>(k); };
            std::nth_element(at(begin), at(begin_of(level + 1, 2 * node + 1)), at(end),
                             [axis](const Point& a, const Point& b) { return a.position[axis] < b.position[axis]; });
        });
}

size_t NeighbourTree::count(const Vec3f& x, float radius) const
{
    return radius >= 0 && x.allFinite() ? count(0, 0, x, radius * radius) : 0;
}

// Counts a box inside the radius without descending into it.
size_t NeighbourTree::count(int level, size_t node, const Vec3f& x, float radius2) const
{
    const Box3f& bounds = box(level, node);
    const size_t begin = begin_of(level, node), end = begin_of(level, node + 1);
    if (begin == end || nearest2(bounds, x) > radius2) return 0;
    const float farthest2 = (x - bounds.min).cwiseAbs().cwiseMax((x - bounds.max).cwiseAbs()).squaredNorm();
    if (farthest2 * 1.00001f < radius2) return end - begin;
    if (level < depth_) return count(level + 1, 2 * node, x, radius2) + count(level + 1, 2 * node + 1, x, radius2);
    size_t found = 0;
    for (size_t k = begin; k < end; ++k) found += (points_[k].position - x).squaredNorm() <= radius2;
    return found;
}

} // namespace spindrift
