#include "surface/surface.h"

#include "base/error.h"
#include "surface/container.h"
#include "surface/fairing.h"
#include "surface/particle_distance.h"
#include "surface/parts.h"
#include "surface/smoothing.h"

namespace spindrift {

void SurfaceParams::visit(ParamVisitor& v)
{
    v("voxel", voxel, unit::metres, above(0), "Edge of a cell of the surface's grid. Left out: the particle spacing.");
    v("radius", radius, unit::none, between(1.5, 4),
      "How far particles have a say, in particle spacings: more is smoother, less is more detailed.");
    v("drop", drop, unit::none, between(0.3, 2), "Radius of a lone particle in spacings; 0.62 keeps its volume.");
    v("smoothing", smoothing, unit::none, between(0, 20), "Passes of the filter that removes bumps.");
    v("sdf", sdf, "Also write the distance to the surface as a VDB grid.");
}

namespace {

// Gaps at walls that are filled, and how far below the surface, in spacings.
constexpr float kWallGap = 1.5f, kWallDepth = 0.6f;
// Parts of the mesh that are removed: voids up to a cell of the simulation, in particles' volumes, and slivers up to a
// share of a drop, which arise where the centre of several drops lies near none of them.
constexpr double kBubble = 8, kSliver = 0.2;

SurfaceScale scale_of(float spacing, const SurfaceParams& params)
{
    if (!(spacing > 0) || !std::isfinite(spacing))
        bad_input("the particle spacing is {} m; it must be above 0", spacing);
    // Samples must not lie so far apart that particles, or drops, fall between them. The facets of a drop in the mesh
    // lie below the ball that they stand for, so it is made larger.
    constexpr float kLeastRadius = 1.6f, kLeastDrop = 1.0f, kFacets = 0.11f, kBand = 0.5f;
    SurfaceScale scale{};
    scale.voxel = params.voxel.value_or(spacing);
    scale.spacing = spacing / scale.voxel;
    scale.radius = std::max(params.radius * scale.spacing, kLeastRadius);
    scale.drop = params.drop * scale.spacing + kFacets;
    scale.sampled_drop = std::max(scale.drop, kLeastDrop);
    scale.band = std::max(kBand * scale.radius, 1.0f);
    if (scale.reach() + 1 > kTileSize)
        bad_input("the surface's voxel of {} m is too fine for particles {} m apart: it must be at least {:.3g} m",
                  scale.voxel, spacing, params.radius * spacing / (kTileSize - 1));
    return scale;
}

Smoothing smoothing_of(const SurfaceScale& scale)
{
    // Averaging over the radius of influence moves a curved surface inwards by this times R^2 times its mean curvature;
    // found from balls of many sizes.
    constexpr float kInward = 0.14f;
    Smoothing smoothing;
    smoothing.passes = 2; // the rest is done along the mesh
    // Taps a particle spacing apart smooth alike at every voxel; finer waves the kernel has already removed.
    smoothing.stride = std::clamp(static_cast<int>(std::lround(scale.spacing)), 1, 4);
    // I - S is a quarter of the squared stride times the Laplacian, which is twice the mean curvature.
    const float strides = scale.radius / static_cast<float>(smoothing.stride);
    smoothing.sharpening = 4 * kInward * strides * strides;
    return smoothing;
}

Fairing fairing_of(const SurfaceScale& scale, const SurfaceParams& params)
{
    // Steps add up like diffusion: the width they smooth over grows with their square root.
    constexpr float kStepsPerSpacing2 = 8;
    const float steps = kStepsPerSpacing2 * scale.spacing * scale.spacing;
    return {params.smoothing, std::clamp(static_cast<int>(std::lround(steps)), 2, 64)};
}

// How far each vertex follows the fairing: not in drops and threads, which it would dissolve.
std::vector<float> strengths(const std::vector<Vec3f>& positions, const Field<float>& thickness,
                             const SurfaceScale& scale)
{
    constexpr float kThread = 0.4f, kSheet = 0.65f;
    std::vector<float> strength(positions.size());
    const float inverse_voxel = 1 / scale.voxel;
    parallel_for(
        positions.size(),
        [&](size_t i) {
            const float there = thickness.at(cell_of(positions[i], inverse_voxel));
            strength[i] = clamp01((there - kThread) / (kSheet - kThread));
        },
        1024);
    return strength;
}

// Smoothing may have pushed a vertex through a wall by a trifle.
void keep_within(std::vector<Vec3f>& positions, const Box3f& container)
{
    for (Vec3f& x : positions) x = x.cwiseMax(container.min).cwiseMin(container.max);
}

// From cells to metres, and nothing beyond the walls.
void finish_distance(Field<float>& phi, float voxel, const std::optional<Box3f>& container)
{
    const Topology& topology = phi.topology();
    const float band = phi.background() * voxel;
    for_each_tile(topology, [&](int tile) {
        float* p = phi.tile(tile);
        const Vec3f first = topology.first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
        for (int i = 0; i < kTileCells; ++i) {
            p[i] *= voxel;
            if (!container) continue;
            const Vec3f x = (first + cell_in_tile(i).cast<float>()) * voxel;
            p[i] = std::clamp(std::max(p[i], distance_to_box(x, *container)), -band, band);
        }
    });
    std::fill_n(phi.tile(topology.tile_count()), kTileCells, band);
}

} // namespace

Surface make_surface(Particles particles, float spacing, const SurfaceParams& params,
                     const std::optional<Box3f>& container)
{
    const SurfaceScale scale = scale_of(spacing, params);
    Surface surface;
    surface.voxel = scale.voxel;
    PhaseTimes& times = surface.times;
    ParticleIndex index;
    times.measure("sort", [&] {
        particles.attributes.clear();
        if (container) add_mirror_images(particles, *container, (scale.radius + 1) * scale.voxel);
        surface.topology = std::make_unique<Topology>(tiles_around(particles, scale.voxel, scale.reach() + 1));
        sort_by_tile(particles, *surface.topology, scale.voxel, index);
    });
    Field<float> thickness;
    times.measure("distance", [&] {
        measure_distance(particles, index, *surface.topology, scale, surface.phi, thickness);
        if (container)
            fill_against_walls(surface.phi, *container, scale.voxel, std::min(kWallGap * scale.spacing, 4.0f),
                               kWallDepth * scale.spacing);
    });
    times.measure("smooth", [&] { smooth(surface.phi, thickness, smoothing_of(scale)); });
    Contour mesh;
    times.measure("mesh", [&] { mesh = contour(surface.phi, scale.voxel, container); });
    times.measure("fair",
                  [&] { fair(mesh, strengths(mesh.mesh.positions, thickness, scale), fairing_of(scale, params)); });
    times.measure("settle", [&] { settle_vertices(particles, index, *surface.topology, scale, mesh); });
    surface.mesh = std::move(mesh.mesh);
    if (container) keep_within(surface.mesh.positions, *container);
    times.measure("parts", [&] {
        const double share = std::pow(static_cast<double>(spacing), 3); // of a particle
        const double drop = 4 * kPi / 3 * std::pow(static_cast<double>(params.drop), 3) * share;
        remove_parts(surface.mesh, -kBubble * share, kSliver * std::min(share, drop));
    });
    times.measure("finish", [&] { finish_distance(surface.phi, scale.voxel, container); });
    return surface;
}

} // namespace spindrift
