// Typical liquid domains for the pressure solver: tanks, scattered blobs, a maze of thin walls.
#pragma once

#include "solvers/poisson_problem.h"
#include "spindrift/base/random.h"

namespace spindrift {

// Full, with the surface within the topmost cells.
inline void fill_up(LiquidBox& box)
{
    const auto n = static_cast<float>(box.max.y() - box.min.y());
    box.fill_below([n](const Vec3f&) { return n - 0.7f; });
}

// Half full, with waves.
inline void fill_half(LiquidBox& box)
{
    const auto n = static_cast<float>(box.max.y() - box.min.y());
    box.fill_below([n](const Vec3f& x) { return 0.5f * n + 0.3f + 0.05f * n * std::sin(12.5f * x.x() / n); });
}

// Rooms with walls of one cell and doors that connect the rooms as a tree.
inline void build_maze(LiquidBox& box, int room, uint64_t seed)
{
    Random random(seed);
    const int rooms = (box.max.x() - box.min.x()) / room;
    const auto number = [&](const Vec3i& r) { return static_cast<size_t>((r.x() * rooms + r.y()) * rooms + r.z()); };
    std::vector<std::array<bool, 3>> door(number(Vec3i::Constant(rooms - 1)) + 1,
                                          {false, false, false}); // at the lower sides
    std::vector<bool> seen(door.size(), false);
    std::vector<Vec3i> path = {Vec3i::Zero()};
    seen[0] = true;
    while (!path.empty()) {
        const Vec3i here = path.back();
        std::vector<std::pair<int, int>> ways;
        for (int a = 0; a < 3; ++a)
            for (int side = -1; side <= 1; side += 2) {
                const Vec3i next = here + Vec3i(side * Vec3i::Unit(a));
                if (next[a] >= 0 && next[a] < rooms && !seen[number(next)]) ways.emplace_back(a, side);
            }
        if (ways.empty()) {
            path.pop_back();
            continue;
        }
        const auto [axis, side] = ways[random.bits() % ways.size()];
        const Vec3i next = here + Vec3i(side * Vec3i::Unit(axis));
        door[number(side > 0 ? next : here)][axis] = true;
        seen[number(next)] = true;
        path.push_back(next);
    }
    for_each_cell(box.min, box.max, [&](const Vec3i& c) {
        const Vec3i place = c - box.min, r = (place / room).cwiseMin(rooms - 1);
        for (int a = 0; a < 3; ++a)
            if (place[a] > 0 && place[a] == r[a] * room && !door[number(r)][a]) box.solid.at(c) = 1;
    });
}

// Balls of liquid, one per few hundred cells, above a rough pool.
inline void scatter_blobs(LiquidBox& box, uint64_t seed)
{
    const float n = static_cast<float>(box.max.x() - box.min.x());
    box.fill_below(
        [&](const Vec3f& x) { return 0.2f * n + 0.03f * n * std::sin(20 * x.x() / n) * std::sin(15 * x.z() / n); });
    Random random(seed);
    for (int i = 0, count = static_cast<int>(n * n * n / 400); i < count; ++i) {
        const float radius = 0.6f + 6 * random.uniform() * random.uniform() * random.uniform();
        const Vec3f center = box.min.cast<float>() + n * Vec3f(random.uniform(), random.uniform(), random.uniform());
        const int reach = static_cast<int>(radius) + 2;
        const Vec3i middle(floor_int(center.x()), floor_int(center.y()), floor_int(center.z()));
        for_each_cell((middle.array() - reach).matrix().cwiseMax(box.min),
                      (middle.array() + reach).matrix().cwiseMin(box.max), [&](const Vec3i& c) {
                          const float d = (c.cast<float>() + Vec3f::Constant(0.5f) - center).norm() - radius;
                          box.phi.at(c) = std::min(box.phi.at(c), d);
                      });
    }
}

} // namespace spindrift
