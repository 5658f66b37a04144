// Parallel loops whose results do not depend on the number of threads. A loop body may write only data that belongs to
// its index; reductions add partial results of fixed chunks in index order.
//
//     parallel_for(v.size(), [&](size_t i) { v[i] += dt * g; });
//     const double sum = parallel_reduce(m.size(), 0.0, [&](size_t i) { return m[i]; }, std::plus<>());
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

namespace spindrift {

// Maximum number of threads for the loops below; 0 means all cores. Call once, before any loop.
void set_thread_count(int threads);
int thread_count();

// Calls body(begin, end) on subranges whose bounds depend on scheduling. The loops below are built on it; use those.
void parallel_parts(size_t count, size_t grain, const std::function<void(size_t, size_t)>& body);

template <class Body> void parallel_for(size_t count, const Body& body, size_t grain = 1)
{
    parallel_parts(count, grain, [&](size_t begin, size_t end) {
        for (size_t i = begin; i != end; ++i) body(i);
    });
}

// Calls body(begin, end) on consecutive chunks of fixed size.
template <class Body> void parallel_chunks(size_t count, size_t chunk, const Body& body)
{
    parallel_for((count + chunk - 1) / chunk, [&](size_t c) { body(c * chunk, std::min(count, (c + 1) * chunk)); });
}

// Combines value(i) in index order within fixed chunks, then the chunks in order: same bits for any thread count.
template <class T, class Value, class Combine>
T parallel_reduce(size_t count, T identity, const Value& value, const Combine& combine, size_t chunk = 64)
{
    // Not std::vector<bool>: its elements share bytes, and threads would overwrite each other's.
    using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    std::vector<Stored> partial((count + chunk - 1) / chunk, identity);
    parallel_for(partial.size(), [&](size_t c) {
        T sum = identity;
        for (size_t i = c * chunk, end = std::min(count, (c + 1) * chunk); i < end; ++i) sum = combine(sum, value(i));
        partial[c] = sum;
    });
    T total = identity;
    for (const Stored& p : partial) total = combine(total, p);
    return total;
}

template <class Value> double parallel_sum(size_t count, const Value& value, size_t chunk = 64)
{
    return parallel_reduce(
        count, 0.0, value, [](double a, double b) { return a + b; }, chunk);
}

} // namespace spindrift
