#include "spindrift/surface/surface.h"

#include "spindrift/base/error.h"
#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"
#include "spindrift/mesh/simplify.h"
#include "spindrift/points/attribute_checks.h"
#include "spindrift/scene/limits.h"
#include "spindrift/surface/container.h"
#include "spindrift/surface/from_particles.h"
#include "spindrift/surface/parts.h"
#include "spindrift/surface/sizes.h"
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

// Parts of the mesh that are removed: voids up to a cell of the simulation, in particle volumes, and slivers up to a
// share of a drop, which arise where the centre of several drops is near none of them.
constexpr double kBubble = 8, kSliver = 0.2;

// Smoothing may have pushed a vertex slightly through a wall.
void keep_within(std::vector<Vec3f>& positions, const Box3f& container)
{
    parallel_for(
        positions.size(),
        [&](size_t i) { positions[i] = positions[i].cwiseMax(container.min).cwiseMin(container.max); },
        kSurfaceVerticesPerTask);
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

} // namespace

Fairing fairing_of(float spacing, const SurfaceParams& params)
{
    // Steps add up like diffusion: their smoothing width grows with the square root of their number.
    constexpr float kStepsPerSpacing2 = 8;
    const float steps = kStepsPerSpacing2 * spacing * spacing;
    return {params.smoothing, std::clamp(static_cast<int>(std::lround(steps)), 2, 64)};
}

void filter_distance(const SurfaceParams& params, const Particles& particles,
                     const std::function<Field<uint32_t>()>& particle, Field<float>& phi, Surface& surface)
{
    if (!params.filter.any() && !params.sdf) return;
    surface.times.measure("filter", [&] {
        surface.velocity = velocity_field(particle(), particles);
        filter_level_set(phi, surface.velocity, surface.voxel, params.filter);
        if (!params.sdf) surface.velocity = {};
    });
}

float filtered_drop(float radius, const SurfaceParams& params, float voxel)
{
    const float growth = params.filter.dilate - params.filter.erode;
    return growth == 0 ? radius : std::max(radius + growth, 0.3f * voxel);
}

Surface make_surface(Particles particles, float spacing, const SurfaceParams& params,
                     const std::optional<Box3f>& container, std::vector<float> radii, const Solids* solids)
{
    if (!(spacing > 0) || !std::isfinite(spacing))
        bad_input("the particle spacing is {} m; it must be above 0", spacing);
    Surface surface;
    const bool mixed = !radii.empty();
    surface.voxel = params.voxel.value_or(mixed ? 0.5f * spacing / spacing_of_radius(1) : spacing); // half a radius
    keep_attributes(particles, params.attributes, params.name);
    const double least = mixed ? params.radius_scale * *std::min_element(radii.begin(), radii.end()) : 0;
    if (mixed) {
        constexpr float kMostVoxels = 200; // per radius: a larger ball takes gigabytes
        const float largest = params.radius_scale * *std::max_element(radii.begin(), radii.end());
        if (largest > kMostVoxels * surface.voxel)
            bad_input("a particle has radius {} m, more than {} voxels of {} m; raise {}.voxel", largest, kMostVoxels,
                      surface.voxel, params.name);
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
