#include "spindrift/io/finite.h"

#include "spindrift/base/parallel.h"

#include <algorithm>
#include <cmath>

namespace spindrift {

namespace {

// Comparisons with NaN are false. Branch-free, so that the compiler vectorises it.
template <class T> size_t count_beyond(std::span<const T> values, T largest)
{
    size_t count = 0;
    for (const T x : values) count += !(std::abs(x) <= largest);
    return count;
}

template <class T> void expect(const std::string& path, const std::string& name, std::span<const T> values, T largest)
{
    constexpr size_t kChunk = 1 << 16;
    const size_t chunks = (values.size() + kChunk - 1) / kChunk;
    const size_t bad = parallel_reduce(
        chunks, size_t(0),
        [&](size_t c) {
            return count_beyond(values.subspan(c * kChunk, std::min(kChunk, values.size() - c * kChunk)), largest);
        },
        [](size_t a, size_t b) { return a + b; }, 1);
    if (bad == 0) return;
    if (count_beyond(values, std::numeric_limits<T>::max()) > 0)
        throw NotFinite(path, fmt::format("{} of {} numbers of \"{}\" are not finite", bad, values.size(), name));
    throw NotFinite(path, fmt::format("{} of {} numbers of \"{}\" are larger than {}, the maximum of the file format",
                                      bad, values.size(), name, largest));
}

} // namespace

void expect_finite(const std::string& path, const std::string& name, std::span<const float> values, float largest)
{
    expect<float>(path, name, values, largest);
}

void expect_finite(const std::string& path, const std::string& name, std::span<const double> values)
{
    expect<double>(path, name, values, std::numeric_limits<double>::max());
}

} // namespace spindrift
