// Transfers attributes other than velocity from particles to vertices: floats and vectors as a weighted mean, so that
// colours blend where streams meet; integers from the nearest particle.
#pragma once

#include "spindrift/mesh/mesh.h"
#include "spindrift/points/sort.h"
#include "spindrift/surface/blob_distance.h"

namespace spindrift {

// Keeps the attributes with these names, separated by spaces, and drops the others. Throws Error(bad_input) if one is
// missing; "id" always exists.
void keep_attributes(Particles& particles, const std::string& names, const std::string& stage);

// A particle that contributes to a vertex, and its weight.
struct VertexWeight {
    uint32_t particle;
    float weight;
};
using VertexWeights = std::vector<VertexWeight>;

// Particles within `reach` [m], with weights (1 - (r / reach)^2)^3. Particles are sorted into cells of size `cell` [m].
void weights_around(const Vec3f& x, float reach, const Particles& particles, const ParticleIndex& index,
                    const Topology& topology, float cell, VertexWeights& weights);
// The particles of the blobs nearest to the eight samples around, with trilinear weights. For particles of mixed sizes,
// whose centres may be far from their surfaces.
void weights_of_blobs(const Vec3f& x, const Blobs& blobs, const BlobGrid& grid, float voxel, VertexWeights& weights);

// Gives every vertex the attributes. find(position, weights) sets the weights; where there are none, vertices copy the
// nearest particle, or get zeros if its index is out of range.
template <class Find>
void carry_attributes(const Particles& particles, const std::vector<uint32_t>& nearest, const Find& find, Mesh& mesh);

// Blends floats and vectors along the mesh: each pass moves a vertex half way to the mean of its neighbours.
void blend_along(Mesh& mesh, int passes);

// ------------------------------------------------------------------------------------------------- implementation --

// Sets value v of each attribute's array to the weighted mean; sums of weights are positive.
class AttributeBlend {
  public:
    AttributeBlend(const Particles& particles, size_t vertices, Mesh& mesh);
    bool empty() const { return columns_.empty(); }
    void set(size_t vertex, const VertexWeights& weights, uint32_t nearest) const;

  private:
    struct Column {
        const AttributeArray* from;
        AttributeArray* to;
    };
    size_t particles_;
    std::vector<Column> columns_;
};

template <class Find>
void carry_attributes(const Particles& particles, const std::vector<uint32_t>& nearest, const Find& find, Mesh& mesh)
{
    const AttributeBlend blend(particles, nearest.size(), mesh);
    if (blend.empty()) return;
    parallel_chunks(nearest.size(), 1024, [&](size_t begin, size_t end) {
        VertexWeights weights;
        for (size_t v = begin; v < end; ++v) {
            weights.clear();
            find(mesh.positions[v], weights);
            blend.set(v, weights, nearest[v]);
        }
    });
}

} // namespace spindrift
