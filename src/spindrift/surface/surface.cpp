#include "spindrift/surface/surface.h"

#include "spindrift/base/scratch.h"
#include "spindrift/scene/limits.h"

#include "spindrift/base/error.h"
#include "spindrift/field/block.h"
#include "spindrift/mesh/simplify.h"
#include "spindrift/points/attribute_checks.h"
#include "spindrift/surface/blob_distance.h"
#include "spindrift/surface/calm_water.h"
#include "spindrift/surface/container.h"
#include "spindrift/surface/fairing.h"
#include "spindrift/surface/keep_volume.h"
#include "spindrift/surface/mixed_sizes.h"
#include "spindrift/surface/particle_distance.h"
#include "spindrift/surface/parts.h"
#include "spindrift/surface/smoothing.h"
#include "spindrift/surface/thin_walls.h"
#include "spindrift/surface/vertex_attributes.h"

namespace spindrift {

void SurfaceParams::visit(ParamVisitor& v)
{
    v("mode", mode, choices("spheres", "averaged", "ellipsoids", "corrected"),
      "Method: spheres around particles, averaged (weighted centres), ellipsoids stretched along neighbours, or "
      "corrected (weighted centres after Solenthaler and Pajarola).");
    v("voxel", voxel, unit::metres, limits::size(),
      "Edge length of a cell of the surface's grid. Default: the particle spacing.");
    v("radius", radius, unit::none, between(1.5, 4),
      "Radius of influence of particles, in particle spacings: larger is smoother, smaller is more detailed. Default: "
      "3 for ellipsoids, 2.5 for weighted centres.");
    v("size", size, unit::none, between(0.3, 4),
      "Radius of a sphere, and of an ellipsoid before stretching, in spacings. Default: keeps the volume.");
    v("drop", drop, unit::none, between(0.3, 2), "Radius of a lone particle in spacings; 0.62 keeps its volume.");
    v("radius_scale", radius_scale, unit::none, between(0.01, 100),
      "Factor on the radii of particles of mixed sizes, which have an attribute radius [m], or a varying pscale; drop "
      "and the spacing are then unused.");
    v("droplet", droplet, unit::none, between(0, 100),
      "Ellipsoids: a particle with at most this many particles within the radius, itself included, is a drop.");
    v("flattest", flattest, unit::none, between(0.05, 1),
      "Ellipsoids: lower bound of the ratio of the shortest axis to the longest.");
    v("centring", centring, unit::none, between(0, 1),
      "Ellipsoids: how far a centre moves towards the mean of the particles around it.");
    v("global", global, unit::none, between(0, 1),
      "Ellipsoids: 0 keeps the volume of each, 1 the mean volume; values between blend.");
    v("scale", scale, unit::none, between(1e-12, 1e15),
      "Ellipsoids: one factor k_s [1/m2] from variance to stretch for all. Default: follows from the volume.");
    v("smoothing", smoothing, unit::none, between(0, 20),
      "Passes of the filter that removes bumps. 0 also disables the flattening of calm water.");
    v.group("filter", filter,
            "Filters of the distance before meshing, in the order dilate, smooth, erode. Default: none.");
    v("adaptivity", adaptivity, unit::none, between(0, 1),
      "Simplify the mesh where it is flat: largest deviation, in voxels.");
    v("attributes", attributes,
      "Particle attributes that the mesh's vertices carry, separated by spaces: the mean of nearby particles, or for "
      "integers the value of the nearest.");
    v("sdf", sdf,
      "Also write the distance to the surface and the velocity there as VDB grids \"surface\" and \"vel\".");
    v("obj", obj, "Also write the mesh as OBJ, without velocities and attributes.");
}

namespace {

// Gaps at walls that are filled, and their least depth below the surface, in spacings.
constexpr float kWallGap = 1.5f, kWallDepth = 0.6f;
// Parts of the mesh that are removed: voids up to a cell of the simulation, in particle volumes, and slivers up to a
// share of a drop, which arise where the centre of several drops is near none of them.
constexpr double kBubble = 8, kSliver = 0.2;

// The facets of a drop in the mesh lie inside its ball, so the ball is enlarged by this [cells].
constexpr float kFacets = 0.11f;
constexpr size_t kVerticesPerTask = 4096; // minimum per thread
// Voxels, in spacings, up to which the volume below the surface is measured; coarser ones enclose whole bodies of
// liquid.
constexpr float kCoarsest = 64;
// Drops are sampled at least this large [cells], so that they do not fall between samples.
constexpr float kLeastDrop = 1.0f;

// How far around the surface samples are needed, in cells: for the mesh alone, or for a whole level set.
float band_of(const SurfaceParams& params, float voxel)
{
    constexpr float kForMesh = 2, kMostDilation = 16, kMostErosion = 64;
    if (!params.filter.any() && !params.sdf) return kForMesh;
    const float dilation = params.filter.dilate / voxel;
    if (dilation > kMostDilation)
        bad_input("surface.filter.dilate is {} m, more than {} voxels of {} m; lower it or raise surface.voxel",
                  params.filter.dilate, kMostDilation, voxel);
    if (params.filter.erode / voxel > kMostErosion)
        bad_input("surface.filter.erode is {} m, more than {} voxels of {} m; lower it or raise surface.voxel",
                  params.filter.erode, kMostErosion, voxel);
    return kLevelSetBand + 1 + dilation;
}

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

Fairing fairing_of(float spacing, const SurfaceParams& params) // [cells]
{
    // Steps add up like diffusion: their smoothing width grows with the square root of their number.
    constexpr float kStepsPerSpacing2 = 8;
    const float steps = kStepsPerSpacing2 * spacing * spacing;
    return {params.smoothing, std::clamp(static_cast<int>(std::lround(steps)), 2, 64)};
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

// Smoothing may have pushed a vertex slightly through a wall.
void keep_within(std::vector<Vec3f>& positions, const Box3f& container)
{
    parallel_for(
        positions.size(),
        [&](size_t i) { positions[i] = positions[i].cwiseMax(container.min).cwiseMin(container.max); },
        kVerticesPerTask);
}

// Converts cells to metres, cuts off what is beyond the walls, and keeps velocities in the band only.
void finish_fields(Field<float>& phi, Field<Vec3f>& velocity, float voxel, const std::optional<Box3f>& container,
                   bool has_velocity)
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
        for (int i = 0; i < kTileCells && has_velocity; ++i)
            if (std::abs(p[i]) >= band) velocity.tile(tile)[i].setZero();
    });
    std::fill_n(phi.tile(topology.tile_count()), kTileCells, band);
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
        kVerticesPerTask);
}

// The velocity of each cell's particle, extrapolated from neighbours to cells without one, out to the edge of the band.
Field<Vec3f> velocity_field(Field<uint32_t> particle, const Particles& particles)
{
    const Topology& topology = particle.topology();
    const auto none = [&](uint32_t p) { return p >= particles.size(); };
    constexpr int kSteps = 4;
    Field<uint32_t> before;
    for (int step = 0; step < kSteps; ++step) {
        before.copy_from(particle);
        for_each_tile(topology, [&](int t) {
            uint32_t* cells = particle.tile(t);
            if (std::none_of(cells, cells + kTileCells, none)) return;
            using Around = Block<uint32_t, 1>;
            auto& around = thread_scratch<Around>();
            around.gather(before, t);
            for (int i = 0; i < kTileCells; ++i) {
                const Vec3i c = cell_in_tile(i);
                const uint32_t* at = &around.at(c.x(), c.y(), c.z());
                for (const int to : {-Around::kStrideX, Around::kStrideX, -Around::kStrideY, Around::kStrideY, -1, 1})
                    if (none(cells[i])) cells[i] = at[to];
            }
        });
    }
    Field<Vec3f> velocity;
    velocity.reset_uninitialized(topology, Vec3f::Zero());
    for_each_tile(topology, [&](int t) {
        for (int i = 0; i < kTileCells; ++i) {
            const uint32_t p = particle.tile(t)[i];
            velocity.tile(t)[i] = none(p) ? Vec3f(Vec3f::Zero()) : particles.v[p];
        }
    });
    return velocity;
}

// Filters phi if requested. `particle` finds the particle next to each cell, which is expensive.
template <class Particle> void filter_distance(const SurfaceParams& params, const Particles& particles,
                                               const Particle& particle, Field<float>& phi, Surface& surface)
{
    if (!params.filter.any() && !params.sdf) return;
    surface.times.measure("filter", [&] {
        surface.velocity = velocity_field(particle(), particles);
        filter_level_set(phi, surface.velocity, surface.voxel, params.filter);
        if (!params.sdf) surface.velocity = {};
    });
}

// The radius [m] of a drop after dilating and eroding; where one is left, it does not shrink to a point.
float filtered_drop(float radius, const SurfaceParams& params, float voxel)
{
    const float growth = params.filter.dilate - params.filter.erode;
    return growth == 0 ? radius : std::max(radius + growth, 0.3f * voxel);
}

// Each function computes phi [cells] and the mesh, with velocities.
void surface_from_centres(Particles& particles, float spacing, const SurfaceParams& params,
                          const std::optional<Box3f>& container, const ThinWalls* walls, Surface& surface)
{
    SurfaceScale scale = scale_of(spacing, params);
    // Beyond the range of the weights there is a margin for a band, but at most a tile in all.
    const float dilation = params.filter.dilate / scale.voxel;
    const int reach = scale.reach() + 1 + static_cast<int>(std::ceil(dilation));
    if (reach > kTileSize)
        bad_input("surface.filter.dilate is {} m; in this mode and at this voxel it must be at most {} m",
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

// Radii of particles of mixed sizes, carried along while particles are reordered.
class Sizes {
  public:
    explicit Sizes(const Particles& particles)
    {
        if (const auto* radii = particles.find<float>(kName); radii && !radii->empty())
            largest_ = *std::max_element(radii->begin(), radii->end());
    }
    static void give(Particles& particles, std::vector<float> radii, float scale)
    {
        for (size_t i = 0; i < radii.size(); ++i) {
            if (!(radii[i] > 0) || !std::isfinite(radii[i]))
                bad_input("particle {} of {} has the radius {} m; radii (pscale or radius) must be above 0", i,
                          radii.size(), radii[i]);
            radii[i] *= scale;
        }
        particles.attributes[kName] = std::move(radii);
    }
    std::vector<float> take(Particles& particles) const
    {
        const auto found = particles.attributes.find(kName);
        if (found == particles.attributes.end()) return {};
        std::vector<float> radii = std::get<std::vector<float>>(std::move(found->second));
        particles.attributes.erase(found);
        return radii;
    }
    // The range of the largest particle [m].
    float most_reach(float spacings) const { return spacings * spacing_of_radius(largest_); }

  private:
    static constexpr const char* kName = "\1radius"; // cannot clash with user attributes
    float largest_ = 0;
};

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
        kVerticesPerTask);
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
        kVerticesPerTask);
}

void note_scales(const Blobs& blobs, Surface& surface)
{
    surface.least_scale = blobs.least_scale, surface.mean_scale = blobs.mean_scale;
    surface.most_scale = blobs.most_scale;
}

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
        if (!radii.empty())
            blobs = make_mixed_blobs(mixed_shape(params.mode), particles, radii, index, search, interior,
                                     {spacing, surface.voxel, scale.size / spacing, scale.search / spacing,
                                      scale.flattest, scale.droplet, scale.centring});
        else
            blobs = params.mode == SurfaceMode::spheres
                        ? make_spheres(particles, index, search, interior, scale)
                        : make_ellipsoids(particles, index, search, interior, scale, walls);
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
        const auto drop = [&](uint32_t particle) {
            if (radii.empty())
                return filtered_drop(params.drop * spacing, params, surface.voxel) + kFacets * surface.voxel;
            const float radius = filtered_drop(radii[particle], params, surface.voxel);
            return radius + facets_of(radius, surface.voxel);
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

} // namespace

Surface make_surface(Particles particles, float spacing, const SurfaceParams& params,
                     const std::optional<Box3f>& container, std::vector<float> radii, const Solids* solids)
{
    if (!(spacing > 0) || !std::isfinite(spacing))
        bad_input("the particle spacing is {} m; it must be above 0", spacing);
    Surface surface;
    const bool mixed = !radii.empty();
    surface.voxel = params.voxel.value_or(mixed ? 0.5f * spacing / spacing_of_radius(1) : spacing); // half a radius
    keep_attributes(particles, params.attributes);
    const double least = mixed ? params.radius_scale * *std::min_element(radii.begin(), radii.end()) : 0;
    if (mixed) {
        constexpr float kMostVoxels = 200; // per radius: a larger ball takes gigabytes
        const float largest = params.radius_scale * *std::max_element(radii.begin(), radii.end());
        if (largest > kMostVoxels * surface.voxel)
            bad_input("a particle has radius {} m, more than {} voxels of {} m; raise surface.voxel", largest,
                      kMostVoxels, surface.voxel);
        Sizes::give(particles, std::move(radii), params.radius_scale);
    }
    std::optional<ThinWalls> walls;
    if (solids && solids->has_sheets()) walls.emplace(*solids, container);
    const bool blobs = mixed || params.mode == SurfaceMode::spheres || params.mode == SurfaceMode::ellipsoids;
    (blobs ? surface_from_blobs : surface_from_centres)(particles, spacing, params, container,
                                                        walls ? &*walls : nullptr, surface);
    if (container) keep_within(surface.mesh.positions, *container);
    PhaseTimes& times = surface.times;
    times.measure("parts", [&] {
        const double share = std::pow(static_cast<double>(spacing), 3); // of a particle
        const double ball = 4 * kPi / 3 * std::pow(static_cast<double>(params.drop), 3) * share;
        const double drop = mixed ? 4 * kPi / 3 * std::pow(least, 3) : ball;
        remove_parts(surface.mesh, -kBubble * share, kSliver * std::min(share, drop));
    });
    if (params.adaptivity > 0)
        times.measure("simplify", [&] { simplify(surface.mesh, params.adaptivity * surface.voxel, container); });
    times.measure("finish", [&] {
        if (params.sdf) make_distance(surface.phi);
        finish_fields(surface.phi, surface.velocity, surface.voxel, container, params.sdf);
    });
    return surface;
}

} // namespace spindrift
