// Checks that numbers are finite before they are written. Every writer of caches calls it first; Shot adds the stage
// and the frame to the message.
#pragma once

#include "spindrift/base/error.h"
#include "spindrift/base/math.h"

#include <limits>
#include <span>

namespace spindrift {

constexpr float kLargestHalf = 65504; // the largest 16-bit float

class NotFinite : public Error {
  public:
    NotFinite(const std::string& path, const std::string& what)
        : Error(ExitCode::failed, fmt::format("cannot write {}: {}", path, what)), values(what)
    {
    }
    std::string values; // "12 of 4000 numbers of \"v\" are not finite"
};

// Throws NotFinite if a value is NaN or infinite, or exceeds `largest` in magnitude.
void expect_finite(const std::string& path, const std::string& name, std::span<const float> values,
                   float largest = std::numeric_limits<float>::max());
void expect_finite(const std::string& path, const std::string& name, std::span<const double> values);
inline void expect_finite(const std::string& path, const std::string& name, std::span<const Vec3f> values,
                          float largest = std::numeric_limits<float>::max())
{
    static_assert(sizeof(Vec3f) == 3 * sizeof(float));
    const auto* numbers = reinterpret_cast<const float*>(values.data());
    expect_finite(path, name, std::span<const float>(numbers, 3 * values.size()), largest);
}
// Integers are always finite.
template <class Integer>
requires std::is_integral_v<Integer>
void expect_finite(const std::string&, const std::string&, std::span<const Integer>) {}

} // namespace spindrift
