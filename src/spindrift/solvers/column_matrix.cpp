#include "spindrift/solvers/column_matrix.h"

namespace spindrift {

using Vec6d = ColumnMatrix::Vec6d;

namespace {

constexpr size_t kCellsAtOnce = 1024;

} // namespace

Vec6d ColumnMatrix::Columns::sums(std::span<const float> x) const
{
    return parallel_reduce(
        cells.size(), Vec6d(Vec6d::Zero()),
        [&](size_t i) -> Vec6d { return static_cast<double>(x[cells[i].variable]) * cells[i].row.cast<double>(); },
        [](const Vec6d& a, const Vec6d& b) -> Vec6d { return a + b; }, kCellsAtOnce);
}

void ColumnMatrix::Columns::add(const Vec6d& v, std::span<float> out) const
{
    parallel_for(
        cells.size(),
        [&](size_t i) { out[cells[i].variable] += static_cast<float>(cells[i].row.cast<double>().dot(v)); },
        kCellsAtOnce);
}

// A row of J C J^T has a sum of magnitudes of at most |J_i| |C| sum |J_j|.
void ColumnMatrix::reset(TileMatrix& base, std::span<const Columns> columns)
{
    base_ = &base, columns_ = columns;
    steps_.assign(base.steps().begin(), base.steps().end());
    for (const Columns& body : columns) {
        Vec6d all = Vec6d::Zero();
        for (const Columns::Cell& cell : body.cells) all += cell.row.cast<double>().cwiseAbs();
        const Vec6d weight = body.c.cwiseAbs() * all;
        for (const Columns::Cell& cell : body.cells) {
            float& step = steps_[cell.variable];
            if (step > 0) step = 1 / (1 / step + static_cast<float>(cell.row.cast<double>().cwiseAbs().dot(weight)));
        }
    }
}

void ColumnMatrix::multiply(std::span<const float> x, std::span<float> out)
{
    base_->multiply(x, out);
    for (const Columns& body : columns_)
        if (!body.cells.empty()) body.add(body.c * body.sums(x), out);
}

} // namespace spindrift
