#include "spindrift/points/spacing.h"

#include "spindrift/base/parallel.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace spindrift {

namespace {

constexpr size_t kNeighbours = 8;
constexpr size_t kAsked = 20000;    // sample size in particles
constexpr float kSpray = 2.2f;      // spray threshold, in median distances
constexpr float kPerSpacing = 1.3f; // eighth-neighbour distance: 1.22 random, 1.3 jittered, 1.41 lattice

// Implicit kd-tree: the middle element of every range splits it along x, y and z in turn.
class PointTree {
  public:
    explicit PointTree(std::vector<Vec3f>& positions) : positions_(positions) { split(0, positions.size(), 0); }

    // Distance to the eighth nearest other particle.
    float distance_of_neighbour(size_t i) const
    {
        Nearest nearest;
        nearest.fill(kInfinity);
        visit(positions_[i], 0, positions_.size(), 0, nearest);
        return std::sqrt(nearest.back());
    }

  private:
    using Nearest = std::array<float, kNeighbours + 1>; // squared, ascending; the first is the particle itself

    void split(size_t begin, size_t end, int axis)
    {
        if (end - begin < 2) return;
        const size_t middle = (begin + end) / 2;
        const auto at = [&](size_t i) { return positions_.begin() + static_cast<std::ptrdiff_t>(i); };
        std::nth_element(at(begin), at(middle), at(end),
                         [axis](const Vec3f& a, const Vec3f& b) { return a[axis] < b[axis]; });
        split(begin, middle, (axis + 1) % 3);
        split(middle + 1, end, (axis + 1) % 3);
    }

    void visit(const Vec3f& x, size_t begin, size_t end, int axis, Nearest& nearest) const
    {
        if (begin == end) return;
        const size_t middle = (begin + end) / 2;
        const float distance2 = (positions_[middle] - x).squaredNorm();
        if (distance2 < nearest.back()) {
            nearest.back() = distance2;
            for (size_t k = kNeighbours; k > 0 && nearest[k] < nearest[k - 1]; --k)
                std::swap(nearest[k], nearest[k - 1]);
        }
        const float beyond = x[axis] - positions_[middle][axis];
        const auto lower = [&] { visit(x, begin, middle, (axis + 1) % 3, nearest); };
        const auto upper = [&] { visit(x, middle + 1, end, (axis + 1) % 3, nearest); };
        beyond < 0 ? lower() : upper();
        if (beyond * beyond < nearest.back()) beyond < 0 ? upper() : lower();
    }

    std::vector<Vec3f>& positions_;
};

} // namespace

std::optional<float> find_spacing(std::vector<Vec3f> positions)
{
    const auto before = [](const Vec3f& a, const Vec3f& b) {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    };
    std::sort(positions.begin(), positions.end(), before);
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    if (positions.size() <= kNeighbours) return std::nullopt;

    const PointTree tree(positions);
    std::vector<float> distances(std::min(kAsked, positions.size()));
    parallel_for(
        distances.size(),
        [&](size_t k) { distances[k] = tree.distance_of_neighbour(k * positions.size() / distances.size()); }, 64);
    std::sort(distances.begin(), distances.end());

    // Weight each particle by the volume it represents, the cube of its distance.
    const float farthest = kSpray * distances[distances.size() / 2];
    const auto volume = [](float d) { return static_cast<double>(d) * d * d; };
    distances.erase(std::upper_bound(distances.begin(), distances.end(), farthest), distances.end());
    double half = 0;
    for (const float d : distances) half += 0.5 * volume(d);
    size_t k = 0;
    while (k + 1 < distances.size() && (half -= volume(distances[k])) > 0) ++k;
    return distances[k] / kPerSpacing;
}

} // namespace spindrift
