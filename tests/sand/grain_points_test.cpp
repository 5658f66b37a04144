#include "spindrift/sand/grain_points.h"

#include "base/determinism.h"
#include "sand/sands.h"

#include <gtest/gtest.h>
#include <map>

using namespace spindrift;

namespace {

constexpr float kVoxel = 0.1f, kRadius = 0.25f * kVoxel;

// Round particles, eight in each of 6 x 6 x 6 cells, that fill a share of their volume.
Particles lattice(float share)
{
    SandScene scene(0.5f, Vec3f::Constant(-1), Vec3f::Constant(1), kVoxel);
    scene.fill_box(Vec3f::Constant(-0.3f), Vec3f::Constant(0.3f));
    Particles sand = scene.start()->particles();
    for (float& m : sand.attribute<float>(kMass)) m *= share;
    return sand;
}

void set_shape(Particles& sand, size_t i, const Mat3f& a)
{
    sand.attribute<Vec3f>(kShapeDiagonal)[i] = a.diagonal();
    sand.attribute<Vec3f>(kShapeShear)[i] = Vec3f(a(0, 1), a(1, 2), a(0, 2));
}

Mat3f shape_at(Particles& sand, size_t i)
{
    return shape_of(sand.attribute<Vec3f>(kShapeDiagonal)[i], sand.attribute<Vec3f>(kShapeShear)[i]);
}

// The flow x -> map x + shift in one second.
struct AffineFlow {
    Mat3f map = Mat3f::Identity();
    Vec3f shift = Vec3f::Zero();

    Vec3f operator()(const Vec3f& x) const { return map * x + shift; }
    Particles start(Particles sand) const
    {
        for (size_t i = 0; i < sand.size(); ++i) sand.v[i] = (*this)(sand.P[i]) - sand.P[i];
        return sand;
    }
    Particles move(Particles sand) const
    {
        for (size_t i = 0; i < sand.size(); ++i) {
            const Vec3f x = sand.P[i];
            sand.P[i] = (*this)(x), sand.v[i] = sand.P[i] - x;
            set_shape(sand, i, map * shape_at(sand, i) * map.transpose());
        }
        return sand;
    }
};

GrainPoints points_of(const Particles& sand)
{
    SandParams params;
    params.voxel = kVoxel, params.gravity = Vec3f::Zero();
    GrainPoints points(params, {}, 1);
    points.start(sand, 1);
    return points;
}

// Distances of points from where the flow takes them [cells], sorted; and how many of the previous points still exist.
struct Errors {
    std::vector<float> error;
    size_t before = 0;
    Errors(const Particles& from, const Particles& to, const AffineFlow& flow) : before(from.size())
    {
        std::map<int32_t, Vec3f> start;
        for (size_t i = 0; i < from.size(); ++i) start[from.id[i]] = from.P[i];
        for (size_t i = 0; i < to.size(); ++i)
            if (const auto found = start.find(to.id[i]); found != start.end())
                error.push_back((to.P[i] - flow(found->second)).norm() / kVoxel);
        std::sort(error.begin(), error.end());
    }
    float at(double share) const
    {
        const auto k = static_cast<size_t>(share * static_cast<double>(before));
        return k < error.size() ? error[k] : kInfinity;
    }
};

} // namespace

TEST(GrainPoints, FollowTheFlow)
{
    const Particles sand = lattice(0.5f);
    AffineFlow fall{Mat3f::Identity(), Vec3f(0.31f, -1.7f, 0.05f)}, shear = fall, turn = fall, spread = fall;
    shear.map(0, 1) = 0.4f;
    turn.map = Eigen::AngleAxisf(0.6f, Vec3f(1, 2, -1).normalized()).toRotationMatrix();
    spread.map *= 1.3f;
    for (const AffineFlow& flow : {fall, shear, turn, spread}) {
        GrainPoints points = points_of(flow.start(sand));
        const Particles before = points.points();
        const GrainReport report = points.advance(flow.move(sand));
        EXPECT_GT(before.size(), 15000u);
        EXPECT_EQ(report.made, 0u);
        EXPECT_EQ(report.given_up, 0u);
        EXPECT_LT(Errors(before, points.points(), flow).at(1 - 1e-4), 0.02f); // [cells]
    }
}

TEST(GrainPoints, MoveToTheHalvesOfASplitParticle)
{
    const Particles sand = lattice(0.5f);
    AffineFlow flow;
    flow.map.diagonal() = Vec3f(1.45f, 1, 1), flow.shift = Vec3f(0, -1, 0);
    Particles next = flow.move(sand);
    int next_id = static_cast<int>(sand.size());
    const float whole = sand.find<float>(kMass)->front();
    const FlowAtSplit still = {Mat3f::Zero(), Vec3f::Zero()};
    ParticleShapes(kRadius, {whole})
        .split(next, std::vector<uint8_t>(sand.size(), 1), std::vector<FlowAtSplit>(sand.size(), still), next_id);
    ASSERT_EQ(next.size(), 2 * sand.size());
    GrainPoints points = points_of(flow.start(sand));
    const Particles before = points.points();
    const GrainReport report = points.advance(next);
    const Errors errors(before, points.points(), flow);
    EXPECT_EQ(report.given_up, 0u);
    EXPECT_NEAR(static_cast<double>(points.points().size()), static_cast<double>(before.size()),
                0.02 * static_cast<double>(before.size()));
    EXPECT_GT(report.handed_on, before.size() / 3);
    EXPECT_LT(errors.at(0.8), 0.005f);
    EXPECT_LT(errors.at(1 - 1e-4), 0.2f); // points that are pulled in
}

TEST(GrainPoints, MoveToTheMergedParticle)
{
    const Particles sand = lattice(0.25f);
    const AffineFlow flow{Mat3f::Identity(), Vec3f(0.2f, -1, 0)};
    const Particles moved = flow.move(sand);
    // Merge neighbours along x (5.43).
    Particles next = moved;
    std::vector<uint8_t> keep(next.size(), 1);
    std::map<std::array<int, 3>, size_t> first;
    for (size_t i = 0; i < sand.size(); ++i) {
        const Vec3i place = cell_of(sand.P[i], 2 / kVoxel);
        const auto [partner, is_first] = first.emplace(std::array{place.x() >> 1, place.y(), place.z()}, i);
        if (is_first) continue;
        const size_t j = partner->second;
        const Vec3f apart = 0.5f * (moved.P[i] - moved.P[j]);
        keep[i] = 0;
        next.P[j] += apart, next.attribute<float>(kMass)[j] *= 2;
        set_shape(next, j, shape_at(next, j) + apart * apart.transpose());
    }
    remove_particles(next, keep);
    ASSERT_EQ(next.size(), sand.size() / 2);
    GrainPoints points = points_of(flow.start(sand));
    const Particles before = points.points();
    const GrainReport report = points.advance(next);
    const Errors errors(before, points.points(), flow);
    EXPECT_EQ(points.points().size(), before.size());
    EXPECT_EQ(report.made, 0u);
    EXPECT_LT(errors.at(0.8), 0.005f);
    EXPECT_LT(errors.at(1 - 1e-4), 0.2f);
}

TEST(GrainPoints, ExistOnlyWhereVisible)
{
    const Particles sand = lattice(1);
    GrainPoints points = points_of(sand);
    for (const Vec3f& x : points.points().P) EXPECT_GT(x.cwiseAbs().maxCoeff(), 0.5f * kVoxel);
    const double shown = static_cast<double>(points.points().size());
    EXPECT_LT(shown, 0.98 * 24 * 1728);

    // Broken apart: inner particles get their points where they would have been.
    AffineFlow flow;
    flow.map *= 1.3f;
    const GrainReport report = points.advance(flow.move(sand));
    EXPECT_NEAR(static_cast<double>(points.points().size()), 24 * 1728, 0.01 * 24 * 1728);
    EXPECT_EQ(static_cast<double>(report.made), static_cast<double>(points.points().size()) - shown);

    // And back.
    points.advance(sand);
    EXPECT_NEAR(static_cast<double>(points.points().size()), shown, 0.01 * shown);
}

TEST(GrainPoints, NormalsPointOutOfTheSand)
{
    const GrainPoints points = points_of(lattice(1));
    const auto& normal = *points.points().find<Vec3f>(kNormal);
    int sides = 0;
    for (size_t i = 0; i < normal.size(); ++i) {
        Vec3f x = points.points().P[i];
        // near an edge or corner of the block
        if (x.cwiseAbs().maxCoeff() < 0.26f || x.cwiseAbs().minCoeff() > 0.2f) continue;
        int axis;
        x.cwiseAbs().maxCoeff(&axis);
        x[axis] = 0;
        if (x.cwiseAbs().maxCoeff() > 0.2f) continue;
        EXPECT_GT(normal[i][axis] * points.points().P[i][axis], 0.0f);
        ++sides;
    }
    EXPECT_GT(sides, 1000);
}

// Other programs see the same bumps that our renderer shows: adjacent grains differ.
TEST(GrainPoints, NormalsVaryFromGrainToGrain)
{
    GrainPoints points = points_of(lattice(1));
    const auto bumps = [&] {
        const auto& normal = *points.points().find<Vec3f>(kNormal);
        std::map<int32_t, Vec3f> top;
        for (size_t i = 0; i < normal.size(); ++i)
            if (const Vec3f& x = points.points().P[i]; x.y() > 0.27f && Vec3f(x.x(), 0, x.z()).norm() < 0.15f)
                top[points.points().id[i]] = normal[i];
        return top;
    };
    const std::map<int32_t, Vec3f> before = bumps();
    ASSERT_GT(before.size(), 300u);
    Vec3d mean = Vec3d::Zero(), square = Vec3d::Zero();
    for (const auto& [id, n] : before) mean += n.cast<double>(), square += n.cast<double>().cwiseAbs2();
    mean /= static_cast<double>(before.size()), square /= static_cast<double>(before.size());
    const Vec3d spread = (square - mean.cwiseAbs2()).cwiseSqrt();
    EXPECT_GT(mean.y(), 0.8);
    EXPECT_NEAR(spread.x(), 0.5 / std::sqrt(3.0), 0.05); // uniform between -0.5 and 0.5
    EXPECT_NEAR(spread.z(), 0.5 / std::sqrt(3.0), 0.05);
    points.advance(lattice(1));
    for (const auto& [id, n] : bumps())
        if (before.contains(id)) {
            EXPECT_LT((n - before.at(id)).norm(), 0.05f);
        } // they stay with their grains
}

TEST(GrainPoints, VelocitiesMatchTheirDisplacements)
{
    const Particles sand = lattice(0.5f);
    AffineFlow shear, turn;
    shear.map(0, 1) = 0.4f, shear.shift = Vec3f(0.31f, -1.7f, 0.05f);
    turn.map = Eigen::AngleAxisf(0.3f, Vec3f(1, 2, -1).normalized()).toRotationMatrix();
    for (const AffineFlow& flow : {shear, turn}) {
        GrainPoints points = points_of(flow.start(sand));
        std::map<int32_t, Vec3f> before;
        for (size_t i = 0; i < points.points().size(); ++i) before[points.points().id[i]] = points.points().P[i];
        points.advance(flow.move(sand));
        float worst = 0;
        for (size_t i = 0; i < points.points().size(); ++i)
            if (const auto found = before.find(points.points().id[i]); found != before.end())
                worst = std::max(worst, (points.points().v[i] - (points.points().P[i] - found->second)).norm());
        EXPECT_LT(worst, 1e-4f); // a particle's own velocity is off by 0.04 m/s
    }
}

TEST(GrainPoints, KeepTheirNumberInAnExpandingCloud)
{
    SandScene scene(0.5f, Vec3f::Constant(-3), Vec3f::Constant(3));
    scene.params.gravity = Vec3f(0, -9.81f, 0);
    scene.fill_box(Vec3f::Constant(-0.08f), Vec3f::Constant(0.08f));
    const auto sand = scene.start();
    GranularSand::State state = sand->state();
    for (size_t i = 0; i < state.particles.size(); ++i) state.particles.v[i] = 4 * state.particles.P[i];
    state.speed = 1;
    sand->restore(std::move(state));
    SandParams params = scene.params;
    GrainPoints points(params, {}, kFps);
    points.start(sand->particles(), 1);
    size_t splits = 0;
    double all = 0, good = 0, lost = 0;
    for (int f = 0; f < 8; ++f) {
        splits += sand->advance().splits;
        const Particles before = points.points();
        lost += static_cast<double>(points.advance(sand->particles()).given_up);
        // All velocities are proportional to the distance from the falling centre at all times: a map by (1 + 4 t).
        const float t = static_cast<float>(f) / kFps, s = t + 1 / kFps;
        const auto fallen = [](float at) { return Vec3f(0, -0.5f * 9.81f * at * at, 0); };
        AffineFlow exact;
        exact.map *= (1 + 4 * s) / (1 + 4 * t), exact.shift = fallen(s) - exact.map * fallen(t);
        std::map<int32_t, Vec3f> start;
        for (size_t i = 0; i < before.size(); ++i) start[before.id[i]] = before.P[i];
        for (size_t i = 0; i < points.points().size(); ++i)
            if (const auto found = start.find(points.points().id[i]); found != start.end()) {
                all += 1;
                good += (points.points().P[i] - exact(found->second)).norm() < 0.1f * scene.params.voxel;
            }
    }
    EXPECT_GT(splits, 1000u);
    EXPECT_GT(good / all, 0.85);
    EXPECT_LT(lost / all, 0.001);
    EXPECT_NEAR(static_cast<double>(points.points().size()), 24 * 512 * 8, 0.05 * 24 * 512 * 8);
}

TEST(GrainPoints, BitIdenticalForAnyNumberOfThreadsAndAfterResuming)
{
    std::vector<Particles> frames;
    SandScene scene(0.4f, Vec3f(-0.4f, 0, -0.4f), Vec3f(0.4f, 0.6f, 0.4f));
    scene.fill_box(Vec3f(-0.1f, 0, -0.1f), Vec3f(0.1f, 0.3f, 0.1f));
    ColliderParams plate; // that rises
    plate.min = Vec3f(-0.4f, 0.1f, -0.4f), plate.max = Vec3f(0.4f, 0.102f, 0.4f);
    plate.translate = {{1, 0, 0, 0}, {11, 0, 0.1f, 0}};
    scene.params.colliders = {plate};
    const auto sand = scene.start();
    for (int f = 0; f < 5; ++f, sand->advance()) frames.push_back(sand->particles());
    const auto run = [&](int threads, size_t resumed) {
        return with_threads(threads, [&] {
            auto points =
                std::make_unique<GrainPoints>(scene.params, GrainParams(), kFps, shapes_of(scene.params.colliders));
            points->start(frames[0], 1);
            for (size_t f = 1; f < frames.size(); ++f) {
                if (f == resumed) {
                    GrainPoints::State state = points->state();
                    points = std::make_unique<GrainPoints>(scene.params, GrainParams(), kFps,
                                                           shapes_of(scene.params.colliders));
                    points->restore(std::move(state), frames[f - 1], static_cast<int>(f));
                }
                points->advance(frames[f]);
            }
            return points->points();
        });
    };
    const Particles one = run(1, 0);
    for (const Particles& other : {run(3, 0), run(2, 3)}) {
        EXPECT_EQ(one.P, other.P);
        EXPECT_EQ(one.v, other.v);
        EXPECT_EQ(one.id, other.id);
        EXPECT_EQ(one.attributes, other.attributes);
    }
}

TEST(GrainPoints, NoSandGivesNoPoints)
{
    GrainPoints points = points_of({});
    EXPECT_EQ(points.points().size(), 0u);
    EXPECT_EQ(points.advance({}).points, 0u);
    EXPECT_GT(points.advance(lattice(1)).points, 0u);
    EXPECT_EQ(points.advance({}).points, 0u);
}
