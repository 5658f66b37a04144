#include "vdb_level_set_advection.h"

#include <openvdb/openvdb.h>
#include <openvdb/tools/LevelSetAdvect.h>
#include <openvdb/tools/LevelSetSphere.h>
#include <openvdb/tools/VolumeToMesh.h>

namespace {

struct DeformationField {
    using ScalarType = float;
    using VectorType = openvdb::Vec3s;
    openvdb::math::Transform::Ptr grid;

    const openvdb::math::Transform& transform() const { return *grid; }
    VectorType operator()(const openvdb::Vec3d& x, float time) const
    {
        constexpr double pi = 3.14159265358979323846;
        const double s[3] = {std::sin(pi * x[0]), std::sin(pi * x[1]), std::sin(pi * x[2])};
        const double t[3] = {std::sin(2 * pi * x[0]), std::sin(2 * pi * x[1]), std::sin(2 * pi * x[2])};
        const double strength = std::sin(pi * static_cast<double>(time));
        return openvdb::Vec3s(
            openvdb::Vec3d(2 * s[0] * s[0] * t[1] * t[2], -t[0] * s[1] * s[1] * t[2], -t[0] * t[1] * s[2] * s[2]) *
            strength);
    }
    VectorType operator()(const openvdb::Coord& cell, float time) const
    {
        return (*this)(grid->indexToWorld(cell.asVec3d()), time);
    }
};

} // namespace

spindrift::Mesh vdb_deformed_ball(float voxel, size_t& steps)
{
    openvdb::initialize();
    auto ball = openvdb::tools::createLevelSetSphere<openvdb::FloatGrid>(0.15f, openvdb::Vec3f(0.35f), voxel);
    const DeformationField field{openvdb::math::Transform::createLinearTransform(static_cast<double>(voxel))};
    // Its most accurate schemes, which its manual recommends for this test.
    openvdb::tools::LevelSetAdvection<openvdb::FloatGrid, DeformationField> advection(*ball, field);
    advection.setSpatialScheme(openvdb::math::HJWENO5_BIAS);
    advection.setTemporalScheme(openvdb::math::TVD_RK2);
    advection.setTrackerSpatialScheme(openvdb::math::HJWENO5_BIAS);
    advection.setTrackerTemporalScheme(openvdb::math::TVD_RK1);
    // In parts, since it stops where the flow does: at the beginning, in the middle and at the end.
    constexpr int kParts = 100;
    constexpr float kAside = 1e-4f;
    steps = 0;
    for (int i = 0; i < kParts; ++i)
        steps += advection.advect(2 * static_cast<float>(i) / kParts + kAside,
                                  2 * static_cast<float>(i + 1) / kParts + kAside);
    std::vector<openvdb::Vec3s> points;
    std::vector<openvdb::Vec4I> quads;
    openvdb::tools::volumeToMesh(*ball, points, quads, 0.0);
    spindrift::Mesh mesh;
    for (const auto& p : points) mesh.positions.emplace_back(p.x(), p.y(), p.z());
    for (const auto& q : quads) { // OpenVDB's faces are clockwise
        const auto corner = [&](int k) { return static_cast<int>(q[k]); };
        mesh.triangles.emplace_back(corner(0), corner(2), corner(1));
        mesh.triangles.emplace_back(corner(0), corner(3), corner(2));
    }
    return mesh;
}
