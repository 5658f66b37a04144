#include "spindrift/world/solids.h"

#include "base/determinism.h"
#include "field/dense.h"
#include "liquid/scenes.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr float kVoxel = 0.1f;

// Length of the part of [0, 1] where a linear function with these end values is positive.
double positive_length(double at0, double at1)
{
    if (at0 > 0 && at1 > 0) return 1;
    if (at0 <= 0 && at1 <= 0) return 0;
    const double crossing = at0 / (at0 - at1);
    return at0 > 0 ? crossing : 1 - crossing;
}

// Fractions of a unit face (normal to `axis`) and of a unit cell where a linear function is positive: exact along one
// direction, sampled across it.
struct HalfSpace {
    Vec3d normal;
    double offset; // positive where normal . x > offset; lengths in cells

    double at(const Vec3d& x) const { return normal.dot(x) - offset; }
    double length(const Vec3d& from, int along) const
    {
        return positive_length(at(from), at(from + Vec3d(Vec3d::Unit(along))));
    }
    double area(const Vec3i& cell, int axis) const
    {
        constexpr int n = 2000;
        const int u = (axis + 1) % 3, v = (axis + 2) % 3;
        double sum = 0;
        for (int i = 0; i < n; ++i) sum += length(cell.cast<double>() + (i + 0.5) / n * Vec3d::Unit(u), v) / n;
        return sum;
    }
    double volume(const Vec3i& cell) const
    {
        constexpr int n = 60;
        double sum = 0;
        for (int i = 0; i < n * n; ++i)
            sum += length(cell.cast<double>() + Vec3d((i / n + 0.5) / n, (i % n + 0.5) / n, 0), 2) / (n * n);
        return sum;
    }
};

ColliderParams half_space_collider(const HalfSpace& h)
{
    ColliderParams c;
    c.shape = ShapeParams::Kind::half_space;
    c.normal = h.normal.cast<float>();
    c.point = kVoxel * static_cast<float>(h.offset) * c.normal;
    return c;
}

float value_of(const float* tile_values, const Vec3i& cell) { return tile_values[offset_of_cell(cell)]; }

void expect_fractions(const Solids& solids, const HalfSpace& exact, double volume_tolerance)
{
    const Topology topology = Topology::covering(Vec3i(-8, -8, -8), Vec3i(8, 8, 8));
    SolidCells cells;
    cells.update(topology, solids, kVoxel);
    size_t cut = 0;
    for_each_cell(Vec3i(-8, -8, -8), Vec3i(8, 8, 8), [&](const Vec3i& c) {
        const int t = topology.find(tile_of_cell(c));
        for (int a = 0; a < 3; ++a) {
            const double want = exact.area(c, a), got = value_of(cells.open(t, a), c);
            if (want > kSmallestOpening + 1e-4 || got > 0) {
                ASSERT_NEAR(got, want, 1e-4) << c.transpose() << " axis " << a;
            } else {
                ASSERT_EQ(got, 0) << "slivers are closed";
            }
            cut += got > 0 && got < 1;
        }
        const SolidTile* tile = cells.tile(t);
        const double volume = tile ? static_cast<double>(value_of(tile->volume, c)) : 1.0;
        ASSERT_NEAR(volume, exact.volume(c), volume_tolerance) << c.transpose();
        if (tile) {
            const double d = exact.at(c.cast<double>().array() + 0.5);
            const double found = value_of(tile->distance, c);
            if (std::abs(d) < 3) {
                ASSERT_NEAR(found, d, 1e-4);
            }
            // Farther away, only the sign and a lower bound of the magnitude are defined.
            ASSERT_LT(std::abs(found), std::abs(d) + 1e-4);
            ASSERT_GE(found * d, 0);
            ASSERT_GT(std::abs(found), std::min(std::abs(d), 3.0) - 1e-4);
        }
    });
    EXPECT_GT(cut, 100u);
}

TEST(Solids, OpenFractionsOfAnAxisAlignedWallAreExact)
{
    for (int axis = 0; axis < 3; ++axis)
        for (const double at : {-2.7, 0.3, 3.5}) {
            const HalfSpace wall{Vec3d::Unit(axis), at};
            expect_fractions(Solids({}, shapes_of<ColliderParams>({half_space_collider(wall)}), kFps), wall, 1e-4);
        }
}

TEST(Solids, OpenFractionsOfAWallOfTheDomainAreExact)
{
    DomainParams domain = closed_domain(Vec3f::Constant(-100), Vec3f::Constant(100));
    (*domain.min).y() = 0.23f;
    expect_fractions(Solids(domain, {}, kFps), HalfSpace{Vec3d(0, 1, 0), 2.3}, 1e-4);
}

TEST(Solids, OpenFractionsOfATiltedWallAreExactAndVolumesNearlySo)
{
    Random random(4);
    for (int i = 0; i < 4; ++i) {
        const Vec3d normal = Vec3d(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)).normalized();
        const HalfSpace wall{normal, static_cast<double>(random.uniform(-3, 3))};
        expect_fractions(Solids({}, shapes_of<ColliderParams>({half_space_collider(wall)}), kFps), wall, 0.02);
    }
}

void expect_equal_tiles(const SolidCells& a, const SolidCells& b, const Topology& topology)
{
    for (int t = 0; t < topology.tile_count(); ++t) {
        ASSERT_EQ(a.tile(t) == nullptr, b.tile(t) == nullptr);
        if (!a.tile(t)) continue;
        const SolidTile &one = *a.tile(t), &two = *b.tile(t);
        ASSERT_EQ(std::memcmp(one.open, two.open, sizeof one.open), 0) << "tile " << topology.tile(t).transpose();
        ASSERT_EQ(std::memcmp(one.volume, two.volume, sizeof one.volume), 0);
        ASSERT_EQ(std::memcmp(one.distance, two.distance, sizeof one.distance), 0);
        ASSERT_EQ(one.closed_faces.size(), two.closed_faces.size());
        for (size_t i = 0; i < one.closed_faces.size(); ++i) {
            ASSERT_EQ(one.closed_faces[i].normal, two.closed_faces[i].normal);
            ASSERT_EQ(one.closed_faces[i].cell, two.closed_faces[i].cell);
            ASSERT_EQ(one.closed_faces[i].axis, two.closed_faces[i].axis);
        }
    }
    for (int axis = 0; axis < 3; ++axis)
        for (int c = 0; c < kTileCells; ++c) ASSERT_EQ(a.open(topology.tile_count(), axis)[c], 0) << "no tile: closed";
}

ColliderParams ball(const Vec3f& center, float radius)
{
    ColliderParams c;
    c.shape = ShapeParams::Kind::sphere, c.center = center, c.radius = radius;
    return c;
}

TEST(Solids, CachedTilesEqualFreshOnes)
{
    for (const bool moves : {false, true}) {
        ColliderParams sphere = ball(Vec3f(0.5f, 0.1f, -0.3f), 0.9f);
        if (moves) sphere.translate = {{0, 0, 0, 0}, {10, 1, 0.5f, 0}};
        Solids solids(closed_domain(Vec3f(-3, -1.55f, -3), Vec3f(3, 3, 3)), shapes_of<ColliderParams>({sphere}), kFps);
        SolidCells remembered;
        for (const int step : {0, 3, 6}) {
            const Topology topology =
                topology_of(random_tiles(Vec3i(-3, -3, -3), Vec3i(3, 3, 3), 0.6f, static_cast<uint64_t>(step)));
            solids.set_frame(static_cast<float>(step));
            remembered.update(topology, solids, kVoxel);
            SolidCells fresh;
            fresh.update(topology, solids, kVoxel);
            expect_equal_tiles(remembered, fresh, topology);
        }
    }
}

ColliderParams plate_across_x(float at)
{
    ColliderParams plate;
    plate.min = Vec3f(at - 1.0f / 64, -9, -9), plate.max = Vec3f(at + 1.0f / 64, 9, 9);
    return plate;
}

TEST(Solids, TilesOfMovingSheetsAreCachedWhileTimeIsUnchanged)
{
    ColliderParams plate = plate_across_x(0.1f);
    plate.translate = {{0, 0, 0, 0}, {10, 1, 0, 0}};
    Solids solids({}, shapes_of<ColliderParams>({plate}), kFps);
    solids.find_sheets(kVoxel);
    const Topology topology = Topology::covering(Vec3i(0, 0, 0), Vec3i(8, 8, 8));
    SolidCells cells;
    const auto sheets_at = [&](float frame) {
        solids.set_frame(frame);
        cells.update(topology, solids, kVoxel);
        return cells.tile(0)->sheets;
    };
    const auto first = sheets_at(1);
    EXPECT_EQ(sheets_at(1), first);
    EXPECT_NE(sheets_at(2), first);
}

// Hand-written coordinates often place a plate there.
TEST(Solids, ASheetThroughCellCentersHasThemOnOneSide)
{
    constexpr float voxel = 0.25f;
    Solids solids({}, shapes_of<ColliderParams>({plate_across_x(0.125f)}), kFps);
    solids.find_sheets(voxel);
    const Topology topology = Topology::covering(Vec3i(-8, 0, 0), Vec3i(8, 8, 8));
    SolidCells cells;
    cells.update(topology, solids, voxel);
    const auto tile = [&](int x) { return cells.tile(topology.find(tile_of_cell(Vec3i(x, 4, 4)))); };
    float volume = 0;
    int closed = 0;
    for (int x = -2; x <= 2; ++x) {
        volume += value_of(tile(x)->volume, Vec3i(x, 4, 4));
        closed += value_of(tile(x)->open[0], Vec3i(x, 4, 4)) == 0;
        EXPECT_GT(value_of(tile(x)->volume, Vec3i(x, 4, 4)), 0.4f) << x;
        EXPECT_GT(value_of(tile(x)->open[1], Vec3i(x, 4, 4)), 0.4f) << x;
    }
    EXPECT_EQ(closed, 1);
    EXPECT_NEAR(volume, 5, 0.13f); // minus part of the plate, an eighth of a cell thick
}

// The volume in cells that a layer of cells lacks on each side of the middle of a tilted plate.
static std::array<double, 2> missing_room(const Topology& topology, const SolidCells& cells, float degrees, float place)
{
    const double angle = degrees * kPi / 180, s = std::sin(angle), c = std::cos(angle);
    const auto side = [&](double x, double y) { return c * (y - static_cast<double>(place)) - s * x > 0; };
    std::array<double, 2> missing = {};
    for (int x = -8; x < 8; ++x)
        for (int y = -16; y < 16; ++y) {
            const SolidTile* tile = cells.tile(topology.find(tile_of_cell(Vec3i(x, y, 4))));
            const float volume = tile ? value_of(tile->volume, Vec3i(x, y, 4)) : 1;
            // Where the middle runs through centres, these are on the upper side.
            missing[side(x + 0.5003, y + 0.5006)] -= static_cast<double>(volume);
            constexpr int n = 16;
            for (int k = 0; k < n * n; ++k)
                missing[side(x + (k / n + 0.5) / n, y + (k % n + 0.5) / n)] += 1.0 / (n * n);
        }
    return missing;
}

// Each half of the room loses what is on its own side of the middle of the plate. Beyond a thin plate the distance
// to it is that to its far side, and half of the plate, or all of it, was room as well.
TEST(Solids, SheetsTakeTheirThicknessFromTheCellsThatTheyCut)
{
    for (const float degrees : {0.0f, 20.0f, 45.0f})
        for (const float thickness : {0.02f, 0.2f, 0.7f, 1.2f}) // in cells
            for (const float place : {0.0f, 0.13f, 0.3f, 0.5f, 0.77f}) {
                ColliderParams plate;
                plate.min = kVoxel * Vec3f(-40, place - 0.5f * thickness, -40);
                plate.max = kVoxel * Vec3f(40, place + 0.5f * thickness, 40);
                plate.rotate = {{0, 0, 0, 1, degrees}};
                Solids solids({}, shapes_of<ColliderParams>({plate}), kFps);
                solids.find_sheets(kVoxel);
                ASSERT_TRUE(solids.has_sheets());
                const Topology topology = Topology::covering(Vec3i(-16, -16, 0), Vec3i(16, 16, 8));
                SolidCells cells;
                cells.update(topology, solids, kVoxel);
                const double c = std::cos(degrees * kPi / 180);
                for (const double m : missing_room(topology, cells, degrees, place))
                    EXPECT_NEAR(m / (16 / c), 0.5 * static_cast<double>(thickness), 0.03)
                        << degrees << " degrees, " << thickness << " thick, at " << place;
            }
}

TEST(Solids, FacesThatASheetLiesOnHaveItsNormal)
{
    constexpr float voxel = 0.25f;
    Solids solids({}, shapes_of<ColliderParams>({plate_across_x(0)}), kFps);
    solids.find_sheets(voxel);
    const Topology topology = Topology::covering(Vec3i(0, 0, 0), Vec3i(8, 8, 8));
    SolidCells cells;
    cells.update(topology, solids, voxel);
    const auto& faces = cells.tile(0)->closed_faces;
    EXPECT_EQ(faces.size(), 64u);
    for (const auto& face : faces) ASSERT_GT(std::abs(face.normal.x()), 0.99f) << face.normal.transpose();
}

TEST(Solids, TilesWithoutASolidNearAreOpenEverywhere)
{
    const Solids solids({}, shapes_of<ColliderParams>({ball(Vec3f(0.4f, 0.4f, 0.4f), 0.7f)}), kFps);
    const Topology topology = Topology::covering(Vec3i(-40, -40, -40), Vec3i(40, 40, 40));
    SolidCells cells;
    cells.update(topology, solids, kVoxel);
    int far = 0, near = 0;
    for (int t = 0; t < topology.tile_count(); ++t) {
        (cells.tile(t) ? near : far)++;
        if (cells.tile(t)) continue;
        // The solid does not even reach the margin of the tile.
        for_each_cell(Vec3i::Constant(-1), Vec3i::Constant(10), [&](const Vec3i& corner) {
            ASSERT_GT(solids.distance((topology.first_cell(t) + corner).cast<float>() * kVoxel), 0);
        });
    }
    EXPECT_GT(far, 900);
    EXPECT_GE(near, 8);
}

TEST(Solids, TheNearestSolidGivesDistanceNormalAndVelocity)
{
    ColliderParams moving = ball(Vec3f(0, 1, 0), 0.5f);
    moving.translate = {{0, 0, 0, 0}, {24, 2, 0, 0}};
    DomainParams domain = closed_domain(Vec3f(-5, 0, -5), Vec3f(5, 5, 5));
    domain.x_max = DomainParams::Side::open;
    Solids solids(domain, shapes_of<ColliderParams>({moving}), kFps);
    EXPECT_TRUE(solids.moving());
    solids.set_frame(12);
    EXPECT_NEAR(solids.distance(Vec3f(1, 1.8f, 0)), 0.3f, 1e-5f);
    EXPECT_LT((solids.normal(Vec3f(1, 1.8f, 0), 0.01f) - Vec3f(0, 1, 0)).norm(), 1e-3f);
    EXPECT_LT((solids.velocity(Vec3f(1, 1.8f, 0)) - Vec3f(2, 0, 0)).norm(), 1e-4f);
    EXPECT_NEAR(solids.speed(), 2, 1e-4f);
    EXPECT_NEAR(solids.distance(Vec3f(-3, 0.1f, 0)), 0.1f, 1e-5f);
    EXPECT_EQ(solids.velocity(Vec3f(-3, 0.1f, 0)), Vec3f::Zero().eval());
    EXPECT_GT(solids.distance(Vec3f(4.99f, 2, 0)), 1) << "an open side is no wall";
    EXPECT_FALSE(solids.outside_open_side(Vec3f(4.99f, 2, 0)));
    EXPECT_TRUE(solids.outside_open_side(Vec3f(5.01f, 2, 0)));
    EXPECT_FALSE(solids.outside_open_side(Vec3f(-5.01f, 2, 0)));
}

} // namespace
} // namespace spindrift
