// The space that agents move in [Narain 2011, section 4.3.1]: the floor of a plan minus obstacles and walls, shrunk by
// the radius of an agent so that the agent's centre may be anywhere in it, and triangulated.
//
// Differences from [Narain 2011]: obstacles are joined before the floor is shrunk, and corners are cut outside the
// circle around them, so that agents never touch an obstacle and few edges are needed. Defects of a plan are repaired
// where the intent is clear, and reported in warnings().
#pragma once

#include "spindrift/plan/floor_plan.h"
#include "spindrift/plan/geos_region.h"
#include "spindrift/plan/triangulation.h"

namespace spindrift {

class FreeSpace {
  public:
    // Throws bad_input for a plan without a floor or without room for an agent.
    FreeSpace(const FloorPlan& plan, double radius);

    double radius() const { return radius_; }
    // The floor without obstacles, where an agent's body may be...
    const Region& walkable() const { return walkable_; }
    // ... and its centre.
    const Region& region() const { return region_; }
    const Triangulation& triangulation() const { return triangulation_; }
    Vec2d point(int corner) const { return points_[corner]; }
    // Triangles that are connected have the same part.
    int part_of(int triangle) const { return parts_[triangle]; }
    int part_count() const { return part_count_; }
    // All coordinates are multiples of this [m].
    double quantum() const { return quantum_; }
    // Where agents may stand to be in any of these pieces of a goal or entrance: within a piece, or, where it is too
    // narrow or too close to a wall, wherever they touch it.
    Region reach(const std::vector<Region>& pieces) const;

    const std::vector<std::string>& warnings() const { return warnings_; }

  private:
    std::vector<std::vector<GridPoint>> grid_rings(const Vec2d& middle) const;
    void find_parts();

    double radius_, quantum_ = 0;
    Region walkable_, region_;
    Triangulation triangulation_;
    std::vector<Vec2d> points_;
    std::vector<int> parts_;
    int part_count_ = 0;
    std::vector<std::string> warnings_;
};

// The floor without obstacles. Reports repairs in `warnings`.
Region walkable_region(const FloorPlan& plan, std::vector<std::string>& warnings);

} // namespace spindrift
