// Thin walls as the surface sees them. A wall that is thinner than the reach of a particle does not hide what the
// surface has behind it. Ellipsoids and weighted centres are therefore made of particles on one side of a wall, and
// vertices that are behind a wall, as seen from the particle that they belong to, are moved back to it.
//
// Where it is weak: liquid on both sides of a wall at the same height is one mesh, through which the wall passes;
// where the mesh is made coarser, it may deviate from the wall as it may elsewhere.
#pragma once

#include "spindrift/surface/contour.h"
#include "spindrift/surface/vertex_attributes.h"
#include "spindrift/world/solids.h"

namespace spindrift {

class ThinWalls {
  public:
    // The sheets of `solids`, at the moment that these are set to, are the walls. Both must outlive this.
    ThinWalls(const Solids& solids, const std::optional<Box3f>& container) : solids_(solids), container_(container) {}

    // To the nearest wall, negative in one that has a thickness.
    float distance(const Vec3f& x) const { return solids_.sheet_distance(origin_of(x)); }
    bool near(const Vec3f& x, float reach) const { return std::abs(distance(x)) < reach; }
    // Whether a wall lies between two places, of which both may be mirror images (container.h).
    bool hidden(const Vec3f& from, const Vec3f& to) const { return solids_.parted(origin_of(from), origin_of(to)); }

    // Moves vertices to a hair before the wall that hides them from their particle; what is on a side of the container
    // stays on it. `nearest` has the particle of each vertex. The mesh keeps its triangles.
    void cut(const Particles& particles, const std::vector<uint32_t>& nearest, float voxel, Contour& contour) const;
    // Puts cells that are hidden from their nearest particle outside: phi [cells] is at least the distance to the wall.
    void cut(const Particles& particles, const Field<uint32_t>& nearest, float voxel, Field<float>& phi) const;
    // What the functions above need: the particle nearest to each vertex, or to each cell, that lies within `reach` [m]
    // of a wall; no particle for others, or where none is as near. Particles are sorted into cells of size `cell` [m].
    struct Sorted {
        const Particles& particles;
        const ParticleIndex& index;
        const Topology& topology;
        float cell;
    };
    std::vector<uint32_t> nearest(const Sorted& sorted, const std::vector<Vec3f>& vertices, float reach) const;
    Field<uint32_t> nearest(const Sorted& sorted, const Field<float>& phi, float voxel, float reach) const;
    // Leaves out what a wall hides from x.
    void drop_hidden(const Vec3f& x, const Particles& particles, VertexWeights& weights) const;

  private:
    Vec3f origin_of(const Vec3f& image) const;
    uint32_t nearest(const Sorted& sorted, const Vec3f& x, float reach, VertexWeights& scratch) const;
    std::optional<Vec3f> cut(const Vec3f& x, uint8_t kind, const Vec3f& particle, float voxel, Vec3f& outwards) const;

    const Solids& solids_;
    const std::optional<Box3f>& container_;
};

} // namespace spindrift
