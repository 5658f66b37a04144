// Fraction of a square or cube where a function, given at the corners and the centre, is positive.
#pragma once

#include "spindrift/base/math.h"

#include <algorithm>
#include <array>

namespace spindrift {

// Fraction of a triangle where a linear function, given at its corners, is positive.
inline float positive_share(float a, float b, float c)
{
    const int positive = (a > 0) + (b > 0) + (c > 0);
    if (positive == 0) return 0;
    if (std::min({a, b, c}) >= 0) return 1;
    // One corner has a different sign than the other two and cuts off a small triangle.
    const bool alone_is_positive = positive == 1;
    if (alone_is_positive ? b > 0 : b <= 0) std::swap(a, b);
    if (alone_is_positive ? c > 0 : c <= 0) std::swap(a, c);
    const float cut = a / (a - b) * (a / (a - c));
    return alone_is_positive ? cut : 1 - cut;
}

// Area of the unit square where a function, given at its corners (in outline order) and its centre, is positive. The
// centre value resolves gaps no wider than the square.
inline float positive_area(const std::array<float, 4>& corner, float center)
{
    float area = 0;
    for (size_t i = 0; i < 4; ++i) area += 0.25f * positive_share(corner[i], corner[(i + 1) % 4], center);
    return area;
}

// Fraction of the unit cube where a function, given at its corners (x slowest, z fastest) and its centre, is positive.
inline float positive_volume(const std::array<float, 8>& v, float center)
{
    const auto [low, high] = std::minmax_element(v.begin(), v.end());
    if (*low >= 0 && *high > 0) return 1;
    if (*high <= 0) return clamp01(2 * center); // gap between two walls that contains no corner
    // Sum over subcubes; each one's fraction varies linearly from 0 to 1 across its width along the gradient.
    constexpr int n = 4;
    float sum = 0;
    for (int k = 0; k < n * n * n; ++k) {
        const float x = (static_cast<float>(k / (n * n)) + 0.5f) / n, y = (static_cast<float>(k / n % n) + 0.5f) / n,
                    z = (static_cast<float>(k % n) + 0.5f) / n;
        const float a0 = mix(v[0], v[1], z), a1 = mix(v[2], v[3], z), b0 = mix(v[4], v[5], z), b1 = mix(v[6], v[7], z);
        const float low_x = mix(a0, a1, y), high_x = mix(b0, b1, y);
        const float dx = high_x - low_x, dy = mix(a1 - a0, b1 - b0, x);
        const float dz = mix(mix(v[1] - v[0], v[3] - v[2], y), mix(v[5] - v[4], v[7] - v[6], y), x);
        const float width = (std::abs(dx) + std::abs(dy) + std::abs(dz)) / n;
        sum += clamp01(0.5f + mix(low_x, high_x, x) / std::max(width, 1e-6f));
    }
    return sum / (n * n * n);
}

} // namespace spindrift
