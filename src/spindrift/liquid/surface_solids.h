// The colliders and bodies that cut a tracked surface (track/tracker.h).
//
// Limits: a sheet (world/sheets.h) counts as one voxel of the surface thick on either side. Liquid on both sides of it,
// or of any solid thinner than two voxels, is one mesh through which the solid passes.
#pragma once

#include "spindrift/track/tracker.h"
#include "spindrift/world/solids.h"

namespace spindrift {

class SurfaceSolids : public TrackSolids {
  public:
    // `cells` tell where solids are near, on a topology with cells of `voxel`. They may be a step older than the
    // solids, which are asked for distances at their current time. All must outlive this.
    SurfaceSolids(const Solids& solids, const SolidCells& cells, const Topology& topology, float voxel,
                  float surface_voxel)
        : solids_(solids), cells_(cells), topology_(topology), voxel_(voxel), surface_voxel_(surface_voxel)
    {
    }
    float distance(const Vec3f& x) const override;
    Vec3f normal(const Vec3f& x) const override;
    Vec3f surface_point(const Vec3f& x, const Vec3f& mesh_normal) const override;
    Vec3f kept_on_side(const Vec3f& x, const Vec3f& from) const override;

  private:
    float exact_distance(const Vec3f& x) const;
    bool far(const Vec3f& x) const;

    const Solids& solids_;
    const SolidCells& cells_;
    const Topology& topology_;
    const float voxel_, surface_voxel_;
};

} // namespace spindrift
