#include "spindrift/surface/from_particles.h"

#include "spindrift/base/error.h"
#include "spindrift/surface/container.h"
#include "spindrift/surface/particle_distance.h"
#include "spindrift/surface/smoothing.h"
#include "spindrift/surface/vertex_attributes.h"

namespace spindrift {

namespace {

SurfaceScale scale_of(float spacing, const SurfaceParams& params)
{
    // Samples must be close enough that particles, or drops, do not fall between them.
    constexpr float kLeastRadius = 1.6f, kBand = 0.5f;
    const float radius = params.radius.value_or(2.5f);
    SurfaceScale scale{};
    scale.voxel = params.voxel.value_or(spacing);
    scale.spacing = spacing / scale.voxel;
    scale.radius = std::max(radius * scale.spacing, kLeastRadius);
    scale.drop = params.drop * scale.spacing + kFacets;
    scale.sampled_drop = std::max(scale.drop, kLeastDrop);
    scale.corrected = params.mode == SurfaceMode::corrected;
    scale.band = std::max(kBand * scale.radius, 1.0f);
    if (scale.reach() + 1 > kTileSize)
        bad_input("the surface's voxel of {} m is too fine for particles {} m apart: it must be at least {:.3g} m",
                  scale.voxel, spacing, radius * spacing / (kTileSize - 1));
    return scale;
}

Smoothing smoothing_of(const SurfaceScale& scale)
{
    // Averaging over the radius of influence moves a curved surface inwards by this times R^2 times its mean curvature;
    // measured on balls of many sizes.
    constexpr float kInward = 0.14f;
    Smoothing smoothing;
    smoothing.passes = 2; // the rest is done along the mesh
    // Taps a particle spacing apart smooth equally at every voxel size; the kernel has already removed finer waves.
    smoothing.stride = std::clamp(static_cast<int>(std::lround(scale.spacing)), 1, 4);
    // I - S is a quarter of the squared stride times the Laplacian, which is twice the mean curvature.
    const float strides = scale.radius / static_cast<float>(smoothing.stride);
    smoothing.sharpening = 4 * kInward * strides * strides;
    return smoothing;
}

// How far each vertex follows the fairing: zero in drops and threads, which it would dissolve.
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

} // namespace

void surface_from_centres(Particles& particles, float spacing, const SurfaceParams& params,
                          const std::optional<Box3f>& container, const ThinWalls* walls, Surface& surface)
{
    SurfaceScale scale = scale_of(spacing, params);
    // Beyond the range of the weights there is a margin for a band, but at most a tile in all.
    const float dilation = params.filter.dilate / scale.voxel;
    const int reach = scale.reach() + 1 + static_cast<int>(std::ceil(dilation));
    if (reach > kTileSize)
        bad_input("{}.filter.dilate is {} m; in this mode and at this voxel it must be at most {} m", params.name,
                  params.filter.dilate, static_cast<float>(kTileSize - 1 - scale.reach()) * scale.voxel);
    PhaseTimes& times = surface.times;
    ParticleIndex index;
    times.measure("sort", [&] {
        if (container) add_mirror_images(particles, *container, (scale.radius + 1) * scale.voxel);
        surface.topology = std::make_unique<Topology>(tiles_around(particles, scale.voxel, reach));
        sort_by_tile(particles, *surface.topology, scale.voxel, index);
    });
    Field<float> thickness;
    times.measure("distance", [&] {
        measure_distance(particles, index, *surface.topology, scale, surface.phi, thickness, walls);
        if (container)
            fill_against_walls(surface.phi, *container, scale.voxel, std::min(kWallGap * scale.spacing, 4.0f),
                               kWallDepth * scale.spacing);
    });
    times.measure("smooth", [&] { smooth(surface.phi, thickness, smoothing_of(scale)); });
    const auto nearest_particle = [&] { return nearest_particles(particles, index, *surface.topology, scale); };
    filter_distance(params, particles, nearest_particle, surface.phi, surface);
    scale.drop = filtered_drop(scale.drop * scale.voxel, params, scale.voxel) / scale.voxel;
    Contour mesh;
    times.measure("mesh", [&] { mesh = contour(surface.phi, scale.voxel, container); });
    if (walls && params.sdf) walls->cut(particles, nearest_particle(), scale.voxel, surface.phi);
    times.measure("fair", [&] {
        if (params.smoothing == 0) return;
        const std::vector<float> strength = strengths(mesh.mesh.positions, thickness, scale);
        const MeshLinks links(mesh.mesh);
        fair(mesh, links, strength, fairing_of(scale.spacing, params));
        update_normals(mesh, links, strength);
    });
    times.measure("settle", [&] {
        const std::vector<uint32_t> nearest = settle_vertices(particles, index, *surface.topology, scale, mesh);
        if (walls) walls->cut(particles, nearest, scale.voxel, mesh);
        const auto find = [&](const Vec3f& x, VertexWeights& weights) {
            weights_around(x, scale.radius * scale.voxel, particles, index, *surface.topology, scale.voxel, weights);
            if (walls) walls->drop_hidden(x, particles, weights);
        };
        carry_attributes(particles, nearest, find, mesh.mesh);
    });
    surface.mesh = std::move(mesh.mesh);
}

} // namespace spindrift
