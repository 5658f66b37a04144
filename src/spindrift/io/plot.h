// Plots of curves and points as SVG.
#pragma once

#include "spindrift/base/math.h"

#include <string>
#include <vector>

namespace spindrift {

struct PlotSeries {
    std::string name;
    std::vector<Eigen::Vector2d> points; // non-finite points are skipped and interrupt the curve
    bool dots = false;                   // draw dots instead of a curve
};

struct Plot {
    std::string title, x_label, y_label;
    std::vector<PlotSeries> series; // each in its own colour
};

std::string svg_of(const Plot& plot);

} // namespace spindrift
