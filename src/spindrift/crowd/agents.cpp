#include "spindrift/crowd/agents.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/scratch.h"

#include <utility>

namespace spindrift {

namespace {
constexpr size_t kAgentsToSort = 16384;
} // namespace

void Agents::resize(size_t count)
{
    for_each_array([count](auto& array) {
        using T = typename std::decay_t<decltype(array)>::value_type;
        if constexpr (std::is_same_v<T, Vec2f>)
            array.resize(count, Vec2f::Zero());
        else
            array.resize(count);
    });
}

size_t Agents::bytes() const
{
    size_t sum = 0;
    for_each_array([&](const auto& array) { sum += array.capacity() * sizeof(array[0]); });
    return sum;
}

AgentCells::AgentCells(const CrowdGrid& grid, int per_cell)
    : origin_(grid.origin), edge_(grid.cell / static_cast<float>(per_cell)), inverse_edge_(1 / edge_),
      per_cell_(per_cell), columns_(grid.nx * per_cell), rows_(grid.ny * per_cell),
      first_(static_cast<size_t>(columns_) * rows_ + 1, 0)
{
}

size_t AgentCells::bytes() const
{
    return (first_.capacity() + key_.capacity() + order_.capacity()) * sizeof(uint32_t) +
           moved_vectors_.capacity() * sizeof(Vec2f) + (moved_floats_.capacity() + moved_ints_.capacity()) * 4;
}

void AgentCells::sort(Agents& agents)
{
    const size_t count = agents.size(), rows = rows_, columns = columns_;
    // At most 64 chunks, so that the counts of all chunks stay small compared with the agents.
    const size_t chunk = std::max(kAgentsToSort, (count + 63) / 64), chunks = (count + chunk - 1) / chunk;
    key_.resize(count), order_.resize(count);
    std::vector<uint32_t> next(chunks * rows, 0);

    // Cell of each agent, and number of agents of each chunk in each row.
    parallel_for(chunks, [&](size_t c) {
        uint32_t* in_row = next.data() + c * rows;
        for (size_t i = c * chunk, end = std::min(count, (c + 1) * chunk); i < end; ++i) {
            const auto r = static_cast<uint32_t>(row(agents.x[i].y()));
            key_[i] = r * static_cast<uint32_t>(columns) + static_cast<uint32_t>(column(agents.x[i].x()));
            ++in_row[r];
        }
    });

    // Destination of each chunk's part of each row; agents of a row keep their order.
    uint32_t total = 0;
    for (size_t r = 0; r < rows; ++r) {
        first_[r * columns] = total;
        for (size_t c = 0; c < chunks; ++c) total += std::exchange(next[c * rows + r], total);
    }
    first_[rows * columns] = total;
    parallel_for(chunks, [&](size_t c) {
        uint32_t* in_row = next.data() + c * rows;
        for (size_t i = c * chunk, end = std::min(count, (c + 1) * chunk); i < end; ++i)
            order_[in_row[key_[i] / static_cast<uint32_t>(columns)]++] = static_cast<uint32_t>(i);
    });

    // Sort each row by column.
    parallel_for(
        rows,
        [&](size_t r) {
            const size_t begin = first_[r * columns], end = first_[(r + 1) * columns];
            const auto base = static_cast<uint32_t>(r * columns);
            auto& in_column = thread_scratch<std::vector<uint32_t>>();
            auto& unsorted = thread_scratch<std::vector<uint32_t>>();
            in_column.assign(columns, 0);
            unsorted.assign(order_.begin() + static_cast<long>(begin), order_.begin() + static_cast<long>(end));
            for (const uint32_t i : unsorted) ++in_column[key_[i] - base];
            uint32_t at = static_cast<uint32_t>(begin);
            for (size_t c = 0; c < columns; ++c) {
                if (c > 0) first_[r * columns + c] = at;
                at += std::exchange(in_column[c], at);
            }
            for (const uint32_t i : unsorted) order_[in_column[key_[i] - base]++] = i;
        },
        8);

    const auto move = [&](auto& array, auto& moved) {
        moved.resize(count);
        parallel_chunks(count, kAgentsToSort, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) moved[i] = array[order_[i]];
        });
        std::swap(array, moved);
    };
    std::vector<Driver> moved_drivers;
    agents.for_each_array([&](auto& array) {
        using T = typename std::decay_t<decltype(array)>::value_type;
        if constexpr (std::is_same_v<T, Vec2f>)
            move(array, moved_vectors_);
        else if constexpr (std::is_same_v<T, float>)
            move(array, moved_floats_);
        else if constexpr (std::is_same_v<T, int32_t>)
            move(array, moved_ints_);
        else
            move(array, moved_drivers);
    });
    parallel_for(
        rows,
        [&](size_t r) {
            for (size_t c = r * columns; c < (r + 1) * columns; ++c)
                std::fill(key_.begin() + first_[c], key_.begin() + first_[c + 1], static_cast<uint32_t>(c));
        },
        8);
}

void AgentCells::restore(std::vector<uint32_t> sorted_cells)
{
    key_ = std::move(sorted_cells);
    size_t i = 0;
    for (size_t c = 0; c < first_.size(); ++c) {
        while (i < key_.size() && key_[i] < c) ++i;
        first_[c] = static_cast<uint32_t>(i);
    }
}

} // namespace spindrift
