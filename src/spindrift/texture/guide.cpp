#include "spindrift/texture/guide.h"

#include "spindrift/base/parallel.h"
#include "spindrift/mesh/links.h"
#include "spindrift/scene/limits.h"
#include "spindrift/texture/diffusion.h"
#include "spindrift/texture/frame_map.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

constexpr size_t kVerticesPerGuide = 2048;

// A triangle now and where its corners were. Twice the areas; that of before is negative if the map turns it over:
// with signs, the areas of a map with folds still add up to that of the surface.
struct MovedArea {
    float before = 0, now = 0;
};

MovedArea moved_area(const Mesh& before, const Mesh& now, const std::vector<SurfacePoint>& from, int triangle)
{
    constexpr float kTorn = 4; // corners that were that many edges apart came together just now
    const Vec3i& corners = now.triangles[triangle];
    Vec3f was[3], normal = Vec3f::Zero();
    for (int k = 0; k < 3; ++k) {
        const SurfacePoint& at = from[corners[k]];
        if (at.triangle < 0) return {};
        was[k] = blended(before.positions, before, at);
        normal += triangle_normal(before, at.triangle);
    }
    float edge = 0, edge_before = 0;
    for (int k = 0; k < 3; ++k) {
        edge = std::max(edge, (now.positions[corners[k]] - now.positions[corners[(k + 1) % 3]]).norm());
        edge_before = std::max(edge_before, (was[k] - was[(k + 1) % 3]).norm());
    }
    if (edge_before > kTorn * edge) return {};
    const Vec3f area_before = (was[1] - was[0]).cross(was[2] - was[0]),
                area = (now.positions[corners[1]] - now.positions[corners[0]])
                           .cross(now.positions[corners[2]] - now.positions[corners[0]]);
    return {std::copysign(area_before.norm(), area_before.dot(normal)), area.norm()};
}

std::vector<float> areas_of_vertices(const Mesh& mesh)
{
    std::vector<float> areas(mesh.positions.size(), 0);
    for (const Vec3i& t : mesh.triangles) {
        const Vec3f across =
            (mesh.positions[t[1]] - mesh.positions[t[0]]).cross(mesh.positions[t[2]] - mesh.positions[t[0]]);
        for (int k = 0; k < 3; ++k) areas[t[k]] += across.norm() / 6;
    }
    return areas;
}

} // namespace

void FoamParams::visit(ParamVisitor& v)
{
    v("reach", reach, unit::metres, between(0, 1e6),
      "Where the mean curvature is H, at least `reach` times H of the surface is foam; for a drop, H is 1 over its "
      "radius. Higher values make more foam.");
    v("life", life, unit::seconds, between(1e-3, 1e9), "Foam decays to 37% in this time.");
    v("rate", rate, unit::per_second, limits::rate(), "How fast foam appears. Default: at once.");
}

std::vector<float> area_ratios(const Mesh& before, const Mesh& now, const std::vector<SurfacePoint>& from)
{
    constexpr float kMost = 8;
    const MeshLinks links(now);
    std::vector<MovedArea> areas(now.triangles.size());
    parallel_for(
        areas.size(), [&](size_t t) { areas[t] = moved_area(before, now, from, static_cast<int>(t)); },
        kVerticesPerGuide);
    std::vector<float> ratios(now.positions.size(), 1);
    parallel_for(
        ratios.size(),
        [&](size_t i) {
            MovedArea sum;
            for (const int t : links.triangles_at(static_cast<int>(i)))
                sum.before += areas[t].before, sum.now += areas[t].now;
            if (sum.now > 0) ratios[i] = std::clamp(sum.before / sum.now, 0.0f, kMost);
        },
        kVerticesPerGuide);
    return ratios;
}

void keep_total(const Mesh& before, const std::vector<float>& values_before, const Mesh& now,
                const std::vector<SurfacePoint>& from, std::vector<float>& values)
{
    if (before.triangles.empty() || now.triangles.empty()) return;
    const std::vector<float> ratios = area_ratios(before, now, from);
    for (size_t i = 0; i < values.size(); ++i) values[i] *= ratios[i];
    // What vertices have received from each place of the surface before, as a density there.
    SurfaceDiffusion nearby(before);
    const std::vector<float> areas = areas_of_vertices(now);
    std::vector<float> given(before.positions.size(), 0), around = given;
    for (size_t i = 0; i < values.size(); ++i)
        for (int k = 0; k < 3 && from[i].triangle >= 0; ++k) {
            const int corner = before.triangles[from[i].triangle][k];
            const float share = from[i].weights[k] * areas[i] / nearby.areas()[corner];
            given[corner] += share * values[i], around[corner] += share * std::abs(values[i]);
        }
    // What is missing, m - g, is given to all that is around: with the symmetric smoothing K, each place l gets the
    // share |g_l| K_lj / (K |g|)_j of what is missing at j, so that nothing is left over.
    constexpr float kEdges = 8, kLittle = 1e-4f, kMost = 0.2f;
    const float length = kEdges * static_cast<float>(mean_edge(before)), time = 0.5f * length * length;
    std::vector<float> missing(given.size());
    nearby.spread(time, around);
    for (size_t j = 0; j < missing.size(); ++j)
        missing[j] = (values_before[j] - given[j]) / (std::max(around[j], 0.0f) + kLittle);
    nearby.spread(time, missing);
    for (size_t i = 0; i < values.size(); ++i) {
        if (from[i].triangle < 0) continue;
        const Vec3i& t = before.triangles[from[i].triangle];
        const float more = from[i].weights.dot(Vec3f(missing[t[0]], missing[t[1]], missing[t[2]]));
        values[i] += std::abs(values[i]) * std::clamp(more, -kMost, kMost);
    }
}

void change_foam(const FoamParams& params, const std::vector<float>& curvature, float seconds, std::vector<float>& foam)
{
    const float kept = std::exp(-seconds / params.life);
    const float taken = params.rate ? -std::expm1(-*params.rate * seconds) : 1; // of what curvature asks for
    parallel_for(
        foam.size(),
        [&](size_t i) {
            const float asked = params.reach * curvature[i];
            float& r = foam[i];
            r *= kept;
            r = clamp01(r + taken * std::max(asked - r, 0.0f));
        },
        kVerticesPerGuide);
}

} // namespace spindrift
