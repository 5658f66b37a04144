#include "spindrift/texture/directions.h"

#include "spindrift/base/parallel.h"
#include "spindrift/mesh/links.h"
#include "spindrift/texture/features.h"

#include <Eigen/Dense>

namespace spindrift {

namespace {

constexpr size_t kVerticesPerTurn = 1024;

} // namespace

std::vector<Vec3f> first_directions(const Mesh& mesh)
{
    constexpr int kPasses = 10;
    Mesh with_normals;
    if (mesh.normals.empty()) {
        with_normals.positions = mesh.positions, with_normals.triangles = mesh.triangles;
        compute_normals(with_normals);
    }
    const std::vector<Vec3f>& normals = mesh.normals.empty() ? with_normals.normals : mesh.normals;
    const MeshLinks links(mesh);
    std::vector<Vec3f> directions(mesh.positions.size(), Vec3f::UnitX());
    make_tangent(normals, directions);
    for (int pass = 0; pass < kPasses; ++pass) {
        std::vector<Vec3f> mean(directions.size());
        parallel_for(
            mean.size(),
            [&](size_t i) {
                mean[i] = directions[i];
                for (const int t : links.triangles_at(static_cast<int>(i)))
                    for (int k = 0; k < 3; ++k) mean[i] += directions[mesh.triangles[t][k]];
            },
            kVerticesPerTurn);
        directions = std::move(mean);
        make_tangent(normals, directions);
    }
    return directions;
}

void turn_directions(const Mesh& before, const Mesh& now, const std::vector<SurfacePoint>& from,
                     std::vector<Vec3f>& directions)
{
    const MeshLinks links(now);
    std::vector<Vec3f> places(from.size(), Vec3f::Zero());
    for (size_t i = 0; i < from.size(); ++i)
        if (from[i].triangle >= 0) places[i] = blended(before.positions, before, from[i]);
    std::vector<Vec3f> turned = directions;
    parallel_for(
        from.size(),
        [&](size_t i) {
            if (from[i].triangle < 0) return;
            // The linear map J from steps on the surface to those one frame earlier, by least squares.
            const Vec3f& n = now.normals[i];
            const Vec3f u = n.unitOrthogonal(), v = n.cross(u);
            Eigen::Matrix2f steps = Eigen::Matrix2f::Zero();
            Eigen::Matrix<float, 3, 2> earlier = Eigen::Matrix<float, 3, 2>::Zero();
            for (const int t : links.triangles_at(static_cast<int>(i)))
                for (int k = 0; k < 3; ++k) {
                    const int j = now.triangles[t][k];
                    if (j == static_cast<int>(i) || from[j].triangle < 0) continue;
                    const Vec3f way = now.positions[j] - now.positions[i];
                    const Vec2f step(u.dot(way), v.dot(way));
                    steps += step * step.transpose(), earlier += (places[j] - places[i]) * step.transpose();
                }
            const float least = 1e-4f * steps.trace() * steps.trace();
            if (!(steps.determinant() > least)) return;
            const Eigen::Matrix<float, 3, 2> j = earlier * steps.inverse();
            const Eigen::Matrix2f square = j.transpose() * j;
            if (!(square.determinant() > 1e-3f)) return; // squeezed to a line, or pulled apart from one
            const Vec2f c = square.inverse() * (j.transpose() * directions[i]);
            turned[i] = c.x() * u + c.y() * v;
        },
        kVerticesPerTurn);
    directions = std::move(turned);
    make_tangent(now.normals, directions);
}

void turn_to_stretching(const std::vector<Vec3f>& normals, const std::vector<Mat3f>& strain, float strength,
                        float seconds, std::vector<Vec3f>& directions)
{
    parallel_for(
        directions.size(),
        [&](size_t i) {
            const Stretching flow = stretching(strain[i], normals[i]);
            Vec3f& d = directions[i];
            const Vec3f v = d.dot(flow.direction) < 0 ? Vec3f(-flow.direction) : flow.direction;
            // The angle a between d and v obeys da/dt = -lambda sin(a): tan(a / 2) decays exponentially.
            const float lambda = strength * flow.gap() * flow.stability();
            const float half = 0.5f * std::atan2(d.cross(v).norm(), d.dot(v));
            const float turned = 2 * std::atan(std::tan(half) * std::exp(-lambda * seconds));
            const Vec3f across = v - d.dot(v) * d;
            const float length = across.norm();
            if (!(length > 0)) return;
            const float by = 2 * half - turned;
            d = std::cos(by) * d + std::sin(by) / length * across;
        },
        kVerticesPerTurn);
    make_tangent(normals, directions);
}

std::vector<SurfacePoint> map_of_texels(const Mesh& texels_before, float texel, const Mesh& surface_before,
                                        const Mesh& surface, const std::vector<SurfacePoint>& from,
                                        const std::vector<SurfacePoint>& on_surface)
{
    std::vector<SurfacePoint> result(on_surface.size());
    if (texels_before.triangles.empty()) return result;
    const MeshDistance nearest(texels_before, is_closed(texels_before));
    parallel_for(
        result.size(),
        [&](size_t i) {
            const Vec3i& t = surface.triangles[on_surface[i].triangle];
            const Vec3f& w = on_surface[i].weights;
            Vec3f place[3], mean = Vec3f::Zero();
            float known = 0, apart = 0, edge = texel;
            int main = -1; // the corner that counts most
            for (int k = 0; k < 3; ++k) {
                if (from[t[k]].triangle < 0) continue;
                place[k] = blended(surface_before.positions, surface_before, from[t[k]]);
                mean += w[k] * place[k], known += w[k];
                if (main < 0 || w[k] > w[main]) main = k;
            }
            if (main < 0 || known < 0.5f) return;
            for (int k = 0; k < 3; ++k) {
                if (from[t[k]].triangle >= 0) apart = std::max(apart, (place[k] - place[main]).norm());
                edge = std::max(edge, (surface.positions[t[k]] - surface.positions[t[(k + 1) % 3]]).norm());
            }
            constexpr float kTorn = 4; // corners that were farther apart than edges now came together just now
            const Vec3f was = apart > kTorn * edge ? place[main] : Vec3f(mean / known);
            const MeshDistance::Nearest at = nearest.nearest(was);
            const SurfacePoint found{at.triangle, at.weights};
            if ((blended(texels_before.positions, texels_before, found) - was).norm() < 3 * texel) result[i] = found;
        },
        kVerticesPerTurn);
    return result;
}

} // namespace spindrift
