// Velocities of other programs in the forms that they have: vectors or three grids of numbers, floats or doubles, at
// the centres or faces of cells, and only where there is liquid. Written with OpenVDB.
#include "cli/program.h"
#include "spindrift/stages/volume_flow.h"

#include <gtest/gtest.h>
#include <openvdb/openvdb.h>

namespace spindrift {

namespace {

constexpr double kVoxel = 0.05, kRadius = 0.5;
const Vec3f kCenter(0.013f, 0.021f, 0.008f);

// Rotation about z, one radian a second.
double velocity(const openvdb::Vec3d& x, int axis)
{
    return axis == 0   ? -(x.y() - static_cast<double>(kCenter.y()))
           : axis == 1 ? x.x() - static_cast<double>(kCenter.x())
                       : 0;
}

openvdb::Vec3d face(int axis, double share)
{
    openvdb::Vec3d x(0);
    x[axis] = share * kVoxel;
    return x;
}

// Calls set(cell, centre) for the cells of a ball.
template <class Set> void for_each_cell(const Set& set)
{
    constexpr int kReach = 14;
    for (int x = -kReach; x < kReach; ++x)
        for (int y = -kReach; y < kReach; ++y)
            for (int z = -kReach; z < kReach; ++z) {
                const openvdb::Vec3d center = kVoxel * (openvdb::Vec3d(x, y, z) + openvdb::Vec3d(0.5));
                if (center.length() < kRadius) set(openvdb::Coord(x, y, z), center);
            }
}

openvdb::math::Transform::Ptr transform(const openvdb::Vec3d& first)
{
    auto made = openvdb::math::Transform::createLinearTransform(kVoxel);
    made->postTranslate(first);
    return made;
}

template <class Grid> openvdb::GridBase::Ptr vectors(bool staggered)
{
    auto grid = Grid::create();
    auto values = grid->getAccessor();
    for_each_cell([&](const openvdb::Coord& cell, const openvdb::Vec3d& center) {
        typename Grid::ValueType v;
        for (int a = 0; a < 3; ++a)
            v[a] = static_cast<typename Grid::ValueType::value_type>(
                velocity(staggered ? center - face(a, 0.5) : center, a));
        values.setValue(cell, v);
    });
    grid->setName("vel"), grid->setTransform(transform(openvdb::Vec3d(0.5 * kVoxel)));
    if (staggered) grid->setGridClass(openvdb::GRID_STAGGERED);
    return grid;
}

openvdb::GridBase::Ptr component(int axis, bool staggered)
{
    auto grid = openvdb::FloatGrid::create();
    auto values = grid->getAccessor();
    const openvdb::Vec3d shift = staggered ? -face(axis, 0.5) : openvdb::Vec3d(0);
    for_each_cell([&](const openvdb::Coord& cell, const openvdb::Vec3d& center) {
        values.setValue(cell, static_cast<float>(velocity(center + shift, axis)));
    });
    const char* names[] = {"vel.x", "vel.y", "vel.z"};
    grid->setName(names[axis]), grid->setTransform(transform(openvdb::Vec3d(0.5 * kVoxel) + shift));
    return grid;
}

// The largest error at a distance from the centre [m/s]; the velocity there is at most that distance.
float error_at(const VelocityVolume& volume, float radius)
{
    float most = 0;
    const VolumeFlow flow(volume, volume, 0, 0);
    for (int i = 0; i < 400; ++i) {
        const float z = -1 + static_cast<float>(i) / 199.5f, turn = 2.4f * static_cast<float>(i),
                    r = std::sqrt(1 - z * z);
        const Vec3f x = radius * Vec3f(r * std::cos(turn), r * std::sin(turn), z);
        Vec3f v;
        flow.sample({&x, 1}, 0, {&v, 1});
        most = std::max(most, (v - Vec3f(kCenter.y() - x.y(), x.x() - kCenter.x(), 0)).norm());
    }
    return most;
}

} // namespace

TEST(VelocitiesOfOthers, ARotationThatCoversOnlyItsLiquidIsContinued)
{
    openvdb::initialize();
    const Workplace place;
    const auto expect_rotation = [&](const openvdb::GridPtrVec& grids, const std::string& what) {
        openvdb::io::File file(place / "vel.vdb");
        file.write(grids);
        file.close();
        const VelocityVolume volume(place / "vel.vdb", "vel", 1);
        EXPECT_LT(error_at(volume, 0.4f), 1e-4f) << what; // trilinear interpolation is exact for a rotation
        EXPECT_LT(error_at(volume, 0.5f), 0.06f) << what; // next to the last cells: at most a voxel's change
        EXPECT_LT(error_at(volume, 0.6f), 0.17f) << what; // and two voxels farther
        EXPECT_NEAR(volume.max_speed(), 0.7f, 0.1f) << what;
    };
    expect_rotation({vectors<openvdb::Vec3SGrid>(false)}, "centred");
    expect_rotation({vectors<openvdb::Vec3SGrid>(true)}, "staggered");
    expect_rotation({vectors<openvdb::Vec3DGrid>(false)}, "doubles");
    for (const bool staggered : {false, true})
        expect_rotation({component(0, staggered), component(1, staggered), component(2, staggered)},
                        staggered ? "three at faces" : "three at centres");
}

TEST(VelocitiesOfOthers, AMissingComponentIsNamed)
{
    openvdb::initialize();
    const Workplace place;
    openvdb::io::File file(place / "vel.vdb");
    file.write({component(0, false), component(2, false)});
    file.close();
    try {
        const VelocityVolume volume(place / "vel.vdb", "vel", 1);
        FAIL();
    } catch (const std::exception& error) {
        EXPECT_TRUE(contains(error.what(), "has no grid \"vel.y\"")) << error.what();
    }
}

} // namespace spindrift
