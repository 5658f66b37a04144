#include "spindrift/io/plot.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

constexpr double kWidth = 760, kHeight = 420;
constexpr double kLeft = 70, kRight = 180, kTop = 40, kBottom = 55; // margins around the axes
constexpr const char* kColors[] = {"#1b4f9c", "#d9680d", "#1c7c3a", "#99246f",
                                   "#6b5a0c", "#4a4a4a", "#0f8a93", "#b3261e"};

std::string escaped(const std::string& text)
{
    std::string result;
    for (const char c : text) {
        if (c == '&')
            result += "&amp;";
        else if (c == '<')
            result += "&lt;";
        else if (c == '>')
            result += "&gt;";
        else
            result += c;
    }
    return result;
}

// Maps the values of one axis to drawing coordinates.
struct Axis {
    double low = 0, high = 1, step = 1;
    double start = 0, end = 1; // in the drawing

    // The axis includes zero and ends on ticks.
    Axis(double least, double most, double from, double to) : start(from), end(to)
    {
        low = std::min(0.0, least), high = std::max(0.0, most);
        if (!(high > low)) high = low + 1;
        constexpr double kTicks = 6;
        const double rough = (high - low) / kTicks, power = std::pow(10.0, std::floor(std::log10(rough)));
        step = 10 * power;
        for (const double nice : {5.0, 2.0, 1.0})
            if (nice * power >= rough) step = nice * power;
        low = step * std::floor(low / step), high = step * std::ceil(high / step);
    }
    double at(double value) const { return start + (value - low) / (high - low) * (end - start); }
    int ticks() const { return static_cast<int>(std::lround((high - low) / step)); }
    double tick(int i) const
    {
        const double value = low + i * step;
        return std::abs(value) < 1e-9 * step ? 0 : value;
    }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text, const std::string& more = "")
{
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                       escaped(text));
}

} // namespace

std::string svg_of(const Plot& plot)
{
    Eigen::Vector2d low = Eigen::Vector2d::Zero(), high = Eigen::Vector2d::Zero();
    for (const PlotSeries& series : plot.series)
        for (const Eigen::Vector2d& p : series.points)
            if (p.allFinite()) low = low.cwiseMin(p), high = high.cwiseMax(p);
    const Axis x(low.x(), high.x(), kLeft, kWidth - kRight), y(low.y(), high.y(), kHeight - kBottom, kTop);

    std::string svg =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                    "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<rect width=\"{0}\" height=\"{1}\" "
                    "fill=\"#fff\"/>\n",
                    kWidth, kHeight);
    svg += text_at(0.5 * (x.start + x.end), 24, "middle", plot.title, " font-size=\"15\"");
    const auto line = [&](double x0, double y0, double x1, double y1, const char* color) {
        svg += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\"/>\n", x0, y0, x1, y1, color);
    };
    for (int i = 0; i <= x.ticks(); ++i) {
        line(x.at(x.tick(i)), y.start, x.at(x.tick(i)), y.end, "#ddd");
        svg += text_at(x.at(x.tick(i)), y.start + 18, "middle", fmt::format("{:g}", x.tick(i)));
    }
    for (int i = 0; i <= y.ticks(); ++i) {
        line(x.start, y.at(y.tick(i)), x.end, y.at(y.tick(i)), "#ddd");
        svg += text_at(x.start - 8, y.at(y.tick(i)) + 4, "end", fmt::format("{:g}", y.tick(i)));
    }
    line(x.start, y.start, x.end, y.start, "#222");
    line(x.start, y.start, x.start, y.end, "#222");
    svg += text_at(0.5 * (x.start + x.end), kHeight - 14, "middle", plot.x_label);
    const double middle = 0.5 * (y.start + y.end);
    svg += text_at(18, middle, "middle", plot.y_label, fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle));

    for (size_t s = 0; s < plot.series.size(); ++s) {
        const PlotSeries& series = plot.series[s];
        const char* color = kColors[s % std::size(kColors)];
        std::string path;
        bool drawing = false;
        for (const Eigen::Vector2d& p : series.points) {
            if (!p.allFinite()) {
                drawing = false;
                continue;
            }
            if (series.dots)
                svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", x.at(p.x()),
                                   y.at(p.y()), color);
            else
                path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x.at(p.x()), y.at(p.y()));
            drawing = true;
        }
        if (!path.empty())
            svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n", path, color);
        const double legend = kTop + 8 + 20 * static_cast<double>(s);
        svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x.end + 16, legend, color);
        svg += text_at(x.end + 26, legend + 4, "start", series.name);
    }
    return svg + "</svg>\n";
}

} // namespace spindrift
