#include "spindrift/crowd/starting_places.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/plan/plane.h"

#include <numeric>
#include <unordered_map>

namespace spindrift {

namespace {

// Points in cells as wide as the required distance.
class Neighbourhood {
  public:
    Neighbourhood(const std::vector<Vec2f>& points, float distance) : distance_(distance)
    {
        for (const Vec2f& p : points) cells_[key(cell(p.x()), cell(p.y()))].push_back(p);
    }
    bool near(const Vec2f& p) const
    {
        for (int dx = -1; dx <= 1; ++dx)
            for (int dy = -1; dy <= 1; ++dy) {
                const auto found = cells_.find(key(cell(p.x()) + dx, cell(p.y()) + dy));
                if (found == cells_.end()) continue;
                for (const Vec2f& q : found->second)
                    if ((p - q).squaredNorm() < distance_ * distance_) return true;
            }
        return false;
    }

  private:
    int cell(float x) const { return static_cast<int>(std::floor(x / distance_)); }
    static uint64_t key(int x, int y)
    {
        return static_cast<uint64_t>(static_cast<uint32_t>(x)) << 32 | static_cast<uint32_t>(y);
    }
    float distance_;
    std::unordered_map<uint64_t, std::vector<Vec2f>> cells_;
};

// Clips a box that is much larger than the floor to the floor: no one can stand outside, and testing each place is
// slow.
void clip_to_floor(const Navigator& navigator, Vec2d& low, Vec2d& high)
{
    constexpr double kMuch = 16;
    Vec2d floor_low = Vec2d::Constant(std::numeric_limits<double>::infinity()), floor_high = -floor_low;
    for (const Polygon& polygon : navigator.space().walkable().polygons())
        for (const Vec2d& p : polygon.outer) floor_low = floor_low.cwiseMin(p), floor_high = floor_high.cwiseMax(p);
    if ((high - low).prod() <= kMuch * (floor_high - floor_low).prod()) return;
    low = low.cwiseMax(floor_low), high = high.cwiseMin(floor_high).cwiseMax(low);
}

} // namespace

std::vector<Vec2f> starting_places(const std::vector<Polygon>& polygons, const std::vector<std::vector<float>>& rings,
                                   size_t count, float distance, const Navigator& navigator,
                                   const std::vector<Vec2f>& taken, uint64_t seed)
{
    Vec2d low = Vec2d::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (const Polygon& polygon : polygons)
        for (const Vec2d& p : polygon.outer) low = low.cwiseMin(p), high = high.cwiseMax(p);
    for (const auto& ring : rings) {
        const Vec2d center(ring[0], ring[1]), reach = Vec2d::Constant(ring[3]);
        low = low.cwiseMin(center - reach), high = high.cwiseMax(center + reach);
    }
    if (!(low.x() <= high.x()) || count == 0) return {};
    clip_to_floor(navigator, low, high);
    const Neighbourhood others(taken, distance);
    const auto free = [&](const Vec2f& p) {
        const Vec2d at = p.cast<double>();
        const bool in_shape = std::any_of(polygons.begin(), polygons.end(),
                                          [&](const Polygon& polygon) { return contains(polygon, at); }) ||
                              std::any_of(rings.begin(), rings.end(), [&](const std::vector<float>& ring) {
                                  const float r = (p - Vec2f(ring[0], ring[1])).norm();
                                  return r >= ring[2] && r <= ring[3];
                              });
        return in_shape && navigator.inside(p) && !others.near(p);
    };
    const auto lattice = [&](double spacing) {
        const double height = 0.5 * std::sqrt(3.0) * spacing;
        const auto rows = static_cast<size_t>((high.y() - low.y()) / height) + 1;
        const auto columns = static_cast<size_t>((high.x() - low.x()) / spacing) + 1;
        std::vector<std::vector<Vec2f>> found(rows);
        parallel_for(rows, [&](size_t r) {
            const double x0 = low.x() + 0.5 * spacing * static_cast<double>(r % 2);
            for (size_t c = 0; c < columns; ++c) {
                const Vec2f p =
                    Vec2d(x0 + spacing * static_cast<double>(c), low.y() + height * (static_cast<double>(r) + 0.5))
                        .cast<float>();
                if (free(p)) found[r].push_back(p);
            }
        });
        std::vector<Vec2f> points;
        for (const auto& row : found) points.insert(points.end(), row.begin(), row.end());
        return points;
    };
    // The widest lattice that has room for all.
    const double least = 1.0001 * static_cast<double>(distance);
    const Vec2d size = high - low;
    double spacing = std::max(least, std::sqrt(std::max(size.x(), least) * std::max(size.y(), least) /
                                               static_cast<double>(count) * 2 / std::sqrt(3.0)));
    std::vector<Vec2f> points = lattice(spacing);
    while (points.size() < count && spacing > least) {
        spacing = std::max(
            least, spacing * std::clamp(std::sqrt(static_cast<double>(points.size()) / static_cast<double>(count)), 0.5,
                                        0.985));
        points = lattice(spacing);
    }
    // Pick a random subset if there are more than needed.
    Random random(seed);
    for (size_t i = 0; i < std::min(count, points.size()); ++i)
        std::swap(points[i], points[i + random.bits() % (points.size() - i)]);
    if (points.size() > count) points.resize(count);
    const auto room = static_cast<float>(0.5 * (spacing - static_cast<double>(distance)));
    for (Vec2f& p : points) {
        const float angle = random.uniform(0, static_cast<float>(2 * kPi)), way = room * std::sqrt(random.uniform());
        const Vec2f shifted = p + way * Vec2f(std::cos(angle), std::sin(angle));
        if (free(shifted)) p = shifted;
    }
    return points;
}

} // namespace spindrift
