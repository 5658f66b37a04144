// The world that agents move in (document 000, 4.3.1): the floor of a plan without its obstacles and walls, then shrunk
// by the radius of an agent, so that the centre of one may be anywhere in it, and cut into triangles.
//
// What is wrong with a plan is repaired where there is no doubt what was meant, and said in `warnings`.
#pragma once

#include "spindrift/plan/floor_plan.h"
#include "spindrift/plan/geos_region.h"
#include "spindrift/plan/triangulation.h"

namespace spindrift {

class FreeSpace {
  public:
    // Throws bad_input for a plan without a floor, or one that leaves no room for an agent.
    FreeSpace(const FloorPlan& plan, double radius);

    double radius() const { return radius_; }
    // The floor without obstacles: where an agent's body may be...
    const Region& walkable() const { return walkable_; }
    // ... and its centre.
    const Region& region() const { return region_; }
    const Triangulation& triangulation() const { return triangulation_; }
    Vec2d point(int corner) const { return points_[static_cast<size_t>(corner)]; }
    // Triangles that can be reached from each other have the same part.
    int part_of(int triangle) const { return parts_[static_cast<size_t>(triangle)]; }
    int part_count() const { return part_count_; }
    // Coordinates are multiples of this [m].
    double quantum() const { return quantum_; }
    // Where agents may stand who want to get to any of these pieces of a goal, or come from an entrance: those within
    // it, or, if it is too narrow or too near to a wall for that, those who touch it.
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

// The floor without obstacles, with warnings about what had to be repaired.
Region walkable_region(const FloorPlan& plan, std::vector<std::string>& warnings);

} // namespace spindrift
