// Uniform random points in polygons, for people who appear in an entrance or start in a group.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <array>

namespace spindrift {

class PolygonSampler {
  public:
    // The polygons must be valid and disjoint, as zones and regions are.
    explicit PolygonSampler(const std::vector<Polygon>& polygons);
    bool empty() const { return triangles_.empty(); }
    double area() const { return empty() ? 0 : up_to_.back(); }
    // Maps three numbers in [0, 1) to a point. Requires at least one polygon.
    Vec2d at(double choice, double u, double v) const;

  private:
    std::vector<std::array<Vec2d, 3>> triangles_;
    std::vector<double> up_to_; // cumulative area of the triangles
};

} // namespace spindrift
