#include "field/flows.h"

#include "base/determinism.h"
#include "field/dense.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr Advection kSchemes[] = {Advection::semi_lagrangian, Advection::maccormack, Advection::bfecc};

// Reference: trilinear interpolation of single cells in double.
double trilinear(const Field<float>& field, const Vec3d& x) // x in cells, values at centres
{
    const Vec3d p = x - Vec3d::Constant(0.5);
    const Vec3i base(static_cast<int>(std::floor(p.x())), static_cast<int>(std::floor(p.y())),
                     static_cast<int>(std::floor(p.z())));
    double sum = 0;
    for (int k = 0; k < 8; ++k) {
        const Vec3i corner = base + Vec3i(k >> 2, k >> 1 & 1, k & 1);
        double weight = 1;
        for (int a = 0; a < 3; ++a) weight *= 1 - std::abs(p[a] - corner[a]);
        sum += weight * field.at(corner);
    }
    return sum;
}

TEST(Advection, UniformFlowMatchesDirectInterpolation)
{
    const Topology topology = topology_of(random_tiles(Vec3i::Constant(-2), Vec3i::Constant(3), 0.6f, 7));
    for (const Vec3f& flow : {Vec3f(0.4f, -0.7f, 1.1f), Vec3f(-2.3f, 1.9f, 0.2f), Vec3f(6.1f, -5.2f, 3.7f)}) {
        MacField velocity;
        set_velocity(velocity, topology, [&](const Vec3f&) { return flow; });
        Field<float> value;
        Random random(3);
        value.reset(topology, 0);
        for (float& v : value.values()) v = random.uniform();
        Field<float> moved;
        moved.copy_from(value);
        advect_steps(velocity, Advection::semi_lagrangian, 1, moved);
        for (int tile = 0; tile < topology.tile_count(); ++tile)
            for (int c = 0; c < kTileCells; c += 7) {
                const Vec3d x = (topology.first_cell(tile) + cell_in_tile(c)).cast<double>() + Vec3d::Constant(0.5);
                EXPECT_NEAR(moved.tile(tile)[c], trilinear(value, x - flow.cast<double>()), 2e-5);
            }
    }
}

// One full rotation of a smooth field. With twice the cells and half the time step, second-order schemes must leave a
// quarter of the error and the first-order scheme half.
TEST(Advection, ErrorsConvergeAtTheOrderOfTheScheme)
{
    const auto error = [](Advection scheme, int cells) {
        const auto bump = [&](const Vec3f& x) {
            const float u = x.x() / static_cast<float>(cells) - 0.5f, v = x.y() / static_cast<float>(cells) - 0.68f;
            return std::exp(-(u * u + v * v) / 0.01f);
        };
        const Topology topology = Topology::covering(Vec3i(0, 0, 0), Vec3i(cells, cells, 1));
        MacField velocity;
        const int steps = 3 * cells;
        set_velocity(velocity, topology,
                     Turning{0.5f * static_cast<float>(cells), static_cast<float>(2 * kPi / steps)});
        Field<float> value;
        set_values(value, topology, bump);
        advect_steps(velocity, scheme, steps, value);
        return relative_error(value, cells, bump);
    };
    const double least_order[] = {0.5, 1.6, 1.6};
    double before = 1;
    for (size_t s = 0; s < 3; ++s) {
        const double coarse = error(kSchemes[s], 40), fine = error(kSchemes[s], 80);
        EXPECT_GT(std::log2(coarse / fine), least_order[s]) << "scheme " << s << ": " << coarse << ", " << fine;
        EXPECT_LT(fine, before) << "scheme " << s;
        before = s == 0 ? 0.2 * fine : before; // the second-order schemes must be far better
    }
}

TEST(Advection, NoSchemeCreatesNewExtrema)
{
    const Topology topology = Topology::covering(Vec3i(0, 0, 0), Vec3i(64, 64, 1));
    MacField velocity;
    set_velocity(velocity, topology, Turning{32, 0.03f});
    for (const Advection scheme : kSchemes) {
        Field<float> value;
        set_values(value, topology, [](const Vec3f& x) { return zalesak_disc(x, 64); });
        advect_steps(velocity, scheme, 60, value);
        const auto [low, high] = std::minmax_element(value.values().begin(), value.values().end());
        EXPECT_GE(*low, 0);
        EXPECT_LE(*high, 1);
        EXPECT_GT(*high, 0.5f);
    }
}

TEST(Advection, ClosedSidesKeepValuesInside)
{
    // The flow points into the walls; values next to them must not fade.
    const Topology topology = Topology::covering(Vec3i(0, 0, 0), Vec3i(16, 16, 16));
    MacField velocity;
    set_velocity(velocity, topology, [](const Vec3f& x) { return Vec3f(x.x() < 8 ? 1.0f : -1.0f, 0.5f, -1.5f); });
    Field<float> value, next;
    value.reset(topology, 1, 0);
    Carrier carrier;
    carrier.velocity = &velocity, carrier.cells = 1;
    carrier.bounds = {Vec3f::Zero(), Vec3f::Constant(16)};
    AdvectionScratch scratch;
    for (const Advection scheme : kSchemes) {
        const AdvectedField field[] = {{Location::center, &value, &next}};
        advect(carrier, scheme, field, scratch);
        for (const float v : next.values()) EXPECT_NEAR(v, 1, 1e-6f);
    }
}

TEST(Advection, FinerGridMovesWithCoarseVelocityPlusDetail)
{
    const Topology coarse = Topology::covering(Vec3i(-8, 0, 0), Vec3i(16, 16, 16));
    const Topology fine = Topology::covering(Vec3i(-32, 0, 0), Vec3i(64, 64, 64));
    const auto wave = [](const Vec3f& x) { return std::sin(0.1f * x.x()) * std::cos(0.07f * x.y() + 0.05f * x.z()); };
    MacField velocity;
    set_velocity(velocity, coarse, [](const Vec3f&) { return Vec3f(0.3f, -0.2f, 0.1f); });
    Field<float> detail[3];
    const Vec3f more(0.2f, 0.1f, -0.3f);
    for (int a = 0; a < 3; ++a) detail[a].reset(fine, more[a]);
    Field<float> value, next;
    set_values(value, fine, wave);
    Carrier carrier;
    carrier.velocity = &velocity, carrier.cells = 4, carrier.refine = 4;
    carrier.detail = detail;
    AdvectionScratch scratch;
    const AdvectedField field[] = {{Location::center, &value, &next}};
    advect(carrier, Advection::maccormack, field, scratch);
    const Vec3f way = 4 * (Vec3f(0.3f, -0.2f, 0.1f) + more);
    for_each_cell(Vec3i(-20, 10, 10), Vec3i(50, 50, 50), [&](const Vec3i& c) {
        if ((c.x() + c.y() + c.z()) % 5) return;
        const Vec3f x = c.cast<float>() + Vec3f::Constant(0.5f);
        EXPECT_NEAR(next.at(c), wave(x - way), 2e-3f);
    });
}

TEST(Advection, SameBitsForAnyNumberOfThreads)
{
    const auto run = [](int threads) {
        return with_threads(threads, [] {
            const Topology topology = topology_of(random_tiles(Vec3i::Constant(-2), Vec3i::Constant(3), 0.6f, 7));
            MacField velocity, next_velocity;
            set_velocity(velocity, topology, Turning{0, 0.05f});
            Field<float> value, next;
            set_values(value, topology, [](const Vec3f& x) { return std::sin(x.x() * x.y() + x.z()); });
            Carrier carrier;
            carrier.velocity = &velocity, carrier.cells = 1;
            AdvectionScratch scratch;
            const AdvectedField fields[] = {{Location::center, &value, &next},
                                            {Location::x_face, &velocity.u[0], &next_velocity.u[0]},
                                            {Location::y_face, &velocity.u[1], &next_velocity.u[1]},
                                            {Location::z_face, &velocity.u[2], &next_velocity.u[2]}};
            advect(carrier, Advection::bfecc, fields, scratch);
            std::vector<float> all;
            for (const AdvectedField& f : fields) all.insert(all.end(), f.out->values().begin(), f.out->values().end());
            return all;
        });
    };
    const auto one = run(1);
    EXPECT_TRUE(same_bits(one, run(2)));
    EXPECT_TRUE(same_bits(one, run(3)));
}

} // namespace
} // namespace spindrift
