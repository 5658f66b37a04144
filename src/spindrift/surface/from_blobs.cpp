#include "spindrift/surface/from_particles.h"

#include "spindrift/base/error.h"
#include "spindrift/surface/blob_distance.h"
#include "spindrift/surface/calm_water.h"
#include "spindrift/surface/container.h"
#include "spindrift/surface/keep_volume.h"
#include "spindrift/surface/level_set.h"
#include "spindrift/surface/mixed_sizes.h"
#include "spindrift/surface/sizes.h"
#include "spindrift/surface/vertex_attributes.h"

namespace spindrift {

namespace {

// Voxels, in spacings, up to which the volume below the surface is measured; coarser ones enclose whole bodies of
// liquid.
constexpr float kCoarsest = 64;

// How far around the surface samples are needed, in cells: for the mesh alone, or for a whole level set.
float band_of(const SurfaceParams& params, float voxel)
{
    constexpr float kForMesh = 2, kMostDilation = 16, kMostErosion = 64;
    if (!params.filter.any() && !params.sdf) return kForMesh;
    const float dilation = params.filter.dilate / voxel;
    if (dilation > kMostDilation)
        bad_input("{0}.filter.dilate is {1} m, more than {2} voxels of {3} m; lower it or raise {0}.voxel", params.name,
                  params.filter.dilate, kMostDilation, voxel);
    if (params.filter.erode / voxel > kMostErosion)
        bad_input("{0}.filter.erode is {1} m, more than {2} voxels of {3} m; lower it or raise {0}.voxel", params.name,
                  params.filter.erode, kMostErosion, voxel);
    return kLevelSetBand + 1 + dilation;
}

BlobScale blob_scale_of(float spacing, float voxel, const SurfaceParams& params)
{
    // Fitted to flat beds of jittered particles: the mean height is exact.
    constexpr float kSphere = 0.72f, kEllipsoid = 1.66f;
    // Half-axes in cells: thinner sheets would have holes between samples.
    constexpr float kThinnest = 0.87f;
    const bool spheres = params.mode == SurfaceMode::spheres;
    BlobScale scale{};
    scale.spacing = spacing;
    scale.search = params.radius.value_or(3) * spacing;
    scale.size = params.size.value_or(spheres ? kSphere : kEllipsoid) * spacing;
    scale.drop = std::max(params.drop * spacing, kLeastDrop * voxel);
    scale.flattest = params.flattest;
    scale.thinnest = kThinnest * voxel;
    scale.droplet = params.droplet;
    scale.centring = params.centring;
    scale.global = params.global;
    scale.fixed_scale = params.scale;
    return scale;
}

// The blob nearest to each vertex, among those nearest to the samples around it.
std::vector<uint32_t> nearest_blobs(const std::vector<Vec3f>& positions, const Blobs& blobs, const BlobGrid& grid,
                                    float voxel)
{
    std::vector<uint32_t> out(positions.size());
    parallel_for(
        positions.size(),
        [&](size_t i) {
            const Vec3i low = cell_of(positions[i] - Vec3f::Constant(0.5f * voxel), 1 / voxel);
            float least = kInfinity;
            uint32_t& best = out[i] = BlobGrid::kNone;
            for (int c = 0; c < 8; ++c) {
                const uint32_t blob = grid.nearest.at(low + Vec3i(c >> 2, c >> 1 & 1, c & 1));
                if (blob == BlobGrid::kNone || blob == best) continue;
                const float distance = blobs.list[blob].distance(positions[i]);
                if (distance < least) least = distance, best = blob;
            }
        },
        256);
    return out;
}

// Moves the vertices of drops, which were sampled larger than they are, onto spheres around their particles.
// radius_of(particle) is in metres.
template <class Radius>
void settle_drops(const Blobs& blobs, const std::vector<uint32_t>& nearest, const Radius& radius_of, Contour& contour)
{
    parallel_for(
        nearest.size(),
        [&](size_t i) {
            if (nearest[i] == BlobGrid::kNone || blobs.list[nearest[i]].firmness > 0) return;
            const float radius = radius_of(blobs.list[nearest[i]].particle);
            Vec3f& x = contour.mesh.positions[i];
            const Vec3f out = x - blobs.list[nearest[i]].centre;
            const float distance = out.norm();
            if (distance < 0.1f * radius) return;
            const Vec3f move = (radius / distance - 1) * out;
            for (int a = 0; a < 3; ++a)
                if (!(contour.kinds[i] >> a & 1)) x[a] += move[a];
        },
        kSurfaceVerticesPerTask);
}

// kFacets for drops of any radius [m]: facets lie inside a ball by the square of their size over its radius, and a ball
// smaller than a voxel has facets of its own size.
float facets_of(float radius, float voxel)
{
    const float usual = 0.62f * voxel; // the radius for which kFacets was measured
    return kFacets * voxel * std::min(radius / usual, usual / radius);
}

// In cubes of the spacing.
std::vector<float> volumes_in(const std::vector<float>& radii, float spacing)
{
    std::vector<float> volumes(radii.size());
    for (size_t i = 0; i < radii.size(); ++i) {
        const float edge = spacing_of_radius(radii[i]) / spacing;
        volumes[i] = edge * edge * edge;
    }
    return volumes;
}

MixedShape mixed_shape(SurfaceMode mode)
{
    if (mode == SurfaceMode::spheres) return MixedShape::spheres;
    return mode == SurfaceMode::ellipsoids ? MixedShape::ellipsoids : MixedShape::weighted;
}

Field<uint32_t> particles_of_nearest_blobs(const BlobGrid& grid, const Blobs& blobs)
{
    Field<uint32_t> particle;
    particle.copy_from(grid.nearest);
    for_each_tile(particle.topology(), [&](int t) {
        for (uint32_t& p : std::span(particle.tile(t), kTileCells))
            p = p == BlobGrid::kNone ? p : blobs.list[p].particle;
    });
    return particle;
}

std::vector<uint32_t> particles_of(std::vector<uint32_t> nearest, const Blobs& blobs)
{
    for (uint32_t& n : nearest)
        if (n != BlobGrid::kNone) n = blobs.list[n].particle;
    return nearest;
}

// Where bumps of the surface are cut off at a wall, the parts between them move towards it instead. Each pass makes up
// for what the last one cut off; a vertex moves less than a fifth of a spacing in a pass.
void keep_volume_at_walls(const ThinWalls& walls, const Particles& particles, std::vector<uint32_t> nearest,
                          const FilledSurface& filled, const VolumeExcess& excess, std::vector<float> strength,
                          Contour& mesh)
{
    constexpr int kPasses = 3;
    constexpr float kReach = 2; // [spacings]
    parallel_for(
        nearest.size(),
        [&](size_t i) {
            if (walls.near(mesh.mesh.positions[i], kReach * filled.spacing)) return;
            nearest[i] = BlobGrid::kNone, strength[i] = 0;
        },
        kSurfaceVerticesPerTask);
    for (int pass = 0; pass < kPasses; ++pass) {
        walls.cut(particles, nearest, filled.voxel, mesh);
        keep_volume(mesh, strength, filled, excess);
    }
}

// Firmness and velocity of the blob nearest to each vertex.
void take_from_nearest(const std::vector<uint32_t>& nearest, const Blobs& blobs, const Particles& particles,
                       std::vector<float>& strength, std::vector<Vec3f>& velocities)
{
    strength.assign(nearest.size(), 0);
    velocities.assign(nearest.size(), Vec3f::Zero());
    parallel_for(
        nearest.size(),
        [&](size_t i) {
            if (nearest[i] == BlobGrid::kNone) return;
            const Blob& blob = blobs.list[nearest[i]];
            strength[i] = blob.firmness;
            velocities[i] = blobs.velocity.empty() ? particles.v[blob.particle] : blobs.velocity[nearest[i]];
        },
        kSurfaceVerticesPerTask);
}

Blobs make_equal_blobs(SurfaceMode mode, const Particles& particles, const ParticleIndex& index, const Topology& search,
                       const Interior& interior, const BlobScale& scale, const ThinWalls* walls)
{
    return mode == SurfaceMode::spheres ? make_spheres(particles, index, search, interior, scale)
                                        : make_ellipsoids(particles, index, search, interior, scale, walls);
}

void note_scales(const Blobs& blobs, Surface& surface)
{
    surface.least_scale = blobs.least_scale, surface.mean_scale = blobs.mean_scale;
    surface.most_scale = blobs.most_scale;
}

} // namespace

void surface_from_blobs(Particles& particles, float spacing, const SurfaceParams& params,
                        const std::optional<Box3f>& container, const ThinWalls* walls, Surface& surface)
{
    const float band = band_of(params, surface.voxel); // [cells]
    const BlobScale scale = blob_scale_of(spacing, surface.voxel, params);
    PhaseTimes& times = surface.times;
    ParticleIndex index;
    Topology search;
    const Sizes sizes(particles);
    times.measure("sort", [&] {
        const float reach = std::max(scale.search + spacing, sizes.most_reach(scale.search / spacing));
        if (container) add_mirror_images(particles, *container, reach);
        search = tiles_around(particles, spacing, 2); // the range of VolumeExcess
        sort_by_tile(particles, search, spacing, index);
    });
    const std::vector<float> radii = sizes.take(particles); // by particle, or empty
    const std::vector<float> volumes = volumes_in(radii, spacing);
    const Interior interior(index, search, 1, radii.empty() ? nullptr : &volumes);
    Blobs blobs;
    times.measure("blobs", [&] {
        blobs = radii.empty() ? make_equal_blobs(params.mode, particles, index, search, interior, scale, walls)
                              : make_mixed_blobs(mixed_shape(params.mode), particles, radii, index, search, interior,
                                                 {spacing, surface.voxel, scale.size / spacing, scale.search / spacing,
                                                  scale.flattest, scale.droplet, scale.centring});
        note_scales(blobs, surface);
    });
    BlobGrid grid;
    const float spacing_in_cells = spacing / surface.voxel;
    times.measure("distance", [&] {
        const bool weighted = !radii.empty() && mixed_shape(params.mode) == MixedShape::weighted;
        grid = measure_distance(blobs, search, interior, spacing, surface.voxel, band,
                                weighted ? BlobUnion::drops : BlobUnion::all);
        if (container)
            fill_against_walls(grid.phi, *container, surface.voxel, std::min(kWallGap * spacing_in_cells, 4.0f),
                               std::min(kWallDepth * spacing_in_cells, band));
    });
    const auto nearest_particle = [&] { return particles_of_nearest_blobs(grid, blobs); };
    filter_distance(params, particles, nearest_particle, grid.phi, surface);
    Contour mesh;
    times.measure("mesh", [&] { mesh = contour(grid.phi, surface.voxel, container); });
    std::vector<uint32_t> nearest;
    std::vector<float> strength;
    std::optional<MeshLinks> links; // until the mesh is smooth
    times.measure("fair", [&] {
        nearest = nearest_blobs(mesh.mesh.positions, blobs, grid, surface.voxel);
        take_from_nearest(nearest, blobs, particles, strength, mesh.mesh.velocities);
        if (params.smoothing == 0) return;
        links.emplace(mesh.mesh);
        fair(mesh, *links, strength, fairing_of(spacing_in_cells, params));
    });
    times.measure("calm", [&] {
        if (params.smoothing == 0) return;
        if (radii.empty() && surface.voxel <= kCoarsest * spacing) {
            const FilledSurface filled{grid.phi, surface.voxel, particles, index, search, spacing};
            const VolumeExcess excess(filled, mesh.mesh.positions);
            if (!params.filter.any()) {
                keep_volume(mesh, strength, filled, excess);
                if (walls)
                    keep_volume_at_walls(*walls, particles, particles_of(nearest, blobs), filled, excess, strength,
                                         mesh);
            }
            flatten_calm_water(mesh, strength, excess, {surface.voxel, spacing}, container);
        }
        update_normals(mesh, *links, strength);
        links.reset();
    });
    if (walls && params.sdf) walls->cut(particles, nearest_particle(), surface.voxel, grid.phi);
    times.measure("settle", [&] {
        const auto drop = [&](uint32_t i) {
            const float radius = filtered_drop(radii.empty() ? params.drop * spacing : radii[i], params, surface.voxel);
            return radius + (radii.empty() ? kFacets * surface.voxel : facets_of(radius, surface.voxel));
        };
        if (params.mode == SurfaceMode::ellipsoids || !radii.empty()) settle_drops(blobs, nearest, drop, mesh);
        nearest = particles_of(std::move(nearest), blobs);
        if (walls) walls->cut(particles, nearest, surface.voxel, mesh);
        const auto find = [&](const Vec3f& x, VertexWeights& weights) {
            if (radii.empty())
                weights_around(x, scale.search, particles, index, search, spacing, weights);
            else
                weights_of_blobs(x, blobs, grid, surface.voxel, weights);
            if (walls) walls->drop_hidden(x, particles, weights);
        };
        carry_attributes(particles, nearest, find, mesh.mesh);
        // Over a seam about as wide as between particles of one size.
        if (!radii.empty()) blend_along(mesh.mesh, fairing_of(spacing_in_cells, params).steps / 4);
    });
    surface.topology = std::move(grid.topology), surface.phi = std::move(grid.phi), surface.mesh = std::move(mesh.mesh);
}

} // namespace spindrift
