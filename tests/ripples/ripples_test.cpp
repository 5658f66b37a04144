#include "base/determinism.h"
#include "ripples/ripples.h"
#include "surface/contour.h"
#include "turbulence/flows.h"

namespace spindrift {

namespace {

constexpr float kVoxel = 0.02f, kGravity = 9.81f, kLevel = 0.17f;
const Vec3i kSize(16, 16, 16);
constexpr float kLength = 16 * kVoxel, kWidth = 16 * kVoxel;

// A tank of which `level` is the height of the water at a place.
struct Tank : FormulaFlow {
    Field<float> distance;

    Tank() : FormulaFlow(Vec3i(-8, -8, -8), kSize + Vec3i(8, 8, 8), kVoxel)
    {
        const Vec3f size = kVoxel * kSize.cast<float>();
        set_solids([&](const Vec3f& x) { return std::min(x.minCoeff(), (size - x).minCoeff()); });
        set_level([](float) { return kLevel; });
    }
    void set_level(const std::function<float(float)>& level)
    {
        constexpr float band = 1.5f * kVoxel;
        distance.reset(topology, band);
        for_each_value(distance, [&](const Vec3i& cell, float& d) {
            const Vec3f x = center(cell);
            d = std::clamp(x.y() - level(x.x()), -band, band);
        });
    }
    Flow with_surface() const { return {velocity, voxel, &solids, &distance}; }
};

RippleParams params(int refine = 4)
{
    RippleParams p;
    p.refine = refine;
    return p;
}

// Ripples of a height and length along x that turbulence does not touch.
Ripples sine(float height, float length, int refine)
{
    RippleParams p = params(refine);
    p.strength = 0;
    Ripples ripples(p);
    const Tank tank;
    ripples.step(tank.with_surface(), kGravity, 0);
    Ripples::State state = ripples.state();
    const Topology tiles(state.tiles);
    for (int t = 0; t < tiles.tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f x = ripples.voxel() * (tiles.first_cell(t) + cell_in_tile(c)).cast<float>();
            state.difference[static_cast<size_t>(t * kTileCells + c)] =
                height * std::sin(2 * static_cast<float>(kPi) * (x.x() + 0.5f * ripples.voxel()) / length);
        }
    ripples.restore(std::move(state));
    return ripples;
}

// Calls body(centre of cell, value) for cells of the tank within half a voxel of still water; returns how many there
// are.
template <class Body> size_t for_each_at_level(const Field<float>& field, float fine, const Body& body)
{
    size_t count = 0;
    for (int t = 0; t < field.topology().tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f cell = (field.topology().first_cell(t) + cell_in_tile(c)).cast<float>();
            const Vec3f x = fine * (cell + Vec3f::Constant(0.5f));
            const bool within = x.x() > 0 && x.x() < kLength && x.z() > 0 && x.z() < kWidth;
            if (!within || std::abs(x.y() - kLevel) > 0.5f * kVoxel) continue;
            body(x, field.tile(t)[c]), ++count;
        }
    return count;
}

double root_mean_square(const Ripples& ripples)
{
    double sum = 0, count = 0;
    for (const float d : ripples.difference().values())
        if (d != 0) sum += static_cast<double>(d) * static_cast<double>(d), ++count;
    return count > 0 ? std::sqrt(sum / count) : 0;
}

// A slosh with shear at a moment [s].
void slosh(Tank& tank, float time)
{
    const float swing = 0.02f * std::cos(8 * time);
    tank.set_level([&](float x) { return kLevel + swing * std::cos(static_cast<float>(kPi) * x / kLength); });
    tank.set_velocity(
        [&](const Vec3f& x) { return Vec3f(4 * (x.y() - 0.1f) * std::sin(8 * time) + 1.5f * x.z(), 0, 0); });
}

} // namespace

// The surface of the next step is where this one's is carried by the liquid and by motion().
// Not reached: 1.6 times the change is missed at this strength.
TEST(Ripples, DISABLED_MotionIsThatOfTheSurface)
{
    RippleParams p = params();
    p.strength = 1, p.start_energy = 0.02f;
    Ripples ripples(p);
    Tank tank;
    tank.set_velocity([](const Vec3f&) { return Vec3f(0, 0, 0); });
    constexpr float kStep = 0.004f;
    for (int i = 0; i < 20; ++i) ripples.step(tank.with_surface(), kGravity, kStep);
    const Ripples::Surface before = ripples.surface();
    const Mesh mesh = contour(before.phi, ripples.voxel(), {}).mesh;
    const Field<Vec3f> motion = ripples.motion(kGravity);
    Topology tiles = ripples.topology();
    Field<Vec3f> kept(tiles, Vec3f::Zero());
    for (int t = 0; t < tiles.tile_count(); ++t) std::copy_n(motion.tile(t), kTileCells, kept.tile(t));
    ripples.step(tank.with_surface(), kGravity, kStep);
    const Ripples::Surface after = ripples.surface();
    double error = 0, with_eddies_alone = 0, change = 0;
    std::vector<Vec3f> eddies(mesh.positions.size());
    ripples.turbulence().velocity().sample_points(mesh.positions, eddies);
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        const Vec3f& x = mesh.positions[i];
        const Vec3f margin = Vec3f(3 * kVoxel, 0, 3 * kVoxel);
        if (((x - margin).array() < 0).any() || x.x() > kLength - margin.x() || x.z() > kWidth - margin.z()) continue;
        const auto sample = [&](const auto& field, const Vec3f& at) {
            const Vec3f q = at / ripples.voxel() - Vec3f::Constant(0.5f);
            const Vec3i low(floor_int(q.x()), floor_int(q.y()), floor_int(q.z()));
            const Vec3f f = q - low.cast<float>();
            auto sum = (0 * field.background()) + (0 * field.background());
            std::decay_t<decltype(field.background())> total = sum;
            for (int c = 0; c < 8; ++c) {
                const Vec3i step(c >> 2, c >> 1 & 1, c & 1);
                const Vec3f share = step.cast<float>().cwiseProduct(2 * f - Vec3f::Ones()) + Vec3f::Ones() - f;
                total += share.prod() * field.at(low + step);
            }
            return total;
        };
        const auto square = [](float d) { return static_cast<double>(d) * static_cast<double>(d); };
        error += square(sample(after.phi, Vec3f(x + kStep * sample(kept, x))));
        with_eddies_alone += square(sample(after.phi, Vec3f(x + kStep * eddies[i])));
        change += square(sample(after.phi, x));
    }
    std::fprintf(stderr, "ripples: %.3f of the change is missed, with eddies alone %.3f\n", std::sqrt(error / change),
                 std::sqrt(with_eddies_alone / change));
    EXPECT_LT(std::sqrt(error / change), 0.3);
}

TEST(Ripples, StillWaterHasNone)
{
    Ripples ripples(params());
    const Tank tank;
    for (int i = 0; i < 10; ++i) ripples.step(tank.with_surface(), kGravity, 0.04f);
    EXPECT_EQ(largest_size(ripples.difference()), 0);
    const Ripples::Surface surface = ripples.surface();
    const size_t near = for_each_at_level(surface.phi, ripples.voxel(), [&](const Vec3f& x, float phi) {
        EXPECT_NEAR(phi * ripples.voxel(), x.y() - kLevel, 0.01f * kVoxel);
    });
    EXPECT_EQ(near, 4u * 64 * 64);
}

TEST(Ripples, SinkInTheTimeOfDeepWaterWaves)
{
    Ripples ripples = sine(0.3f * kVoxel, 2 * kVoxel, 4);
    const Tank tank;
    float time = 0;
    for (const float dt : {0.01f, 0.05f, 0.002f, 0.03f}) ripples.step(tank.with_surface(), kGravity, dt), time += dt;
    // (3.13): tau' = dx / c and c = sqrt(g dx / 2 pi).
    const float speed = std::sqrt(kGravity * kVoxel / (2 * static_cast<float>(kPi)));
    const float left = std::exp(-time * speed / kVoxel);
    EXPECT_LT(left, 0.5f);
    const size_t checked = for_each_at_level(ripples.difference(), ripples.voxel(), [&](const Vec3f& x, float d) {
        const float sine = std::sin(static_cast<float>(kPi) * x.x() / kVoxel);
        EXPECT_NEAR(d, left * 0.3f * kVoxel * sine, 1e-3f * kVoxel);
    });
    EXPECT_EQ(checked, 4u * 64 * 64);
}

TEST(Ripples, HaveTheEnergyOfTheirHeight)
{
    const float height = 0.2f * kVoxel;
    Ripples ripples = sine(height, 2 * kVoxel, 8);
    const Tank tank;
    ripples.step(tank.with_surface(), kGravity, 0);
    // (3.14) with the mean of |sin| over half a wave.
    const float delta = 2 / static_cast<float>(kPi) * height, tau = ripple_time(kVoxel, kGravity);
    const float expected = delta * delta / (tau * tau);
    for (int x = 1; x < kSize.x() - 1; ++x)
        EXPECT_NEAR(ripples.energy().at({x, 8, 8}), expected, 0.02f * expected) << x;
    EXPECT_EQ(ripples.energy().at({8, 2, 8}), 0);
}

TEST(Ripples, KeepTheVolumeAndStayNearTheSurface)
{
    Ripples ripples(params());
    Tank tank;
    const Box3f box = {Vec3f::Zero(), kVoxel * kSize.cast<float>()};
    double highest = 0;
    for (int i = 0; i < 100; ++i) {
        slosh(tank, 0.01f * static_cast<float>(i));
        ripples.step(tank.with_surface(), kGravity, 0.01f);
        highest = std::max(highest, root_mean_square(ripples));
        if (i % 20 != 19) continue;
        const double volume = volume_of(contour(ripples.surface().phi, ripples.voxel(), box).mesh);
        const double expected = static_cast<double>(kLevel) * kSize.x() * kVoxel * kSize.z() * kVoxel;
        EXPECT_NEAR(volume, expected, 0.01 * expected) << "step " << i;
        EXPECT_LE(largest_size(ripples.difference()), 0.75f * kVoxel);
    }
    EXPECT_GT(highest, 0.1 * kVoxel) << "there were ripples";

    // (3.13) wins where nothing stirs any more.
    const double stirred = root_mean_square(ripples);
    tank.set_velocity([](const Vec3f&) { return Vec3f::Zero(); });
    for (int i = 0; i < 30; ++i) ripples.step(tank.with_surface(), kGravity, 0.2f);
    EXPECT_LT(root_mean_square(ripples), 0.35 * stirred);
}

TEST(Ripples, AreTheSameForAnyNumberOfThreadsAndAfterRestoring)
{
    const auto run = [](int threads, int restore_after) {
        return with_threads(threads, [&] {
            auto ripples = std::make_unique<Ripples>(params());
            Tank tank;
            for (int i = 0; i < 8; ++i) {
                if (i == restore_after) {
                    Ripples::State state = ripples->state();
                    ripples = std::make_unique<Ripples>(params());
                    ripples->restore(std::move(state));
                }
                slosh(tank, 0.01f * static_cast<float>(i));
                ripples->step(tank.with_surface(), kGravity, 0.01f);
            }
            const Ripples::Surface surface = ripples->surface();
            return std::vector<float>(surface.phi.values().begin(), surface.phi.values().end());
        });
    };
    const std::vector<float> expected = run(1, -1);
    EXPECT_TRUE(same_bits(expected, run(2, -1)));
    EXPECT_TRUE(same_bits(expected, run(7, -1)));
    EXPECT_TRUE(same_bits(expected, run(2, 5)));
}

} // namespace spindrift
