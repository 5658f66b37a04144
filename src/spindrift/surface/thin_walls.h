// Thin walls in surface reconstruction. A wall thinner than the range of a particle does not hide the surface behind
// it. Ellipsoids and weighted centres are therefore built from particles on one side of a wall, and vertices that are
// behind a wall, as seen from the particle that they belong to, are moved back to it.
//
// Limits: liquid on both sides of a wall at the same height is one mesh, through which the wall passes; a simplified
// mesh may deviate from the wall as elsewhere.
#pragma once

#include "spindrift/surface/contour.h"
#include "spindrift/surface/vertex_attributes.h"
#include "spindrift/world/solids.h"

namespace spindrift {

class ThinWalls {
  public:
    // The sheets of `solids`, at their current time, are the walls. Both arguments must outlive this.
    ThinWalls(const Solids& solids, const std::optional<Box3f>& container) : solids_(solids), container_(container) {}

    // To the nearest wall, negative inside one that has a thickness.
    float distance(const Vec3f& x) const { return solids_.sheet_distance(origin_of(x)); }
    bool near(const Vec3f& x, float reach) const { return std::abs(distance(x)) < reach; }
    // Whether a wall lies between two positions, either of which may be a mirror image (container.h).
    bool hidden(const Vec3f& from, const Vec3f& to) const { return solids_.parted(origin_of(from), origin_of(to)); }

    // Moves vertices just in front of the wall that hides them from their particle; vertices on a side of the container
    // stay on it. `nearest` has the particle of each vertex. Triangles are unchanged.
    void cut(const Particles& particles, const std::vector<uint32_t>& nearest, float voxel, Contour& contour) const;
    // Marks cells that are hidden from their nearest particle as outside: phi [cells] becomes at least the distance to
    // the wall.
    void cut(const Particles& particles, const Field<uint32_t>& nearest, float voxel, Field<float>& phi) const;
    // Input of the functions above: the particle nearest to each vertex, or to each cell, within `reach` [m] of a wall;
    // no particle for others, or where none is as near. Particles are sorted into cells of size `cell` [m].
    struct Sorted {
        const Particles& particles;
        const ParticleIndex& index;
        const Topology& topology;
        float cell;
    };
    std::vector<uint32_t> nearest(const Sorted& sorted, const std::vector<Vec3f>& vertices, float reach) const;
    Field<uint32_t> nearest(const Sorted& sorted, const Field<float>& phi, float voxel, float reach) const;
    // Removes particles that a wall hides from x.
    void drop_hidden(const Vec3f& x, const Particles& particles, VertexWeights& weights) const;

  private:
    Vec3f origin_of(const Vec3f& image) const;
    uint32_t nearest(const Sorted& sorted, const Vec3f& x, float reach, VertexWeights& scratch) const;
    std::optional<Vec3f> cut(const Vec3f& x, uint8_t kind, const Vec3f& particle, float voxel, Vec3f& outwards) const;

    const Solids& solids_;
    const std::optional<Box3f>& container_;
};

} // namespace spindrift
