// Cost of the optimal assignment, to compare with: shortest augmenting paths with potentials, cubic in the size.
#pragma once

#include <limits>
#include <vector>

namespace spindrift {

inline double least_assignment_cost(const std::vector<std::vector<double>>& cost)
{
    const size_t n = cost.size(), none = n;
    std::vector<double> row_price(n, 0), column_price(n, 0);
    std::vector<size_t> row_of(n, none), column_of(n, none);
    for (size_t added = 0; added < n; ++added) {
        std::vector<double> path(n, std::numeric_limits<double>::infinity());
        std::vector<size_t> from(n, none);
        std::vector<bool> done(n, false);
        size_t row = added, end = none;
        double length = 0;
        while (end == none) {
            size_t nearest = none;
            for (size_t c = 0; c < n; ++c) {
                if (done[c]) continue;
                const double through = length + cost[row][c] - row_price[row] - column_price[c];
                if (through < path[c]) path[c] = through, from[c] = row;
                if (nearest == none || path[c] < path[nearest]) nearest = c;
            }
            done[nearest] = true, length = path[nearest];
            if (row_of[nearest] == none)
                end = nearest;
            else
                row = row_of[nearest];
        }
        row_price[added] += length;
        for (size_t c = 0; c < n; ++c)
            if (done[c] && c != end) column_price[c] -= length - path[c], row_price[row_of[c]] += length - path[c];
        for (size_t c = end; c != none;) {
            const size_t r = from[c], next = column_of[r];
            row_of[c] = r, column_of[r] = c;
            c = next;
        }
    }
    double sum = 0;
    for (size_t r = 0; r < n; ++r) sum += cost[r][column_of[r]];
    return sum;
}

} // namespace spindrift
