#include "spindrift/texture/bake.h"

#include "spindrift/base/parallel.h"
#include "spindrift/mesh/distance.h"
#include "spindrift/track/properties.h"

namespace spindrift {

namespace {

using Vec2d = Eigen::Vector2d;

constexpr int kBand = 16; // rows that one thread fills

// A triangle of the atlas, in pixels from the lower left.
struct PixelTriangle {
    std::array<Vec2d, 3> corners;

    PixelTriangle(const Atlas& atlas, int triangle)
    {
        for (int k = 0; k < 3; ++k) corners[k] = atlas.places[atlas.triangles[triangle][k]].cast<double>() * atlas.size;
    }
    Vec2d low() const { return corners[0].cwiseMin(corners[1]).cwiseMin(corners[2]); }
    Vec2d high() const { return corners[0].cwiseMax(corners[1]).cwiseMax(corners[2]); }
    // Negative somewhere if the point is outside; NaN without area.
    Vec3d weights(const Vec2d& p) const
    {
        const auto twice_area = [](const Vec2d& a, const Vec2d& b, const Vec2d& c) {
            return (b - a).x() * (c - a).y() - (b - a).y() * (c - a).x();
        };
        return Vec3d(twice_area(corners[1], corners[2], p), twice_area(corners[2], corners[0], p),
                     twice_area(corners[0], corners[1], p)) /
               twice_area(corners[0], corners[1], corners[2]);
    }
};

class Baking {
  public:
    Baking(const Atlas& atlas, const ColorAt& color_at)
        : atlas_(atlas), color_at_(color_at), edge_(static_cast<size_t>(atlas.size)),
          pixels_(edge_ * edge_, Vec3f::Zero()), filled_(edge_ * edge_, 0)
    {
    }
    void fill();
    void widen();
    void fill_rest();
    std::vector<Vec3f> result() && { return std::move(pixels_); }

  private:
    struct Rows {
        int from, to; // from the bottom
    };
    std::vector<std::vector<int>> triangles_by_band() const;
    void fill_inside(int triangle, const Rows& rows);
    void fill_edges(int triangle, const Rows& rows);
    size_t index(int x, int y) const { return (edge_ - 1 - static_cast<size_t>(y)) * edge_ + static_cast<size_t>(x); }
    void set(int x, int y, int triangle, const Vec3d& weights)
    {
        pixels_[index(x, y)] = color_at_(triangle, weights.cast<float>()), filled_[index(x, y)] = 1;
    }

    const Atlas& atlas_;
    const ColorAt& color_at_;
    size_t edge_;
    std::vector<Vec3f> pixels_;
    std::vector<uint8_t> filled_;
};

std::vector<std::vector<int>> Baking::triangles_by_band() const
{
    std::vector<std::vector<int>> bands(static_cast<size_t>((atlas_.size + kBand - 1) / kBand));
    const auto last = static_cast<int>(bands.size()) - 1;
    for (int t = 0; t < static_cast<int>(atlas_.triangles.size()); ++t) {
        const PixelTriangle triangle(atlas_, t);
        const int to = std::min(static_cast<int>(triangle.high().y()) / kBand, last);
        for (int band = static_cast<int>(triangle.low().y()) / kBand; band <= to; ++band) bands[band].push_back(t);
    }
    return bands;
}

// The first triangle that has a pixel keeps it: centres on an edge are in two.
void Baking::fill_inside(int triangle, const Rows& rows)
{
    const PixelTriangle t(atlas_, triangle);
    const Vec2d low = t.low(), high = t.high();
    for (int y = std::max(rows.from, static_cast<int>(low.y())); y < rows.to && y <= high.y(); ++y)
        for (auto x = static_cast<int>(low.x()); x < atlas_.size && x <= high.x(); ++x) {
            const Vec3d weights = t.weights({x + 0.5, y + 0.5});
            if (weights.minCoeff() >= 0 && !filled_[index(x, y)]) set(x, y, triangle, weights);
        }
}

void Baking::fill_edges(int triangle, const Rows& rows)
{
    const PixelTriangle t(atlas_, triangle);
    for (int k = 0; k < 3; ++k) {
        const Vec2d &a = t.corners[k], &b = t.corners[(k + 1) % 3];
        const int steps = 1 + static_cast<int>(2 * (b - a).cwiseAbs().maxCoeff());
        for (int i = 0; i <= steps; ++i) {
            const double share = static_cast<double>(i) / steps;
            const Vec2d p = (1 - share) * a + share * b;
            const int x = std::min(static_cast<int>(p.x()), atlas_.size - 1), y = static_cast<int>(p.y());
            if (y < rows.from || y >= rows.to || filled_[index(x, y)]) continue;
            set(x, y, triangle, (1 - share) * Vec3d::Unit(k) + share * Vec3d::Unit((k + 1) % 3));
        }
    }
}

void Baking::fill()
{
    const std::vector<std::vector<int>> bands = triangles_by_band();
    parallel_for(bands.size(), [&](size_t band) {
        const int from = static_cast<int>(band) * kBand;
        const Rows rows = {from, std::min(from + kBand, atlas_.size)};
        for (const int t : bands[band]) fill_inside(t, rows);
        for (const int t : bands[band]) fill_edges(t, rows);
    });
}

// By the mean of the pixels around, as often as the gutter is wide.
void Baking::widen()
{
    for (int pass = 0; pass < atlas_.gutter; ++pass) {
        const std::vector<uint8_t> before = filled_;
        parallel_for(edge_, [&](size_t row) {
            for (size_t column = 0; column < edge_; ++column) {
                if (before[row * edge_ + column]) continue;
                Vec3f sum = Vec3f::Zero();
                int count = 0;
                for (size_t y = row - (row > 0); y <= std::min(row + 1, edge_ - 1); ++y)
                    for (size_t x = column - (column > 0); x <= std::min(column + 1, edge_ - 1); ++x)
                        if (before[y * edge_ + x]) sum += pixels_[y * edge_ + x], ++count;
                if (count == 0) continue;
                pixels_[row * edge_ + column] = sum / static_cast<float>(count);
                filled_[row * edge_ + column] = 1;
            }
        });
    }
}

void Baking::fill_rest()
{
    Vec3d sum = Vec3d::Zero();
    double count = 0;
    for (size_t i = 0; i < pixels_.size(); ++i)
        if (filled_[i]) sum += pixels_[i].cast<double>(), ++count;
    if (count == 0) return;
    const Vec3f mean = (sum / count).cast<float>();
    for (size_t i = 0; i < pixels_.size(); ++i)
        if (!filled_[i]) pixels_[i] = mean;
}

} // namespace

std::vector<Vec3f> baked(const Atlas& atlas, const ColorAt& color_at)
{
    Baking baking(atlas, color_at);
    baking.fill(), baking.widen(), baking.fill_rest();
    return std::move(baking).result();
}

std::vector<Vec3f> baked_from_vertices(const Atlas& atlas, const Mesh& surface, const std::vector<Vec3f>& colors)
{
    return baked(atlas, [&](int triangle, const Vec3f& weights) {
        return blended(colors, surface, {triangle, weights});
    });
}

std::vector<Vec3f> baked_from_nearest(const Atlas& atlas, const Mesh& surface, const Mesh& colored,
                                      const std::vector<Vec3f>& colors)
{
    if (colored.triangles.empty()) return baked(atlas, [](int, const Vec3f&) { return Vec3f::Zero().eval(); });
    const MeshDistance nearest(colored, /*closed=*/false);
    return baked(atlas, [&](int triangle, const Vec3f& weights) {
        const MeshDistance::Nearest at = nearest.nearest(blended(surface.positions, surface, {triangle, weights}));
        return blended(colors, colored, {at.triangle, at.weights});
    });
}

} // namespace spindrift
