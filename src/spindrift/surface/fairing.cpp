#include "spindrift/surface/fairing.h"

#include "spindrift/base/parallel.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

constexpr float kAddedBack = 1.1f; // 1 + b
constexpr size_t kChunk = 4096;    // vertices

// Which vertices each vertex is averaged with.
class Neighbours {
  public:
    Neighbours(const Contour& contour, const MeshLinks& links) : first_(contour.kinds.size() + 1, 0)
    {
        const size_t count = contour.kinds.size();
        parallel_for(
            count, [&](size_t i) { for_each_link(contour, links, i, [&](int) { ++first_[i + 1]; }); }, kChunk);
        for (size_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
        to_.resize(first_.back());
        parallel_for(
            count,
            [&](size_t i) {
                uint32_t next = first_[i];
                for_each_link(contour, links, i, [&](int j) { to_[next++] = static_cast<uint32_t>(j); });
            },
            kChunk);
    }
    std::span<const uint32_t> of(size_t i) const { return {to_.data() + first_[i], to_.data() + first_[i + 1]}; }

  private:
    // Calls body(neighbour) for every vertex that vertex i is averaged with. In a closed mesh every edge occurs once in
    // each direction, so the next vertex in each triangle around i is each neighbour once.
    template <class Body>
    static void for_each_link(const Contour& contour, const MeshLinks& links, size_t i, const Body& body)
    {
        const auto vertex = static_cast<int>(i);
        for (const int triangle : links.triangles_at(vertex)) {
            const Vec3i& t = contour.mesh.triangles[triangle];
            const int next = t[0] == vertex ? t[1] : t[1] == vertex ? t[2] : t[0];
            if (follows(contour.kinds[i], contour.kinds[next])) body(next);
        }
    }
    // A free vertex follows all its neighbours; one on the waterline only waterline vertices on the same walls.
    static bool follows(uint8_t kind, uint8_t other)
    {
        return (kind & VertexKind::free) && (other & VertexKind::free) && (kind & ~other) == 0;
    }

    std::vector<uint32_t> first_, to_;
};

// Weights of the Chebyshev polynomials of U, the mean over the neighbours, whose sum is S = ((1 + U) / 2)^n: with U =
// cos a it is cos(a/2)^2n, the sum over j of cos(j a) binomial(2n, n + j) / 4^n. The terms decay like a Gaussian of
// width sqrt(n / 2): far fewer than n are needed.
std::vector<double> chebyshev_weights(int n)
{
    constexpr double kLeast = 1e-3; // relative to the first
    std::vector<double> weights = {1};
    for (int j = 1; j <= n; ++j) {
        const double last = j == 1 ? 2 * weights[0] : weights.back();
        const double next = last * (n - j + 1) / (n + j);
        if (next < kLeast) break;
        weights.push_back(next);
    }
    double sum = 0;
    for (const double w : weights) sum += w;
    for (double& w : weights) w /= sum; // preserves constants
    return weights;
}

// Those of S + (1 + b) S (1 - S), which is (2 + b) S - (1 + b) S^2.
std::vector<float> weights_of_pass(int steps)
{
    const std::vector<double> once = chebyshev_weights(steps), twice = chebyshev_weights(2 * steps);
    std::vector<float> weights(twice.size());
    for (size_t j = 0; j < twice.size(); ++j)
        weights[j] = static_cast<float>((1 + kAddedBack) * (j < once.size() ? once[j] : 0) - kAddedBack * twice[j]);
    return weights;
}

// The sum of weights[j] T_j of U, applied to a vector at every vertex.
std::vector<Vec3f> sum_along(const Neighbours& neighbours, const std::vector<float>& weights,
                             const std::vector<Vec3f>& values)
{
    const size_t count = values.size();
    std::vector<Vec3f> sum(count), now = values, before(count); // before and now: T_(j-1) and T_j times the values
    parallel_for(
        count, [&](size_t i) { sum[i] = weights[0] * values[i]; }, kChunk);
    for (size_t j = 1; j < weights.size(); ++j) {
        parallel_chunks(count, kChunk, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                const auto around = neighbours.of(i);
                Vec3f mean = now[i];
                if (!around.empty()) {
                    mean = Vec3f::Zero();
                    for (const uint32_t k : around) mean += now[k];
                    mean *= 1 / static_cast<float>(around.size());
                }
                before[i] = j == 1 ? mean : Vec3f(2 * mean - before[i]); // T_(j+1), in place of T_(j-1)
                sum[i] += weights[j] * before[i];
            }
        });
        std::swap(before, now);
    }
    return sum;
}

} // namespace

void fair(Contour& contour, const MeshLinks& links, const std::vector<float>& strength, const Fairing& fairing)
{
    if (fairing.passes <= 0 || contour.mesh.positions.empty()) return;
    std::vector<Vec3f>& positions = contour.mesh.positions;
    const Neighbours neighbours(contour, links);
    const std::vector<float> weights = weights_of_pass(fairing.steps);
    for (int pass = 0; pass < fairing.passes; ++pass) {
        const std::vector<Vec3f> smooth = sum_along(neighbours, weights, positions);
        parallel_for(
            positions.size(),
            [&](size_t i) {
                Vec3f move = smooth[i] - positions[i];
                for (int a = 0; a < 3; ++a)
                    if (contour.kinds[i] >> a & 1) move[a] = 0;
                positions[i] += strength[i] * move;
            },
            kChunk);
    }
}

void update_normals(Contour& contour, const MeshLinks& links, const std::vector<float>& strength)
{
    const Mesh& mesh = contour.mesh;
    const auto on_a_wall = [&](const Vec3i& t) {
        return contour.kinds[t[0]] & contour.kinds[t[1]] & contour.kinds[t[2]] & ~VertexKind::free;
    };
    parallel_for(
        mesh.positions.size(),
        [&](size_t i) {
            if (!(contour.kinds[i] & VertexKind::free)) return;
            Vec3f sum = Vec3f::Zero();
            for (const int triangle : links.triangles_at(static_cast<int>(i))) {
                const Vec3i& t = mesh.triangles[triangle];
                if (on_a_wall(t)) continue;
                const Vec3f &a = mesh.positions[t[0]], &b = mesh.positions[t[1]], &c = mesh.positions[t[2]];
                sum += (b - a).cross(c - a);
            }
            for (int axis = 0; axis < 3; ++axis)
                if (contour.kinds[i] >> axis & 1) sum[axis] = 0;
            Vec3f& normal = contour.mesh.normals[i];
            const Vec3f mixed = (1 - strength[i]) * normal + strength[i] * sum.stableNormalized();
            if (mixed.squaredNorm() > 1e-6f) normal = mixed.normalized();
        },
        kChunk);
}

} // namespace spindrift
