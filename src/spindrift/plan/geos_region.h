// Sets of points of the plane that are bounded by polygons, and what a floor plan needs to do with them: joining,
// taking away, offsetting. The work is done by GEOS. Only files whose names begin with `geos_` include it.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <memory>
#include <string>
#include <utility>

namespace spindrift {

class Region {
  public:
    Region(); // nothing
    // The area that a polygon encloses. One that intersects itself is repaired: all that any of its loops encloses is
    // inside. `problem` then says what was wrong with it, and is empty otherwise.
    explicit Region(const Polygon& polygon, std::string* problem = nullptr);
    explicit Region(const std::vector<Polygon>& polygons);
    // A wall along a polyline with square corners and flat ends.
    Region(const std::vector<Vec2d>& line, double thickness);

    bool empty() const;
    double area() const;
    // Each is connected within; holes are clockwise.
    std::vector<Polygon> polygons() const;

    static Region joined(const std::vector<Region>& regions);
    Region minus(const Region& other) const;
    Region common(const Region& other) const;
    // Grown by a distance, or shrunk by a negative one. Corners are cut off outside the circle around them, so that
    // no point of the result's boundary is nearer than the distance; 9% farther at right angles, 43% at needle tips.
    Region offset(double distance) const;
    // With all coordinates multiples of `quantum`, and no two edges that cross.
    Region snapped(double quantum) const;

    bool touches(const Region& other) const;
    bool covers(const Region& other) const;
    // Pairs (i, j), i < j, of regions that touch, in order...
    static std::vector<std::pair<int, int>> touching_pairs(const std::vector<Region>& regions);
    // ... with which joining many that hardly do is quick.
    static Region joined(const std::vector<Region>& regions, const std::vector<std::pair<int, int>>& touching);

  private:
    struct Handle;
    explicit Region(void* geometry);
    std::shared_ptr<const Handle> handle_; // shared: regions do not change
};

} // namespace spindrift
