// Liquid beside walls thinner than the range of its particles. Lengths are in particle spacings.
#include "base/determinism.h"
#include "io/temp_folder.h"
#include "mesh/test_meshes.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/surface/surface.h"
#include "spindrift/world/solids.h"
#include "surface/jittered.h"

#include <Eigen/Geometry>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

constexpr float kThickness = 0.24f; // 3 mm for a liquid voxel of 2.5 cm
const Box3f kTank{Vec3f(0, 0, 0), Vec3f(32, 24, 16)};
constexpr SurfaceMode kModes[] = {SurfaceMode::ellipsoids, SurfaceMode::spheres, SurfaceMode::averaged,
                                  SurfaceMode::corrected};

// Across x through a point, tilted around z.
struct Plate {
    Vec3f middle = Vec3f(16.3f, 6, 8);
    float tilt = 0; // [degrees]

    Vec3f normal() const
    {
        const auto angle = static_cast<float>(tilt * kPi / 180);
        return {std::cos(angle), std::sin(angle), 0};
    }
    float beyond(const Vec3f& x) const { return normal().dot(x - middle); }
    Shape shape() const
    {
        ShapeParams params;
        params.min = middle - Vec3f(0.5f * kThickness, 60, 8), params.max = middle + Vec3f(0.5f * kThickness, 60, 8);
        params.rotate = {{1, 0, 0, 1, tilt}};
        return Shape(params, "a test");
    }
};

std::unique_ptr<Solids> solids_of(Shape shape, float frame = 1)
{
    auto solids = std::make_unique<Solids>(DomainParams(), std::vector<Shape>{std::move(shape)}, 24.0f);
    solids->find_sheets(1);
    solids->set_frame(frame);
    return solids;
}

template <class Inside> Particles filled(const Inside& inside)
{
    Particles particles;
    const std::vector<Vec3f> places = jittered({0, 0, 0}, {32, 24, 16}, 3, inside);
    particles.resize(places.size());
    particles.P = places;
    return particles;
}

// Up to a height, and up to the plate's faces.
Particles beside(const Plate& plate, float before, float behind)
{
    return filled([&](const Vec3f& p) {
        const float beyond = plate.beyond(p);
        return std::abs(beyond) > 0.5f * kThickness && p.y() < (beyond < 0 ? before : behind);
    });
}

void expect_sound(const Mesh& mesh)
{
    EXPECT_TRUE(is_closed(mesh));
    ASSERT_EQ(mesh.velocities.size(), mesh.positions.size());
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        ASSERT_TRUE(mesh.positions[i].allFinite() && mesh.velocities[i].allFinite());
        ASSERT_NEAR(mesh.normals[i].norm(), 1, 1e-4);
    }
}

} // namespace

TEST(ThinWalls, PoolEndsAtAWall)
{
    for (const float tilt : {0.0f, 20.0f, -35.0f, 65.0f})
        for (const SurfaceMode mode : kModes) {
            const Plate plate{.tilt = tilt};
            const Particles pool = beside(plate, 12, 0);
            const auto solids = solids_of(plate.shape());
            const Mesh mesh = make_surface(pool, 1, with_mode(mode), kTank, {}, solids.get()).mesh;
            expect_sound(mesh);
            float most = -kInfinity;
            for (const Vec3f& x : mesh.positions) most = std::max(most, plate.beyond(x));
            EXPECT_LT(most, 0.1f) << "tilted by " << tilt << ", mode " << static_cast<int>(mode);
            EXPECT_GT(most, -0.5f) << "but it reaches the wall";
            const double before = volume_of(make_surface(pool, 1, with_mode(mode), kTank).mesh);
            EXPECT_NEAR(volume_of(mesh) / before, 1, 0.01)
                << "tilted by " << tilt << ", mode " << static_cast<int>(mode);
        }
}

TEST(ThinWalls, HighLiquidDoesNotShowBehindAWall)
{
    for (const float tilt : {0.0f, 20.0f, -35.0f})
        for (const SurfaceMode mode : kModes) {
            const Plate plate{.tilt = tilt};
            const auto solids = solids_of(plate.shape());
            const Surface surface = make_surface(beside(plate, 15, 6), 1, with_mode(mode), kTank, {}, solids.get());
            expect_sound(surface.mesh);
            for (const Vec3f& x : surface.mesh.positions)
                if (plate.beyond(x) > 0.1f) {
                    EXPECT_LT(x.y(), 7) << "tilted by " << tilt << ", mode " << static_cast<int>(mode);
                }
        }
}

TEST(ThinWalls, SurfaceStaysInsideAnOpenBowl)
{
    const Vec3f center(16, 14, 8);
    constexpr float kRadius = 7.5f;
    Mesh bowl = sphere_mesh(center, kRadius, 4);
    std::erase_if(bowl.triangles, [&](const Vec3i& t) {
        return std::ranges::any_of(t, [&](int i) { return bowl.positions[i].y() > 15; });
    });
    const TempFolder folder;
    write_mesh(folder / "bowl.obj", bowl);
    ShapeParams params;
    params.shape = ShapeParams::Kind::mesh, params.file = folder / "bowl.obj";
    const auto solids = solids_of(Shape(params, "a test", nullptr, true));
    const Particles soup = filled([&](const Vec3f& p) { return (p - center).norm() < kRadius - 0.1f && p.y() < 13; });
    for (const SurfaceMode mode : kModes) {
        const Mesh mesh = make_surface(soup, 1, with_mode(mode), {}, {}, solids.get()).mesh;
        expect_sound(mesh);
        for (const Vec3f& x : mesh.positions) EXPECT_LT((x - center).norm(), kRadius + 0.1f);
    }
}

TEST(ThinWalls, MovingWallCutsAtItsPositionInTheFrame)
{
    Plate plate;
    ShapeParams params = plate.shape().params();
    params.translate = {{1, 0, 0, 0}, {11, -10, 0, 0}};
    const auto solids = solids_of(Shape(params, "a test"), 6);
    plate.middle.x() -= 5;
    const Mesh mesh = make_surface(beside(plate, 12, 0), 1, {}, kTank, {}, solids.get()).mesh;
    for (const Vec3f& x : mesh.positions) EXPECT_LT(plate.beyond(x), 0.1f);
}

TEST(ThinWalls, DistanceEndsAtWalls)
{
    for (const SurfaceMode mode : kModes) {
        const Plate plate{.tilt = 20};
        const auto solids = solids_of(plate.shape());
        SurfaceParams params = with_mode(mode);
        params.sdf = true;
        const Surface surface = make_surface(beside(plate, 12, 0), 1, params, kTank, {}, solids.get());
        const Topology& topology = *surface.topology;
        for (int t = 0; t < topology.tile_count(); ++t)
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3f x = (topology.first_cell(t) + cell_in_tile(c)).cast<float>() + Vec3f::Constant(0.5f);
                const float beyond = plate.beyond(x), phi = surface.phi.tile(t)[c];
                if (beyond > 0.5f * kThickness) {
                    EXPECT_GT(phi, 0);
                }
                const bool filled = mode == SurfaceMode::ellipsoids; // others have small gaps inside
                if (filled && beyond < -1.5f && x.y() < 10 && kTank.contains(x)) {
                    EXPECT_LT(phi, 0);
                }
            }
    }
}

TEST(ThinWalls, ColoursDoNotPassThroughWalls)
{
    const Plate plate;
    Particles both = beside(plate, 12, 12);
    std::vector<float>& colour = both.attribute<float>("colour");
    for (size_t i = 0; i < both.size(); ++i) colour[i] = plate.beyond(both.P[i]) > 0 ? 1.0f : 0.0f;
    const auto solids = solids_of(plate.shape());
    SurfaceParams params;
    params.attributes = "colour";
    const Mesh mesh = make_surface(both, 1, params, kTank, {}, solids.get()).mesh;
    const auto& carried = std::get<std::vector<float>>(mesh.attributes.at("colour"));
    for (size_t i = 0; i < mesh.positions.size(); ++i)
        EXPECT_EQ(carried[i], plate.beyond(mesh.positions[i]) > 0 ? 1.0f : 0.0f);
}

TEST(ThinWalls, SurfaceAwayFromWallsIsUnchanged)
{
    const Plate plate;
    const Particles pool = filled([](const Vec3f& p) { return p.x() < 10 && p.y() < 8; });
    const auto solids = solids_of(plate.shape());
    const Surface with = make_surface(pool, 1, {}, kTank, {}, solids.get()), without = make_surface(pool, 1, {}, kTank);
    EXPECT_TRUE(same_bits(with.mesh.positions, without.mesh.positions));
    EXPECT_TRUE(same_bits(with.mesh.normals, without.mesh.normals));
}

TEST(ThinWalls, BitIdenticalForAnyNumberOfThreads)
{
    const Plate plate{.tilt = 20};
    const auto solids = solids_of(plate.shape());
    const auto made_with = [&](int threads) {
        return with_threads(threads,
                            [&] { return make_surface(beside(plate, 15, 6), 1, {}, kTank, {}, solids.get()).mesh; });
    };
    const Mesh one = made_with(1), more = made_with(7);
    EXPECT_TRUE(same_bits(one.positions, more.positions));
    EXPECT_TRUE(same_bits(one.normals, more.normals));
    EXPECT_TRUE(same_bits(one.triangles, more.triangles));
}

} // namespace spindrift
