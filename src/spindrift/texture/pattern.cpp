#include "spindrift/texture/pattern.h"

#include "spindrift/base/noise.h"

namespace spindrift {

namespace {

// Far from the origin floats have no fraction, and every place is in the same check.
int64_t lattice(float x) { return static_cast<int64_t>(std::floor(std::clamp(x, -1e9f, 1e9f))); }

uint64_t cell_key(int64_t x, int64_t y, int64_t z)
{
    return hash64(hash64(static_cast<uint64_t>(x), static_cast<uint64_t>(y)), static_cast<uint64_t>(z));
}

// A ball in each cell, moved at random, whose edge is soft.
float spots(const Vec3f& x, uint64_t seed)
{
    constexpr float kRadius = 0.36f, kEdge = 0.04f, kMoved = 0.3f;
    float nearest = 1;
    for (int dx = -1; dx <= 1; ++dx)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dz = -1; dz <= 1; ++dz) {
                const int64_t cx = lattice(x.x()) + dx, cy = lattice(x.y()) + dy, cz = lattice(x.z()) + dz;
                Random random(seed, cell_key(cx, cy, cz));
                Vec3f center(static_cast<float>(cx), static_cast<float>(cy), static_cast<float>(cz));
                for (float& c : center) c += 0.5f + kMoved * random.uniform(-0.5f, 0.5f);
                nearest = std::min(nearest, (x - center).norm());
            }
    return clamp01(0.5f - (nearest - kRadius) / (2 * kEdge));
}

} // namespace

float pattern_at(Pattern pattern, const Vec3f& x, uint64_t seed)
{
    switch (pattern) {
    case Pattern::checker:
        return static_cast<float>((lattice(x.x()) + lattice(x.y()) + lattice(x.z())) & 1);
    case Pattern::stripes:
        return static_cast<float>(lattice(x.x()) & 1);
    case Pattern::spots:
        return spots(x, seed);
    case Pattern::noise:
        return clamp01(0.5f + 0.7f * gradient_noise(x, seed).value);
    }
    return 0;
}

} // namespace spindrift
