#include "spindrift/shaped_smoke/shape_points.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"

#include <bit>

namespace spindrift {

namespace {

constexpr int kBranch = 4; // cells along the edge of a block, and blocks along the edge of a group
constexpr int kBranch3 = kBranch * kBranch * kBranch;

// Cell of a 4x4x4 block by its Morton code.
Vec3i place_in_block(int code)
{
    const auto axis = [code](int first) { return (code >> first & 1) | (code >> (first + 3) & 1) << 1; };
    return {axis(2), axis(1), axis(0)};
}

} // namespace

struct ShapePoints::Lattice {
    Vec3f corner;
    float edge;
    uint64_t seed;
    std::vector<std::array<uint64_t, kBranch3>> groups; // bit masks of the candidates of each block
    std::vector<Vec3i> places;                          // of the groups
    std::vector<size_t> first;                          // candidates before each group, and the total

    // The jittered point of a cell.
    Vec3f point(const Vec3i& cell) const
    {
        const auto key = static_cast<uint64_t>(cell.x()) << 42 ^ static_cast<uint64_t>(cell.y()) << 21 ^
                         static_cast<uint64_t>(cell.z());
        Random random(seed, key);
        const float x = random.uniform(), y = random.uniform(), z = random.uniform();
        return corner + edge * (cell.cast<float>() + Vec3f(x, y, z));
    }
    size_t count() const { return first.back(); }
};

ShapePoints::ShapePoints(const Shape& shape, float frame, const std::string& where)
    : shape_(shape), frame_(frame), where_(where), box_(shape.bounds(frame))
{
    constexpr size_t kEnough = 20000; // candidates: about a percent of error
    constexpr size_t kLeast = 1000;
    constexpr int kFinest = 1024; // cells along the longest side
    const float size = box_.size().maxCoeff();
    if (!std::isfinite(size)) bad_input("{}: the shape is infinite", where);
    for (int cells = 64; cells <= kFinest; cells *= 2) {
        const Lattice sampled = lattice(size / static_cast<float>(cells), 0);
        const double cell = std::pow(static_cast<double>(sampled.edge), 3);
        volume_ = cell * static_cast<double>(sampled.count());
        if (sampled.count() >= kEnough || (cells == kFinest && sampled.count() >= kLeast)) return;
    }
    bad_input("{}: the shape has no volume; it is flat, or thinner than {:.2g} m everywhere", where,
              size / static_cast<float>(kFinest));
}

ShapePoints::Lattice ShapePoints::lattice(float edge, uint64_t seed) const
{
    Lattice all{box_.min, edge, seed, {}, {}, {}};
    const float group_edge = edge * kBranch * kBranch, half_diagonal = 0.5f * std::sqrt(3.0f);
    const Vec3i size = (box_.size() / group_edge).array().floor().cast<int>() + 1;
    for (int x = 0; x < size.x(); ++x)
        for (int y = 0; y < size.y(); ++y)
            for (int z = 0; z < size.z(); ++z) all.places.emplace_back(x, y, z);
    all.groups.resize(all.places.size());
    std::vector<size_t> counts(all.places.size());
    // Farther from the surface than half its diagonal, a cube is either all inside or all outside.
    const auto distance = [&](const Vec3i& cube, float cube_edge) {
        return shape_.distance(all.corner + cube_edge * (cube.cast<float>() + Vec3f::Constant(0.5f)), frame_);
    };
    parallel_for(all.places.size(), [&](size_t g) {
        auto& masks = all.groups[g];
        const float d = distance(all.places[g], group_edge), reach = half_diagonal * group_edge;
        if (std::abs(d) > reach) {
            masks.fill(d < 0 ? ~uint64_t{0} : 0);
        } else {
            for (int b = 0; b < kBranch3; ++b) {
                const Vec3i block = kBranch * all.places[g] + place_in_block(b);
                const float near = distance(block, kBranch * edge), limit = half_diagonal * kBranch * edge;
                uint64_t& mask = masks[b] = near < -limit ? ~uint64_t{0} : 0;
                for (int c = 0; c < kBranch3 && std::abs(near) <= limit; ++c)
                    if (shape_.distance(all.point(kBranch * block + place_in_block(c)), frame_) < 0)
                        mask |= uint64_t{1} << c;
            }
        }
        for (const uint64_t mask : masks) counts[g] += std::popcount(mask);
    });
    all.first.reserve(counts.size() + 1);
    size_t total = 0;
    for (const size_t count : counts) all.first.push_back(total), total += count;
    all.first.push_back(total);
    return all;
}

std::vector<Vec3f> ShapePoints::take(size_t count, uint64_t seed) const
{
    if (count == 0) return {};
    // Few points need many candidates to be even; many points are even anyway.
    const double oversampling = count < 200000 ? 6 : 1.5;
    auto edge = static_cast<float>(std::cbrt(volume_ / (oversampling * static_cast<double>(count))));
    Lattice all = lattice(edge, seed);
    for (int tries = 0; all.count() < count; ++tries) {
        if (tries == 20) bad_input("{}: the shape is too thin for {} points", where_, count);
        all = lattice(edge *= 0.8f, seed);
    }
    // Candidate r is taken if the number taken so far grows there.
    const double step = static_cast<double>(count) / static_cast<double>(all.count());
    const double shift = static_cast<double>(Random(seed, 1).uniform());
    const auto taken_before = [&](size_t r) {
        if (r == all.count()) return count;
        return std::min(count, static_cast<size_t>(static_cast<double>(r) * step + shift));
    };
    std::vector<Vec3f> points(count);
    parallel_for(all.places.size(), [&](size_t g) {
        size_t r = all.first[g], next = taken_before(r);
        for (int b = 0; b < kBranch3; ++b)
            for (uint64_t mask = all.groups[g][b]; mask != 0; mask &= mask - 1, ++r) {
                const size_t after = taken_before(r + 1);
                if (after == next) continue;
                const Vec3i block = kBranch * all.places[g] + place_in_block(b);
                points[next] = all.point(kBranch * block + place_in_block(std::countr_zero(mask)));
                next = after;
            }
    });
    return points;
}

} // namespace spindrift
