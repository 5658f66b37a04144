// Curves and points over two axes, as a drawing (SVG) that any browser shows.
#pragma once

#include "spindrift/base/math.h"

#include <string>
#include <vector>

namespace spindrift {

struct PlotSeries {
    std::string name;
    std::vector<Eigen::Vector2d> points; // those that are not finite are left out, and part a curve
    bool dots = false;                   // instead of a curve
};

struct Plot {
    std::string title, x_label, y_label;
    std::vector<PlotSeries> series; // each with a colour of its own
};

std::string svg_of(const Plot& plot);

} // namespace spindrift
