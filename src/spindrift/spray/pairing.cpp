#include "spindrift/spray/pairing.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/scratch.h"
#include "spindrift/field/row.h"

#include <atomic>
#include <bit>

namespace spindrift {

namespace {

constexpr int kIterations = 4; // of Algorithm 3
constexpr size_t kCellsInPart = 2048;
// Limits on the droplets tested in a run of cells and on the meetings kept per droplet, so that time and memory stay
// linear where many droplets are in one place.
constexpr size_t kMostInRun = 256, kMostMeetings = 8;
constexpr size_t kBlock = 64; // droplets of a cell that share a list of candidates

// Maps times to integers in the same order, above Pairing::kPaired and below kNone.
uint64_t rank_of(float time, uint32_t other)
{
    const auto bits = std::bit_cast<uint32_t>(time + 0.0f); // removes negative zero
    const uint32_t ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return static_cast<uint64_t>(ordered) << 32 | other;
}

void lower(uint64_t& place, uint64_t value)
{
    std::atomic_ref<uint64_t> at(place);
    uint64_t now = at.load(std::memory_order_relaxed);
    while (value < now && !at.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
    }
}

uint64_t read(uint64_t& place) { return std::atomic_ref<uint64_t>(place).load(std::memory_order_relaxed); }
void write(uint64_t& place, uint64_t value)
{
    std::atomic_ref<uint64_t>(place).store(value, std::memory_order_relaxed);
}

// The droplets that those of a cell may meet, as one array per component. The cell's own come first.
class Candidates {
  public:
    void clear() { count_ = 0; }
    size_t count() const { return count_; }
    // Adds the droplets of a run that are not in their cooldown (reach not negative).
    void add(const Particles& droplets, const float* radius, const float* reach, float half_step, size_t begin,
             size_t end)
    {
        if (count_ + (end - begin) + kTileSize > capacity_) grow(count_ + (end - begin) + kTileSize);
        for (size_t i = begin; i < end; ++i) {
            if (reach[i] < 0) continue;
            const Vec3f &x = droplets.P[i], &v = droplets.v[i];
            for (int a = 0; a < 3; ++a) x_[a][count_] = x[a] + half_step * v[a], v_[a][count_] = v[a];
            radius_[count_] = radius[i], reach_[count_] = reach[i];
            index_[count_++] = static_cast<uint32_t>(i);
        }
    }
    // Pads the last row with droplets at infinity.
    void finish()
    {
        for (size_t k = count_; k < count_ + kTileSize; ++k) {
            for (int a = 0; a < 3; ++a) x_[a][k] = kNowhere, v_[a][k] = 0;
            radius_[k] = reach_[k] = 0;
        }
    }
    // Calls meet(time, droplet, other) for each later candidate that candidate k meets within the step.
    template <class Meet> void test(size_t k, float half_step, const Meet& meet) const
    {
        const Row x = splat(x_[0][k]), y = splat(x_[1][k]), z = splat(x_[2][k]), vx = splat(v_[0][k]),
                  vy = splat(v_[1][k]), vz = splat(v_[2][k]), radius = splat(radius_[k]), reach = splat(reach_[k]);
        const Row half = splat(half_step), zero = splat(0);
        for (size_t j = k + 1; j < count_; j += kTileSize) {
            const auto row = [j](const std::vector<float>& values) { return load_row_unaligned(values.data() + j); };
            const Row dx = row(x_[0]) - x, dy = row(x_[1]) - y, dz = row(x_[2]) - z, near = row(reach_) + reach;
            const Row d2 = dx * dx + dy * dy + dz * dz;
            const RowMask close = d2 <= near * near;
            if (!any(close)) continue;
            const Row ux = row(v_[0]) - vx, uy = row(v_[1]) - vy, uz = row(v_[2]) - vz, touch = row(radius_) + radius;
            // (4.31) about the middle of the step, where the droplets are d apart: a s^2 + 2 b s + c = 0. They approach
            // each other (4.34) and touch before the end of the step, s = half.
            const Row a = ux * ux + uy * uy + uz * uz, b = dx * ux + dy * uy + dz * uz, c = d2 - touch * touch;
            const Row discriminant = b * b - a * c, late = -b - a * half;
            const RowMask meets =
                close & (b < a * half) & (discriminant >= zero) & ((late <= zero) | (discriminant >= late * late));
            if (!any(meets)) continue;
            for (size_t l = 0; l < kTileSize; ++l)
                if (meets[l] && j + l < count_)
                    meet((-b[l] - std::sqrt(discriminant[l])) / a[l] + half_step, index_[k], index_[j + l]);
        }
    }

  private:
    static constexpr float kNowhere = 1e18f;
    static bool any(RowMask mask)
    {
        uint64_t parts[4];
        std::memcpy(parts, &mask, sizeof mask);
        return (parts[0] | parts[1] | parts[2] | parts[3]) != 0;
    }
    void grow(size_t capacity)
    {
        capacity_ = 2 * capacity;
        for (std::vector<float>* array : {&x_[0], &x_[1], &x_[2], &v_[0], &v_[1], &v_[2], &radius_, &reach_})
            array->resize(capacity_);
        index_.resize(capacity_);
    }
    std::vector<float> x_[3], v_[3], radius_, reach_;
    std::vector<uint32_t> index_;
    size_t count_ = 0, capacity_ = 0;
};

// Finds the runs of droplets around successive cells. Cells are visited in order, and so are their neighbours: each
// search starts where the last one for the same offset ended.
class Surroundings {
  public:
    explicit Surroundings(const DropletCells& cells) : cells_(cells), coarser_(cells.levels().size()) {}

    // Calls visit(run) for the droplets in the later half of the neighbouring cells of the same level, so that each
    // pair of cells is visited once, and in all neighbouring cells of coarser levels.
    template <class Visit> void visit(size_t cell, const Visit& visit)
    {
        const uint64_t key = cells_.key(cell);
        while (cell >= cells_.levels()[level_].end) ++level_, guess_.fill(0);
        const DropletCells::Level& own = cells_.levels()[level_];
        if (cell + 1 < own.end && cells_.key(cell + 1) == key + 1) visit(cells_.cell(cell + 1));
        const std::array<int64_t, 4> rows = {own.row, own.slab - own.row, own.slab, own.slab + own.row};
        for (size_t r = 0; r < rows.size(); ++r) {
            const uint64_t center = key + static_cast<uint64_t>(rows[r]);
            guess_[r] = cells_.find(center - 1, std::max(cell, guess_[r]), own.end, guess_[r]);
            visit(run(guess_[r], center + 1, own.end));
        }
        if (level_ + 1 == cells_.levels().size()) return;
        const Vec3i at = cells_.coordinates(key, own);
        for (size_t l = level_ + 1; l < cells_.levels().size(); ++l) {
            if (cells_.levels()[l].begin == cells_.levels()[l].end) continue;
            look_up(l, at);
            for (const DropletCells::Run& found : coarser_[l].runs) visit(found);
        }
    }

  private:
    struct Coarser {
        Vec3i low = Vec3i::Constant(-2), high = Vec3i::Constant(-2); // range in which the runs were found
        std::vector<DropletCells::Run> runs;
        size_t guess = 0;
    };
    DropletCells::Run run(size_t first_cell, uint64_t last_key, size_t end) const
    {
        size_t last = first_cell;
        while (last < end && cells_.key(last) <= last_key) ++last;
        if (last == first_cell) return {0, 0};
        return {cells_.cell(first_cell).begin, cells_.cell(last - 1).end};
    }
    // Reaches are at most half a cell of the droplet's level: in cells of the finer level, (1 + scale) / 2 in sum.
    void look_up(size_t l, const Vec3i& at)
    {
        const int shift = static_cast<int>(l - level_), scale = 1 << shift;
        Vec3i low, high;
        for (int a = 0; a < 3; ++a) {
            low[a] = (2 * at[a] - 1 - scale) >> (shift + 1);
            high[a] = (2 * at[a] + 3 + scale) >> (shift + 1);
        }
        Coarser& c = coarser_[l];
        if (c.low == low && c.high == high) return;
        c.low = low, c.high = high;
        c.runs.clear();
        const DropletCells::Level& level = cells_.levels()[l];
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y) {
                const auto row = level.base + static_cast<uint64_t>((x + 1) * level.slab + (y + 1) * level.row + 1);
                c.guess = cells_.find(row + static_cast<uint64_t>(int64_t{low.z()}), level.begin, level.end, c.guess);
                const DropletCells::Run found = run(c.guess, row + static_cast<uint64_t>(high.z()), level.end);
                if (found.begin != found.end) c.runs.push_back(found);
            }
    }

    const DropletCells& cells_;
    size_t level_ = 0;
    std::array<size_t, 4> guess_{};
    std::vector<Coarser> coarser_;
};

// The earliest meetings of one droplet.
class Earliest {
  public:
    void clear() { count_ = 0; }
    void add(const Meeting& m)
    {
        if (count_ < kMostMeetings) {
            kept_[count_++] = m;
        } else if (before(m, kept_[last_])) {
            kept_[last_] = m;
        } else {
            return;
        }
        if (count_ == kMostMeetings) last_ = std::max_element(kept_.begin(), kept_.end(), before) - kept_.begin();
    }
    std::span<const Meeting> kept() const { return {kept_.data(), count_}; }

  private:
    static bool before(const Meeting& a, const Meeting& b)
    {
        return a.time < b.time || (a.time == b.time && a.second < b.second);
    }
    std::array<Meeting, kMostMeetings> kept_;
    size_t count_ = 0, last_ = 0;
};

} // namespace

size_t Pairing::bytes() const
{
    size_t total = pairs_.capacity() * sizeof(Meeting);
    for (const auto& part : meetings_) total += part.capacity() * sizeof(Meeting);
    return total;
}

const std::vector<Meeting>& Pairing::find(const Particles& droplets, DropletCells& cells, const Reach& reach)
{
    first_meeting_ = cells.spare().data();
    search(droplets, cells, reach);
    parallel_chunks(droplets.size(), 65536,
                    [&](size_t begin, size_t end) { std::fill(first_meeting_ + begin, first_meeting_ + end, kNone); });
    pair_up();
    return pairs_;
}

void Pairing::search(const Particles& droplets, DropletCells& cells, const Reach& reach)
{
    const float* radius = droplets.find<float>(kRadiusAttribute)->data();
    const float* rest = droplets.find<float>(kRestAttribute)->data();
    std::vector<float>& reaches = cells.spare_floats(); // negative during the cooldown
    parallel_chunks(droplets.size(), 65536, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) reaches[i] = rest[i] > 0 ? -1 : reach(droplets.v[i], radius[i]);
    });
    meetings_.resize((cells.cell_count() + kCellsInPart - 1) / kCellsInPart);
    parallel_for(meetings_.size(), [&](size_t part) {
        auto& candidates = thread_scratch<Candidates>();
        std::vector<Meeting>& found = meetings_[part];
        found.clear();
        Surroundings surroundings(cells);
        Earliest earliest;
        std::vector<DropletCells::Run> around;
        const auto keep_earliest = [&](float time, uint32_t i, uint32_t j) {
            earliest.add({time, std::min(i, j), std::max(i, j)});
        };
        const size_t last = std::min(cells.cell_count(), (part + 1) * kCellsInPart);
        for (size_t cell = part * kCellsInPart; cell < last; ++cell) {
            around.clear();
            surroundings.visit(cell, [&](const DropletCells::Run& run) {
                if (run.begin != run.end) around.push_back({run.begin, std::min(run.end, run.begin + kMostInRun)});
            });
            const DropletCells::Run own = cells.cell(cell);
            for (size_t block = own.begin; block < own.end; block += kBlock) {
                candidates.clear();
                const size_t block_end = std::min(own.end, block + kBlock);
                candidates.add(droplets, radius, reaches.data(), reach.half_step, block, block_end);
                const size_t tested = candidates.count();
                if (tested == 0) continue;
                candidates.add(droplets, radius, reaches.data(), reach.half_step, block_end,
                               std::min(own.end, block_end + kMostInRun));
                for (const DropletCells::Run& run : around)
                    candidates.add(droplets, radius, reaches.data(), reach.half_step, run.begin, run.end);
                candidates.finish();
                for (size_t k = 0; k < tested; ++k) {
                    earliest.clear();
                    candidates.test(k, reach.half_step, keep_earliest);
                    found.insert(found.end(), earliest.kept().begin(), earliest.kept().end());
                }
            }
        }
    });
}

// Algorithm 3: two droplets that are each other's first meeting become a pair. Repeat without them.
void Pairing::pair_up()
{
    found_ = 0;
    for (const auto& part : meetings_) found_ += part.size();
    std::vector<std::vector<Meeting>> pairs(meetings_.size());
    for (int iteration = 0; iteration < kIterations; ++iteration) {
        parallel_for(meetings_.size(), [&](size_t part) {
            for (const auto& [time, i, j] : meetings_[part]) {
                lower(first_meeting_[i], rank_of(time, j));
                lower(first_meeting_[j], rank_of(time, i));
            }
        });
        parallel_for(meetings_.size(), [&](size_t part) {
            for (const Meeting& m : meetings_[part]) {
                uint64_t &of_first = first_meeting_[m.first], &of_second = first_meeting_[m.second];
                if (read(of_first) != rank_of(m.time, m.second) || read(of_second) != rank_of(m.time, m.first))
                    continue;
                pairs[part].push_back(m);
                write(of_first, kPaired), write(of_second, kPaired);
            }
        });
        parallel_for(meetings_.size(), [&](size_t part) {
            std::erase_if(meetings_[part], [&](const Meeting& m) {
                return read(first_meeting_[m.first]) == kPaired || read(first_meeting_[m.second]) == kPaired;
            });
        });
        parallel_for(meetings_.size(), [&](size_t part) { // forget meetings with droplets that were paired
            for (const Meeting& m : meetings_[part])
                write(first_meeting_[m.first], kNone), write(first_meeting_[m.second], kNone);
        });
    }
    pairs_.clear();
    for (const auto& part : pairs) pairs_.insert(pairs_.end(), part.begin(), part.end());
}

} // namespace spindrift
