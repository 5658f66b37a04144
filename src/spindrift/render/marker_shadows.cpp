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

// The values between which 99% of the values lie, from a sample: the same for any number of threads.
std::pair<float, float> bulk_of(std::vector<float> values)
{
    const auto value_at = [&](double share) {
        const auto at = values.begin() + std::lround(share * static_cast<double>(values.size() - 1));
        std::nth_element(values.begin(), at, values.end());
        return *at;
    };
    const float low = value_at(0.005);
    return {low, value_at(0.995)};
}

} // namespace

LightPlane::LightPlane(const Vec3f& toward_light, std::span<const Vec3f> P, const MarkerShadowParams& params)
    : toward_(toward_light.normalized()), right_(toward_.unitOrthogonal()), up_(toward_.cross(right_)),
      margin_(params.kernel / 2 + 1 + static_cast<int>(std::ceil(params.jitter)))
{
    constexpr size_t kSample = 100000;
    constexpr float kBeyond = 0.125f; // how far the map reaches beyond the bulk, relative to its size
    if (P.empty()) return;
    const auto [lowest, highest] = parallel_reduce(
        P.size(), std::pair(Vec2f(Vec2f::Constant(kInfinity)), Vec2f(Vec2f::Constant(-kInfinity))),
        [&](size_t i) {
            const Vec2f at(P[i].dot(right_), P[i].dot(up_));
            return std::pair(at, at);
        },
        [](const auto& a, const auto& b) {
            return std::pair(Vec2f(a.first.cwiseMin(b.first)), Vec2f(a.second.cwiseMax(b.second)));
        },
        kMarkerGrain);
    Vec2f low, high;
    for (int k = 0; k < 2; ++k) {
        std::vector<float> values;
        for (size_t i = 0; i < P.size(); i += P.size() / kSample + 1) values.push_back(P[i].dot(k == 0 ? right_ : up_));
        std::tie(low[k], high[k]) = bulk_of(std::move(values));
    }
    const Vec2f size = (high - low).cwiseMax(1e-6f);
    const double texels = static_cast<double>(P.size()) / static_cast<double>(params.markers_per_texel);
    scale_ = static_cast<float>(std::sqrt(texels / (static_cast<double>(size.x()) * static_cast<double>(size.y()))));
    scale_ = std::min(scale_, static_cast<float>(params.most_texels) / size.maxCoeff());
    low = (low - kBeyond * size).cwiseMax(lowest), high = (high + kBeyond * size).cwiseMin(highest);
    corner_ = low - Vec2f::Constant(static_cast<float>(margin_) / scale_);
    width_ = static_cast<int>(std::ceil((high.x() - low.x()) * scale_)) + 2 * margin_ + 1;
    height_ = static_cast<int>(std::ceil((high.y() - low.y()) * scale_)) + 2 * margin_ + 1;
}

std::vector<float> marker_shadows(std::span<const Vec3f> P, std::span<const int32_t> id, const Vec3f& toward_light,
                                  const MarkerShadowParams& params, uint64_t key)
{
    const LightPlane plane(toward_light, P, params);
    const auto texel = [&](int x, int y) { return static_cast<size_t>(y) * plane.width() + x; };
    std::vector<uint32_t> nearest(static_cast<size_t>(plane.width()) * plane.height());
    std::vector<float> shadow(P.size(), 0);
    const float weight = 1 / static_cast<float>(params.passes * params.samples);
    for (int pass = 0; pass < params.passes; ++pass) {
        const uint64_t seed = hash64(key, pass);
        // The nearest to the light in each texel; the largest of several numbers does not depend on their order.
        std::fill(nearest.begin(), nearest.end(), 0);
        parallel_for(
            P.size(),
            [&](size_t i) {
                const Vec3f at = plane.place(P[i]);
                if (!plane.covers(at)) return;
                Random random(hash64(seed, 1), static_cast<uint64_t>(id[i]));
                const float dx = params.jitter * random.uniform(-1, 1), dy = params.jitter * random.uniform(-1, 1);
                std::atomic_ref<uint32_t> held(nearest[texel(floor_int(at.x() + dx), floor_int(at.y() + dy))]);
                const uint32_t mine = ordered_bits(at.z());
                uint32_t now = held.load(std::memory_order_relaxed);
                while (now < mine && !held.compare_exchange_weak(now, mine, std::memory_order_relaxed)) {
                }
            },
            kMarkerGrain);
        parallel_for(
            P.size(),
            [&](size_t i) {
                const Vec3f at = plane.place(P[i]);
                if (!plane.covers(at)) return;
                Random random(hash64(seed, 2), static_cast<uint64_t>(id[i]));
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
                shadow[i] += weight * static_cast<float>(occluded);
            },
            kMarkerGrain);
    }
    return shadow;
}

std::vector<float> blended_shadows(std::span<const MarkerFrame> frames, const Vec3f& toward_light,
                                   const MarkerShadowParams& params, int last)
{
    const auto shadows = [&](size_t k) {
        const int number = last - static_cast<int>(frames.size() - 1 - k);
        return marker_shadows(frames[k].P, frames[k].id, toward_light, params, hash64(static_cast<uint64_t>(number)));
    };
    std::vector<float> sum = shadows(frames.size() - 1);
    std::vector<uint8_t> count(sum.size(), 1);
    const std::span<const int32_t> id = frames.back().id;
    for (size_t k = 0; k + 1 < frames.size(); ++k) {
        const std::vector<float> before = shadows(k);
        const int32_t most = frames[k].id.empty() ? -1 : *std::ranges::max_element(frames[k].id);
        std::vector<float> by_id(static_cast<size_t>(std::max(most, -1) + 1), -1);
        for (size_t i = 0; i < before.size(); ++i)
            if (frames[k].id[i] >= 0) by_id[frames[k].id[i]] = before[i];
        parallel_for(
            sum.size(),
            [&](size_t i) {
                if (id[i] >= 0 && id[i] <= most && by_id[id[i]] >= 0) sum[i] += by_id[id[i]], ++count[i];
            },
            kMarkerGrain);
    }
    parallel_for(
        sum.size(), [&](size_t i) { sum[i] /= count[i]; }, kMarkerGrain);
    return sum;
}

} // namespace spindrift
