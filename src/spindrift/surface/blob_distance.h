// The signed distance to the union of blobs [Jones 2018, (5.2)], on a grid of its own.
#pragma once

#include "spindrift/surface/blobs.h"

namespace spindrift {

struct BlobGrid {
    std::unique_ptr<Topology> topology;
    Field<float> phi;        // [cells of `voxel`] at cell centres, clamped to `band` on either side
    Field<uint32_t> nearest; // the blob that determined phi; kNone where no blob is near
    static constexpr uint32_t kNone = ~0u;
};

// all: the distance to the union of all blobs. drops: only drops (firmness 0) form a union, while the other blobs,
// which are spheres, are blended: phi = |x - xbar| - rbar, with weighted means of their centres and radii.
enum class BlobUnion { all, drops };

// `search` is the topology that the particles are sorted in, with cells of one spacing. Cells that `interior` marks as
// liquid are inside even without blobs.
BlobGrid measure_distance(const Blobs& blobs, const Topology& search, const Interior& interior, float spacing,
                          float voxel, float band, BlobUnion of = BlobUnion::all);

} // namespace spindrift
