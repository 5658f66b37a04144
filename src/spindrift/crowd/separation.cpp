#include "spindrift/crowd/separation.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/scratch.h"
#include "spindrift/field/row.h"

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace spindrift {

namespace {

constexpr size_t kLanes = 8, kAgentsToSeparate = 4096;
// Cells of a row that are tested for activity together.
constexpr int kTogether = 30;
// Share of the displacement that resolves one pair. Without it the shortest waves grow where an agent has six
// neighbours.
constexpr float kRelaxation = 0.7f;
// Below this distance [m] a pair has no direction: the order of the agents decides.
constexpr float kNoDistance = 1e-5f;
// Iterations to the larger distance continue until pairs are this many times the minimum apart. The last iterations
// separate pairs to this distance.
constexpr float kMargin = 1.03f;
// Weight of an agent that does not give way.
constexpr float kImmovable = 1e30f;

float sum(Row r) { return ((r[0] + r[4]) + (r[2] + r[6])) + ((r[1] + r[5]) + (r[3] + r[7])); }
bool any(RowMask m)
{
#ifdef __AVX__
    return _mm256_movemask_ps(reinterpret_cast<__m256>(m)) != 0;
#else
    typedef long long Quads __attribute__((vector_size(32)));
    const Quads q = reinterpret_cast<Quads>(m);
    return ((q[0] | q[1]) | (q[2] | q[3])) != 0;
#endif
}

} // namespace

size_t Separation::bytes() const
{
    return (x_.capacity() + y_.capacity() + next_x_.capacity() + next_y_.capacity() + radius_.capacity() +
            weight_.capacity()) *
               sizeof(float) +
           close_.capacity() + close_before_.capacity();
}

Separation::Report Separation::run(Agents& agents, const AgentCells& cells, const Continuum& continuum,
                                   const CrowdWalls* walls, const SeparationRules& rules, float dt)
{
    const size_t count = agents.size();
    Report report;
    if (count == 0) return report;
    for (auto* array : {&x_, &y_, &next_x_, &next_y_}) array->resize(count + kLanes, 0);
    const bool alike = parallel_reduce(
        count, true,
        [&](size_t i) {
            return agents.radius[i] == agents.radius[0] && agents.priority[i] == agents.priority[0] &&
                   agents.driver[i] != Driver::scripted;
        },
        [](bool a, bool b) { return a && b; }, kAgentsToSeparate);
    if (!alike) radius_.resize(count + kLanes, 0), weight_.resize(count + kLanes, 1);
    parallel_chunks(count, kAgentsToSeparate, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            x_[i] = agents.x[i].x(), y_[i] = agents.x[i].y();
            if (alike) continue;
            radius_[i] = agents.radius[i];
            weight_[i] = agents.driver[i] == Driver::scripted ? kImmovable : agents.priority[i];
        }
    });
    for (auto* flags : {&close_, &close_before_})
        flags->assign(static_cast<size_t>(cells.rows() + 2) * (cells.columns() + 2), 0);
    const auto iterate_to = [&](float distance, float least, bool everywhere) {
        const Scene scene{agents, cells, continuum, walls, distance, least};
        ++report.iterations;
        close_.swap(close_before_);
        report.too_close = alike ? iterate<true>(scene, everywhere) : iterate<false>(scene, everywhere);
        return report.too_close == 0;
    };
    const auto move = [&] { x_.swap(next_x_), y_.swap(next_y_); };
    for (bool done = false; report.iterations < rules.max_iterations && !done; move())
        done = iterate_to(rules.distance, kMargin, report.iterations < rules.min_iterations) &&
               report.iterations >= rules.min_iterations;
    // Cells without close pairs stay put: moving them could bring others too close.
    for (int n = 0; n < rules.last_iterations && !iterate_to(std::min(kMargin, rules.distance), 1, n == 0); ++n) move();
    parallel_chunks(count, kAgentsToSeparate, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            const Vec2f to(x_[i], y_[i]);
            agents.v[i] += (to - agents.x[i]) / dt;
            agents.x[i] = to;
        }
    });
    return report;
}

// Computes every agent's next position. kAlike: all have the same radius and priority. Returns the number of cells with
// agents that are too close.
template <bool kAlike> size_t Separation::iterate(const Scene& scene, bool everywhere)
{
    const AgentCells& cells = scene.cells;
    const size_t width = cells.columns() + 2;
    std::vector<size_t> too_close(cells.rows(), 0);
    parallel_for(
        too_close.size(),
        [&](size_t r) {
            const int row = static_cast<int>(r);
            uint8_t* close = &close_[(r + 1) * width + 1];
            bool moved = false;
            for (int c = 0, count = 0; c < cells.columns(); c += count) {
                count = std::min(kTogether, cells.columns() - c);
                if (everywhere || is_active(cells, row, c, count)) {
                    count = 1;
                    if (everywhere || is_active(cells, row, c, 1)) {
                        close[c] = move_cell<kAlike>(scene, row, c);
                        moved = true, too_close[r] += close[c];
                        continue;
                    }
                }
                std::fill_n(close + c, count, uint8_t(0));
                copy_positions(cells, row, c, count);
            }
            if (moved) stop_at_walls(scene, row);
        },
        4);
    size_t total = 0;
    for (const size_t n : too_close) total += n;
    return total;
}

// Whether an agent in these cells of a row, or in adjacent ones, was too close to another.
bool Separation::is_active(const AgentCells& cells, int row, int column, int count) const
{
    const size_t width = cells.columns() + 2;
    const uint8_t* at = &close_before_[static_cast<size_t>(row) * width + column];
    uint8_t any_close = 0;
    for (int r = 0; r < 3; ++r, at += width)
        for (int k = 0; k < count + 2; ++k) any_close |= at[k];
    return any_close != 0;
}

void Separation::copy_positions(const AgentCells& cells, int row, int column, int count)
{
    const auto [begin, end] = cells.range(row, column, column + count - 1);
    for (size_t i = begin; i < end; ++i) next_x_[i] = x_[i], next_y_[i] = y_[i];
}

// Returns whether an agent of the cell is too close to another.
template <bool kAlike> bool Separation::move_cell(const Scene& scene, int row, int column)
{
    const auto [begin, end] = scene.cells.range(row, column, column);
    if (begin == end) return false;
    std::pair<size_t, size_t> ranges[3];
    int range_count = 0;
    for (int r = std::max(row - 1, 0); r <= std::min(row + 1, scene.cells.rows() - 1); ++r)
        ranges[range_count++] = scene.cells.range(r, column - 1, column + 1);

    const Agents& agents = scene.agents;
    const float *xs = x_.data(), *ys = y_.data();
    const RowMask lanes = {0, 1, 2, 3, 4, 5, 6, 7}, none = lanes * 0;
    const Row zero = splat(0), nearest2 = splat(kNoDistance * kNoDistance);
    const Row distance = splat(scene.distance),
              closer2 = splat(scene.least * scene.least / (scene.distance * scene.distance));
    Row reach = splat(2 * agents.radius[0] * scene.distance), share = splat(0.5f);
    RowMask close = none;
    for (size_t i = begin; i < end; ++i) {
        const Row x = splat(xs[i]), y = splat(ys[i]);
        const RowMask own = none + static_cast<int>(i);
        Row push_x = zero, push_y = zero;
        for (int k = 0; k < range_count; ++k)
            for (size_t j = ranges[k].first; j < ranges[k].second; j += kLanes) {
                const RowMask index = lanes + static_cast<int>(j);
                Row dx = x - load_row_unaligned(xs + j), dy = y - load_row_unaligned(ys + j);
                Row d2 = dx * dx + dy * dy;
                if constexpr (!kAlike) reach = (splat(radius_[i]) + load_row_unaligned(&radius_[j])) * distance;
                const Row reach2 = reach * reach;
                const RowMask other = (index < none + static_cast<int>(ranges[k].second)) & (index != own);
                const RowMask near = other & (d2 < reach2);
                if (!any(near)) continue;
                if constexpr (!kAlike) {
                    const Row weight = load_row_unaligned(&weight_[j]);
                    share = weight / (weight + splat(weight_[i]));
                }
                const RowMask same = d2 < nearest2;
                const Row aside = index > own ? splat(-kNoDistance) : splat(kNoDistance);
                dx = same ? aside : dx, dy = same ? zero : dy, d2 = max(d2, nearest2);
                const Row d = sqrt_row(d2);
                const Row push = near ? share * (reach - d) / d : zero;
                push_x += push * dx, push_y += push * dy;
                close |= near & (d2 < reach2 * closer2);
            }
        Vec2f push = kRelaxation * Vec2f(sum(push_x), sum(push_y));
        const float length2 = push.squaredNorm(), most = agents.radius[i];
        if (length2 > most * most) push *= most / std::sqrt(length2);
        if (agents.driver[i] == Driver::scripted) push.setZero();
        next_x_[i] = xs[i] + push.x(), next_y_[i] = ys[i] + push.y();
    }
    return any(close);
}

// Keeps the agents of a row in the domain and on their side of walls.
void Separation::stop_at_walls(const Scene& scene, int row)
{
    auto& which = thread_scratch<std::vector<size_t>>();
    auto& from = thread_scratch<std::vector<Vec2f>>();
    auto& to = thread_scratch<std::vector<Vec2f>>();
    auto& radius = thread_scratch<std::vector<float>>();
    which.clear(), from.clear(), to.clear(), radius.clear();
    const auto [begin, end] = scene.cells.range(row, 0, scene.cells.columns() - 1);
    for (size_t i = begin; i < end; ++i) {
        const Vec2f before(x_[i], y_[i]), x = scene.continuum.grid().inside({next_x_[i], next_y_[i]});
        next_x_[i] = x.x(), next_y_[i] = x.y();
        if (!scene.walls || x == before || scene.agents.driver[i] == Driver::scripted) continue;
        if (!scene.continuum.near_obstacle(x)) continue;
        which.push_back(i), from.push_back(before), to.push_back(x), radius.push_back(scene.agents.radius[i]);
    }
    if (which.empty()) return;
    scene.walls->keep_out(from, to, radius);
    for (size_t k = 0; k < which.size(); ++k) {
        const Vec2f x = scene.continuum.grid().inside(to[k]);
        next_x_[which[k]] = x.x(), next_y_[which[k]] = x.y();
    }
}

} // namespace spindrift
