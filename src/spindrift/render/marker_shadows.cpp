#include "spindrift/render/marker_shadows.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"

#include <atomic>
#include <bit>

namespace spindrift {

namespace {

constexpr size_t kMarkerGrain = 4096;

// Bits whose order as numbers is that of the floats; zero is below all of them.
uint32_t ordered_bits(float x)
{
    const auto bits = std::bit_cast<uint32_t>(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

} // namespace

LightPlane::LightPlane(const Vec3f& toward_light, std::span<const Vec3f> P, const MarkerShadowParams& params)
    : toward_(toward_light.normalized()), right_(toward_.unitOrthogonal()), up_(toward_.cross(right_))
{
    struct Bounds {
        Vec2f low = Vec2f::Constant(kInfinity), high = Vec2f::Constant(-kInfinity);
    };
    const Bounds all = parallel_reduce(
        P.size(), Bounds{},
        [&](size_t i) {
            const Vec2f at(P[i].dot(right_), P[i].dot(up_));
            return Bounds{at, at};
        },
        [](const Bounds& a, const Bounds& b) {
            return Bounds{a.low.cwiseMin(b.low), a.high.cwiseMax(b.high)};
        },
        kMarkerGrain);
    if (P.empty()) return;
    const Vec2f size = (all.high - all.low).cwiseMax(1e-6f);
    const double texels = static_cast<double>(P.size()) / static_cast<double>(params.markers_per_texel);
    scale_ = static_cast<float>(std::sqrt(texels / (static_cast<double>(size.x()) * static_cast<double>(size.y()))));
    scale_ = std::min(scale_, static_cast<float>(params.most_texels) / size.maxCoeff());
    const int margin = params.kernel / 2 + 2;
    corner_ = all.low - Vec2f::Constant(static_cast<float>(margin) / scale_);
    width_ = static_cast<int>(std::ceil(size.x() * scale_)) + 2 * margin;
    height_ = static_cast<int>(std::ceil(size.y() * scale_)) + 2 * margin;
}

std::vector<float> marker_shadows(std::span<const Vec3f> P, std::span<const int32_t> id, const Vec3f& toward_light,
                                  const MarkerShadowParams& params, uint64_t pass)
{
    const LightPlane plane(toward_light, P, params);
    const auto texel = [&](int x, int y) {
        x = std::clamp(x, 0, plane.width() - 1), y = std::clamp(y, 0, plane.height() - 1);
        return static_cast<size_t>(y) * plane.width() + x;
    };
    // The nearest to the light in each texel; the largest of several numbers does not depend on their order.
    std::vector<uint32_t> nearest(static_cast<size_t>(plane.width()) * plane.height(), 0);
    parallel_for(
        P.size(),
        [&](size_t i) {
            Random random(hash64(pass, 1), static_cast<uint64_t>(id[i]));
            const Vec3f at = plane.place(P[i]);
            const float dx = params.jitter * random.uniform(-1, 1), dy = params.jitter * random.uniform(-1, 1);
            std::atomic_ref<uint32_t> held(nearest[texel(floor_int(at.x() + dx), floor_int(at.y() + dy))]);
            const uint32_t mine = ordered_bits(at.z());
            uint32_t now = held.load(std::memory_order_relaxed);
            while (now < mine && !held.compare_exchange_weak(now, mine, std::memory_order_relaxed)) {
            }
        },
        kMarkerGrain);
    std::vector<float> shadow(P.size());
    parallel_for(
        P.size(),
        [&](size_t i) {
            Random random(hash64(pass, 2), static_cast<uint64_t>(id[i]));
            const Vec3f at = plane.place(P[i]);
            const uint32_t mine = ordered_bits(at.z());
            const int x = floor_int(at.x()) - params.kernel / 2, y = floor_int(at.y()) - params.kernel / 2;
            int occluded = 0;
            const auto kernel = static_cast<uint64_t>(params.kernel);
            uint64_t bits = 0;
            for (int s = 0; s < params.samples; ++s) {
                bits = s % 2 == 0 ? random.bits() : bits >> 32; // two samples of 2 x 16 bits
                const int dx = static_cast<int>((bits & 0xffff) * kernel >> 16);
                const int dy = static_cast<int>((bits >> 16 & 0xffff) * kernel >> 16);
                occluded += nearest[texel(x + dx, y + dy)] > mine;
            }
            shadow[i] = static_cast<float>(occluded) / static_cast<float>(params.samples);
        },
        kMarkerGrain);
    return shadow;
}

void blend_shadows(std::span<float> shadow, std::span<const int32_t> id, std::span<const float> before,
                   std::span<const int32_t> id_before, float blend)
{
    int32_t most = -1;
    for (const int32_t i : id_before) most = std::max(most, i);
    std::vector<float> by_id(static_cast<size_t>(most) + 1, -1);
    for (size_t i = 0; i < id_before.size(); ++i)
        if (id_before[i] >= 0) by_id[id_before[i]] = before[i];
    parallel_for(
        shadow.size(),
        [&](size_t i) {
            const bool known = id[i] >= 0 && id[i] <= most && by_id[id[i]] >= 0;
            if (known) shadow[i] = mix(by_id[id[i]], shadow[i], blend);
        },
        kMarkerGrain);
}

} // namespace spindrift
