#include "spindrift/surface/mixed_sizes.h"

#include "spindrift/base/scratch.h"
#include "spindrift/surface/neighbourhood.h"

namespace spindrift {

namespace {

constexpr int kMostReach = kTileSize; // cells of the search grid

// Half-axes in voxels: thinner sheets would have holes between samples, smaller drops would fall between them.
constexpr float kThinnest = 0.87f;

} // namespace

float spacing_of_radii(std::vector<float> radii)
{
    constexpr float kMost = 16; // largest radius, relative to the radius of the spacing
    if (radii.empty()) return 1;
    const auto middle = radii.begin() + static_cast<std::ptrdiff_t>((radii.size() - 1) / 2);
    std::nth_element(radii.begin(), middle, radii.end());
    const float largest = *std::max_element(middle, radii.end());
    return spacing_of_radius(std::max(*middle, largest / kMost));
}

Blobs make_mixed_blobs(MixedShape shape, const Particles& particles, const std::vector<float>& radii,
                       const ParticleIndex& index, const Topology& topology, const Interior& interior,
                       const MixedScale& scale)
{
    Blobs blobs = shallow_particles(index, topology, interior);
    const float cell = scale.spacing;
    // Limit the reach of large particles to the cells that are gathered.
    const float largest = radii.empty() ? 0 : *std::max_element(radii.begin(), radii.end());
    const int reach = std::min(
        kMostReach, static_cast<int>(std::ceil(std::min(scale.search * spacing_of_radius(largest) / cell, 1e3f))));
    for_each_tile(topology, [&](int tile) {
        const size_t begin = blobs.tile_first[tile];
        const size_t end = blobs.tile_first[tile + 1];
        if (begin == end) return;
        auto& around = thread_scratch<Neighbourhood>();
        if (shape != MixedShape::spheres) {
            around.gather(particles, index, topology, cell, tile, reach);
            around.gather_velocities(particles); // and particle indices
            around.find_cells(index, topology, tile);
        }
        const Vec3f corner = topology.first_cell(tile).cast<float>();
        for (size_t k = begin; k < end; ++k) {
            Blob& blob = blobs.list[k];
            const uint32_t i = blob.particle;
            const Vec3f& x = particles.P[i];
            set_sphere(blob, x, std::max(radii[i], kLeastDrop * scale.voxel));
            if (shape == MixedShape::spheres) continue;
            const float own = spacing_of_radius(radii[i]);
            const float search = std::min(scale.search * own / cell, static_cast<float>(reach));
            Scatter scatter = scatter_around(around, x * (1 / cell) - corner, search, radii, radii[i]);
            if (shape == MixedShape::weighted) {
                blob.firmness = scatter.count > scale.droplet ? 1 : 0;
                if (blob.firmness > 0)
                    blob.half *= 2; // the surface may be as far off as kFarthest in blob_distance.cpp
                continue;
            }
            scatter.offset *= cell, scatter.covariance *= cell * cell;
            BlobScale fitting{};
            fitting.spacing = own, fitting.search = search * cell, fitting.size = scale.size * own;
            fitting.flattest = scale.flattest, fitting.thinnest = kThinnest * scale.voxel;
            fitting.droplet = scale.droplet, fitting.centring = scale.centring;
            fit(scatter, fitting, blob);
        }
    });
    find_boxes(blobs);
    return blobs;
}

} // namespace spindrift
