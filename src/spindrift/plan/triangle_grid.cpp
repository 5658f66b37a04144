#include "spindrift/plan/triangle_grid.h"

#include "spindrift/plan/plane.h"

namespace spindrift {

namespace {

// Whether a box lies entirely on the outer side of the edge from a to b.
bool box_outside(const Vec2d& a, const Vec2d& b, const Vec2d& middle, double half)
{
    const Vec2d along = b - a;
    return cross(along, middle - a) + half * along.cwiseAbs().sum() < 0;
}

} // namespace

TriangleGrid::TriangleGrid(const FreeSpace& space)
{
    high_ = Vec2d::Constant(-std::numeric_limits<double>::infinity()), low_ = -high_;
    for (const auto& triangle : space.triangulation().triangles) {
        const auto [a, b, c] = triangle.corner;
        triangles_.push_back({space.point(a), space.point(b), space.point(c)});
        const Corners& t = triangles_.back();
        low_ = low_.cwiseMin(t.a).cwiseMin(t.b).cwiseMin(t.c), high_ = high_.cwiseMax(t.a).cwiseMax(t.b).cwiseMax(t.c);
    }
    if (triangles_.empty()) low_ = high_ = Vec2d::Zero();
    const Vec2d size = (high_ - low_).cwiseMax(1e-3);
    const double cell = std::max(std::sqrt(size.x() * size.y() / (2.0 * static_cast<double>(triangles_.size() + 8))),
                                 size.maxCoeff() / 4096);
    inverse_cell_ = 1 / cell;
    columns_ = static_cast<int>(size.x() * inverse_cell_) + 1, rows_ = static_cast<int>(size.y() * inverse_cell_) + 1;
    const double half = 0.5 * cell * (1 + 1e-6);
    const auto for_each_cell = [&](const auto& body) {
        for (size_t i = 0; i < triangles_.size(); ++i) {
            const auto& [a, b, c] = triangles_[i];
            const Vec2d from = (a.cwiseMin(b).cwiseMin(c) - low_) * inverse_cell_ - Vec2d::Constant(1e-6);
            const Vec2d to = (a.cwiseMax(b).cwiseMax(c) - low_) * inverse_cell_ + Vec2d::Constant(1e-6);
            for (int y = std::max(0, static_cast<int>(from.y())); y <= std::min(rows_ - 1, static_cast<int>(to.y()));
                 ++y)
                for (int x = std::max(0, static_cast<int>(from.x()));
                     x <= std::min(columns_ - 1, static_cast<int>(to.x())); ++x) {
                    const Vec2d middle = low_ + cell * Vec2d(x + 0.5, y + 0.5);
                    if (box_outside(a, b, middle, half) || box_outside(b, c, middle, half) ||
                        box_outside(c, a, middle, half))
                        continue;
                    body(static_cast<size_t>(y) * columns_ + x, static_cast<int>(i));
                }
        }
    };
    start_.assign(static_cast<size_t>(columns_) * rows_ + 1, 0);
    for_each_cell([&](size_t at, int) { ++start_[at + 1]; });
    for (size_t c = 1; c < start_.size(); ++c) start_[c] += start_[c - 1];
    in_cells_.resize(start_.back());
    std::vector<uint32_t> next(start_.begin(), start_.end() - 1);
    for_each_cell([&](size_t at, int triangle) { in_cells_[next[at]++] = triangle; });
}

int TriangleGrid::find(const Vec2d& p) const
{
    if (!((p.array() >= low_.array()).all() && (p.array() <= high_.array()).all())) return -1; // also for NaN
    const Vec2d q = (p - low_) * inverse_cell_;
    const int x = std::min(columns_ - 1, static_cast<int>(q.x())), y = std::min(rows_ - 1, static_cast<int>(q.y()));
    const size_t at = static_cast<size_t>(y) * columns_ + x;
    for (uint32_t k = start_[at]; k < start_[at + 1]; ++k) {
        const auto& [a, b, c] = triangles_[in_cells_[k]];
        if (cross(b - a, p - a) >= 0 && cross(c - b, p - b) >= 0 && cross(a - c, p - c) >= 0) return in_cells_[k];
    }
    return -1;
}

} // namespace spindrift
