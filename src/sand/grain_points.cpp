#include "sand/grain_points.h"

#include "base/random.h"
#include "sand/shapes.h"

#include <Eigen/Cholesky>

namespace spindrift {

namespace {

// Ellipsoids of new particles touch; so much larger they fill the room between them.
constexpr float kFilling = 1.8f;
// A particle whose cell and all cells around are fuller than this cannot be seen.
constexpr float kHidden = 0.85f;
constexpr float kPacking = 0.6f;   // share of grains in sand at rest
constexpr float kBumpiness = 0.5f; // of random normals beside that of the surface
constexpr float kVariety = 0.25f;  // of colours

Vec3f in_ball(Random& random)
{
    for (;;) { // one try in two is outside
        const float x = random.uniform(-1, 1), y = random.uniform(-1, 1), z = random.uniform(-1, 1);
        if (const Vec3f u(x, y, z); u.squaredNorm() <= 1) return u;
    }
}

} // namespace

GrainPoints sample_grains(Particles particles, const std::vector<SandMaterialParams>& materials, float voxel, int each,
                          uint64_t seed)
{
    GrainPoints grains;
    const float whole = voxel * voxel * voxel / 8; // volume of a new particle
    grains.radius = std::cbrt(kPacking * whole * 3 / (4 * static_cast<float>(kPi) * static_cast<float>(each)));
    if (particles.size() == 0) return grains;
    SandGrid grid;
    grid.sort(particles, voxel, Vec3f(0, -1, 0));
    grid.splat(particles, materials);
    const auto& mass = particles.attribute<float>(kMass);
    const auto& material = particles.attribute<int32_t>(kMaterial);
    const auto& diagonal = particles.attribute<Vec3f>(kShapeDiagonal);
    const auto& shear = particles.attribute<Vec3f>(kShapeShear);

    std::vector<GrainPoints> parts(static_cast<size_t>(grid.topology.tile_count()));
    for_each_tile(grid.topology, [&](int tile) {
        if (grid.index.tile_empty(tile)) return;
        thread_local Block<float, 1> kept;
        auto& filled = kept;
        filled.gather(grid.filled, tile);
        GrainPoints& out = parts[static_cast<size_t>(tile)];
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = cell_in_tile(c);
            float emptiest = kInfinity;
            for (int s = 0; s < 27; ++s)
                emptiest =
                    std::min(emptiest, filled.at(cell.x() + s / 9 - 1, cell.y() + s / 3 % 3 - 1, cell.z() + s % 3 - 1));
            if (emptiest > kHidden) continue;
            Vec3f outwards;
            for (int a = 0; a < 3; ++a) {
                const Vec3i low = cell - Vec3i::Unit(a), high = cell + Vec3i::Unit(a);
                outwards[a] = filled.at(low.x(), low.y(), low.z()) - filled.at(high.x(), high.y(), high.z());
            }
            if (outwards.norm() > 1) outwards.normalize();
            for (size_t i = grid.index.cell_begin(tile, c), end = grid.index.cell_end(tile, c); i < end; ++i) {
                const SandMaterialParams& kind = materials[static_cast<size_t>(material[i])];
                const Mat3f root =
                    kFilling * Eigen::LLT<Mat3f>(shape_of(diagonal[i], shear[i])).matrixL().toDenseMatrix();
                Random random(seed, static_cast<uint64_t>(particles.id[i]));
                // A part of a grain is one with that probability.
                const float count = static_cast<float>(each) * mass[i] / (kind.density * whole);
                const int number = static_cast<int>(count + random.uniform());
                for (int k = 0; k < number; ++k) {
                    out.positions.push_back(particles.P[i] + root * in_ball(random));
                    out.normals.push_back(outwards + kBumpiness * in_ball(random));
                    out.colors.push_back(kind.color * (1 + kVariety * random.uniform(-1, 1)));
                }
            }
        }
    });
    for (const GrainPoints& part : parts) {
        grains.positions.insert(grains.positions.end(), part.positions.begin(), part.positions.end());
        grains.normals.insert(grains.normals.end(), part.normals.begin(), part.normals.end());
        grains.colors.insert(grains.colors.end(), part.colors.begin(), part.colors.end());
    }
    return grains;
}

} // namespace spindrift
