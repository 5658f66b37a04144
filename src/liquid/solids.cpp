#include "liquid/solids.h"

namespace spindrift {

Solids::Solids(const DomainParams& domain, std::vector<Shape> colliders, float fps)
    : colliders_(std::move(colliders)), fps_(fps)
{
    if (domain.bounded())
        for (int axis = 0; axis < 3; ++axis)
            for (int upper = 0; upper < 2; ++upper) {
                const Side side{axis, upper ? -1.0f : 1.0f, upper ? (*domain.max)[axis] : (*domain.min)[axis]};
                (domain.closed(axis, upper) ? walls_ : open_sides_).push_back(side);
            }
    for (const Shape& c : colliders_) moving_ |= c.moves();
}

float Solids::distance(const Vec3f& x) const
{
    float d = kInfinity;
    for (const Side& s : walls_) d = std::min(d, s.sign * (x[s.axis] - s.at));
    for (const Shape& c : colliders_) d = std::min(d, c.distance(x, frame_));
    return d;
}

Vec3f Solids::normal(const Vec3f& x, float step) const
{
    Vec3f n;
    for (int a = 0; a < 3; ++a) {
        const Vec3f e = step * Vec3f::Unit(a);
        n[a] = distance(x + e) - distance(x - e);
    }
    const float length = n.norm();
    return length > 0 && std::isfinite(length) ? Vec3f(n / length) : Vec3f(0, 1, 0);
}

Vec3f Solids::velocity(const Vec3f& x) const
{
    if (!moving_) return Vec3f::Zero();
    float nearest = kInfinity;
    for (const Side& s : walls_) nearest = std::min(nearest, s.sign * (x[s.axis] - s.at));
    const Shape* shape = nullptr;
    for (const Shape& c : colliders_)
        if (const float d = c.distance(x, frame_); d < nearest) nearest = d, shape = &c;
    return shape ? shape->velocity(x, frame_, fps_) : Vec3f::Zero();
}

bool Solids::outside_open_side(const Vec3f& x) const
{
    for (const Side& s : open_sides_)
        if (s.sign * (x[s.axis] - s.at) < 0) return true;
    return false;
}

namespace {

// Area of the unit square where a function that is linear along its edges, given at the corners, is positive.
float positive_area(float bottom_left, float bottom_right, float top_left, float top_right)
{
    // Clip the square's outline against the zero line and take the polygon's area.
    const Vec2f corner[4] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    const float value[4] = {bottom_left, bottom_right, top_right, top_left};
    Vec2f polygon[8];
    int count = 0, positive = 0;
    for (int i = 0; i < 4; ++i) {
        const int j = (i + 1) % 4;
        if (value[i] > 0) polygon[count++] = corner[i], ++positive;
        if ((value[i] > 0) != (value[j] > 0))
            polygon[count++] = corner[i] + value[i] / (value[i] - value[j]) * (corner[j] - corner[i]);
    }
    if (positive == 4) return 1;
    float area = 0;
    for (int i = 0; i < count; ++i) {
        const Vec2f &a = polygon[i], &b = polygon[(i + 1) % count];
        area += 0.5f * (a.x() * b.y() - a.y() * b.x());
    }
    return area < 0.01f ? 0 : std::min(area, 1.0f); // slivers only make the pressure system stiff
}

void evaluate(const Solids& solids, const Vec3i& first_cell, float voxel, SolidTile& out)
{
    constexpr int n = kTileSize + 1;
    float corner[n][n][n]; // distance at cell corners, in cells
    const float inverse_voxel = 1 / voxel;
    for (int x = 0; x < n; ++x)
        for (int y = 0; y < n; ++y)
            for (int z = 0; z < n; ++z)
                corner[x][y][z] = inverse_voxel * solids.distance((first_cell + Vec3i(x, y, z)).cast<float>() * voxel);
    for (int c = 0; c < kTileCells; ++c) {
        const Vec3i i = cell_in_tile(c);
        const int x = i.x(), y = i.y(), z = i.z();
        out.open[0][c] = positive_area(corner[x][y][z], corner[x][y + 1][z], corner[x][y][z + 1], corner[x][y + 1][z + 1]);
        out.open[1][c] = positive_area(corner[x][y][z], corner[x + 1][y][z], corner[x][y][z + 1], corner[x + 1][y][z + 1]);
        out.open[2][c] = positive_area(corner[x][y][z], corner[x + 1][y][z], corner[x][y + 1][z], corner[x + 1][y + 1][z]);
        float sum = 0;
        for (int k = 0; k < 8; ++k) sum += corner[x + (k >> 2)][y + (k >> 1 & 1)][z + (k & 1)];
        out.distance[c] = sum / 8;
    }
}

} // namespace

SolidCells::SolidCells() : closed_(std::make_unique<SolidTile>())
{
    std::memset(closed_->open, 0, sizeof closed_->open);
    std::fill_n(closed_->distance, kTileCells, -10.0f);
    std::fill_n(all_open_, kTileCells, 1.0f);
}

void SolidCells::update(const Topology& topology, const Solids& solids, float voxel)
{
    if (solids.moving()) stored_.clear();
    const size_t count = static_cast<size_t>(topology.tile_count());
    tiles_.assign(count + 1, nullptr);
    tiles_[count] = closed_.get();
    if (solids.none()) return;

    std::vector<size_t> unknown;
    std::vector<std::unique_ptr<SolidTile>*> slots;
    for (size_t t = 0; t < count; ++t)
        if (const auto [it, added] = stored_.try_emplace(topology.codes()[t]); added) {
            unknown.push_back(t);
            slots.push_back(&it->second);
        }
    // A tile is near if a solid comes within two cells of it.
    const float near = (0.5f * kTileSize + 2) * std::sqrt(3.0f) * voxel;
    parallel_for(unknown.size(), [&](size_t k) {
        const Vec3i first = topology.first_cell(static_cast<int>(unknown[k]));
        if (solids.distance((first.cast<float>().array() + 0.5f * kTileSize).matrix() * voxel) > near) return;
        *slots[k] = std::make_unique<SolidTile>();
        evaluate(solids, first, voxel, **slots[k]);
    });
    for (size_t t = 0; t < count; ++t) tiles_[t] = stored_[topology.codes()[t]].get();
}

} // namespace spindrift
