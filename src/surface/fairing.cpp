#include "surface/fairing.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

constexpr float kStep = 0.5f;      // how far the umbrella operator goes
constexpr float kAddedBack = 1.1f; // 1 + b
constexpr size_t kChunk = 4096;    // vertices

// Which vertices each vertex is averaged with.
class Neighbours {
  public:
    explicit Neighbours(const Contour& contour)
    {
        const auto& kinds = contour.kinds;
        first_.assign(kinds.size() + 1, 0);
        // In a closed mesh every edge is run along once in each direction, so that this meets each neighbour once.
        for_each_link(contour, [&](size_t i, size_t) { ++first_[i + 1]; });
        for (size_t i = 0; i < kinds.size(); ++i) first_[i + 1] += first_[i];
        to_.resize(first_.back());
        std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
        for_each_link(contour, [&](size_t i, size_t j) { to_[next[i]++] = static_cast<uint32_t>(j); });
    }
    std::span<const uint32_t> of(size_t i) const { return {to_.data() + first_[i], to_.data() + first_[i + 1]}; }

  private:
    template <class Body> static void for_each_link(const Contour& contour, const Body& body)
    {
        for (const Vec3i& t : contour.mesh.triangles)
            for (int k = 0; k < 3; ++k) {
                const auto i = static_cast<size_t>(t[k]), j = static_cast<size_t>(t[(k + 1) % 3]);
                if (follows(contour.kinds[i], contour.kinds[j])) body(i, j);
            }
    }
    // A free vertex follows all its neighbours, one on the waterline only its like on the same walls.
    static bool follows(uint8_t kind, uint8_t other)
    {
        return (kind & VertexKind::free) && (other & VertexKind::free) && (kind & ~other) == 0;
    }

    std::vector<uint32_t> first_, to_;
};

// S applied to a vector at every vertex.
void smooth_along(const Neighbours& neighbours, int steps, std::vector<Vec3f>& values)
{
    std::vector<Vec3f> next(values.size());
    for (int step = 0; step < steps; ++step) {
        parallel_chunks(values.size(), kChunk, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                const auto around = neighbours.of(i);
                Vec3f sum = Vec3f::Zero();
                for (const uint32_t j : around) sum += values[j];
                next[i] = around.empty()
                              ? values[i]
                              : Vec3f((1 - kStep) * values[i] + kStep / static_cast<float>(around.size()) * sum);
            }
        });
        std::swap(values, next);
    }
}

// Normals from the faces around, for vertices that were moved. Faces on a wall do not count, and at a wall the surface
// continues as in a mirror: the free surface is shaded as smoothly at its edge as elsewhere.
void update_normals(Contour& contour, const std::vector<float>& strength)
{
    const Mesh& mesh = contour.mesh;
    std::vector<Vec3f> sums(mesh.positions.size(), Vec3f::Zero());
    for (const Vec3i& t : mesh.triangles) {
        const auto a = static_cast<size_t>(t[0]), b = static_cast<size_t>(t[1]), c = static_cast<size_t>(t[2]);
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

} // namespace

void fair(Contour& contour, const std::vector<float>& strength, const Fairing& fairing)
{
    if (fairing.passes <= 0 || contour.mesh.positions.empty()) return;
    std::vector<Vec3f>& positions = contour.mesh.positions;
    const Neighbours neighbours(contour);
    const size_t count = positions.size();
    std::vector<Vec3f> smooth, lost(count);
    for (int pass = 0; pass < fairing.passes; ++pass) {
        smooth = positions;
        smooth_along(neighbours, fairing.steps, smooth);
        parallel_for(
            count, [&](size_t i) { lost[i] = positions[i] - smooth[i]; }, kChunk);
        smooth_along(neighbours, fairing.steps, lost);
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
    update_normals(contour, strength);
}

} // namespace spindrift
