// Poisson problems assembled cell by cell, and a double-precision reference of their matrix to check solutions.
#pragma once

#include "field/dense.h"
#include "spindrift/solvers/poisson.h"

#include <Eigen/Dense>

namespace spindrift {

// A grid with its matrix and right-hand side. Set faces and ties, then call finish().
struct PoissonProblem {
    Topology topology;
    PoissonMatrix matrix;
    Field<float> b;

    explicit PoissonProblem(Topology tiles) : topology(std::move(tiles))
    {
        matrix.reset(topology);
        b.reset(topology, 0);
        ties_.reset(topology, 0);
    }
    PoissonProblem(const PoissonProblem&) = delete;

    // Weight of the face between a cell and the one below it.
    void set_face(const Vec3i& cell, int axis, float weight) { value_at(matrix.face[axis], cell) = weight; }
    void add_tie(const Vec3i& cell, float d) { value_at(ties_, cell) += d; }
    void finish()
    {
        for_each_value(matrix.diagonal, [&](const Vec3i& cell, float& diagonal) {
            float pair[3];
            for (int a = 0; a < 3; ++a)
                pair[a] = matrix.face[a].at(cell) + matrix.face[a].at(cell + Vec3i(Vec3i::Unit(a)));
            diagonal = ((pair[0] + pair[1]) + pair[2]) + ties_.at(cell);
        });
    }

  private:
    Field<float> ties_;
};

// Rows of the matrix as defined in the solver's header, in double.
class PlainSystem {
  public:
    explicit PlainSystem(const PoissonProblem& problem)
    {
        const Topology& topology = problem.topology;
        number_.reset(topology, -1);
        for_each_value(number_, [&](const Vec3i& cell, int& number) {
            if (!(problem.matrix.diagonal.at(cell) > 0)) return;
            number = static_cast<int>(cells.size());
            cells.push_back(cell);
        });
        rows_.resize(cells.size());
        for (size_t i = 0; i < cells.size(); ++i) {
            Row& row = rows_[i];
            row.tie = problem.matrix.diagonal.at(cells[i]);
            for (int a = 0; a < 3; ++a)
                for (int side = 0; side < 2; ++side) {
                    const Vec3i other = cells[i] + Vec3i((2 * side - 1) * Vec3i::Unit(a));
                    const float w = problem.matrix.face[a].at(side ? other : cells[i]);
                    row.tie -= w;
                    if (w > 0) row.edges.push_back({number_.at(other), w});
                }
            if (std::abs(row.tie) < 1e-5) row.tie = 0;
        }
        find_bodies();
        b = gather(problem.b);
        make_compatible(b);
    }

    template <class T> Eigen::VectorXd gather(const Field<T>& field) const
    {
        Eigen::VectorXd v(static_cast<long>(cells.size()));
        for (size_t i = 0; i < cells.size(); ++i) v[static_cast<long>(i)] = static_cast<double>(field.at(cells[i]));
        return v;
    }
    Eigen::VectorXd apply(const Eigen::VectorXd& x) const
    {
        Eigen::VectorXd y(x.size());
        for (size_t i = 0; i < rows_.size(); ++i) {
            const double xi = x[static_cast<long>(i)];
            double sum = rows_[i].tie * xi;
            for (const auto& [j, w] : rows_[i].edges) sum += w * (xi - x[j]);
            y[static_cast<long>(i)] = sum;
        }
        return y;
    }
    double relative_residual(const Field<double>& x) const { return (b - apply(gather(x))).norm() / b.norm(); }

    // Subtracts the mean of every body without a free surface, so that solutions can be compared.
    void make_compatible(Eigen::VectorXd& v) const
    {
        std::vector<double> sum(closed_.size(), 0.0), count(closed_.size(), 0.0);
        for (size_t i = 0; i < cells.size(); ++i) sum[body_[i]] += v[static_cast<long>(i)], count[body_[i]] += 1;
        for (size_t i = 0; i < cells.size(); ++i)
            if (closed_[body_[i]]) v[static_cast<long>(i)] -= sum[body_[i]] / count[body_[i]];
    }
    // Direct solve; for small problems only.
    Eigen::VectorXd solve() const
    {
        const long n = static_cast<long>(cells.size());
        Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
        std::vector<bool> pinned(closed_.size(), false);
        for (size_t i = 0; i < rows_.size(); ++i) {
            const long r = static_cast<long>(i);
            a(r, r) = rows_[i].tie;
            for (const auto& [j, w] : rows_[i].edges) a(r, r) += w, a(r, j) -= w;
            if (closed_[body_[i]] && !pinned[body_[i]]) a(r, r) += 1, pinned[body_[i]] = true;
        }
        Eigen::VectorXd x = a.llt().solve(b);
        make_compatible(x);
        return x;
    }
    size_t body_count() const { return closed_.size(); }
    size_t closed_count() const { return static_cast<size_t>(std::count(closed_.begin(), closed_.end(), true)); }

    std::vector<Vec3i> cells; // active cells
    Eigen::VectorXd b;        // made compatible

  private:
    struct Row {
        double tie = 0;
        std::vector<std::pair<int, double>> edges;
    };
    void find_bodies()
    {
        constexpr size_t unknown = std::numeric_limits<size_t>::max();
        body_.assign(cells.size(), unknown);
        std::vector<size_t> stack;
        for (size_t seed = 0; seed < cells.size(); ++seed) {
            if (body_[seed] != unknown) continue;
            const size_t body = closed_.size();
            closed_.push_back(true);
            body_[seed] = body;
            stack.push_back(seed);
            while (!stack.empty()) {
                const Row& row = rows_[stack.back()];
                stack.pop_back();
                if (row.tie > 0) closed_[body] = false;
                for (const auto& [j, w] : row.edges)
                    if (body_[j] == unknown) {
                        body_[j] = body;
                        stack.push_back(static_cast<size_t>(j));
                    }
            }
        }
    }

    Field<int> number_;
    std::vector<Row> rows_;
    std::vector<size_t> body_;
    std::vector<bool> closed_;
};

// Pressure problem of a liquid (phi < 0, in cells) with solids in a closed box of cells [min, max).
struct LiquidBox {
    Vec3i min, max;
    Dense<float> phi;
    Dense<uint8_t> solid;

    LiquidBox(const Vec3i& min_cell, const Vec3i& max_cell)
        : min(min_cell), max(max_cell), phi(min_cell, max_cell, 1), solid(min_cell, max_cell, 1)
    {
        for_each_cell(min, max, [&](const Vec3i& c) { solid.at(c) = 0, phi.at(c) = -1; });
    }
    // Liquid below a height, in cells above the floor, given as a function of position in cells.
    template <class Height> void fill_below(const Height& height)
    {
        for_each_cell(min, max, [&](const Vec3i& c) {
            const Vec3f x = (c - min).cast<float>() + Vec3f::Constant(0.5f);
            phi.at(c) = x.y() - height(x);
        });
    }
    std::unique_ptr<PoissonProblem> problem() const
    {
        auto made = std::make_unique<PoissonProblem>(Topology::covering(min, max));
        const auto wet = [&](const Vec3i& c) { return phi.get(c) < 0 && !solid.get(c); };
        for_each_cell(min, max, [&](const Vec3i& c) {
            for (int a = 0; a < 3; ++a) {
                const Vec3i below = c - Vec3i(Vec3i::Unit(a));
                if (solid.get(c) || solid.get(below)) continue;
                if (wet(c) && wet(below)) made->set_face(c, a, 1);
                // Ghost fluid: the surface lies between the wet and the dry cell centre.
                if (wet(c) != wet(below)) {
                    const Vec3i inside = wet(c) ? c : below, outside = wet(c) ? below : c;
                    const float share = phi.get(inside) / (phi.get(inside) - phi.get(outside));
                    made->add_tie(inside, 1 / std::max(0.05f, share));
                }
            }
        });
        made->finish();
        return made;
    }
};

// Noise plus a smooth part.
inline void set_random_b(PoissonProblem& problem, uint64_t seed)
{
    Random random(seed);
    for_each_value(problem.b, [&](const Vec3i& cell, float& b) {
        b = random.uniform(-1, 1) + 0.5f * std::sin(0.05f * static_cast<float>(cell.sum()));
    });
}

} // namespace spindrift
