// The signed distance to the union of blobs, (5.2), on a grid of its own.
#pragma once

#include "spindrift/surface/blobs.h"

namespace spindrift {

struct BlobGrid {
    std::unique_ptr<Topology> topology;
    Field<float> phi;        // [cells of `voxel`] at cell centres, limited to `band` on either side
    Field<uint32_t> nearest; // the blob that phi was taken from; kNone where no blob is near
    static constexpr uint32_t kNone = ~0u;
};

// The distance to the union of all blobs, or to that of drops (firmness 0) only, while the others, which are spheres,
// are taken together: phi = |x - xbar| - rbar, with weighted means of their centres and radii.
enum class BlobUnion { all, drops };

// `search` is the topology that the particles are sorted in, with cells of one spacing; what `interior` says is liquid
// without blobs is inside.
BlobGrid measure_distance(const Blobs& blobs, const Topology& search, const Interior& interior, float spacing,
                          float voxel, float band, BlobUnion of = BlobUnion::all);

} // namespace spindrift
