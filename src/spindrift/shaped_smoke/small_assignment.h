// The optimal assignment of a few rows to as many columns.
#pragma once

#include <array>

namespace spindrift {

// Adds one row after the other along the cheapest alternating path (the Hungarian method with potentials). Returns the
// column of each row; cost[r][c] is that of giving column c to row r.
template <int N> std::array<int, N> optimal_columns(const std::array<std::array<float, N>, N>& cost)
{
    constexpr int kNone = -1;
    std::array<float, N> row_price{}, column_price{};
    std::array<int, N> row_of, column_of;
    row_of.fill(kNone), column_of.fill(kNone);
    for (int added = 0; added < N; ++added) {
        // Cheapest path from the added row to each column, until one without a row is reached.
        std::array<float, N> path;
        std::array<int, N> from; // the row before a column on its path
        std::array<bool, N> done{};
        path.fill(1e30f), from.fill(kNone);
        int row = added, end = kNone;
        float length = 0;
        while (end == kNone) {
            int nearest = kNone;
            for (int c = 0; c < N; ++c) {
                if (done[c]) continue;
                const float through = length + cost[row][c] - row_price[row] - column_price[c];
                if (through < path[c]) path[c] = through, from[c] = row;
                if (nearest == kNone || path[c] < path[nearest]) nearest = c;
            }
            done[nearest] = true, length = path[nearest];
            if (row_of[nearest] == kNone)
                end = nearest;
            else
                row = row_of[nearest];
        }
        // New prices keep all reduced costs non-negative, and those along the path zero.
        row_price[added] += length;
        for (int c = 0; c < N; ++c) {
            if (!done[c] || c == end) continue;
            column_price[c] -= length - path[c];
            row_price[row_of[c]] += length - path[c];
        }
        // Shift the rows along the path.
        for (int c = end; c != kNone;) {
            const int r = from[c], next = column_of[r];
            row_of[c] = r, column_of[r] = c;
            c = next;
        }
    }
    return column_of;
}

} // namespace spindrift
