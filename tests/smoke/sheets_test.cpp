// Smoke at colliders thinner than a cell.
#include "io/temp_folder.h"
#include "smoke/smokes.h"

#include <fstream>

namespace spindrift {

namespace {

struct SmokeAtPlate {
    float thickness, degrees, speed; // upward speed of the plate [m/s]
    bool turbulence;
};

class SmokeSheets : public testing::TestWithParam<SmokeAtPlate> {};

// Fraction of the smoke above a plane.
double share_behind(const Smoke& smoke, float voxel, const Vec3f& middle, const Vec3f& normal)
{
    double behind = 0, total = 0;
    const Topology& topology = smoke.fine_topology();
    for (int tile = 0; tile < topology.tile_count(); ++tile)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f cell = (topology.first_cell(tile) + cell_in_tile(c)).cast<float>();
            const auto density = static_cast<double>(smoke.scalars()[0].value.tile(tile)[c]);
            total += density;
            if (((cell + Vec3f::Constant(0.5f)) * voxel - middle).dot(normal) > 0) behind += density;
        }
    return behind / total;
}

TEST_P(SmokeSheets, LetNoSmokeThrough)
{
    const SmokeAtPlate c = GetParam();
    SmokeParams p;
    p.voxel = c.turbulence ? 0.1f : 0.05f;
    p.domain.min = Vec3f(0, 0, 0), p.domain.max = Vec3f(1, 1.5f, 1);
    close_all_sides(p.domain);
    p.sources = {ball_source(Vec3f(0.5f, 0.25f, 0.5f), 0.15f, 150)};
    p.sources[0].velocity = Vec3f(0, 2, 0);
    p.turbulence.on = c.turbulence;
    Vec3f middle(0.5f, 0.71f, 0.5f);
    SmokeColliderParams plate;
    const Vec3f half(2, 0.5f * c.thickness, 2);
    plate.min = middle - half, plate.max = middle + half;
    plate.rotate = {{1, 0, 0, 1, c.degrees}};
    if (c.speed != 0) plate.translate = {{1, 0, 0, 0}, {25, 0, c.speed, 0}};
    p.colliders = {plate};
    const auto smoke = started_smoke(p);
    for (int frame = 0; frame < 24; ++frame) smoke->advance();
    const double angle = c.degrees * kPi / 180;
    const Vec3f normal = Vec3d(-std::sin(angle), std::cos(angle), 0).cast<float>();
    middle.y() += c.speed;
    EXPECT_LT(share_behind(*smoke, p.fine_voxel(), middle, normal), 1e-3);
    // It accumulates below the plate instead.
    EXPECT_GT(share_behind(*smoke, p.fine_voxel(), middle - 0.25f * normal, normal), 0.3);
}

// An open mesh of two triangles, which has no inside.
TEST(SmokeAtSheets, OpenMeshesLetNoSmokeThrough)
{
    const TempFolder folder;
    const std::string file = folder / "sheet.obj";
    std::ofstream(file) << "v -1 0.41 -1\nv 2 1.01 -1\nv 2 1.01 2\nv -1 0.41 2\nf 1 2 3\nf 1 3 4\n";
    SmokeParams p;
    p.voxel = 0.05f;
    p.domain.min = Vec3f(0, 0, 0), p.domain.max = Vec3f(1, 1.5f, 1);
    close_all_sides(p.domain);
    p.sources = {ball_source(Vec3f(0.5f, 0.25f, 0.5f), 0.15f, 150)};
    p.sources[0].velocity = Vec3f(0, 2, 0);
    ShapeParams sheet;
    sheet.shape = ShapeParams::Kind::mesh, sheet.file = file;
    Smoke smoke(p, {{Shape(p.sources[0], "a test")}, {Shape(sheet, "a test", nullptr, true)}, {}}, 24);
    smoke.start(1);
    for (int frame = 0; frame < 24; ++frame) smoke.advance();
    const Vec3f middle(0.5f, 0.71f, 0.5f), normal = Vec3f(-0.2f, 1, 0).normalized();
    EXPECT_LT(share_behind(smoke, p.fine_voxel(), middle, normal), 1e-3);
    EXPECT_GT(share_behind(smoke, p.fine_voxel(), middle - 0.25f * normal, normal), 0.3);
}

INSTANTIATE_TEST_SUITE_P(Plates, SmokeSheets,
                         testing::Values(SmokeAtPlate{0.02f, 0, 0, false}, SmokeAtPlate{0.02f, 20, 0, false},
                                         SmokeAtPlate{0.001f, 37, 0, false}, SmokeAtPlate{0.02f, 20, 0.2f, false},
                                         SmokeAtPlate{0.01f, 10, -0.1f, false}, SmokeAtPlate{0.02f, 20, 0, true}));

} // namespace

} // namespace spindrift
