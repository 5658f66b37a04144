#include "spindrift/spray/cells.h"

#include "spindrift/base/parallel.h"

#include <bit>
#include <utility>

namespace spindrift {

namespace {

constexpr size_t kChunk = 16384;
constexpr int kMostCells = 1 << 19; // along each axis
constexpr int kMostLevels = 20;     // the last level has one cell
constexpr size_t kSamples = 1023;
// Bounds of the mean number of droplets in a droplet's cell, itself included. Below, looking up cells dominates the
// cost; above, testing pairs does.
constexpr double kFewMates = 2.5, kManyMates = 16;

template <class T> T median(std::vector<T> values)
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

size_t chunk_size(size_t count) { return std::max(kChunk, (count + 63) / 64); }

// Radix sort of keys of `bits` bits with the droplets that they belong to. Each chunk knows the destination of its part
// of every digit, so that the order of equal keys does not depend on the number of threads.
void radix_sort(size_t count, int bits, Buffer<uint64_t>& key, Buffer<uint64_t>& other_key, Buffer<uint32_t>& order,
                Buffer<uint32_t>& other_order)
{
    constexpr int kDigit = 11;
    constexpr size_t kValues = 1 << kDigit;
    const size_t chunk = chunk_size(count), chunks = (count + chunk - 1) / chunk;
    std::vector<std::array<uint32_t, kValues>> next(chunks);
    for (int shift = 0; shift < bits; shift += kDigit) {
        const auto digit = [shift](uint64_t k) { return k >> shift & (kValues - 1); };
        parallel_for(chunks, [&](size_t c) {
            next[c].fill(0);
            for (size_t i = c * chunk, end = std::min(count, (c + 1) * chunk); i < end; ++i)
                ++next[c][digit(key.data()[i])];
        });
        uint32_t total = 0;
        for (size_t value = 0; value < kValues; ++value)
            for (size_t c = 0; c < chunks; ++c) total += std::exchange(next[c][value], total);
        parallel_for(chunks, [&](size_t c) {
            for (size_t i = c * chunk, end = std::min(count, (c + 1) * chunk); i < end; ++i) {
                const uint32_t to = next[c][digit(key.data()[i])]++;
                other_key.data()[to] = key.data()[i];
                other_order.data()[to] = shift == 0 ? static_cast<uint32_t>(i) : order.data()[i];
            }
        });
        std::swap(key, other_key), std::swap(order, other_order);
    }
}

} // namespace

size_t DropletCells::bytes() const
{
    return (key_.capacity() + other_key_.capacity() + cell_key_.capacity()) * sizeof(uint64_t) +
           (order_.capacity() + other_order_.capacity() + first_.capacity()) * sizeof(uint32_t) +
           moved_vectors_.capacity() * sizeof(Vec3f) + (moved_floats_.capacity() + moved_ints_.capacity()) * 4;
}

size_t DropletCells::find(uint64_t key, size_t begin, size_t end, size_t guess) const
{
    const auto search = [&](size_t from, size_t to) {
        return static_cast<size_t>(std::lower_bound(cell_key_.begin() + static_cast<std::ptrdiff_t>(from),
                                                    cell_key_.begin() + static_cast<std::ptrdiff_t>(to), key) -
                                   cell_key_.begin());
    };
    guess = std::clamp(guess, begin, end);
    if (guess == end || cell_key_[guess] >= key) return search(begin, guess);
    for (int near = 0; near < 4; ++near) // usually it is one of the next
        if (++guess == end || cell_key_[guess] >= key) return guess;
    for (size_t step = 1;; step *= 2) {
        if (guess + step >= end) return search(guess, end);
        if (cell_key_[guess + step] >= key) return search(guess, guess + step);
        guess += step;
    }
}

Vec3i DropletCells::coordinates(uint64_t key, const Level& level) const
{
    const auto offset = static_cast<int64_t>(key - level.base);
    return {static_cast<int>(offset / level.slab) - 1, static_cast<int>(offset % level.slab / level.row) - 1,
            static_cast<int>(offset % level.row) - 1};
}

void DropletCells::sort(Particles& droplets, const Reach& reach, float& edge)
{
    const size_t count = droplets.size();
    const std::vector<float>& radius = *droplets.find<float>(kRadiusAttribute);
    extent_ = parallel_reduce(
        count, Extent{{}, 0},
        [&](size_t i) {
            const Vec3f x = reach.middle(droplets.P[i], droplets.v[i]);
            return Extent{{x, x}, reach(droplets.v[i], radius[i])};
        },
        [](Extent a, const Extent& b) {
            a.box.add(b.box);
            return Extent{a.box, std::max(a.largest_reach, b.largest_reach)};
        },
        kChunk);
    std::vector<float> reaches, places[3];
    for (size_t i = 0, step = 1 + count / kSamples; i < count; i += step) {
        reaches.push_back(reach(droplets.v[i], radius[i]));
        for (int a = 0; a < 3; ++a) places[a].push_back(reach.middle(droplets.P[i], droplets.v[i])[a]);
    }
    const float smallest = 2 * *std::min_element(reaches.begin(), reaches.end());
    if (!(edge > 0)) edge = 2 * median(reaches);
    edge = std::max(edge, std::numeric_limits<float>::min());

    key_.resize(count), other_key_.resize(count), order_.resize(count), other_order_.resize(count);
    const Vec3f center(median(places[0]), median(places[1]), median(places[2]));
    const float widest = extent_.box.size().maxCoeff();
    for (int attempt = 0, direction = 0; attempt < 16; ++attempt) {
        edge_ = edge;
        const float half_range = 0.5f * edge * static_cast<float>(kMostCells);
        origin_ = extent_.box.min.cwiseMax(center - Vec3f::Constant(half_range));
        make_levels(edge);
        number(droplets, reach);
        radix_sort(count, static_cast<int>(std::bit_width(key_count_)), key_, other_key_, order_, other_order_);
        const double mates = list_cells();
        const int wanted = mates < kFewMates && edge < widest ? 1 : mates > kManyMates && edge > smallest ? -1 : 0;
        if (wanted == 0 || wanted == -direction) break;
        direction = wanted, edge *= wanted > 0 ? 2.0f : 0.5f;
    }

    droplets.for_each_array([&](const std::string&, auto& array) {
        using T = typename std::decay_t<decltype(array)>::value_type;
        auto& moved = [&]() -> std::vector<T>& {
            if constexpr (std::is_same_v<T, Vec3f>)
                return moved_vectors_;
            else if constexpr (std::is_same_v<T, float>)
                return moved_floats_;
            else
                return moved_ints_;
        }();
        if (moved.capacity() < array.capacity()) moved.reserve(array.capacity());
        moved.resize(count);
        parallel_chunks(count, kChunk, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) moved[i] = array[order_.data()[i]];
        });
        std::swap(array, moved);
    });
}

void DropletCells::make_levels(float edge)
{
    const Vec3f cells = (extent_.box.max - origin_) / edge;
    for (int a = 0; a < 3; ++a)
        size_[a] = static_cast<int>(std::clamp(cells[a], 0.0f, static_cast<float>(kMostCells - 1))) + 1;
    levels_.clear();
    key_count_ = 0;
    float reached = 0.5f * edge;
    do {
        const int shift = static_cast<int>(levels_.size());
        const auto padded = [&](int a) { return static_cast<int64_t>((size_[a] - 1) >> shift) + 3; };
        Level level;
        level.base = key_count_, level.row = padded(2), level.slab = padded(2) * padded(1);
        key_count_ += static_cast<uint64_t>(level.slab * padded(0));
        levels_.push_back(level);
        reached *= 2;
    } while (0.5f * reached < extent_.largest_reach && levels_.size() < kMostLevels);
}

void DropletCells::number(const Particles& droplets, const Reach& reach)
{
    const std::vector<float>& radius = *droplets.find<float>(kRadiusAttribute);
    const float inverse_edge = 1 / edge_;
    const int last_level = static_cast<int>(levels_.size()) - 1;
    parallel_chunks(droplets.size(), kChunk, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            const Vec3f x = (reach.middle(droplets.P[i], droplets.v[i]) - origin_) * inverse_edge;
            float reached = 0.5f * edge_;
            int level = 0;
            for (const float own = reach(droplets.v[i], radius[i]); own > reached && level < last_level; ++level)
                reached *= 2;
            int cell[3];
            for (int a = 0; a < 3; ++a)
                cell[a] = static_cast<int>(std::clamp(x[a], 0.0f, static_cast<float>(size_[a] - 1))) >> level;
            const Level& l = levels_[level];
            key_.data()[i] =
                l.base + static_cast<uint64_t>((cell[0] + 1) * l.slab + (cell[1] + 1) * l.row + cell[2] + 1);
        }
    });
}

// Lists the occupied cells in order. Returns the mean number of droplets in a droplet's cell.
double DropletCells::list_cells()
{
    const uint64_t* key = key_.data();
    const size_t count = key_.size(), chunk = chunk_size(count), chunks = (count + chunk - 1) / chunk;
    std::vector<size_t> begin(chunks + 1, 0);
    const auto starts = [key](size_t i) { return i == 0 || key[i] != key[i - 1]; };
    parallel_for(chunks, [&](size_t c) {
        for (size_t i = c * chunk, end = std::min(count, (c + 1) * chunk); i < end; ++i) begin[c + 1] += starts(i);
    });
    for (size_t c = 0; c < chunks; ++c) begin[c + 1] += begin[c];
    cell_key_.resize(begin[chunks]), first_.resize(begin[chunks] + 1);
    parallel_for(chunks, [&](size_t c) {
        size_t cell = begin[c];
        for (size_t i = c * chunk, end = std::min(count, (c + 1) * chunk); i < end; ++i)
            if (starts(i)) cell_key_[cell] = key[i], first_[cell++] = static_cast<uint32_t>(i);
    });
    first_.back() = static_cast<uint32_t>(count);
    size_t at = 0;
    for (Level& level : levels_) {
        level.begin = at;
        const uint64_t next = &level == &levels_.back() ? key_count_ : (&level)[1].base;
        level.end = at = find(next, 0, cell_key_.size(), at);
    }
    const double pairs = parallel_sum(
        cell_key_.size(),
        [&](size_t c) {
            const auto droplets = static_cast<double>(first_[c + 1] - first_[c]);
            return droplets * droplets;
        },
        kChunk);
    return pairs / static_cast<double>(count);
}

} // namespace spindrift
