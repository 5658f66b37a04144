// The four methods of reconstruction side by side, and ellipsoids against slow references.
#include "base/determinism.h"
#include "spindrift/base/error.h"
#include "spindrift/base/random.h"
#include "spindrift/points/spacing.h"
#include "spindrift/surface/blob_distance.h"
#include "spindrift/surface/surface.h"
#include "surface/jittered.h"

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

using namespace spindrift;

namespace {

constexpr SurfaceMode kModes[] = {SurfaceMode::spheres, SurfaceMode::averaged, SurfaceMode::ellipsoids,
                                  SurfaceMode::corrected};

Particles at(const std::vector<Vec3f>& positions)
{
    Particles particles;
    particles.resize(positions.size());
    particles.P = positions;
    for (size_t i = 0; i < positions.size(); ++i) particles.id[i] = static_cast<int32_t>(i);
    return particles;
}

// One jittered particle in every unit cube where `inside` holds: spacing 1.
template <class Inside> std::vector<Vec3f> filled(const Vec3i& low, const Vec3i& high, const Inside& inside)
{
    return jittered(low, high, 11, inside);
}

std::vector<Vec3f> ball(const Vec3f& center, float radius)
{
    const Vec3i reach = Vec3i::Constant(static_cast<int>(radius) + 2);
    return filled(-reach, reach, [&](const Vec3f& p) { return (p - center).norm() < radius; });
}

std::vector<Vec3f> scattered(size_t count, float spread, uint64_t seed)
{
    Random random(seed);
    std::vector<Vec3f> positions(count);
    for (Vec3f& p : positions) p = spread * Vec3f(random.uniform(), random.uniform(), random.uniform());
    return positions;
}

int euler_characteristic(const Mesh& mesh)
{
    return static_cast<int>(mesh.positions.size()) - static_cast<int>(mesh.triangles.size() / 2);
}

double bed_bump(SurfaceMode mode)
{
    const Box3f tank{Vec3f(0, 0, 0), Vec3f(48, 40, 48)};
    const auto bed = filled({0, 0, 0}, {48, 20, 48}, [](const Vec3f&) { return true; });
    const Mesh mesh = make_surface(at(bed), 1, with_mode(mode), tank).mesh;
    double sum = 0, sum2 = 0, count = 0;
    for (const Vec3f& x : mesh.positions) {
        if (x.y() < 15 || !tank.grown(-4).contains(x)) continue;
        sum += x.y(), sum2 += x.y() * x.y(), ++count;
    }
    return std::sqrt(sum2 / count - sum / count * sum / count);
}

double ball_bump(const Mesh& mesh, const Vec3f& center)
{
    double sum = 0, sum2 = 0;
    for (const Vec3f& x : mesh.positions) sum += (x - center).norm(), sum2 += (x - center).squaredNorm();
    const auto count = static_cast<double>(mesh.positions.size());
    return std::sqrt(sum2 / count - sum / count * sum / count);
}

// A sorted particle set with all inputs of blobs.
struct Sorted {
    Particles particles;
    Topology topology;
    ParticleIndex index;
    std::unique_ptr<Interior> interior;
    BlobScale scale{};

    explicit Sorted(const std::vector<Vec3f>& positions)
        : particles(at(positions)), topology(tiles_around(particles, 1, 0))
    {
        sort_by_tile(particles, topology, 1, index);
        interior = std::make_unique<Interior>(index, topology, 1.0f);
        scale = {.spacing = 1,
                 .search = 2.5f,
                 .size = 1.5f,
                 .drop = 0.62f,
                 .flattest = 0.3f,
                 .thinnest = 0,
                 .droplet = 5,
                 .centring = 0.9f,
                 .global = 0,
                 .fixed_scale = {}};
    }
    Blobs ellipsoids() const { return make_ellipsoids(particles, index, topology, *interior, scale); }
};

Mat3f matrix_of(const Blob& s)
{
    Mat3f g;
    g << s.xx, s.xy, s.xz, s.xy, s.yy, s.yz, s.xz, s.yz, s.zz;
    return g;
}

// Reference: [Jones 2018, (5.3) to (5.9)] over all particles, in double precision.
void expect_as_written(const Sorted& set, const Blob& blob)
{
    using Mat3d = Eigen::Matrix3d;
    const Vec3d x = set.particles.P[blob.particle].cast<double>();
    const double R = static_cast<double>(set.scale.search), size = static_cast<double>(set.scale.size);
    double weight = 0;
    int count = 0;
    Vec3d mean = Vec3d::Zero();
    const auto for_each_neighbour = [&](const auto& body) {
        for (const Vec3f& p : set.particles.P) {
            const double r = (p.cast<double>() - x).norm();
            if (r < R) body(Vec3d(p.cast<double>()), 1 - std::pow(r / R, 3));
        }
    };
    for_each_neighbour([&](const Vec3d& p, double w) { weight += w, mean += w * p, ++count; });
    mean /= weight;
    if (count <= set.scale.droplet) {
        EXPECT_EQ(blob.centre, set.particles.P[blob.particle]);
        EXPECT_TRUE(matrix_of(blob).isApprox(Mat3f::Identity() / set.scale.drop));
        return;
    }
    Mat3d covariance = Mat3d::Zero();
    for_each_neighbour(
        [&](const Vec3d& p, double w) { covariance += w / weight * (p - mean) * (p - mean).transpose(); });
    const Eigen::SelfAdjointEigenSolver<Mat3d> solver(covariance);
    const Vec3d values =
        solver.eigenvalues().cwiseMax(static_cast<double>(set.scale.flattest) * solver.eigenvalues()[2]);
    const Vec3d lengths = size * values / std::cbrt(values.prod());
    const Mat3d g = solver.eigenvectors() * lengths.cwiseInverse().asDiagonal() * solver.eigenvectors().transpose();
    EXPECT_LT((matrix_of(blob).cast<double>() - g).norm(), 2e-3 * g.norm());
    const Vec3d centre = x + static_cast<double>(set.scale.centring) * (mean - x);
    EXPECT_LT((blob.centre.cast<double>() - centre).norm(), 1e-4);
    EXPECT_NEAR(matrix_of(blob).determinant() * std::pow(size, 3), 1, 1e-3); // its volume
}

} // namespace

TEST(SurfaceModes, EllipsoidsMatchTheReference)
{
    for (const float spread : {8.0f, 14.0f, 30.0f}) {
        const Sorted set(scattered(1500, spread, 3));
        const Blobs blobs = set.ellipsoids();
        ASSERT_GT(blobs.list.size(), 700u);
        for (size_t i = 0; i < blobs.list.size(); i += 7) expect_as_written(set, blobs.list[i]);
    }
}

TEST(SurfaceModes, GlobalScaleKeepsTheMeanVolumeOfEllipsoids)
{
    Sorted set(ball(Vec3f::Zero(), 3)); // so small that no particle is deep
    const Blobs local = set.ellipsoids();
    EXPECT_LT(local.least_scale, local.mean_scale);
    EXPECT_LT(local.mean_scale, local.most_scale);
    set.scale.global = 1;
    const Blobs global = set.ellipsoids();
    set.scale.global = 0, set.scale.fixed_scale = global.mean_scale;
    const Blobs fixed = set.ellipsoids();
    double volume = 0;
    for (size_t i = 0; i < global.list.size(); ++i) {
        volume += std::pow(matrix_of(global.list[i]).determinant() * std::pow(set.scale.size, 3.0f), -1.0);
        EXPECT_TRUE(matrix_of(global.list[i]).isApprox(matrix_of(fixed.list[i]), 1e-5f));
    }
    EXPECT_NEAR(volume / static_cast<double>(global.list.size()), 1, 1e-3);
}

TEST(SurfaceModes, DistanceIsTheMinimumOverAllBlobs)
{
    for (const float voxel : {0.4f, 1.0f}) {
        const Sorted set(scattered(400, 12, 5));
        const Blobs blobs = set.ellipsoids();
        const float band = 2;
        const BlobGrid grid = measure_distance(blobs, set.topology, *set.interior, 1, voxel, band);
        size_t near = 0;
        for (int t = 0; t < grid.topology->tile_count(); t += 3)
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3f x =
                    voxel * ((grid.topology->first_cell(t) + cell_in_tile(c)).cast<float>() + Vec3f::Constant(0.5f));
                float least = band * voxel;
                for (const Blob& s : blobs.list) least = std::min(least, s.distance(x));
                // Away from a long ellipsoid, the first-order distance may be too short beyond its box.
                if (least > 0.6f * voxel) continue;
                ASSERT_NEAR(grid.phi.tile(t)[c], std::max(least / voxel, -band), 2e-3) << x.transpose();
                ++near;
            }
        EXPECT_GT(near, 100u);
    }
}

TEST(SurfaceModes, DistanceToAnEllipsoidIsFirstOrderAccurate)
{
    Blob blob{};
    blob.centre = Vec3f(1, 2, 3);
    const Vec3f axes(2, 1, 0.6f);
    blob.xx = 1 / axes.x(), blob.yy = 1 / axes.y(), blob.zz = 1 / axes.z();
    Random random(4);
    for (int k = 0; k < 200; ++k) {
        // A point of the surface, and one slightly farther along its normal.
        const Vec3f u = Vec3f(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)).normalized();
        const Vec3f on = axes.cwiseProduct(u), normal = u.cwiseQuotient(axes).normalized();
        const float step = random.uniform(-0.05f, 0.05f);
        EXPECT_NEAR(blob.distance(blob.centre + on + step * normal), step, 0.01f);
    }
}

TEST(SurfaceModes, EllipsoidsAreThreeTimesAsSmoothAsSpheres)
{
    const double spheres = bed_bump(SurfaceMode::spheres), ellipsoids = bed_bump(SurfaceMode::ellipsoids);
    EXPECT_LT(ellipsoids, 0.1);
    EXPECT_LT(3 * ellipsoids, spheres);
    const Vec3f center(0.3f, 0.2f, 0.1f);
    const std::vector<Vec3f> points = ball(center, 16);
    const auto bump = [&](SurfaceMode mode) {
        return ball_bump(make_surface(at(points), 1, with_mode(mode)).mesh, center);
    };
    EXPECT_LT(3 * bump(SurfaceMode::ellipsoids), bump(SurfaceMode::spheres));
}

TEST(SurfaceModes, BallKeepsItsVolumeInAllModes)
{
    for (const SurfaceMode mode : kModes)
        for (const float voxel : {0.5f, 1.0f}) {
            SurfaceParams params = with_mode(mode);
            params.voxel = voxel;
            const Mesh mesh = make_surface(at(ball(Vec3f(0.3f, 0.2f, 0.1f), 16)), 1, params).mesh;
            EXPECT_TRUE(is_closed(mesh));
            EXPECT_NEAR(volume_of(mesh) / (4 * kPi / 3 * 16 * 16 * 16), 1, 0.02) << static_cast<int>(mode);
        }
}

TEST(SurfaceModes, SheetOneParticleThickHasNoHoles)
{
    for (uint64_t seed = 0; seed < 4; ++seed) {
        Random random(seed);
        std::vector<Vec3f> sheet;
        for (int x = 0; x < 60; ++x)
            for (int z = 0; z < 60; ++z) {
                const float a = static_cast<float>(x) + random.uniform(), b = static_cast<float>(z) + random.uniform();
                sheet.emplace_back(a, 3 * std::sin(0.3f * a) * std::cos(0.25f * b), b);
            }
        const Mesh mesh = make_surface(at(sheet), 1, {}).mesh;
        EXPECT_TRUE(is_closed(mesh));
        EXPECT_EQ(euler_characteristic(mesh), 2);
    }
}

TEST(SurfaceModes, UnevenParticlesGiveClosedMeshes)
{
    std::vector<Vec3f> doubled = ball(Vec3f::Zero(), 8);
    for (size_t i = 0, n = doubled.size(); i < n; i += 2) doubled.push_back(doubled[i]);
    // From one particle per unit cube at one end to ten at the other.
    std::vector<Vec3f> graded;
    Random random(6);
    for (const Vec3f& p : scattered(40000, 16, 8))
        if (random.uniform() < 0.1f + 0.9f * p.x() / 16) graded.push_back(p);
    std::vector<Vec3f> far = ball(Vec3f::Zero(), 6);
    for (Vec3f& p : far) p += Vec3f::Constant(1e6f);
    const std::vector<Vec3f> all[] = {doubled, graded, far, {1000, Vec3f(3, 2, 1)}, {Vec3f(0.1f, 0.2f, 0.3f)}, {}};
    for (const auto& points : all)
        for (const SurfaceMode mode : kModes) {
            const Surface surface = make_surface(at(points), 1, with_mode(mode));
            EXPECT_TRUE(is_closed(surface.mesh)) << points.size() << " in mode " << static_cast<int>(mode);
            for (const Vec3f& x : surface.mesh.positions) ASSERT_TRUE(x.allFinite());
        }
    const double r3 = 4 * kPi / 3 * 512;
    EXPECT_NEAR(volume_of(make_surface(at(doubled), 1, {}).mesh) / r3, 1, 0.05);
    // Coincident particles are one drop.
    EXPECT_LT(volume_of(make_surface(at({1000, Vec3f(3, 2, 1)}), 1, {}).mesh), 2);
}

TEST(SurfaceModes, BlockOfVaryingDensityIsOneBodyAtTheEstimatedSpacing)
{
    // At random, from one particle per unit cube at one end to ten at the other.
    std::vector<Vec3f> points;
    Random random(6), place(8);
    for (int i = 0; i < 160000; ++i) {
        const Vec3f p(64 * place.uniform(), 16 * place.uniform(), 16 * place.uniform());
        if (random.uniform() < 0.1f + 0.9f * p.x() / 64) points.push_back(p);
    }
    const Mesh mesh = make_surface(at(points), *find_spacing(points), {}).mesh;
    EXPECT_TRUE(is_closed(mesh));
    EXPECT_NEAR(volume_of(mesh) / (64 * 16 * 16), 1, 0.03);
    // Within a particle or two; four fifths of the spacing would give dozens of holes.
    EXPECT_NEAR(euler_characteristic(mesh), 2, 8);
}

TEST(SurfaceModes, VerticesCarryVelocityAndAttributesOfNearbyParticles)
{
    for (const SurfaceMode mode : kModes) {
        Particles particles = at(ball(Vec3f::Zero(), 7));
        auto& heat = particles.attribute<float>("heat");
        auto& colour = particles.attribute<Vec3f>("Cd");
        particles.attribute<int32_t>("left_behind");
        for (size_t i = 0; i < particles.size(); ++i)
            heat[i] = particles.P[i].x(), colour[i] = particles.P[i], particles.v[i] = particles.P[i];
        SurfaceParams params = with_mode(mode);
        params.attributes = "heat Cd id";
        const Mesh mesh = make_surface(particles, 1, params).mesh;
        ASSERT_EQ(mesh.attributes.size(), 3u);
        const auto& vertex_heat = std::get<std::vector<float>>(mesh.attributes.at("heat"));
        const auto& vertex_colour = std::get<std::vector<Vec3f>>(mesh.attributes.at("Cd"));
        const auto& vertex_id = std::get<std::vector<int32_t>>(mesh.attributes.at("id"));
        ASSERT_EQ(vertex_heat.size(), mesh.positions.size());
        for (size_t i = 0; i < mesh.positions.size(); ++i) {
            EXPECT_LT((mesh.velocities[i] - mesh.positions[i]).norm(), 3.2f);
            EXPECT_LT((vertex_colour[i] - mesh.positions[i]).norm(), 3.2f);
            EXPECT_EQ(vertex_heat[i], vertex_colour[i].x());
            EXPECT_LT((particles.P[vertex_id[i]] - mesh.positions[i]).norm(), 3.2f);
        }
        params.attributes = "coldness";
        EXPECT_THROW(make_surface(particles, 1, params), Error);
    }
}

TEST(SurfaceModes, ColoursBlendWhereTheyMeet)
{
    for (const bool mixed : {false, true})
        for (const SurfaceMode mode : kModes) {
            Particles particles = at(ball(Vec3f::Zero(), 7));
            std::vector<float> radii;
            for (size_t i = 0; mixed && i < particles.size(); ++i) radii.push_back(i % 2 ? 0.6f : 0.75f);
            auto& color = particles.attribute<Vec3f>("color");
            auto& same = particles.attribute<Vec3f>("same");
            for (size_t i = 0; i < particles.size(); ++i) {
                color[i] = particles.P[i].x() < 0 ? Vec3f(1, 0, 0) : Vec3f(0, 0, 1);
                same[i] = Vec3f(0.1f, 0.7f, 0.3f);
            }
            SurfaceParams params = with_mode(mode);
            params.attributes = "color same";
            params.voxel = 0.5f;
            const Mesh mesh = make_surface(particles, 1, params, {}, radii).mesh;
            const auto& colors = std::get<std::vector<Vec3f>>(mesh.attributes.at("color"));
            float jump = 0;
            for (const Vec3i& triangle : mesh.triangles)
                for (int k = 0; k < 3; ++k)
                    jump = std::max(jump, (colors[triangle[k]] - colors[triangle[(k + 1) % 3]]).cwiseAbs().maxCoeff());
            EXPECT_LT(jump, 0.45f) << "mode " << static_cast<int>(mode) << (mixed ? ", mixed sizes" : "");
            for (size_t i = 0; i < colors.size(); ++i) {
                EXPECT_NEAR(colors[i].x() + colors[i].z(), 1, 1e-5);
                if (mesh.positions[i].x() < -4) {
                    EXPECT_LE((colors[i] - Vec3f(1, 0, 0)).norm(), mixed ? 1e-3f : 0.0f); // invisible in 8 bits
                }
            }
            for (const Vec3f& c : std::get<std::vector<Vec3f>>(mesh.attributes.at("same")))
                EXPECT_EQ(c, Vec3f(0.1f, 0.7f, 0.3f)); // exactly
        }
}

// A large and a small ball, each of its own radius at any position relative to the samples.
TEST(SurfaceModes, ParticlesOfMixedSizesKeepTheirRadii)
{
    for (const SurfaceMode mode : kModes)
        for (const float scale : {1.0f, 1.5f}) {
            const std::vector<Vec3f> centers = {{0.31f, 0.2f, 0.77f}, {12.4f, 0.13f, 0.55f}, {12.4f, 8.2f, 0.6f}};
            const std::vector<float> radii = {4, 1, 0.3f};
            SurfaceParams params = with_mode(mode);
            params.radius_scale = scale;
            const Mesh mesh = make_surface(at(centers), 1, params, {}, radii).mesh;
            EXPECT_TRUE(is_closed(mesh));
            EXPECT_EQ(euler_characteristic(mesh), 6); // three balls
            double volume = 0;
            for (size_t b = 0; b < 3; ++b) {
                const float radius = scale * radii[b];
                volume += 4 * kPi / 3 * std::pow(static_cast<double>(radius), 3);
                float least = kInfinity, most = 0;
                for (const Vec3f& x : mesh.positions) {
                    const float r = (x - centers[b]).norm();
                    if (r < 1.5f * scale * radii[b] + 1) least = std::min(least, r), most = std::max(most, r);
                }
                EXPECT_NEAR(least, radius, 0.12f) << "mode " << static_cast<int>(mode); // a fifth of a voxel
                EXPECT_NEAR(most, radius, 0.12f) << "mode " << static_cast<int>(mode);
            }
            EXPECT_NEAR(volume_of(mesh) / volume, 1, 0.05);
        }
}

// A ball of particles of half and of twice the size has their total volume, as one body.
TEST(SurfaceModes, ParticlesOfMixedSizesFormOneBody)
{
    for (const SurfaceMode mode : {SurfaceMode::averaged, SurfaceMode::ellipsoids}) {
        std::vector<Vec3f> points;
        std::vector<float> radii;
        for (const Vec3f& p : ball(Vec3f::Zero(), 7)) {
            const bool coarse = p.x() < 0;
            for (int k = 0; k < (coarse ? 1 : 8); ++k) {
                const Vec3f step = coarse ? Vec3f(0, 0, 0) : Vec3f(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1);
                points.push_back(p + 0.25f * step), radii.push_back(coarse ? 0.62f : 0.31f);
            }
        }
        const Mesh mesh = make_surface(at(points), 1, with_mode(mode), {}, radii).mesh;
        EXPECT_TRUE(is_closed(mesh));
        EXPECT_EQ(euler_characteristic(mesh), 2) << static_cast<int>(mode);
        EXPECT_NEAR(volume_of(mesh) / (4 * kPi / 3 * 343), 1, 0.1) << static_cast<int>(mode);
    }
}

TEST(SurfaceModes, MovingBlobDoesNotFlicker)
{
    const std::vector<Vec3f> blob = ball(Vec3f::Zero(), 6);
    double least = 1e30, most = 0;
    for (int frame = 0; frame < 48; ++frame) {
        std::vector<Vec3f> moved = blob;
        for (Vec3f& p : moved) p += static_cast<float>(frame) / 48 * Vec3f(1, 0.7f, 0.4f);
        const double volume = volume_of(make_surface(at(moved), 1, {}).mesh);
        least = std::min(least, volume), most = std::max(most, volume);
    }
    EXPECT_LT(most / least - 1, 0.005);
}

// A tile of such a grid extends over more tiles of particles than can be visited.
TEST(SurfaceModes, VoxelFarLargerThanTheParticlesEndsAtOnce)
{
    const std::vector<Vec3f> points = filled({0, 0, 0}, {10, 10, 10}, [](const Vec3f&) { return true; });
    for (const SurfaceMode mode : {SurfaceMode::spheres, SurfaceMode::ellipsoids}) {
        SurfaceParams params = with_mode(mode);
        params.voxel = 2e7f;
        for (const Vec3f& x : make_surface(at(points), 1, params).mesh.positions) EXPECT_TRUE(x.allFinite());
    }
}

TEST(SurfaceModes, BitIdenticalForAnyNumberOfThreads)
{
    std::vector<Vec3f> points = filled({0, 0, 0}, {30, 30, 30}, [](const Vec3f& p) {
        return p.y() < 10 + 4 * std::sin(0.4f * p.x()) || (p - Vec3f(15, 22, 15)).norm() < 4;
    });
    for (const SurfaceMode mode : kModes) {
        const auto made_with = [&](int threads) {
            return with_threads(threads, [&] { return make_surface(at(points), 1, with_mode(mode)); });
        };
        const Surface one = made_with(1);
        for (const int threads : {2, 7}) {
            const Surface more = made_with(threads);
            EXPECT_EQ(one.mesh.positions, more.mesh.positions);
            EXPECT_EQ(one.mesh.normals, more.mesh.normals);
            EXPECT_EQ(one.mesh.velocities, more.mesh.velocities);
            EXPECT_EQ(one.mesh.triangles, more.mesh.triangles);
            EXPECT_TRUE(std::ranges::equal(one.phi.values(), more.phi.values()));
        }
    }
}
