#include "spindrift/surface/fairing.h"

#include <Eigen/Geometry>
#include <atomic>

namespace spindrift {

namespace {

constexpr float kAddedBack = 1.1f; // 1 + b
constexpr size_t kChunk = 4096;    // vertices

// Which vertices each vertex is averaged with.
class Neighbours {
  public:
    explicit Neighbours(const Contour& contour)
    {
        const auto& kinds = contour.kinds;
        first_.assign(kinds.size() + 1, 0);
        // In a closed mesh every edge occurs once in each direction, so this counts each neighbour once.
        for_each_link(contour, [&](size_t i, uint32_t) { std::atomic_ref(first_[i + 1]).fetch_add(1); });
        for (size_t i = 0; i < kinds.size(); ++i) first_[i + 1] += first_[i];
        to_.resize(first_.back());
        std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
        for_each_link(contour, [&](size_t i, uint32_t corner) { to_[std::atomic_ref(next[i]).fetch_add(1)] = corner; });
        // Threads run in any order: sorting makes the sums over neighbours bit-identical.
        parallel_for(
            kinds.size(),
            [&](size_t i) {
                std::sort(to_.begin() + first_[i], to_.begin() + first_[i + 1]);
                for (uint32_t k = first_[i]; k < first_[i + 1]; ++k)
                    to_[k] = static_cast<uint32_t>(contour.mesh.triangles[to_[k] / 3][(to_[k] + 1) % 3]);
            },
            kChunk);
    }
    std::span<const uint32_t> of(size_t i) const { return {to_.data() + first_[i], to_.data() + first_[i + 1]}; }

  private:
    // Calls body(vertex, corner), in parallel, for every corner 3 triangle + k that links its vertex to the next one.
    template <class Body> static void for_each_link(const Contour& contour, const Body& body)
    {
        parallel_for(
            contour.mesh.triangles.size(),
            [&](size_t triangle) {
                const Vec3i& t = contour.mesh.triangles[triangle];
                for (int k = 0; k < 3; ++k) {
                    const size_t i = t[k], j = t[(k + 1) % 3];
                    const bool linked = follows(contour.kinds[i], contour.kinds[j]);
                    if (linked) body(i, static_cast<uint32_t>(3 * triangle) + static_cast<uint32_t>(k));
                }
            },
            kChunk);
    }
    // A free vertex follows all its neighbours; one on the waterline only waterline vertices on the same walls.
    static bool follows(uint8_t kind, uint8_t other)
    {
        return (kind & VertexKind::free) && (other & VertexKind::free) && (kind & ~other) == 0;
    }

    std::vector<uint32_t> first_, to_;
};

// S = ((1 + U) / 2)^n, where U is the mean over the neighbours, as a sum of Chebyshev polynomials: with U = cos a it is
// cos(a/2)^2n, the sum over j of cos(j a) binomial(2n, n + j) / 4^n. The terms decay like a Gaussian of width sqrt(n /
// 2): far fewer than n are needed.
std::vector<float> chebyshev_weights(int n)
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
    std::vector<float> result(weights.size());
    for (size_t j = 0; j < result.size(); ++j) result[j] = static_cast<float>(weights[j] / sum); // preserves constants
    return result;
}

// Applies S to a vector at every vertex.
void smooth_along(const Neighbours& neighbours, const std::vector<float>& weights, std::vector<Vec3f>& values)
{
    const size_t count = values.size();
    std::vector<Vec3f> before(count), now = values, next(count); // T_(j-1), T_j and T_(j+1) of U times the values
    parallel_for(
        count, [&](size_t i) { values[i] *= weights[0]; }, kChunk);
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
                next[i] = j == 1 ? mean : Vec3f(2 * mean - before[i]);
                values[i] += weights[j] * next[i];
            }
        });
        std::swap(before, now), std::swap(now, next);
    }
}

} // namespace

void fair(Contour& contour, const std::vector<float>& strength, const Fairing& fairing)
{
    if (fairing.passes <= 0 || contour.mesh.positions.empty()) return;
    std::vector<Vec3f>& positions = contour.mesh.positions;
    const Neighbours neighbours(contour);
    const std::vector<float> weights = chebyshev_weights(fairing.steps);
    const size_t count = positions.size();
    std::vector<Vec3f> smooth, lost(count);
    for (int pass = 0; pass < fairing.passes; ++pass) {
        smooth = positions;
        smooth_along(neighbours, weights, smooth);
        parallel_for(
            count, [&](size_t i) { lost[i] = positions[i] - smooth[i]; }, kChunk);
        smooth_along(neighbours, weights, lost);
        parallel_for(
            count,
            [&](size_t i) {
                Vec3f move = smooth[i] + kAddedBack * lost[i] - positions[i];
                for (int a = 0; a < 3; ++a)
                    if (contour.kinds[i] >> a & 1) move[a] = 0;
                positions[i] += strength[i] * move;
            },
            kChunk);
    }
}

void update_normals(Contour& contour, const std::vector<float>& strength)
{
    const Mesh& mesh = contour.mesh;
    std::vector<Vec3f> sums(mesh.positions.size(), Vec3f::Zero());
    for (const Vec3i& t : mesh.triangles) {
        const size_t a = t[0], b = t[1], c = t[2];
        if (contour.kinds[a] & contour.kinds[b] & contour.kinds[c] & ~VertexKind::free) continue;
        const Vec3f area = (mesh.positions[b] - mesh.positions[a]).cross(mesh.positions[c] - mesh.positions[a]);
        sums[a] += area, sums[b] += area, sums[c] += area;
    }
    parallel_for(
        sums.size(),
        [&](size_t i) {
            if (!(contour.kinds[i] & VertexKind::free)) return;
            for (int axis = 0; axis < 3; ++axis)
                if (contour.kinds[i] >> axis & 1) sums[i][axis] = 0;
            Vec3f& normal = contour.mesh.normals[i];
            const Vec3f mixed = (1 - strength[i]) * normal + strength[i] * sums[i].stableNormalized();
            if (mixed.squaredNorm() > 1e-6f) normal = mixed.normalized();
        },
        kChunk);
}

} // namespace spindrift
