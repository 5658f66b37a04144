#include "spindrift/surface/tile_samples.h"

namespace spindrift {

void TileSamples::gather(const Field<float>& phi, int tile, float voxel, const std::optional<Box3f>& container)
{
    phi_.gather(phi, tile);
    const Vec3f origin = phi.topology().first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
    walls_ = {Vec3f::Constant(-kInfinity), Vec3f::Constant(kInfinity)};
    if (container) walls_ = {container->min / voxel - origin, container->max / voxel - origin};
    const auto within = [&](int axis, int i) {
        return static_cast<float>(i) > walls_.min[axis] && static_cast<float>(i) < walls_.max[axis];
    };
    for (int x = -kMargin; x < kTileSize + kMargin; ++x)
        for (int y = -kMargin; y < kTileSize + kMargin; ++y) {
            const bool row = within(0, x) && within(1, y);
            for (int z = -kMargin; z < kTileSize + kMargin; ++z) {
                const int i = Samples::index(x, y, z);
                inside_[i] = phi_.data[i] < 0 && row && within(2, z);
            }
        }
}

int TileSamples::configuration(const Vec3i& cube) const
{
    constexpr int X = Samples::kStrideX, Y = Samples::kStrideY;
    const uint8_t* p = inside_ + Samples::index(cube.x(), cube.y(), cube.z());
    return p[0] | p[1] << 1 | p[Y] << 2 | p[Y + 1] << 3 | p[X] << 4 | p[X + 1] << 5 | p[X + Y] << 6 | p[X + Y + 1] << 7;
}

const CubeSheets& TileSamples::sheets(const Vec3i& cube, int own) const
{
    const CubeCase& own_case = cube_cases()[own];
    if (own_case.twice < 0) return own_case.normal;
    Vec3i beyond = cube;
    beyond[own_case.twice / 2] += own_case.twice & 1 ? 1 : -1;
    const CubeCase& other = cube_cases()[configuration(beyond)];
    return other.twice == (own_case.twice ^ 1) ? own_case.flipped : own_case.normal;
}

// Accumulates the cut edges of one sheet to place its vertex; positions in [0, 1]^3.
struct TileSamples::Cuts {
    Vec3f free_sum = Vec3f::Zero(), wall_sum = Vec3f::Zero();
    int free = 0, at_wall = 0;
    Vec3i wall = Vec3i::Zero();
};

void TileSamples::add_cut(const Vec3i& cube, int configuration, int edge, Cuts& cuts) const
{
    const CubeEdge e(edge);
    const Vec3i corner = cube_corner_place(e.low), at = cube + corner;
    Vec3i next = at;
    ++next[e.axis];
    const float low = phi_.at(at.x(), at.y(), at.z()), high = phi_.at(next.x(), next.y(), next.z());
    // From the inside, the first of the liquid's surface and the wall.
    const bool outwards_up = configuration >> e.low & 1;
    const int side = outwards_up ? 1 : -1;
    const bool crosses = (low < 0) != (high < 0);
    const float free_at = crosses ? low / (low - high) : static_cast<float>(side) * kInfinity;
    const float wall_at = wall_place(e.axis, side) - static_cast<float>(cube[e.axis]);
    Vec3f place = corner.cast<float>();
    if (outwards_up ? wall_at <= free_at : wall_at >= free_at) {
        place[e.axis] = wall_at;
        cuts.wall_sum += place, ++cuts.at_wall;
        cuts.wall[e.axis] = side;
    } else {
        place[e.axis] = free_at;
        cuts.free_sum += place, ++cuts.free;
    }
}

// Value and gradient of the trilinear interpolation.
float TileSamples::interpolate(const Vec3i& cube, const Vec3f& place, Vec3f& gradient) const
{
    float v[2][2][2];
    for (int c = 0; c < 8; ++c)
        v[c >> 2][c >> 1 & 1][c & 1] = phi_.at(cube.x() + (c >> 2), cube.y() + (c >> 1 & 1), cube.z() + (c & 1));
    const float fx = place.x(), fy = place.y(), fz = place.z();
    const auto yz = [&](int i) { return mix(mix(v[i][0][0], v[i][0][1], fz), mix(v[i][1][0], v[i][1][1], fz), fy); };
    const auto xz = [&](int j) { return mix(mix(v[0][j][0], v[0][j][1], fz), mix(v[1][j][0], v[1][j][1], fz), fx); };
    const auto xy = [&](int k) { return mix(mix(v[0][0][k], v[0][1][k], fy), mix(v[1][0][k], v[1][1][k], fy), fx); };
    gradient = {yz(1) - yz(0), xz(1) - xz(0), xy(1) - xy(0)};
    return mix(yz(0), yz(1), fx);
}

// Central differences at the corners, interpolated: continuous from cube to cube.
Vec3f TileSamples::smooth_gradient(const Vec3i& cube, const Vec3f& place) const
{
    constexpr int X = Samples::kStrideX, Y = Samples::kStrideY;
    Vec3f sum = Vec3f::Zero();
    for (int c = 0; c < 8; ++c) {
        const Vec3i corner = cube_corner_place(c), at = cube + corner;
        const Vec3f share = corner.cast<float>().cwiseProduct(2 * place - Vec3f::Ones()) + Vec3f::Ones() - place;
        const float* p = phi_.data + Samples::index(at.x(), at.y(), at.z());
        sum += share.prod() * Vec3f(p[X] - p[-X], p[Y] - p[-Y], p[1] - p[-1]);
    }
    return sum;
}

namespace {
Vec3f along_walls(const Vec3f& v, const Vec3i& wall) { return (wall.array() == 0).select(v, 0); }
} // namespace

TileSamples::Vertex TileSamples::vertex(const Vec3i& cube, int configuration, const CubeSheets& sheets, int sheet) const
{
    Cuts cuts;
    for (int edge = 0; edge < 12; ++edge)
        if (sheets.of_edge[edge] == sheet) add_cut(cube, configuration, edge, cuts);

    // On the waterline the liquid's surface determines the height, the wall the position across it.
    Vec3f place = cuts.free > 0 ? cuts.free_sum / static_cast<float>(cuts.free)
                                : cuts.wall_sum / static_cast<float>(cuts.at_wall);
    for (int a = 0; a < 3; ++a)
        if (cuts.wall[a] != 0) place[a] = wall_place(a, cuts.wall[a]) - static_cast<float>(cube[a]);

    Vec3f normal = cuts.wall.cast<float>();
    if (cuts.free > 0) {
        // The mean of points on a curved surface lies below it: one Newton step back, along walls where there are any.
        Vec3f gradient;
        const float value = interpolate(cube, place, gradient);
        gradient = along_walls(gradient, cuts.wall);
        const float slope2 = gradient.squaredNorm();
        if (sheets.count == 1 && slope2 > 0.04f) place -= gradient * (value / slope2);
        const Vec3f low = walls_.min - cube.cast<float>(), high = walls_.max - cube.cast<float>();
        place = place.cwiseMax(low.cwiseMax(0.0f)).cwiseMin(high.cwiseMin(1.0f));
        // The liquid's surface is mirrored at a wall.
        normal = along_walls(smooth_gradient(cube, place), cuts.wall);
    }
    if (!(normal.squaredNorm() > 1e-12f)) normal = Vec3f(0, 1, 0);
    return {cube.cast<float>() + place, normal.normalized(), cuts.wall, cuts.free > 0};
}

} // namespace spindrift
