// Runs a computation on a given number of threads and compares results bit by bit.
#pragma once

#include "spindrift/base/parallel.h"
#include "spindrift/field/tiles.h"
#include "spindrift/points/particles.h"

#include <cstring>
#include <tbb/task_arena.h>

namespace spindrift {

// Runs body() with this many threads, regardless of the number of cores.
template <class Body> auto with_threads(int threads, const Body& body)
{
    struct Limit {
        explicit Limit(int count) { set_thread_count(count); }
        ~Limit() { set_thread_count(0); }
    } limit(threads);
    tbb::task_arena arena(threads);
    return arena.execute(body);
}

template <class T> bool same_bits(std::span<const T> a, std::span<const T> b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    return same_bits(std::span<const T>(a), std::span<const T>(b));
}

template <class T> bool same_bits(const Field<T>& a, const Field<T>& b) { return same_bits(a.values(), b.values()); }

inline bool same_bits(const Particles& a, const Particles& b)
{
    if (!same_bits(a.P, b.P) || !same_bits(a.v, b.v) || !same_bits(a.id, b.id)) return false;
    if (a.attributes.size() != b.attributes.size()) return false;
    for (const auto& [name, array] : a.attributes) {
        const auto other = b.attributes.find(name);
        if (other == b.attributes.end() || other->second.index() != array.index()) return false;
        const bool same = std::visit(
            [&](const auto& values) {
                return same_bits(values, std::get<std::decay_t<decltype(values)>>(other->second));
            },
            array);
        if (!same) return false;
    }
    return true;
}

} // namespace spindrift
