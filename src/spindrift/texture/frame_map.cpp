#include "spindrift/texture/frame_map.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/mesh/links.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

constexpr size_t kMapChunk = 1024;

template <class T> const std::vector<T>* attribute_of(const Mesh& mesh, const char* name)
{
    const auto found = mesh.attributes.find(name);
    return found == mesh.attributes.end() ? nullptr : std::get_if<std::vector<T>>(&found->second);
}

bool has_origins(const Mesh& mesh)
{
    return attribute_of<int32_t>(mesh, "origin_triangle") && attribute_of<Vec3f>(mesh, "origin_weights");
}

std::vector<SurfacePoint> map_of_origins(const Mesh& before, const Mesh& now)
{
    const auto& triangle = *attribute_of<int32_t>(now, "origin_triangle");
    const auto& weights = *attribute_of<Vec3f>(now, "origin_weights");
    const auto count = static_cast<int32_t>(before.triangles.size());
    std::vector<SurfacePoint> from(now.positions.size());
    for (size_t i = 0; i < from.size(); ++i) {
        if (triangle[i] >= count)
            fail("origin_triangle of vertex {} is {}, but the frame before has {} triangles: these are not frames of "
                 "one "
                 "sequence",
                 i, triangle[i], count);
        if (triangle[i] < 0) continue;
        const Vec3f w = weights[i].cwiseMax(0.0f);
        if (!(w.sum() > 0) || !w.allFinite()) fail("origin_weights of vertex {} are {} {} {}", i, w.x(), w.y(), w.z());
        from[i] = {triangle[i], w / w.sum()};
    }
    return from;
}

std::vector<SurfacePoint> map_of_vertices(const Mesh& mesh)
{
    std::vector<SurfacePoint> from(mesh.positions.size());
    for (size_t t = 0; t < mesh.triangles.size(); ++t)
        for (int k = 0; k < 3; ++k) from[mesh.triangles[t][k]] = {static_cast<int>(t), Vec3f::Unit(k)};
    return from;
}

// The nearest point that does not face away from `normal`, if there is one within reach, or else the nearest.
SurfacePoint nearest_alike(const MeshDistance& surface, const Mesh& mesh, const Vec3f& place, const Vec3f& normal,
                           float reach)
{
    const auto nearest = [&](const Vec3f& x) {
        const MeshDistance::Nearest found = surface.nearest(x);
        return SurfacePoint{found.triangle, found.weights};
    };
    const auto faces_away = [&](const SurfacePoint& at) { return triangle_normal(mesh, at.triangle).dot(normal) < 0; };
    const SurfacePoint first = nearest(place);
    if (!faces_away(first)) return first;
    // The right side of the sheet is in front of this one, or behind it where the mesh is inside out.
    for (float step = reach / 16; step <= reach; step *= 2)
        for (const float way : {step, -step}) {
            const SurfacePoint other = nearest(place + way * normal);
            if (!faces_away(other) && (blended(mesh.positions, mesh, other) - place).norm() <= reach) return other;
        }
    return first;
}

std::vector<SurfacePoint> map_of_velocities(const Mesh& before, const Mesh& now, float seconds,
                                            const FrameMapSettings& settings)
{
    std::vector<SurfacePoint> from(now.positions.size());
    const MeshDistance surface(before, is_closed(before));
    const float reach = settings.reach.value_or(4 * static_cast<float>(mean_edge(before)));
    const bool curved = !settings.motion && before.velocities.size() == before.positions.size();
    const std::vector<Vec3f> normals = angle_weighted_normals(now, MeshLinks(now));
    parallel_for(
        from.size(),
        [&](size_t i) {
            const auto nearest = [&](const Vec3f& velocity, Vec3f& place) {
                place = now.positions[i] - seconds * velocity;
                return nearest_alike(surface, before, place, normals[i], reach);
            };
            const Vec3f& v = now.velocities[i];
            Vec3f place;
            SurfacePoint at = nearest(v, place);
            if (curved) at = nearest(0.5f * (v + blended(before.velocities, before, at)), place);
            if ((blended(before.positions, before, at) - place).norm() <= reach) from[i] = at;
        },
        kMapChunk);
    return from;
}

} // namespace

double mean_edge(const Mesh& mesh)
{
    if (mesh.triangles.empty()) return 0;
    const double sum = parallel_sum(mesh.triangles.size(), [&](size_t t) {
        const Vec3i& corners = mesh.triangles[t];
        double edges = 0;
        for (int k = 0; k < 3; ++k)
            edges += static_cast<double>((mesh.positions[corners[k]] - mesh.positions[corners[(k + 1) % 3]]).norm());
        return edges;
    });
    return sum / (3 * static_cast<double>(mesh.triangles.size()));
}

std::vector<SurfacePoint> frame_map(const Mesh& before, const Mesh& now, float seconds,
                                    const FrameMapSettings& settings)
{
    const bool moves = now.velocities.size() == now.positions.size() && !now.positions.empty();
    MapSource source = settings.source;
    if (source == MapSource::best)
        source = has_origins(now) ? MapSource::origins : moves ? MapSource::velocities : MapSource::vertices;
    if (now.positions.empty()) return {};
    if (source == MapSource::origins && !has_origins(now)) fail("there are no origin_triangle and origin_weights");
    if (source == MapSource::origins) return map_of_origins(before, now);
    if (before.triangles.empty()) return std::vector<SurfacePoint>(now.positions.size());
    if (source == MapSource::velocities && !moves) fail("there are no velocities vx, vy, vz");
    if (source == MapSource::velocities) return map_of_velocities(before, now, seconds, settings);
    if (before.positions.size() != now.positions.size() || before.triangles != now.triangles)
        fail("the triangles differ from those of the frame before, and nothing tells how the surface moved; write "
             "velocities (vx, vy, vz), or origin_triangle and origin_weights, with the mesh");
    return map_of_vertices(now);
}

} // namespace spindrift
