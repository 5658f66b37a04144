// The samples of one tile for contouring, and the positions of its vertices.
#pragma once

#include "spindrift/field/block.h"
#include "spindrift/mesh/cube_sheets.h"

#include <optional>

namespace spindrift {

// Positions are in samples: sample (x, y, z) of the tile lies at (x, y, z), and cube (x, y, z) extends from there to
// the next sample along each axis.
class TileSamples {
  public:
    void gather(const Field<float>& phi, int tile, float voxel, const std::optional<Box3f>& container);

    bool inside(const Vec3i& at) const { return inside_[Samples::index(at.x(), at.y(), at.z())]; }
    // Which corners of a cube are inside; for cubes up to two before the tile and one behind it.
    int configuration(const Vec3i& cube) const;
    // The sheets in a cube, for cubes up to one before the tile.
    const CubeSheets& sheets(const Vec3i& cube, int configuration) const;

    struct Vertex {
        Vec3f place;  // in samples
        Vec3f normal; // unit length, outwards
        Vec3i wall;   // -1 or 1 along the axes where it lies on a wall
        bool free;    // whether it is on the liquid's own surface
    };
    Vertex vertex(const Vec3i& cube, int configuration, const CubeSheets& sheets, int sheet) const;

  private:
    static constexpr int kMargin = 2;
    using Samples = Block<float, kMargin>;
    struct Cuts;
    void add_cut(const Vec3i& cube, int configuration, int edge, Cuts& cuts) const;
    float wall_place(int axis, int side) const { return side > 0 ? walls_.max[axis] : walls_.min[axis]; }
    float interpolate(const Vec3i& cube, const Vec3f& place, Vec3f& gradient) const;
    Vec3f smooth_gradient(const Vec3i& cube, const Vec3f& place) const;

    Samples phi_;
    Box3f walls_; // in samples; infinite where there are none
    alignas(64) uint8_t inside_[Samples::kSize * Samples::kSize * Samples::kSize];
};

} // namespace spindrift
