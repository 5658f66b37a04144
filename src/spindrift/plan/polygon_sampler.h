// Points anywhere in polygons, equally likely: where people of an entrance appear, or a group stands.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <array>

namespace spindrift {

class PolygonSampler {
  public:
    // As a zone or a region gives them: valid, and apart from each other.
    explicit PolygonSampler(const std::vector<Polygon>& polygons);
    bool empty() const { return triangles_.empty(); }
    double area() const { return empty() ? 0 : up_to_.back(); }
    // For three numbers in [0, 1). There must be a polygon.
    Vec2d at(double choice, double u, double v) const;

  private:
    std::vector<std::array<Vec2d, 3>> triangles_;
    std::vector<double> up_to_; // area of all triangles up to this one
};

} // namespace spindrift
