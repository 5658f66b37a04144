#include "spindrift/points/transfer.h"

#include "base/determinism.h"
#include "field/dense.h"
#include "points/random_particles.h"

#include <Eigen/Geometry>
#include <gtest/gtest.h>
#include <map>

namespace spindrift {
namespace {

constexpr float kVoxel = 0.05f;

// Position of component `axis` of a cell, in cells.
Vec3d face_center(const Vec3i& cell, int axis)
{
    Vec3d x = cell.cast<double>().array() + 0.5;
    x[axis] -= 0.5;
    return x;
}

// Calls body(cell, weight, weight gradient) for the eight faces around a point given in cells, in double.
template <class Body> void for_each_face_around(const Vec3d& x, int axis, const Body& body)
{
    Vec3i low;
    for (int a = 0; a < 3; ++a) low[a] = static_cast<int>(std::floor(x[a] - (a == axis ? 0.0 : 0.5)));
    for_each_cell(low, low.array() + 2, [&](const Vec3i& cell) {
        const Vec3d d = face_center(cell, axis) - x;
        const Vec3d tent = 1 - d.array().abs();
        const auto slope = [&](int a) { return d[a] > 0 ? 1.0 : -1.0; };
        body(cell, tent.prod(),
             Vec3d(slope(0) * tent.y() * tent.z(), slope(1) * tent.x() * tent.z(), slope(2) * tent.x() * tent.y()));
    });
}

double interpolated(const Field<float>& u, const Vec3d& x, int axis)
{
    double sum = 0;
    for_each_face_around(x, axis, [&](const Vec3i& cell, double w, const Vec3d&) { sum += w * u.at(cell); });
    return sum;
}

Vec3d interpolated_gradient(const Field<float>& u, const Vec3d& x, int axis)
{
    Vec3d sum = Vec3d::Zero();
    for_each_face_around(x, axis, [&](const Vec3i& cell, double, const Vec3d& slope) { sum += slope * u.at(cell); });
    return sum;
}

Vec3d in_cells(const Vec3f& position) { return position.cast<double>() / static_cast<double>(kVoxel); }

Mat3f affine_of(const Particles& particles, size_t i)
{
    Mat3f c;
    for (int a = 0; a < 3; ++a) c.row(a) = particles.find<Vec3f>(kAffine[a])->at(i);
    return c;
}

struct Grid {
    MacField velocity, weight;
};

Grid on_grid(const SortedParticles& s, Transfer transfer)
{
    Grid grid;
    to_grid(s.particles, s.index, s.topology, kVoxel, transfer, grid.velocity, grid.weight);
    return grid;
}

void set_random(MacField& field, const Topology& topology, uint64_t seed)
{
    field.reset(topology, 0);
    Random random(seed);
    for (auto& u : field.u)
        for (float& value : u.values()) value = random.uniform(-2, 2);
}

// Sets every face from a function of its position [m].
template <class Velocity> void set_velocity(MacField& field, const Topology& topology, const Velocity& velocity)
{
    field.reset(topology, 0);
    for (int a = 0; a < 3; ++a)
        for_each_value(field.u[a], [&](const Vec3i& cell, float& u) {
            u = static_cast<float>(velocity(Vec3d(face_center(cell, a) * static_cast<double>(kVoxel)))[a]);
        });
}

void expect_weighted_means(Transfer transfer)
{
    Particles particles = random_particles(3000, 1, 17);
    add_random_affine(particles, 18);
    const SortedParticles s(std::move(particles), kVoxel, 1);
    const Grid grid = on_grid(s, transfer);
    for (int a = 0; a < 3; ++a) {
        std::map<std::tuple<int, int, int>, std::pair<double, double>> sums; // weighted velocities; weights
        for (size_t i = 0; i < s.particles.size(); ++i) {
            const Vec3d x = in_cells(s.particles.P[i]);
            for_each_face_around(x, a, [&](const Vec3i& cell, double w, const Vec3d&) {
                double u = s.particles.v[i][a];
                if (transfer == Transfer::apic)
                    u += affine_of(s.particles, i).row(a).cast<double>().dot(face_center(cell, a) - x) *
                         static_cast<double>(kVoxel);
                auto& [velocity, weight] = sums[key_of(cell)];
                velocity += w * u, weight += w;
            });
        }
        size_t faces = 0;
        for (int t = 0; t < s.topology.tile_count(); ++t)
            for (int o = 0; o < kTileCells; ++o) {
                const Vec3i cell = s.topology.first_cell(t) + cell_in_tile(o);
                const double w = grid.weight.u[a].tile(t)[o], u = grid.velocity.u[a].tile(t)[o];
                const auto want = sums.find(key_of(cell));
                if (want == sums.end()) {
                    ASSERT_LT(w, 1e-4); // particle on the boundary of its cell
                    if (w == 0) {
                        ASSERT_EQ(u, 0);
                    }
                    continue;
                }
                ++faces;
                const auto [velocity, weight] = want->second;
                ASSERT_NEAR(w, weight, 2e-5 * (1 + weight)) << "axis " << a << " cell " << cell.transpose();
                ASSERT_NEAR(u * w, velocity, 1e-4 * (1 + weight)) << "axis " << a << " cell " << cell.transpose();
                if (weight > 0.05) {
                    ASSERT_NEAR(u, velocity / weight, 1e-3);
                }
            }
        EXPECT_EQ(faces, sums.size()) << "the topology misses faces";
    }
}

TEST(Transfer, ToGridIsTheWeightedMeanOfVelocities) { expect_weighted_means(Transfer::pic); }

TEST(Transfer, ToGridWithApicIsTheWeightedMeanOfAffineVelocities) { expect_weighted_means(Transfer::apic); }

TEST(Transfer, ConstantVelocityRoundTripsThroughTheGrid)
{
    const Vec3f constant(1.25f, -2.5f, 0.75f);
    for (const Transfer transfer : {Transfer::pic, Transfer::flip, Transfer::apic}) {
        Particles particles = random_particles(5000, 1, 4);
        std::fill(particles.v.begin(), particles.v.end(), constant);
        for (const char* name : kAffine) particles.attribute<Vec3f>(name);
        SortedParticles s(std::move(particles), kVoxel, 1);
        const Grid grid = on_grid(s, transfer);
        MacField filled, known;
        filled.copy_from(grid.velocity), known.copy_from(grid.weight);
        for (int a = 0; a < 3; ++a)
            for_each_value(filled.u[a], [&](const Vec3i& cell, float& u) {
                if (known.u[a].at(cell) > 0) {
                    ASSERT_NEAR(u, constant[a], 1e-6f);
                }
            });
        to_particles(filled, filled, transfer, 0.97f, s.index, kVoxel, s.particles);
        for (const Vec3f& v : s.particles.v) ASSERT_LT((v - constant).cwiseAbs().maxCoeff(), 2e-6f);
    }
}

TEST(Transfer, ApicRoundTripsALinearVelocityThroughTheGrid)
{
    Mat3f c;
    c << 0.5f, -2, 1, 3, -1, 0.25f, -0.75f, 1.5f, 2;
    const Vec3f v0(0.3f, -0.2f, 0.1f);
    Particles particles = random_particles(20000, 0.6f, 6);
    for (size_t i = 0; i < particles.size(); ++i) particles.v[i] = v0 + c * particles.P[i];
    for (int a = 0; a < 3; ++a)
        for (Vec3f& row : particles.attribute<Vec3f>(kAffine[a])) row = c.row(a);
    SortedParticles s(std::move(particles), kVoxel, 1);
    Grid grid = on_grid(s, Transfer::apic);
    for (int a = 0; a < 3; ++a)
        for_each_value(grid.velocity.u[a], [&](const Vec3i& cell, float& u) {
            if (!(grid.weight.u[a].at(cell) > 1e-3f)) return;
            const Vec3d x = face_center(cell, a) * static_cast<double>(kVoxel);
            ASSERT_NEAR(u, v0[a] + c.row(a).cast<double>().dot(x), 1e-5);
        });
    const Particles before = s.particles;
    to_particles(grid.velocity, grid.velocity, Transfer::apic, 0, s.index, kVoxel, s.particles);
    for (size_t i = 0; i < before.size(); ++i) {
        ASSERT_LT((s.particles.v[i] - before.v[i]).cwiseAbs().maxCoeff(), 2e-5f);
        ASSERT_LT((affine_of(s.particles, i) - c).cwiseAbs().maxCoeff(), 1e-3f);
    }
}

TEST(Transfer, ToParticlesFollowsTheFormulasOfPicFlipAndApic)
{
    const float flip = 0.9f;
    for (const Transfer transfer : {Transfer::pic, Transfer::flip, Transfer::apic}) {
        SortedParticles s(random_particles(3000, 1, 21), kVoxel, 1);
        MacField now, before;
        set_random(now, s.topology, 22), set_random(before, s.topology, 23);
        const Particles old = s.particles;
        to_particles(now, before, transfer, flip, s.index, kVoxel, s.particles);
        EXPECT_TRUE(same_bits(old.P, s.particles.P));
        for (size_t i = 0; i < old.size(); ++i) {
            const Vec3d x = in_cells(old.P[i]);
            for (int a = 0; a < 3; ++a) {
                double want = interpolated(now.u[a], x, a);
                if (transfer == Transfer::flip) want += flip * (old.v[i][a] - interpolated(before.u[a], x, a));
                ASSERT_NEAR(s.particles.v[i][a], want, 3e-5);
                if (transfer != Transfer::apic) continue;
                const Vec3d slope = interpolated_gradient(now.u[a], x, a) / static_cast<double>(kVoxel);
                ASSERT_LT((affine_of(s.particles, i).row(a).transpose().cast<double>() - slope).cwiseAbs().maxCoeff(),
                          3e-3);
            }
        }
    }
}

// Momentum of particles and grid, for unit masses and lengths in cells. An affine particle has spin: the second moment
// of its weights along an axis is f (1 - f).
struct Momentum {
    Vec3d linear = Vec3d::Zero(), angular = Vec3d::Zero();

    void add(const Vec3d& x, int axis, double momentum)
    {
        const Vec3d p = momentum * Vec3d::Unit(axis);
        linear += p, angular += x.cross(p);
    }
};

Momentum momentum_of(const Particles& particles, bool affine)
{
    Momentum m;
    for (size_t i = 0; i < particles.size(); ++i) {
        const Vec3d x = in_cells(particles.P[i]);
        for (int a = 0; a < 3; ++a) {
            m.add(x, a, particles.v[i][a]);
            if (!affine) continue;
            for (int b = 0; b < 3; ++b) {
                const double y = x[b] - (b == a ? 0.0 : 0.5), f = y - std::floor(y);
                const double spin = f * (1 - f) * affine_of(particles, i)(a, b) * static_cast<double>(kVoxel);
                m.angular += spin * Vec3d(Vec3d::Unit(b)).cross(Vec3d(Vec3d::Unit(a)));
            }
        }
    }
    return m;
}

Momentum momentum_of(Grid& grid)
{
    Momentum m;
    for (int a = 0; a < 3; ++a)
        for_each_value(grid.velocity.u[a], [&](const Vec3i& cell, float& u) {
            m.add(face_center(cell, a), a, static_cast<double>(u) * grid.weight.u[a].at(cell));
        });
    return m;
}

TEST(Transfer, PicAndApicConserveLinearMomentum)
{
    for (const Transfer transfer : {Transfer::pic, Transfer::apic}) {
        Particles particles = random_particles(4000, 1, 31);
        add_random_affine(particles, 32);
        SortedParticles s(std::move(particles), kVoxel, 1);
        Grid grid = on_grid(s, transfer);
        const Vec3d before = momentum_of(s.particles, false).linear, between = momentum_of(grid).linear;
        to_particles(grid.velocity, grid.velocity, transfer, 0, s.index, kVoxel, s.particles);
        const Vec3d after = momentum_of(s.particles, false).linear;
        EXPECT_LT((between - before).cwiseAbs().maxCoeff(), 0.02); // of thousands of particles at about 2 each
        EXPECT_LT((after - before).cwiseAbs().maxCoeff(), 0.02);
    }
}

TEST(Transfer, ApicConservesAngularMomentumAndPicLosesIt)
{
    // Particles in rigid rotation about the z axis, with noise.
    Particles particles = random_particles(4000, 0.6f, 33);
    for (size_t i = 0; i < particles.size(); ++i) {
        const Vec3f x = particles.P[i];
        particles.v[i] = 0.2f * particles.v[i] + Vec3f(-10 * x.y(), 10 * x.x(), 0);
    }
    add_random_affine(particles, 34);
    SortedParticles s(particles, kVoxel, 1);
    Grid grid = on_grid(s, Transfer::apic);
    const Vec3d before = momentum_of(s.particles, true).angular, between = momentum_of(grid).angular;
    to_particles(grid.velocity, grid.velocity, Transfer::apic, 0, s.index, kVoxel, s.particles);
    const Vec3d after = momentum_of(s.particles, true).angular;
    EXPECT_GT(before.norm(), 1e4);
    EXPECT_LT((between - before).norm(), 1e-5 * before.norm());
    EXPECT_LT((after - before).norm(), 1e-5 * before.norm());

    // PIC particles of a single cell lose the variation within the cell.
    Particles few;
    few.resize(64);
    Random random(5);
    for (size_t i = 0; i < few.size(); ++i) {
        few.P[i] = kVoxel * random_vector(random, 0.1f, 0.9f);
        few.v[i] = Vec3f(-few.P[i].y() + 0.5f * kVoxel, few.P[i].x() - 0.5f * kVoxel, 0);
    }
    SortedParticles pic(few, kVoxel, 1);
    const Grid coarse = on_grid(pic, Transfer::pic);
    const double spin = momentum_of(pic.particles, false).angular.z();
    to_particles(coarse.velocity, coarse.velocity, Transfer::pic, 0, pic.index, kVoxel, pic.particles);
    EXPECT_LT(momentum_of(pic.particles, false).angular.z(), 0.6 * spin);
}

// Largest error [m] after a quarter turn in the given number of steps.
double rotation_error(int order, int steps)
{
    const double quarter = 0.5 * kPi, speed = 2; // [rad/s]
    Particles particles = random_particles(300, 0.9f, 41);
    for (Vec3f& p : particles.P) p.z() *= 0.3f;
    const Particles start = particles;
    const Topology everywhere = Topology::covering(Vec3i(-40, -40, -16), Vec3i(40, 40, 16));
    MacField velocity;
    set_velocity(velocity, everywhere, [&](const Vec3d& x) { return Vec3d(-speed * x.y(), speed * x.x(), 0); });
    ParticleIndex index;
    for (int k = 0; k < steps; ++k) {
        sort_by_tile(particles, everywhere, kVoxel, index);
        advect(particles, index, velocity, kVoxel, static_cast<float>(quarter / speed / steps), order);
    }
    double worst = 0;
    for (size_t i = 0; i < particles.size(); ++i) {
        const Vec3f from = start.P[particles.id[i]], to(-from.y(), from.x(), from.z());
        worst = std::max(worst, static_cast<double>((particles.P[i] - to).norm()));
    }
    return worst;
}

TEST(Transfer, AdvectionConvergesAtTheRequestedOrder)
{
    for (const int order : {2, 3}) {
        const double e8 = rotation_error(order, 8), e16 = rotation_error(order, 16), e32 = rotation_error(order, 32);
        std::printf("order %d: error of a quarter turn in 8, 16, 32 steps: %.2e %.2e %.2e\n", order, e8, e16, e32);
        EXPECT_NEAR(std::log2(e8 / e16), order, 0.15) << order;
        if (order == 2) {
            EXPECT_NEAR(std::log2(e16 / e32), order, 0.15);
        }
    }
}

TEST(Transfer, AdvectionIsAccurateUpToTheMaximumDisplacement)
{
    const float dt = 0.1f, speed = kMaxAdvectionCells * kVoxel / dt;
    const Topology everywhere = Topology::covering(Vec3i(-40, -40, -40), Vec3i(40, 40, 40));
    for (const int order : {2, 3})
        for (int a = 0; a < 3; ++a)
            for (const float sign : {-1.0f, 1.0f}) {
                // The velocity grows along the path, so the sampler must cover all of it to be accurate.
                const double growth = 0.3 * static_cast<double>(speed);
                MacField velocity;
                set_velocity(velocity, everywhere, [&](const Vec3d& x) {
                    return Vec3d((static_cast<double>(sign * 0.6f * speed) + growth * x[a]) * Vec3d::Unit(a));
                });
                Particles particles = random_particles(500, 1, 43);
                for (size_t i = 0; i < particles.size(); ++i) particles.P[i] = particles.P[i].cwiseMax(-1).cwiseMin(1);
                const Particles start = particles;
                ParticleIndex index;
                sort_by_tile(particles, everywhere, kVoxel, index);
                advect(particles, index, velocity, kVoxel, dt, order);
                for (size_t i = 0; i < particles.size(); ++i) {
                    const Vec3f from = start.P[particles.id[i]];
                    // Stages of the Runge-Kutta method for a velocity linear in x.
                    const double h = static_cast<double>(dt), x = from[a];
                    const auto u = [&](double y) { return static_cast<double>(sign * 0.6f * speed) + growth * y; };
                    const double k1 = u(x), k2 = u(x + 0.5 * h * k1), k3 = u(x + 0.75 * h * k2);
                    const double want = order == 2 ? x + h * k2 : x + h * (2 * k1 + 3 * k2 + 4 * k3) / 9;
                    if (std::abs(want - x) > static_cast<double>(kMaxAdvectionCells * kVoxel)) continue;
                    ASSERT_NEAR(particles.P[i][a], want, 2e-6) << "order " << order << " axis " << a;
                }
            }
}

TEST(Transfer, SameBitsForAnyNumberOfThreads)
{
    Particles particles = random_particles(40000, 1, 51);
    add_random_affine(particles, 52);
    struct Result {
        std::unique_ptr<SortedParticles> s;
        Grid grid;
        Particles moved;
    };
    for (const Transfer transfer : {Transfer::flip, Transfer::apic}) {
        const auto run = [&](int threads) {
            return with_threads(threads, [&] {
                Result r{std::make_unique<SortedParticles>(particles, kVoxel, 2), {}, {}};
                r.grid = on_grid(*r.s, transfer);
                r.moved = r.s->particles;
                to_particles(r.grid.velocity, r.grid.velocity, transfer, 0.9f, r.s->index, kVoxel, r.moved);
                advect(r.moved, r.s->index, r.grid.velocity, kVoxel, 0.03f, 3);
                return r;
            });
        };
        const Result one = run(1);
        for (const int threads : {2, 7}) {
            const Result many = run(threads);
            for (int a = 0; a < 3; ++a) {
                EXPECT_TRUE(same_bits(one.grid.velocity.u[a], many.grid.velocity.u[a])) << threads << " threads";
                EXPECT_TRUE(same_bits(one.grid.weight.u[a], many.grid.weight.u[a])) << threads << " threads";
            }
            EXPECT_TRUE(same_bits(one.moved, many.moved)) << threads << " threads";
        }
    }
}

} // namespace
} // namespace spindrift
