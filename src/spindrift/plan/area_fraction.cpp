#include "spindrift/plan/area_fraction.h"

namespace spindrift {

namespace {

// Sums, for every edge, the area between it and the right end of each row (Green's theorem): the part in the edge's own
// cell, and its full height for all cells to the right.
class Coverage {
  public:
    explicit Coverage(const PlaneGrid& grid)
        : grid_(grid), own_(static_cast<size_t>(grid.columns) * grid.rows), right_(own_.size())
    {
    }

    void add(const Ring& ring)
    {
        for (size_t i = 0; i < ring.size(); ++i) {
            const Vec2d a = (ring[i] - grid_.low) / grid_.cell;
            const Vec2d b = (ring[i + 1 == ring.size() ? 0 : i + 1] - grid_.low) / grid_.cell;
            if (a.y() < b.y())
                add_rows(a, b, -1);
            else if (a.y() > b.y())
                add_rows(b, a, 1);
        }
    }

    std::vector<float> fractions() const
    {
        std::vector<float> result(own_.size());
        for (int y = 0; y < grid_.rows; ++y) {
            double height = 0;
            for (int x = 0; x < grid_.columns; ++x) {
                const size_t i = index(x, y);
                result[i] = static_cast<float>(std::clamp(height + own_[i], 0.0, 1.0));
                height += right_[i];
            }
        }
        return result;
    }

  private:
    size_t index(int x, int y) const { return static_cast<size_t>(y) * grid_.columns + x; }

    // Split an edge from low to high at row boundaries...
    void add_rows(const Vec2d& low, const Vec2d& high, double sign)
    {
        const double slope = (high.x() - low.x()) / (high.y() - low.y());
        const double from = std::max(low.y(), 0.0), to = std::min(high.y(), static_cast<double>(grid_.rows));
        for (double y = from; y < to;) {
            const int row = std::min(static_cast<int>(y), grid_.rows - 1);
            const double end = std::min(to, row + 1.0);
            add_columns(row, low.x() + (y - low.y()) * slope, low.x() + (end - low.y()) * slope, end - y, sign);
            y = end;
        }
    }

    // ... and at column boundaries.
    void add_columns(int row, double x0, double x1, double height, double sign)
    {
        if (x0 > x1) std::swap(x0, x1);
        const double rise = x1 > x0 ? height / (x1 - x0) : 0;
        const auto columns = static_cast<double>(grid_.columns);
        if (x0 < 0) { // all of the row is to the right
            const double share = x1 <= 0 ? height : std::min(height, -x0 * rise);
            add_piece(row, 0, 0, share, sign);
            height -= share, x0 = 0;
            if (x1 <= 0 || height <= 0) return;
        }
        if (x0 >= columns) return;
        for (;;) {
            const int column = std::min(static_cast<int>(x0), grid_.columns - 1);
            const double end = std::min(x1, column + 1.0);
            const bool last = x1 <= column + 1.0;
            const double share = last ? height : std::min(height, (end - x0) * rise);
            add_piece(row, column, 0.5 * (x0 + end) - column, share, sign);
            height -= share, x0 = end;
            if (last || column + 1 == grid_.columns) return;
        }
    }

    void add_piece(int row, int column, double middle, double height, double sign)
    {
        own_[index(column, row)] += sign * height * (1 - middle);
        right_[index(column, row)] += sign * height;
    }

    PlaneGrid grid_;
    std::vector<double> own_, right_;
};

} // namespace

std::vector<float> area_fractions(const std::vector<Polygon>& polygons, const PlaneGrid& grid)
{
    Coverage coverage(grid);
    for (const Polygon& polygon : polygons) {
        coverage.add(polygon.outer);
        for (const Ring& hole : polygon.holes) coverage.add(hole);
    }
    return coverage.fractions();
}

} // namespace spindrift
