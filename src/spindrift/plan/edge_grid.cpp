#include "spindrift/plan/edge_grid.h"

#include "spindrift/plan/plane.h"

namespace spindrift {

EdgeGrid::EdgeGrid(std::vector<Edge> edges) : edges_(std::move(edges))
{
    Vec2d high = Vec2d::Constant(-std::numeric_limits<double>::infinity());
    low_ = -high;
    for (const Edge& e : edges_) {
        low_ = low_.cwiseMin(e.from.cwiseMin(e.to));
        high = high.cwiseMax(e.from.cwiseMax(e.to));
    }
    if (edges_.empty()) low_ = high = Vec2d::Zero();
    const Vec2d size = (high - low_).cwiseMax(1e-3);
    // About two cells for each edge, with a limit per row, since a plan can be long and narrow.
    constexpr double most = 4096;
    const double wanted = 2.0 * static_cast<double>(edges_.size() + 8);
    cell_ = std::max({std::sqrt(size.x() * size.y() / wanted), size.maxCoeff() / most, 1e-3});
    inverse_cell_ = 1 / cell_;
    columns_ = static_cast<int>(size.x() * inverse_cell_) + 1;
    rows_ = static_cast<int>(size.y() * inverse_cell_) + 1;
    fill_cells();
    measure_empty_space();
}

void EdgeGrid::fill_cells()
{
    // Row by row and slightly wider than the edge, so that a walk through a cell's corner cannot miss it by rounding.
    const double hair = 1e-6 * cell_;
    const auto for_each_cell = [&](const auto& body) {
        for (size_t i = 0; i < edges_.size(); ++i) {
            const Edge& e = edges_[i];
            const bool up = e.from.y() < e.to.y();
            const Vec2d bottom = up ? e.from : e.to, top = up ? e.to : e.from;
            const double slope = top.y() > bottom.y() ? (top.x() - bottom.x()) / (top.y() - bottom.y()) : 0;
            for (int y = row(bottom.y() - hair); y <= row(top.y() + hair); ++y) {
                const double from = low_.y() + y * cell_ - hair, to = low_.y() + (y + 1) * cell_ + hair;
                double x0 = bottom.x(), x1 = top.x();
                if (slope != 0 && from > bottom.y()) x0 = bottom.x() + (std::min(from, top.y()) - bottom.y()) * slope;
                if (slope != 0 && to < top.y()) x1 = bottom.x() + (std::max(to, bottom.y()) - bottom.y()) * slope;
                for (int x = column(std::min(x0, x1) - hair); x <= column(std::max(x0, x1) + hair); ++x)
                    body(index(x, y), static_cast<int>(i));
            }
        }
    };
    start_.assign(static_cast<size_t>(columns_) * rows_ + 1, 0);
    for_each_cell([&](size_t cell, int) { ++start_[cell + 1]; });
    for (size_t c = 1; c < start_.size(); ++c) start_[c] += start_[c - 1];
    in_cells_.resize(start_.back());
    std::vector<uint32_t> next(start_.begin(), start_.end() - 1);
    for_each_cell([&](size_t cell, int edge) {
        const Edge& e = edges_[edge];
        in_cells_[next[cell]++] = {e.from, e.along(), edge};
    });
}

// Chebyshev distance to the next cell with edges, by one forward and one backward sweep.
void EdgeGrid::measure_empty_space()
{
    empty_.resize(start_.size() - 1);
    for (size_t c = 0; c < empty_.size(); ++c) empty_[c] = start_[c] == start_[c + 1] ? 255 : 0;
    const auto lower = [&](int x, int y, int dx, int dy) {
        if (x + dx < 0 || x + dx >= columns_ || y + dy < 0 || y + dy >= rows_) return;
        uint8_t& own = empty_[index(x, y)];
        const uint8_t other = empty_[index(x + dx, y + dy)];
        if (other < own) own = static_cast<uint8_t>(std::min<int>(own, other + 1));
    };
    for (int y = 0; y < rows_; ++y)
        for (int x = 0; x < columns_; ++x)
            lower(x, y, -1, 0), lower(x, y, -1, -1), lower(x, y, 0, -1), lower(x, y, 1, -1);
    for (int y = rows_; y-- > 0;)
        for (int x = columns_; x-- > 0;) lower(x, y, 1, 0), lower(x, y, 1, 1), lower(x, y, 0, 1), lower(x, y, -1, 1);
}

// Calls visit(edges of a cell, share of the path at which the cell ends) for the cells along a segment until it returns
// false. Each step leaves a cell or a block of empty cells.
template <class Visit> void EdgeGrid::walk(const Vec2d& a, const Vec2d& b, const Visit& visit) const
{
    const Vec2d path = b - a;
    const Vec2d inverse(path.x() != 0 ? 1 / path.x() : 0, path.y() != 0 ? 1 / path.y() : 0);
    int x = column(a.x()), y = row(a.y());
    const int last_x = column(b.x()), last_y = row(b.y());
    for (;;) {
        const size_t cell = index(x, y);
        const int block = std::max<int>(1, empty_[cell]);
        const int next_x = path.x() > 0 ? x + block : x - block, next_y = path.y() > 0 ? y + block : y - block;
        // Where the path leaves the block on either axis; never beyond the last cell.
        const bool ends_x = path.x() > 0 ? last_x < next_x : last_x > next_x;
        const bool ends_y = path.y() > 0 ? last_y < next_y : last_y > next_y;
        const double line_x = low_.x() + (path.x() > 0 ? next_x : next_x + 1) * cell_;
        const double line_y = low_.y() + (path.y() > 0 ? next_y : next_y + 1) * cell_;
        const double share_x = ends_x ? 2 : (line_x - a.x()) * inverse.x();
        const double share_y = ends_y ? 2 : (line_y - a.y()) * inverse.y();
        if (!visit(edges_of(cell), std::min(share_x, share_y))) return;
        if (ends_x && ends_y) return;
        if (share_x <= share_y) {
            const int along = row(a.y() + share_x * path.y());
            x = next_x;
            y = path.y() > 0 ? std::clamp(along, y, next_y - 1) : std::clamp(along, next_y + 1, y);
        } else {
            const int along = column(a.x() + share_y * path.x());
            y = next_y;
            x = path.x() > 0 ? std::clamp(along, x, next_x - 1) : std::clamp(along, next_x + 1, x);
        }
    }
}

bool EdgeGrid::visible(const Vec2d& a, const Vec2d& b, double tolerance) const
{
    const Vec2d path = b - a;
    bool free = true;
    walk(a, b, [&](std::span<const InCell> edges, double) {
        for (const InCell& e : edges) {
            // The edge's ends must be on both sides of the path...
            const double from_side = cross(path, e.from - a), to_side = from_side + cross(path, e.along);
            if ((from_side > 0 && to_side > 0) || (from_side < 0 && to_side < 0)) continue;
            // ... and the path's ends clearly on both sides of the edge.
            const double side_a = cross(e.along, a - e.from), side_b = cross(e.along, b - e.from);
            if ((side_a > 0) == (side_b > 0)) continue;
            const double on_edge = tolerance * e.along.norm();
            if (std::abs(side_a) > on_edge && std::abs(side_b) > on_edge) return free = false;
        }
        return true;
    });
    return free;
}

EdgeGrid::Hit EdgeGrid::first_exit(const Vec2d& a, const Vec2d& b) const
{
    const Vec2d path = b - a;
    Hit hit;
    walk(a, b, [&](std::span<const InCell> edges, double end) {
        for (const InCell& e : edges) {
            const Vec2d& along = e.along;
            const double side_a = cross(along, a - e.from), side_b = cross(along, b - e.from);
            // The path must leave through the edge. A point on the edge may be slightly on the outer side by rounding.
            if (side_b >= 0 || side_a <= side_b || side_a < -1e-7 * along.norm()) continue;
            const double share = std::max(0.0, side_a / (side_a - side_b));
            if (share >= hit.share && hit.edge >= 0) continue;
            // Extend the edge slightly, so that nothing slips through between two edges.
            const double place = (a + share * path - e.from).dot(along), length2 = along.squaredNorm();
            const double hair = 1e-9 * length2 + 1e-9 * std::sqrt(length2);
            if (place >= -hair && place <= length2 + hair) hit = {e.edge, share};
        }
        return hit.edge < 0 || hit.share > end;
    });
    return hit;
}

EdgeGrid::Closest EdgeGrid::closest(const Vec2d& p, double within) const
{
    Closest best;
    best.distance = within;
    const int cx = column(p.x()), cy = row(p.y());
    const auto look_at = [&](int x, int y) {
        if (x < 0 || y < 0 || x >= columns_ || y >= rows_) return;
        for (const InCell& e : edges_of(index(x, y))) {
            const double share = std::clamp((p - e.from).dot(e.along) / e.along.squaredNorm(), 0.0, 1.0);
            const Vec2d point = e.from + share * e.along;
            const double distance = (p - point).norm();
            if (distance < best.distance || (distance == best.distance && e.edge < best.edge))
                best = {e.edge, distance, point};
        }
    };
    // Rings of cells around p's own. Cells beyond ring k are at least k cells away from the nearer sides of p's cell.
    const Vec2d corner = low_ + cell_ * Vec2d(cx, cy);
    const double inset = std::min((p - corner).minCoeff(), (corner + Vec2d::Constant(cell_) - p).minCoeff());
    for (int k = empty_[index(cx, cy)]; k < std::max(columns_, rows_); ++k) {
        if ((k - 1) * cell_ + inset > best.distance) break;
        for (int x = cx - k; x <= cx + k; ++x) {
            look_at(x, cy - k);
            if (k > 0) look_at(x, cy + k);
        }
        for (int y = cy - k + 1; y < cy + k; ++y) look_at(cx - k, y), look_at(cx + k, y);
    }
    return best;
}

bool EdgeGrid::edges_near(const Vec2d& p) const { return empty_[index(column(p.x()), row(p.y()))] <= 1; }

} // namespace spindrift
