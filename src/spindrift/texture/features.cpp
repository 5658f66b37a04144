#include "spindrift/texture/features.h"

#include "spindrift/base/parallel.h"
#include "spindrift/mesh/links.h"
#include "spindrift/texture/diffusion.h"

#include <Eigen/Dense>
#include <optional>

namespace spindrift {

namespace {

constexpr size_t kVerticesPerFit = 512;
constexpr size_t kTerms = 6;

using Terms = Eigen::Matrix<double, kTerms, 1>;
// Height above the tangent plane and velocity, as 1, x, y, x^2 / 2, x y, y^2 / 2 around a vertex.
using Jet = Eigen::Matrix<double, kTerms, 4>;
using Tangents = Eigen::Matrix<double, 3, 2>;

// The vertices up to two edges away that lie on the same side of the surface.
void find_neighbours(const Mesh& mesh, const MeshLinks& links, const std::vector<Vec3f>& normals, int vertex,
                     std::vector<int>& ring, std::vector<int>& found)
{
    constexpr float kSameSide = 0.2f; // cosine of the angle between normals
    constexpr size_t kFew = 5;
    const auto add_ring = [&](int of, std::vector<int>& out) {
        for (const int t : links.triangles_at(of))
            for (int k = 0; k < 3; ++k)
                if (mesh.triangles[t][k] != vertex) out.push_back(mesh.triangles[t][k]);
    };
    const auto sort = [](std::vector<int>& v) {
        std::ranges::sort(v);
        v.erase(std::unique(v.begin(), v.end()), v.end());
    };
    ring.clear();
    add_ring(vertex, ring), sort(ring);
    found = ring;
    for (const int j : ring) add_ring(j, found);
    sort(found);
    std::erase_if(found, [&](int j) { return normals[vertex].dot(normals[j]) < kSameSide; });
    if (found.size() < kFew) found = ring; // a splinter
}

// In units of `length`, the distance of neighbours, along the axes u, v and n.
Jet fit(const Mesh& mesh, const std::vector<Vec3f>& velocities, int vertex, const std::vector<int>& neighbours,
        const Eigen::Matrix3d& axes, double length)
{
    constexpr double kLittle = 1e-7; // keeps terms small that the neighbours do not determine
    Eigen::Matrix<double, kTerms, kTerms> products =
        Terms(kLittle * Terms::Ones() * static_cast<double>(neighbours.size())).asDiagonal();
    Jet sums = Jet::Zero();
    const auto add = [&](const Vec3d& place, const Vec3d& velocity) {
        const Vec3d p = axes * place / length;
        const Terms terms(1, p.x(), p.y(), 0.5 * p.x() * p.x(), p.x() * p.y(), 0.5 * p.y() * p.y());
        products += terms * terms.transpose();
        sums.col(0) += p.z() * terms;
        sums.rightCols<3>() += terms * velocity.transpose();
    };
    const auto velocity = [&](int i) { return velocities.empty() ? Vec3d(0, 0, 0) : velocities[i].cast<double>(); };
    const Vec3d origin = mesh.positions[vertex].cast<double>(), mean = velocity(vertex);
    add(Vec3d::Zero(), Vec3d::Zero());
    for (const int j : neighbours) add(mesh.positions[j].cast<double>() - origin, velocity(j) - mean);
    return products.llt().solve(sums);
}

// The metric of a fitted surface at its vertex, and what derivatives on it need.
struct FittedSurface {
    Eigen::Vector2d slope;
    Eigen::Matrix2d bend, inverse_metric;
    double stretch2; // square of the surface's area over that of the plane

    explicit FittedSurface(const Jet& jet) : slope(jet(1, 0), jet(2, 0)), stretch2(1 + slope.squaredNorm())
    {
        bend << jet(3, 0), jet(4, 0), jet(4, 0), jet(5, 0);
        inverse_metric = Eigen::Matrix2d::Identity() - slope * slope.transpose() / stretch2;
    }
    // Half the trace of the shape operator; positive for a drop.
    double mean_curvature() const { return -0.5 * inverse_metric.cwiseProduct(bend).sum() / std::sqrt(stretch2); }
    // Of a function on the surface, from its derivatives in the plane.
    double laplacian(const Eigen::Vector2d& gradient, const Eigen::Matrix2d& second) const
    {
        return inverse_metric.cwiseProduct(second).sum() -
               inverse_metric.cwiseProduct(bend).sum() * slope.dot(gradient) / stretch2;
    }
};

void take_features(const Jet& jet, const Eigen::Matrix3d& axes, double length, size_t i, FlowFeatures& out)
{
    const FittedSurface surface(jet);
    constexpr double kResolved = 2;                                                       // a drop of one edge's length
    const double curvature = std::clamp(surface.mean_curvature(), -kResolved, kResolved); // [1 / length]
    out.curvature[i] = static_cast<float>(curvature / length);
    // Steps in the plane become steps on the surface, `along`, and changes of the velocity, `change`.
    Tangents along, change;
    along.col(0) = axes.transpose() * Vec3d(1, 0, surface.slope.x());
    along.col(1) = axes.transpose() * Vec3d(0, 1, surface.slope.y());
    change.col(0) = jet.block<1, 3>(1, 1).transpose() / length;
    change.col(1) = jet.block<1, 3>(2, 1).transpose() / length;
    const Vec3d normal = along.col(0).cross(along.col(1)).normalized();
    // The gradient of the velocity along the surface, as a matrix in space; its tangential part is (2.5).
    const Eigen::Matrix3d gradient = change * surface.inverse_metric * along.transpose();
    const Eigen::Matrix3d across = Eigen::Matrix3d::Identity() - normal * normal.transpose();
    const Eigen::Matrix3d jacobian = across * gradient;
    out.strain[i] = (0.5 * (jacobian + jacobian.transpose())).cast<float>(); // (2.6)
    const Stretching rates = stretching(out.strain[i], normal.cast<float>());
    out.divergence[i] = static_cast<float>(jacobian.trace()); // (2.4)
    out.stretch[i] = rates.most, out.squash[i] = rates.least;
    Vec3d laplacian;
    for (int a = 0; a < 3; ++a) {
        Eigen::Matrix2d second;
        second << jet(3, 1 + a), jet(4, 1 + a), jet(4, 1 + a), jet(5, 1 + a);
        laplacian[a] = surface.laplacian({jet(1, 1 + a), jet(2, 1 + a)}, second) / (length * length);
    }
    // The surface Laplacian of a rotation w x X is -2 H w x n. There is no friction in it: it is left out.
    const Vec3d rotation = -(gradient.transpose() * normal); // w x n
    out.viscous[i] = static_cast<float>((laplacian + 2 * curvature / length * rotation).norm());
}

void smooth_velocities(SurfaceDiffusion& diffusion, float time, std::vector<Vec3f>& smooth)
{
    std::vector<float> component(smooth.size());
    for (int a = 0; a < 3 && !smooth.empty(); ++a) {
        for (size_t i = 0; i < smooth.size(); ++i) component[i] = smooth[i][a];
        diffusion.spread(time, component);
        for (size_t i = 0; i < smooth.size(); ++i) smooth[i][a] = component[i];
    }
}

} // namespace

float Stretching::stability() const
{
    const float size = std::abs(most) + std::abs(least);
    return size > 0 ? gap() / size : 0;
}

Stretching stretching(const Mat3f& strain, const Vec3f& normal)
{
    const Vec3f u = normal.unitOrthogonal(), v = normal.cross(u);
    const float uu = u.dot(strain * u), uv = u.dot(strain * v), vv = v.dot(strain * v);
    const float mean = 0.5f * (uu + vv), half = 0.5f * (uu - vv);
    const float radius = std::hypot(half, uv);
    const float angle = 0.5f * std::atan2(uv, half); // 0 if both are 0: any direction
    return {mean + radius, mean - radius, std::cos(angle) * u + std::sin(angle) * v};
}

FlowFeatures flow_features(const Mesh& mesh, const std::vector<Vec3f>& velocities, float smoothing,
                           const std::vector<uint8_t>& left_out)
{
    const size_t count = mesh.positions.size();
    FlowFeatures out;
    for (auto* values : {&out.curvature, &out.divergence, &out.stretch, &out.squash, &out.viscous})
        values->assign(count, 0);
    out.strain.assign(count, Mat3f::Zero());
    if (mesh.triangles.empty()) return out;
    // Implicit diffusion for a time t spreads a point by sqrt(2 t) along each axis.
    const float time = 0.5f * smoothing * smoothing;
    std::optional<SurfaceDiffusion> diffusion;
    if (smoothing > 0) diffusion.emplace(mesh);
    std::vector<Vec3f> smooth = velocities;
    if (diffusion) smooth_velocities(*diffusion, time, smooth);
    const MeshLinks links(mesh);
    const std::vector<Vec3f> normals = sphere_normals(mesh, links);
    parallel_chunks(count, kVerticesPerFit, [&](size_t begin, size_t end) {
        std::vector<int> ring, neighbours;
        for (size_t i = begin; i < end; ++i) {
            const int vertex = static_cast<int>(i);
            if (!left_out.empty() && left_out[i]) continue;
            find_neighbours(mesh, links, normals, vertex, ring, neighbours);
            if (!left_out.empty()) std::erase_if(neighbours, [&](int j) { return left_out[j] != 0; });
            double square = 0;
            for (const int j : neighbours)
                square += static_cast<double>((mesh.positions[j] - mesh.positions[i]).squaredNorm());
            const double length = std::sqrt(square / static_cast<double>(neighbours.size()));
            const Vec3f u = normals[i].unitOrthogonal();
            if (!(length > 0) || !u.allFinite()) continue;
            Eigen::Matrix3d axes;
            axes << u.transpose().cast<double>(), normals[i].cross(u).transpose().cast<double>(),
                normals[i].transpose().cast<double>();
            const Jet jet = fit(mesh, smooth, vertex, neighbours, axes, length);
            if (jet.allFinite()) take_features(jet, axes, length, i, out);
        }
    });
    if (diffusion) diffusion->spread(time, out.curvature);
    return out;
}

void add_attributes(FlowFeatures&& features, Mesh& mesh)
{
    mesh.attributes[kCurvature] = std::move(features.curvature);
    mesh.attributes["divergence"] = std::move(features.divergence);
    mesh.attributes["stretch"] = std::move(features.stretch);
    mesh.attributes["squash"] = std::move(features.squash);
    mesh.attributes["viscous"] = std::move(features.viscous);
}

} // namespace spindrift
