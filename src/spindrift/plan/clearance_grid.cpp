#include "spindrift/plan/clearance_grid.h"

#include "spindrift/base/parallel.h"

namespace spindrift {

ClearanceGrid::ClearanceGrid(const EdgeGrid& edges, const TriangleGrid& triangles)
{
    constexpr double kFinest = 0.25, kMostCells = 500000; // [m]
    constexpr double kFarthest = 2;                       // larger distances are clamped [m]
    constexpr double kRounding = 1e-3;                    // of positions stored as floats [m]
    if (edges.edges().empty()) return;
    Vec2d low = edges.edges()[0].from, high = low;
    for (const Edge& edge : edges.edges()) low = low.cwiseMin(edge.from), high = high.cwiseMax(edge.from);
    const double cell = std::max(kFinest, std::sqrt((high - low).prod() / kMostCells));
    const Vec2d cells = ((high - low) / cell).array().ceil();
    if (!(cells.prod() <= 4 * kMostCells)) return; // a very long and narrow floor
    columns_ = static_cast<int>(cells.x()), rows_ = static_cast<int>(cells.y());
    low_ = low.cast<float>(), inverse_cell_ = static_cast<float>(1 / cell);
    clearance_.resize(static_cast<size_t>(columns_) * rows_, 0);
    parallel_for(rows_, [&](size_t row) {
        for (int column = 0; column < columns_; ++column) {
            const Vec2d middle = low + cell * Vec2d(column + 0.5, static_cast<double>(row) + 0.5);
            if (triangles.find(middle) < 0) continue;
            const double nearest = std::min(kFarthest, edges.closest(middle, kFarthest).distance);
            // Points of the cell are at most half its diagonal from its centre.
            const double least = nearest - (std::sqrt(0.5) + kRounding) * cell;
            clearance_[row * static_cast<size_t>(columns_) + column] = static_cast<float>(std::max(0.0, least));
        }
    });
}

} // namespace spindrift
