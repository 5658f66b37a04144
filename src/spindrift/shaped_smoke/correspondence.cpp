#include "spindrift/shaped_smoke/correspondence.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/field/tiles.h"
#include "spindrift/shaped_smoke/small_assignment.h"

#include <Eigen/Geometry>
#include <tbb/parallel_sort.h>

namespace spindrift {

Shuffle::Shuffle(size_t count, uint64_t seed) : count_(count)
{
    while (size_t{1} << 2 * half_bits_ < count) ++half_bits_;
    for (uint64_t k = 0; k < 4; ++k) keys_[k] = hash64(seed, k);
}

size_t Shuffle::once(size_t i) const
{
    const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
    uint64_t left = i >> half_bits_, right = i & mask;
    for (const uint64_t key : keys_) {
        const uint64_t mixed = left ^ (hash64(key ^ right) & mask);
        left = right, right = mixed;
    }
    return left << half_bits_ | right;
}

namespace {

constexpr size_t kPairGrain = 512;
constexpr int kGroup = 16;
constexpr size_t kPairsInGroup = kGroup * (kGroup - 1) / 2;

} // namespace

uint64_t Correspondence::improve(std::span<const Vec3f> P, std::span<const Vec3f> goals, std::span<int32_t> target,
                                 size_t budget, uint64_t round)
{
    const size_t count = P.size();
    if (count < 2) return round;
    for (size_t tested = 0; tested < budget; ++round) {
        const uint64_t key = hash64(seed_, round);
        if (round % 2 == 0 || count < kGroup) {
            const size_t pairs = std::min(count / 2, budget - tested);
            exchange_pairs(P, goals, target, pairs, key);
            tested += pairs;
        } else {
            const size_t groups = std::min(count / kGroup, (budget - tested + kPairsInGroup - 1) / kPairsInGroup);
            assign_in_groups(P, goals, target, groups, key);
            tested += groups * kPairsInGroup;
        }
    }
    return round;
}

void Correspondence::exchange_pairs(std::span<const Vec3f> P, std::span<const Vec3f> goals, std::span<int32_t> target,
                                    size_t pairs, uint64_t key) const
{
    const Shuffle shuffle(P.size(), key);
    // Sums of floats would be rounded, and an exchange could raise the energy.
    const auto cost = [&](size_t i, int32_t goal) { return static_cast<double>((P[i] - goals[goal]).squaredNorm()); };
    parallel_for(
        pairs,
        [&](size_t pair) {
            const size_t i = shuffle(2 * pair), j = shuffle(2 * pair + 1);
            const int32_t a = target[i], b = target[j];
            if (cost(i, b) + cost(j, a) < cost(i, a) + cost(j, b)) target[i] = b, target[j] = a;
        },
        kPairGrain);
}

void Correspondence::assign_in_groups(std::span<const Vec3f> P, std::span<const Vec3f> goals, std::span<int32_t> target,
                                      size_t groups, uint64_t key)
{
    const size_t count = P.size();
    // Random axes and a random origin, so that the curve's jumps are elsewhere in each round.
    Random random(key);
    Eigen::Quaternionf turn;
    do turn.coeffs() = Eigen::Vector4f::NullaryExpr([&] { return random.uniform(-1, 1); });
    while (turn.norm() > 1 || turn.norm() < 0.1f);
    const Mat3f axes = turn.normalized().toRotationMatrix();
    const auto midpoint = [&](size_t i) { return Vec3f(axes * (0.5f * (P[i] + goals[target[i]]))); };
    const Box3f box = parallel_reduce(
        count, Box3f{},
        [&](size_t i) {
            return Box3f{midpoint(i), midpoint(i)};
        },
        [](Box3f a, const Box3f& b) { return a.add(b), a; }, kPairGrain);
    const float cells = static_cast<float>(kTileReach) / 4, scale = cells / std::max(box.size().maxCoeff(), 1e-20f);
    const Vec3f origin = cells * Vec3f(random.uniform(), random.uniform(), random.uniform());
    order_.resize(count);
    parallel_for(
        count,
        [&](size_t i) {
            const Vec3f place = scale * (midpoint(i) - box.min) + origin;
            order_[i] = {morton_of_tile(place.cast<int>()), static_cast<uint32_t>(i)};
        },
        kPairGrain);
    tbb::parallel_sort(order_.begin(), order_.end()); // entries differ, so their order is unique
    const size_t first = random.bits() % kGroup, all_groups = (count - std::min(count, first)) / kGroup;
    const size_t first_group = random.bits() % std::max<size_t>(1, all_groups);
    parallel_for(
        std::min(groups, all_groups),
        [&](size_t n) {
            const size_t g = (first_group + n) % all_groups;
            const auto member = [&](int k) { return order_[first + kGroup * g + k].second; };
            std::array<int32_t, kGroup> now;
            for (int k = 0; k < kGroup; ++k) now[k] = target[member(k)];
            std::array<std::array<float, kGroup>, kGroup> cost;
            for (size_t r = 0; r < kGroup; ++r)
                for (size_t c = 0; c < kGroup; ++c)
                    cost[r][c] = (P[member(static_cast<int>(r))] - goals[now[c]]).squaredNorm();
            const std::array<int, kGroup> column = optimal_columns<kGroup>(cost);
            double before = 0, after = 0;
            for (size_t r = 0; r < kGroup; ++r)
                before += static_cast<double>(cost[r][r]), after += static_cast<double>(cost[r][column[r]]);
            if (!(after < before)) return;
            for (size_t r = 0; r < kGroup; ++r) target[member(static_cast<int>(r))] = now[column[r]];
        },
        4);
}

double matching_energy(std::span<const Vec3f> P, std::span<const Vec3f> goals, std::span<const int32_t> target)
{
    return parallel_sum(
        P.size(), [&](size_t i) { return static_cast<double>((P[i] - goals[target[i]]).squaredNorm()); }, kPairGrain);
}

void assign_randomly(std::span<int32_t> target, uint64_t seed)
{
    const Shuffle shuffle(target.size(), seed);
    parallel_for(
        target.size(), [&](size_t i) { target[i] = static_cast<int32_t>(shuffle(i)); }, kPairGrain);
}

} // namespace spindrift
