#include "spindrift/solvers/viscous.h"

#include "base/determinism.h"
#include "field/dense.h"

#include <Eigen/Cholesky>
#include <gtest/gtest.h>
#include <map>

namespace spindrift {
namespace {

// Random weights on random tiles; some faces closed, some cells empty.
struct RandomSystem {
    Topology topology;
    ViscousMatrix matrix;

    RandomSystem(const std::vector<Vec3i>& tiles, float stiffness, uint64_t seed) : topology(topology_of(tiles))
    {
        Random random(seed, 2);
        matrix.reset_uninitialized(topology);
        const auto weight = [&] { return random.uniform() < 0.4f ? 0 : random.uniform(); };
        for_each_value(matrix.cell, [&](const Vec3i&, float& v) { v = 2 * stiffness * weight(); });
        for (int a = 0; a < 3; ++a) {
            for_each_value(matrix.edge[a], [&](const Vec3i&, float& v) { v = stiffness * weight(); });
            for_each_value(matrix.mass[a], [&](const Vec3i&, float& v) { v = weight(); });
            for_each_value(matrix.inverse[a],
                           [&](const Vec3i&, float& v) { v = random.uniform() < 0.1f ? kClosedFace : 0; });
        }
    }
    // Full of liquid everywhere, without walls.
    void fill(float stiffness)
    {
        matrix.cell.reset(topology, 2 * stiffness, 0);
        for (int a = 0; a < 3; ++a) {
            matrix.edge[a].reset(topology, stiffness, 0);
            matrix.mass[a].reset(topology, 1, 0);
            matrix.inverse[a].reset(topology, 0);
        }
    }
    MacField random_velocity(uint64_t seed) const
    {
        Random random(seed);
        MacField u;
        u.reset(topology, 0);
        for (auto& component : u.u)
            for (float& v : component.values()) v = random.uniform(-1, 1);
        return u;
    }
    bool takes_part(int a, int tile, int c) const { return matrix.inverse[a].tile(tile)[c] > 0; }
};

double dot(const MacField& a, const MacField& b)
{
    double sum = 0;
    for (int c = 0; c < 3; ++c)
        for (size_t i = 0; i < a.u[c].values().size(); ++i)
            sum += static_cast<double>(a.u[c].values()[i]) * static_cast<double>(b.u[c].values()[i]);
    return sum;
}

// The operator assembled term by term as in the header, and solved directly.
class Reference {
  public:
    explicit Reference(const RandomSystem& system) : system_(system), topology_(system.topology)
    {
        for (int a = 0; a < 3; ++a)
            for_each_face([&](int tile, int c, const Vec3i& cell) {
                if (system.takes_part(a, tile, c)) number_.emplace(std::pair(a, key_of(cell)), number_.size());
            });
        const auto n = static_cast<Eigen::Index>(number_.size());
        matrix = Eigen::MatrixXd::Zero(n, n);
        given = Eigen::VectorXd::Zero(n);
    }
    Eigen::MatrixXd matrix;
    Eigen::VectorXd given; // mass times initial velocity, minus the contribution of closed faces

    void assemble(const MacField& u0)
    {
        const ViscousMatrix& m = system_.matrix;
        for_each_face([&](int tile, int c, const Vec3i& cell) {
            for (int a = 0; a < 3; ++a) {
                const Vec3i ea = Vec3i::Unit(a);
                const int b = (a + 1) % 3, d = (a + 2) % 3;
                const Vec3i eb = Vec3i::Unit(b), ed = Vec3i::Unit(d);
                if (const int i = number(a, cell); i >= 0) {
                    matrix(i, i) += static_cast<double>(m.mass[a].tile(tile)[c]);
                    given(i) += static_cast<double>(m.mass[a].tile(tile)[c] * u0.u[a].at(cell));
                }
                add_square(m.cell.tile(tile)[c], {{a, cell + ea, 1}, {a, cell, -1}}, u0);
                add_square(m.edge[a].tile(tile)[c],
                           {{b, cell, 1}, {b, cell - ed, -1}, {d, cell, 1}, {d, cell - eb, -1}}, u0);
            }
        });
    }
    int number(int axis, const Vec3i& cell) const
    {
        const auto it = number_.find(std::pair(axis, key_of(cell)));
        return it == number_.end() ? -1 : static_cast<int>(it->second);
    }
    template <class Body> void for_each_face(const Body& body) const
    {
        for (int t = 0; t < topology_.tile_count(); ++t)
            for (int c = 0; c < kTileCells; ++c) body(t, c, topology_.first_cell(t) + cell_in_tile(c));
    }

  private:
    struct Term {
        int axis;
        Vec3i cell;
        double sign;
    };
    void add_square(float weight, const std::vector<Term>& terms, const MacField& u0)
    {
        for (const Term& s : terms) {
            const int i = number(s.axis, s.cell);
            if (i < 0) continue;
            for (const Term& t : terms) {
                const double w = static_cast<double>(weight) * s.sign * t.sign;
                if (const int j = number(t.axis, t.cell); j >= 0)
                    matrix(i, j) += w;
                else
                    given(i) -= w * static_cast<double>(u0.u[t.axis].at(t.cell));
            }
        }
    }
    const RandomSystem& system_;
    const Topology& topology_;
    std::map<std::pair<int, std::tuple<int, int, int>>, size_t> number_;
};

TEST(Viscous, OperatorIsSymmetricAndPositive)
{
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        RandomSystem system(random_tiles({-2, -2, -2}, {2, 2, 2}, 0.6f, seed), 3, seed);
        ViscousSolver solver;
        solver.set_matrix(system.matrix, 3);
        const MacField x = system.random_velocity(10 + seed), y = system.random_velocity(20 + seed);
        MacField ax, ay;
        solver.multiply(x, ax), solver.multiply(y, ay);
        const double xay = dot(x, ay), yax = dot(y, ax), xax = dot(x, ax);
        EXPECT_NEAR(xay, yax, 1e-5 * xax);
        EXPECT_GT(xax, 0);
    }
}

TEST(Viscous, MatchesADirectSolveOnSmallRandomDomains)
{
    for (const float stiffness : {0.1f, 2.0f, 50.0f}) {
        RandomSystem system({{0, 0, 0}, {0, 1, 0}}, stiffness, 7);
        ViscousSolver solver;
        solver.set_matrix(system.matrix, stiffness);
        MacField u = system.random_velocity(3);
        Reference reference(system);
        reference.assemble(u);

        MacField product;
        solver.multiply(u, product);
        Eigen::VectorXd x(reference.given.size());
        reference.for_each_face([&](int, int, const Vec3i& cell) {
            for (int a = 0; a < 3; ++a)
                if (const int i = reference.number(a, cell); i >= 0) x(i) = static_cast<double>(u.u[a].at(cell));
        });
        const Eigen::VectorXd y = reference.matrix * x;
        double worst = 0;
        reference.for_each_face([&](int, int, const Vec3i& cell) {
            for (int a = 0; a < 3; ++a)
                if (const int i = reference.number(a, cell); i >= 0)
                    worst = std::max(worst, std::abs(y(i) - static_cast<double>(product.u[a].at(cell))));
        });
        EXPECT_LT(worst, 1e-5 * y.cwiseAbs().maxCoeff());

        const Eigen::VectorXd exact = reference.matrix.ldlt().solve(reference.given);
        const ViscousResult result = solver.solve(u, 1e-6, 500);
        Eigen::VectorXd found(exact.size());
        reference.for_each_face([&](int, int, const Vec3i& cell) {
            for (int a = 0; a < 3; ++a)
                if (const int i = reference.number(a, cell); i >= 0) found(i) = static_cast<double>(u.u[a].at(cell));
        });
        // In the energy norm: some of these random faces have almost no mass.
        const Eigen::VectorXd off = found - exact;
        EXPECT_LT(std::sqrt(off.dot(reference.matrix * off) / exact.dot(reference.matrix * exact)), 1e-4);
        std::printf("viscous solve, stiffness %g: %d iterations on %d levels\n", static_cast<double>(stiffness),
                    result.iterations, result.levels);
    }
}

// The smoother relies on this bound. Found by power iteration, without short floats.
TEST(Viscous, EigenvaluesScaledByRowSumsAreAtMostOne)
{
    const auto largest = [](RandomSystem& system, float stiffness) {
        ViscousSolver solver;
        solver.set_matrix(system.matrix, stiffness);
        MacField x = system.random_velocity(9), y;
        double ratio = 0;
        for (int i = 0; i < 100; ++i) {
            solver.multiply(x, y);
            double top = 0, bottom = 0;
            for (int a = 0; a < 3; ++a)
                for (size_t c = 0; c < y.u[a].values().size(); ++c) {
                    const auto inverse = static_cast<double>(system.matrix.inverse[a].values()[c]);
                    const auto from = static_cast<double>(x.u[a].values()[c]);
                    const auto to = static_cast<double>(y.u[a].values()[c]);
                    if (inverse > 0) top += from * to, bottom += from * from / inverse;
                    x.u[a].values()[c] = inverse > 0 ? static_cast<float>(inverse * to) : 0;
                }
            ratio = top / bottom;
            EXPECT_LE(ratio, 1 + 1e-5);
        }
        return ratio;
    };
    RandomSystem random(random_tiles({-1, -1, -1}, {1, 1, 1}, 0.8f, 4), 5, 4);
    EXPECT_GT(largest(random, 5), 0.7);
    RandomSystem full(random_tiles({0, 0, 0}, {4, 4, 4}, 1, 1), 5, 1);
    full.fill(5);
    EXPECT_GT(largest(full, 5), 0.95);
}

// The 8-bit mantissas in the V-cycle must not cost more than one iteration over those measured with floats and the
// plain diagonal. In a free liquid, higher stiffness leaves only rigid motion, which takes more iterations.
TEST(Viscous, TakesFewIterationsForAnyStiffness)
{
    const std::vector<std::pair<float, int>> floats_take = {{0.3f, 5}, {10.0f, 5}, {1e3f, 10}, {1e5f, 14}};
    for (const auto& [stiffness, iterations] : floats_take) {
        RandomSystem system(random_tiles({0, 0, 0}, {5, 4, 6}, 1, 1), stiffness, 1);
        system.fill(stiffness);
        ViscousSolver solver;
        solver.set_matrix(system.matrix, stiffness);
        MacField u = system.random_velocity(2);
        const ViscousResult result = solver.solve(u, 1e-4);
        EXPECT_TRUE(result.converged);
        EXPECT_LE(result.iterations, iterations + 1) << stiffness;
    }
}

TEST(Viscous, SameBitsForAnyNumberOfThreads)
{
    for (const float stiffness : {0.5f, 100.0f}) {
        const auto solve = [&](int threads) {
            return with_threads(threads, [&] {
                RandomSystem system(random_tiles({-2, -2, -2}, {3, 3, 3}, 0.7f, 5), stiffness, 5);
                ViscousSolver solver;
                solver.set_matrix(system.matrix, stiffness);
                MacField u = system.random_velocity(3);
                solver.solve(u, 1e-4);
                std::vector<float> all;
                for (const auto& c : u.u) all.insert(all.end(), c.values().begin(), c.values().end());
                return all;
            });
        };
        const auto one = solve(1);
        EXPECT_TRUE(same_bits(one, solve(2)));
        EXPECT_TRUE(same_bits(one, solve(7)));
    }
}

} // namespace
} // namespace spindrift
