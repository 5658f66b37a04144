// Path data, transforms and lengths of SVG. Text that does not follow the grammar ends what is read, as in a browser.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <Eigen/Geometry>
#include <optional>
#include <string_view>

namespace spindrift {

using SvgTransform = Eigen::Affine2d;

// Numbers separated by commas, spaces or nothing but their signs.
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
// Curves become lines that are off by at most `tolerance` user units.
std::vector<SvgSubpath> svg_path(std::string_view data, double tolerance);
// An ellipse as a polygon around it.
Ring svg_ellipse(const Vec2d& center, const Vec2d& radii);
// Of the attribute `transform`.
SvgTransform svg_transform(std::string_view text);
// In metres for "12mm" and the like; nothing for one without a unit, or in px or %.
std::optional<double> svg_length_metres(std::string_view text);

} // namespace spindrift
