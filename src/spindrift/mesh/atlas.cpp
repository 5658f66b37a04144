#include "spindrift/mesh/atlas.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/mesh/charts.h"

namespace spindrift {

namespace {

using Vec2d = Eigen::Vector2d;

// A chart in the plane, turned so that the rectangle around it is smallest, and upright.
struct FlatChart {
    std::vector<int> vertices;
    std::vector<Vec2d> points;               // of the vertices, from (0, 0) up [m]
    std::vector<std::array<int, 2>> outline; // edges, as indices of points
    Vec2d extent = Vec2d::Zero();
};

FlatChart flattened(const Mesh& mesh, const Charts& charts, size_t chart)
{
    constexpr int kTurns = 16;
    FlatChart flat;
    for (const int t : charts.triangles[chart])
        for (const int vertex : mesh.triangles[t]) flat.vertices.push_back(vertex);
    std::sort(flat.vertices.begin(), flat.vertices.end());
    flat.vertices.erase(std::unique(flat.vertices.begin(), flat.vertices.end()), flat.vertices.end());
    const ChartPlane plane(charts.axes[chart]);
    for (const int vertex : flat.vertices) flat.points.push_back(plane(mesh.positions[vertex]));
    const auto number = [&](int vertex) {
        return static_cast<int>(std::ranges::lower_bound(flat.vertices, vertex) - flat.vertices.begin());
    };
    for (const auto& [a, b] : charts.outlines[chart]) flat.outline.push_back({number(a), number(b)});

    const auto turned = [&](int turn) -> Eigen::Matrix2d {
        return Eigen::Rotation2Dd(turn * kPi / (2 * kTurns)).toRotationMatrix();
    };
    const auto extent = [&](const Eigen::Matrix2d& turn) -> Eigen::AlignedBox2d {
        Eigen::AlignedBox2d box;
        for (const Vec2d& p : flat.points) box.extend(turn * p);
        return box;
    };
    Eigen::Matrix2d best = turned(0);
    for (int k = 1; k < kTurns; ++k)
        if (extent(turned(k)).volume() < extent(best).volume()) best = turned(k);
    if (const Vec2d size = extent(best).sizes(); size.x() > size.y()) best = turned(kTurns) * best;
    const Eigen::AlignedBox2d box = extent(best);
    for (Vec2d& p : flat.points) p = (best * p - box.min()).cwiseMax(0.0);
    flat.extent = box.sizes();
    return flat;
}

// The pixels that a chart covers at a scale, with its gutter: in each column from `bottom` up to below `top`.
struct Silhouette {
    int width = 0, height = 0;
    std::vector<int> bottom, top;

    Silhouette(const FlatChart& chart, double scale, int gutter)
    {
        width = static_cast<int>(chart.extent.x() * scale) + 1 + 2 * gutter;
        height = static_cast<int>(chart.extent.y() * scale) + 1 + 2 * gutter;
        std::vector<int> low(static_cast<size_t>(width), height), high(static_cast<size_t>(width), -1);
        const auto cover = [&](int column, double from, double to) { // without the gutter
            low[column + gutter] = std::min(low[column + gutter], static_cast<int>(from));
            high[column + gutter] = std::max(high[column + gutter], static_cast<int>(to));
        };
        for (const Vec2d& p : chart.points) cover(static_cast<int>(p.x() * scale), p.y() * scale, p.y() * scale);
        for (const auto& [i, j] : chart.outline) {
            Vec2d a = scale * chart.points[i], b = scale * chart.points[j];
            if (a.x() > b.x()) std::swap(a, b);
            const auto last = static_cast<int>(b.x());
            double y = a.y();
            for (auto column = static_cast<int>(a.x()); column < last; ++column) {
                const double next = mix(a, b, column + 1);
                cover(column, std::min(y, next), std::max(y, next));
                y = next;
            }
            cover(last, std::min(y, b.y()), std::max(y, b.y()));
        }
        bottom.assign(static_cast<size_t>(width), height), top.assign(static_cast<size_t>(width), 0);
        for (int column = 0; column < width; ++column)
            for (int near = std::max(0, column - gutter); near <= std::min(width - 1, column + gutter); ++near) {
                bottom[column] = std::min(bottom[column], low[near]);
                top[column] = std::max(top[column], high[near] + 1 + 2 * gutter);
            }
    }

  private:
    static double mix(const Vec2d& a, const Vec2d& b, double x)
    {
        const double share = std::clamp((x - a.x()) / (b.x() - a.x()), 0.0, 1.0);
        return a.y() + share * (b.y() - a.y());
    }
};

struct Corner {
    int x = 0, y = 0;
};

class Packing {
  public:
    explicit Packing(int size) : size_(size), horizon_(static_cast<size_t>(size), 0) {}

    // At the lowest place on top of what is there already [Levy 2002, 4.2]. False if none is left.
    bool add(const Silhouette& chart, Corner& corner)
    {
        const int step = std::max(1, chart.width / 32);
        int lowest = size_ - chart.height + 1;
        for (int x = 0; x + chart.width <= size_; x += step) {
            int y = 0;
            for (int i = 0; i < chart.width; ++i) y = std::max(y, horizon_[x + i] - chart.bottom[i]);
            if (y < lowest) lowest = y, corner = {x, y};
        }
        if (lowest > size_ - chart.height) return false;
        for (int i = 0; i < chart.width; ++i)
            if (chart.top[i] > 0) horizon_[corner.x + i] = corner.y + chart.top[i];
        return true;
    }
    // Side by side in rows above everything: for many small charts, each no taller than the one before.
    bool add_in_rows(int width, int height, Corner& corner)
    {
        if (row_top_ < 0) row_ = row_top_ = *std::ranges::max_element(horizon_);
        if (row_x_ + width > size_) row_ = row_top_, row_x_ = 0;
        corner = {row_x_, row_};
        row_x_ += width, row_top_ = std::max(row_top_, row_ + height);
        return width <= size_ && row_top_ <= size_;
    }

  private:
    int size_;
    std::vector<int> horizon_; // of each column: the lowest pixel that is free, as are all above it
    int row_ = 0, row_top_ = -1, row_x_ = 0;
};

// Where charts go at a scale [pixels per m]; empty if they do not fit.
std::vector<Corner> packed(const std::vector<FlatChart>& charts, const std::vector<int>& tallest_first, double scale,
                           int gutter, int size)
{
    constexpr double kSmall = 8; // pixels
    Packing packing(size);
    std::vector<Corner> corners(charts.size());
    for (const bool small : {false, true})
        for (const int c : tallest_first) {
            const Vec2d extent = scale * charts[c].extent;
            if (extent.maxCoeff() + 1 + 2 * gutter > size) return {};
            if ((extent.maxCoeff() < kSmall) != small) continue;
            const bool fits = small ? packing.add_in_rows(static_cast<int>(extent.x()) + 1 + 2 * gutter,
                                                          static_cast<int>(extent.y()) + 1 + 2 * gutter, corners[c])
                                    : packing.add(Silhouette(charts[c], scale, gutter), corners[c]);
            if (!fits) return {};
        }
    return corners;
}

// A gutter that leaves most of the picture to the charts.
int gutter_for(size_t charts, int size)
{
    int gutter = std::max(2, size / 1024);
    const double count = static_cast<double>(charts), edge = size * std::sqrt(0.6 / count);
    while (gutter > 1 && count * (4 * edge * gutter + 4 * gutter * gutter) > 0.3 * size * size) gutter /= 2;
    return gutter;
}

} // namespace

Atlas make_atlas(const Mesh& mesh, int size)
{
    Atlas atlas;
    atlas.size = size;
    if (mesh.triangles.empty()) return atlas;
    const Charts charts = cut_into_charts(mesh);
    std::vector<FlatChart> flat(charts.axes.size());
    parallel_for(flat.size(), [&](size_t c) { flat[c] = flattened(mesh, charts, c); });
    std::vector<int> tallest_first(flat.size());
    for (size_t c = 0; c < flat.size(); ++c) tallest_first[c] = static_cast<int>(c);
    std::ranges::stable_sort(tallest_first, std::greater<>(), [&](int c) { return flat[c].extent.y(); });

    // The largest scale at which the charts fit, to a few percent.
    double area = 0, longest = 0;
    for (const FlatChart& chart : flat)
        area += chart.extent.prod(), longest = std::max(longest, chart.extent.maxCoeff());
    if (!(longest > 0)) longest = 1; // all of it without area
    std::vector<Corner> corners;
    double scale = std::min(size / longest, area > 0 ? size / std::sqrt(area) : size / longest);
    scale *= 1.1;
    for (atlas.gutter = gutter_for(flat.size(), size);; --atlas.gutter) {
        double tried = scale, shrink = 0.96;
        for (; corners.empty() && tried * longest > 0.5; tried *= shrink, shrink = std::max(0.7, shrink * 0.99))
            corners = packed(flat, tallest_first, tried, atlas.gutter, size), scale = corners.empty() ? scale : tried;
        if (!corners.empty()) break;
        if (atlas.gutter == 0)
            bad_input("the surface falls into {} pieces, too many for a picture of {} x {} pixels; use a larger one",
                      flat.size(), size, size);
    }

    atlas.charts = static_cast<int>(flat.size()), atlas.texel = 1 / scale;
    atlas.triangles.resize(mesh.triangles.size()), atlas.chart.resize(mesh.triangles.size());
    std::vector<int> place_of(mesh.positions.size());
    for (size_t c = 0; c < flat.size(); ++c) {
        const Vec2d corner(corners[c].x + atlas.gutter, corners[c].y + atlas.gutter);
        for (size_t i = 0; i < flat[c].points.size(); ++i) {
            place_of[flat[c].vertices[i]] = static_cast<int>(atlas.places.size());
            atlas.places.push_back(((scale * flat[c].points[i] + corner) / size).cast<float>());
        }
        for (const int t : charts.triangles[c]) {
            atlas.chart[t] = static_cast<int>(c);
            for (int k = 0; k < 3; ++k) atlas.triangles[t][k] = place_of[mesh.triangles[t][k]];
        }
    }
    return atlas;
}

} // namespace spindrift
