#include "spindrift/io/point_buckets.h"

#include "spindrift/base/error.h"
#include "spindrift/field/tiles.h"

#include <bit>
#include <utility>

namespace spindrift {

namespace {

constexpr size_t kChunk = 1 << 15;
constexpr int kDigitBits = 11; // 2048 counters of 4 bytes fit the first-level cache
constexpr size_t kDigits = size_t(1) << kDigitBits;

Vec3i tile_at(const Vec3f& position, double cells_per_metre)
{
    return tile_of_cell(cell_point(position, cells_per_metre).cell);
}

struct TileBox {
    Vec3i min = Vec3i::Constant(kTileReach);
    Vec3i max = Vec3i::Constant(-kTileReach - 1);
    void add(const Vec3i& tile) { min = min.cwiseMin(tile), max = max.cwiseMax(tile); }
};

TileBox tiles_around(const std::vector<Vec3f>& positions, double cells_per_metre)
{
    const double reach = static_cast<double>(kTileReach) * kTileSize;
    std::vector<TileBox> boxes((positions.size() + kChunk - 1) / kChunk);
    parallel_chunks(positions.size(), kChunk, [&](size_t begin, size_t end) {
        TileBox box;
        for (size_t i = begin; i < end; ++i) {
            // Also catches NaN, because comparisons with it are false.
            const bool inside = (positions[i].cast<double>().array().abs() * cells_per_metre < reach).all();
            if (!inside)
                fail("particle {} is at ({}, {}, {}): not finite, or too far from the origin for a voxel of {} m", i,
                     positions[i].x(), positions[i].y(), positions[i].z(), 1 / cells_per_metre);
            box.add(tile_at(positions[i], cells_per_metre));
        }
        boxes[begin / kChunk] = box;
    });
    TileBox all;
    for (const TileBox& box : boxes) all.add(box.min), all.add(box.max);
    return all;
}

// Packs tile coordinates within a box into one number of few bits: x highest, z lowest.
struct TileKey {
    Vec3i origin;
    int y_bits, z_bits, bits;

    explicit TileKey(const TileBox& box) : origin(box.min)
    {
        const auto width = [&](int axis) {
            return static_cast<int>(std::bit_width(static_cast<unsigned>(box.max[axis] - box.min[axis])));
        };
        y_bits = width(1), z_bits = width(2), bits = width(0) + y_bits + z_bits;
    }
    uint64_t of(const Vec3i& tile) const
    {
        const auto at = [&](int axis) { return static_cast<uint64_t>(tile[axis] - origin[axis]); };
        return (at(0) << y_bits | at(1)) << z_bits | at(2);
    }
    Vec3i tile(uint64_t key) const
    {
        const auto low = [](uint64_t k, int count) { return static_cast<int>(k & ((uint64_t(1) << count) - 1)); };
        return origin + Vec3i(static_cast<int>(key >> y_bits >> z_bits), low(key >> z_bits, y_bits), low(key, z_bits));
    }
};

// Stable radix sort of (key, index) pairs, lowest digit first. The result of a stable sort is unique, so it does not
// depend on the number of threads.
struct RadixSort {
    Buffer<uint64_t> keys, other_keys;
    Buffer<uint32_t> order, other_order;

    void pass(int shift)
    {
        const size_t count = keys.size();
        const size_t chunk = std::max(kChunk, count / 64), chunks = (count + chunk - 1) / chunk;
        const auto digit = [shift](uint64_t key) { return key >> shift & (kDigits - 1); };
        std::vector<uint32_t> slots(chunks * kDigits, 0);
        parallel_chunks(count, chunk, [&](size_t begin, size_t end) {
            uint32_t* histogram = &slots[begin / chunk * kDigits];
            for (size_t i = begin; i < end; ++i) ++histogram[digit(keys.data()[i])];
        });
        // Prefix sums: by digit, and within a digit by chunk.
        uint32_t place = 0;
        for (size_t d = 0; d < kDigits; ++d)
            for (size_t c = 0; c < chunks; ++c) place += std::exchange(slots[c * kDigits + d], place);
        parallel_chunks(count, chunk, [&](size_t begin, size_t end) {
            uint32_t* next = &slots[begin / chunk * kDigits];
            for (size_t i = begin; i < end; ++i) {
                const uint32_t to = next[digit(keys.data()[i])]++;
                other_keys.data()[to] = keys.data()[i];
                other_order.data()[to] = order.data()[i];
            }
        });
        std::swap(keys, other_keys);
        std::swap(order, other_order);
    }
};

} // namespace

TileBuckets bucket_by_tile(const std::vector<Vec3f>& positions, float voxel)
{
    const size_t count = positions.size();
    if (count >= std::numeric_limits<uint32_t>::max()) fail("{} particles exceed the limit of one file", count);
    TileBuckets buckets;
    buckets.begin.push_back(0);
    if (count == 0) return buckets;

    const double cells_per_metre = 1.0 / static_cast<double>(voxel);
    const TileKey key(tiles_around(positions, cells_per_metre));
    RadixSort sort;
    sort.keys.resize(count), sort.order.resize(count);
    parallel_chunks(count, kChunk, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            sort.keys.data()[i] = key.of(tile_at(positions[i], cells_per_metre));
            sort.order.data()[i] = static_cast<uint32_t>(i);
        }
    });
    const uint64_t* keys = sort.keys.data();
    if (!std::is_sorted(keys, keys + count)) {
        sort.other_keys.resize(count), sort.other_order.resize(count);
        for (int shift = 0; shift < key.bits; shift += kDigitBits) sort.pass(shift);
        keys = sort.keys.data();
    }

    for (size_t i = 0; i < count; ++i) {
        if (i + 1 < count && keys[i + 1] == keys[i]) continue;
        buckets.tiles.push_back(key.tile(keys[i]));
        buckets.begin.push_back(i + 1);
    }
    buckets.order.assign(sort.order.data(), sort.order.data() + count);
    return buckets;
}

} // namespace spindrift
