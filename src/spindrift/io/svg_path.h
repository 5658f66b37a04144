// Path data, transforms and lengths of SVG. Parsing stops at the first syntax error, as in browsers.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <Eigen/Geometry>
#include <optional>
#include <string_view>

namespace spindrift {

using SvgTransform = Eigen::Affine2d;

// Numbers separated by commas, spaces, or only their signs.
class SvgScanner {
  public:
    explicit SvgScanner(std::string_view text) : text_(text) {}
    std::optional<double> number();
    std::optional<bool> flag(); // a single 0 or 1
    std::optional<char> letter();
    std::string_view word(); // letters
    bool skip(char c);       // and spaces around it
    bool at_end();

  private:
    void skip_space();
    std::string_view text_;
    size_t at_ = 0;
};

struct SvgSubpath {
    Ring points;
    bool closed = false;
};
// Curves become polylines within `tolerance` user units.
std::vector<SvgSubpath> svg_path(std::string_view data, double tolerance);
// Polygon approximation of an ellipse, circumscribed.
Ring svg_ellipse(const Vec2d& center, const Vec2d& radii);
// Parses the attribute `transform`.
SvgTransform svg_transform(std::string_view text);
// Metres for a length with a unit such as "12mm"; nothing without a unit, or for px or %.
std::optional<double> svg_length_metres(std::string_view text);

} // namespace spindrift
