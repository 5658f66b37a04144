#include "spindrift/shaped_smoke/embedding.h"

#include "spindrift/base/parallel.h"
#include "spindrift/mesh/distance.h"

#include <Eigen/LU>
#include <array>

namespace spindrift {

namespace {

// A point of the surface.
struct SurfacePoint {
    MeshDistance::Nearest on;
    Vec3f x;
};

class SurfaceRays {
  public:
    explicit SurfaceRays(const Mesh& mesh)
        : mesh_(mesh), distance_(mesh), least_(1e-6f * distance_.bounds().size().norm())
    {
    }
    SurfacePoint nearest(const Vec3f& x) const
    {
        const MeshDistance::Nearest on = distance_.nearest(x);
        const Vec3i& corners = mesh_.triangles[on.triangle];
        Vec3f sum = Vec3f::Zero();
        for (int k = 0; k < 3; ++k) sum += on.weights[k] * mesh_.positions[corners[k]];
        return {on, sum};
    }
    // Length of the ray from an inner point to the surface. No surface is nearer than the distance, so steps of that
    // length never cross it; `tolerance` is the distance at which the ray ends.
    float length(const Vec3f& x, const Vec3f& direction, float tolerance) const
    {
        constexpr int kMostSteps = 40;
        float way = 0;
        for (int step = 0; step < kMostSteps; ++step) {
            const float inside = -distance_.distance(x + way * direction);
            if (inside < tolerance) break;
            way += inside;
        }
        return way;
    }
    float least() const { return least_; }

  private:
    const Mesh& mesh_;
    MeshDistance distance_;
    float least_;
};

struct Tetrahedron {
    std::array<SurfacePoint, 4> corners;
    Eigen::Vector4f weights;
};

// Coordinates of x; if the corners are nearly in a plane, all weight goes to the first.
Eigen::Vector4f barycentric(const std::array<SurfacePoint, 4>& corners, const Vec3f& x)
{
    Eigen::Matrix3d edges;
    for (int k = 0; k < 3; ++k) edges.col(k) = (corners[k + 1].x - corners[0].x).cast<double>();
    const double size = edges.colwise().norm().maxCoeff();
    if (!(std::abs(edges.determinant()) > 1e-9 * size * size * size)) return {1, 0, 0, 0};
    const Eigen::Vector3d b = edges.inverse() * (x - corners[0].x).cast<double>();
    Eigen::Vector4d all(1 - b.sum(), b.x(), b.y(), b.z());
    // Corners are on the surface to within a tolerance: clamp what may be slightly negative.
    all = all.cwiseMax(0.0);
    return (all / all.sum()).cast<float>();
}

Tetrahedron around(const Vec3f& x, const SurfaceRays& rays)
{
    constexpr int kOrientations = 6;
    Tetrahedron best;
    const SurfacePoint nearest = rays.nearest(x);
    best.corners.fill(nearest), best.weights = {1, 0, 0, 0};
    const float depth = (nearest.x - x).norm();
    if (!(depth > rays.least())) return best; // on the surface
    // Four directions at equal angles, the first to the nearest surface point.
    const Vec3f n = (nearest.x - x) / depth, e1 = n.unitOrthogonal(), e2 = n.cross(e1);
    float shortest = kInfinity;
    std::array<Vec3f, 3> ends;
    for (int o = 0; o < kOrientations; ++o) {
        float longest = 0;
        std::array<Vec3f, 3> found;
        for (int k = 0; k < 3; ++k) {
            const double angle = 2 * kPi / 3 * (k + o / static_cast<double>(kOrientations));
            const float across = std::sqrt(8.0f) / 3, c = static_cast<float>(std::cos(angle)),
                        s = static_cast<float>(std::sin(angle));
            const Vec3f direction = -n / 3 + across * (c * e1 + s * e2);
            const float length = rays.length(x, direction, 0.01f * depth);
            longest = std::max(longest, length);
            found[k] = x + length * direction;
        }
        if (longest < shortest) shortest = longest, ends = found;
    }
    for (size_t k = 0; k < 3; ++k) best.corners[k + 1] = rays.nearest(ends[k]);
    best.weights = barycentric(best.corners, x);
    return best;
}

} // namespace

Embedding::Embedding(const Mesh& rest, std::span<const Vec3f> points) : bound_(points.size())
{
    const SurfaceRays rays(rest);
    parallel_for(
        points.size(),
        [&](size_t i) {
            const Tetrahedron tetrahedron = around(points[i], rays);
            for (size_t c = 0; c < 4; ++c) {
                const MeshDistance::Nearest& on = tetrahedron.corners[c].on;
                for (size_t k = 0; k < 3; ++k) {
                    bound_[i].vertex[3 * c + k] = rest.triangles[on.triangle][static_cast<int>(k)];
                    bound_[i].weight[3 * c + k] =
                        tetrahedron.weights[static_cast<int>(c)] * on.weights[static_cast<int>(k)];
                }
            }
        },
        16);
}

void Embedding::place(const Mesh& mesh, std::span<Vec3f> points) const
{
    parallel_for(
        bound_.size(),
        [&](size_t i) {
            Vec3f sum = Vec3f::Zero();
            for (size_t k = 0; k < 12; ++k) sum += bound_[i].weight[k] * mesh.positions[bound_[i].vertex[k]];
            points[i] = sum;
        },
        256);
}

} // namespace spindrift
