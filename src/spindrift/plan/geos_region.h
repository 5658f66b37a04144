// Plane regions bounded by polygons, with union, difference and offset. Implemented by GEOS; only files named `geos_*`
// include it.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <memory>
#include <string>
#include <utility>

namespace spindrift {

class Region {
  public:
    Region(); // empty
    // The area enclosed by a polygon. A self-intersecting one is repaired: everything that any of its loops encloses is
    // inside. `problem` then describes the defect; otherwise it is empty.
    explicit Region(const Polygon& polygon, std::string* problem = nullptr);
    explicit Region(const std::vector<Polygon>& polygons);
    // A wall along a polyline, with square corners and flat ends.
    Region(const std::vector<Vec2d>& line, double thickness);

    bool empty() const;
    double area() const;
    // Connected polygons with clockwise holes.
    std::vector<Polygon> polygons() const;

    static Region joined(const std::vector<Region>& regions);
    Region minus(const Region& other) const;
    Region common(const Region& other) const;
    // Grown by a distance, or shrunk by a negative one. Corners are cut off outside the circle around them: boundary
    // points are at least the distance away, up to 9% more at right angles and 43% more at needle tips.
    Region offset(double distance) const;
    // Rounds all coordinates to multiples of `quantum`; no two edges of the result cross.
    Region snapped(double quantum) const;

    bool touches(const Region& other) const;
    bool covers(const Region& other) const;
    // Pairs (i, j), i < j, of regions that touch, in order.
    static std::vector<std::pair<int, int>> touching_pairs(const std::vector<Region>& regions);
    // Union of many regions; fast where few of them touch, as listed in the pairs.
    static Region joined(const std::vector<Region>& regions, const std::vector<std::pair<int, int>>& touching);

  private:
    struct Handle;
    explicit Region(void* geometry);
    std::shared_ptr<const Handle> handle_; // shared, since regions are immutable
};

} // namespace spindrift
