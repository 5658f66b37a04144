#include "spindrift/crowd/pressure_matrix.h"

#include "spindrift/base/math.h"
#include "spindrift/base/parallel.h"

namespace spindrift {

namespace {
constexpr double kDamping = 0.8; // of a Jacobi step
} // namespace

template <class Body> void PaddedGrid::for_each_row(const Body& body) const
{
    const size_t rows_at_once = 1 + 8192 / stride();
    if (static_cast<size_t>(ny) <= rows_at_once)
        for (int j = 0; j < ny; ++j) body(index(0, j));
    else
        parallel_for(
            ny, [&](size_t j) { body(index(0, static_cast<int>(j))); }, rows_at_once);
}

void PressureMatrix::reset(const PaddedGrid& grid)
{
    levels_.clear();
    for (PaddedGrid g = grid;; g = {(g.nx + 1) / 2, (g.ny + 1) / 2}) {
        Level level;
        level.grid = g;
        for (auto* array : {&level.wx, &level.wy, &level.diagonal, &level.inverse, &level.r, &level.z, &level.scratch})
            array->assign(g.size(), 0);
        levels_.push_back(std::move(level));
        if (g.nx == 1 && g.ny == 1) break;
    }
    steps_.assign(grid.size(), 0);
}

void PressureMatrix::prepare(double compliance)
{
    compliance_ = compliance;
    Level& l = levels_[0];
    const size_t stride = l.grid.stride(), nx = l.grid.nx;
    l.grid.for_each_row([&](size_t first) {
        for (size_t c = first; c < first + nx; ++c) {
            const double faces = l.wx[c] + l.wx[c + 1] + l.wy[c] + l.wy[c + stride];
            l.diagonal[c] = faces > 0 ? faces + compliance : 0;
            steps_[c] = faces > 0 ? 1 / (2 * faces + compliance) : 0;
        }
    });
}

void PressureMatrix::multiply(std::span<const double> x, std::span<double> out)
{
    const Level& l = levels_[0];
    const size_t stride = l.grid.stride(), nx = l.grid.nx;
    l.grid.for_each_row([&](size_t first) {
        const double* __restrict p = x.data();
        double* __restrict q = out.data();
        const double* wx = l.wx.data();
        const double* wy = l.wy.data();
        for (size_t c = first; c < first + nx; ++c)
            q[c] = compliance_ * p[c] + wx[c] * (p[c] - p[c - 1]) + wx[c + 1] * (p[c] - p[c + 1]) +
                   wy[c] * (p[c] - p[c - stride]) + wy[c + stride] * (p[c] - p[c + stride]);
    });
}

// Merges 2x2 cells. A connection of a free cell to a fixed one becomes a connection of its coarse cell to the same
// value.
void PressureMatrix::coarsen(const Level& fine, Level& coarse)
{
    const auto open = [&](size_t a, size_t b, double w) { return fine.inverse[a] > 0 && fine.inverse[b] > 0 ? w : 0; };
    const size_t s = fine.grid.stride();
    coarse.grid.for_each_row([&](size_t first) {
        const int cj = static_cast<int>(first) / coarse.grid.stride() - 1;
        for (int ci = 0; ci < coarse.grid.nx; ++ci) {
            const size_t c = first + ci;
            double wx = 0, wy = 0, diagonal = 0;
            for (int dj = 0; dj < 2; ++dj)
                for (int di = 0; di < 2; ++di) {
                    // Beyond the last cell of an odd number is the margin, where everything is zero.
                    if (2 * ci + di >= fine.grid.nx || 2 * cj + dj >= fine.grid.ny) continue;
                    const size_t f = fine.grid.index(2 * ci + di, 2 * cj + dj);
                    if (fine.inverse[f] == 0) continue;
                    const double left = open(f, f - 1, fine.wx[f]), right = open(f, f + 1, fine.wx[f + 1]);
                    const double below = open(f, f - s, fine.wy[f]), above = open(f, f + s, fine.wy[f + s]);
                    (di == 0 ? wx : diagonal) += di == 0 ? left : right;
                    (dj == 0 ? wy : diagonal) += dj == 0 ? below : above;
                    diagonal += (di == 0 ? left : 0) + (dj == 0 ? below : 0);
                    diagonal += fine.diagonal[f] - left - right - below - above;
                }
            coarse.wx[c] = 0.5 * wx, coarse.wy[c] = 0.5 * wy, coarse.diagonal[c] = 0.5 * diagonal;
            coarse.inverse[c] = diagonal > 0 ? 2 / diagonal : 0;
        }
    });
}

void PressureMatrix::precondition(std::span<const double> r, std::span<const uint8_t> free, bool face_changed,
                                  std::span<double> z)
{
    if (face_changed) {
        Level& l = levels_[0];
        l.grid.for_each_row([&](size_t first) {
            for (size_t c = first; c < first + static_cast<size_t>(l.grid.nx); ++c)
                l.inverse[c] = free[c] && l.diagonal[c] > 0 ? 1 / l.diagonal[c] : 0;
        });
        for (size_t n = 1; n < levels_.size(); ++n) coarsen(levels_[n - 1], levels_[n]);
    }
    cycle(0, r.data(), z.data());
}

// Approximates z = A^-1 r: one Jacobi step before and one after the coarse correction, which makes it symmetric.
void PressureMatrix::cycle(size_t number, const double* r, double* z)
{
    Level& l = levels_[number];
    const size_t stride = l.grid.stride(), nx = l.grid.nx;
    if (number + 1 == levels_.size()) {
        const size_t only = l.grid.index(0, 0);
        z[only] = l.inverse[only] * r[only];
        return;
    }
    Level& coarse = levels_[number + 1];
    const double *wx = l.wx.data(), *wy = l.wy.data(), *diagonal = l.diagonal.data(), *inverse = l.inverse.data();
    double* scratch = l.scratch.data();
    const auto product = [=](const double* x, size_t c) {
        return diagonal[c] * x[c] - wx[c] * x[c - 1] - wx[c + 1] * x[c + 1] - wy[c] * x[c - stride] -
               wy[c + stride] * x[c + stride];
    };
    l.grid.for_each_row([=](size_t first) {
        for (size_t c = first; c < first + nx; ++c) scratch[c] = kDamping * inverse[c] * r[c];
    });
    l.grid.for_each_row([=](size_t first) {
        for (size_t c = first; c < first + nx; ++c) {
            const double left = r[c] - product(scratch, c);
            z[c] = inverse[c] > 0 ? left : 0;
        }
    });
    coarse.grid.for_each_row([&](size_t first) {
        const int cj = static_cast<int>(first) / coarse.grid.stride() - 1;
        const double* low = z + l.grid.index(0, 2 * cj);
        const double* high = low + (2 * cj + 1 < l.grid.ny ? stride : 0);
        const double both = 2 * cj + 1 < l.grid.ny ? 1 : 0;
        for (int ci = 0; ci < coarse.grid.nx; ++ci) {
            const size_t a = 2 * static_cast<size_t>(ci);
            const double right = a + 1 < nx ? low[a + 1] + both * high[a + 1] : 0;
            coarse.r[first + ci] = low[a] + both * high[a] + right;
        }
    });
    cycle(number + 1, coarse.r.data(), coarse.z.data());
    l.grid.for_each_row([&](size_t first) {
        const int j = static_cast<int>(first) / l.grid.stride() - 1;
        const double* up = coarse.z.data() + coarse.grid.index(0, j / 2);
        for (size_t i = 0; i < nx; ++i)
            scratch[first + i] = inverse[first + i] > 0 ? scratch[first + i] + up[i / 2] : 0;
    });
    l.grid.for_each_row([=](size_t first) {
        for (size_t c = first; c < first + nx; ++c)
            z[c] = scratch[c] + kDamping * inverse[c] * (r[c] - product(scratch, c));
    });
}

size_t PressureMatrix::bytes() const
{
    size_t sum = steps_.capacity() * sizeof(double);
    for (const Level& l : levels_) sum += 7 * l.wx.capacity() * sizeof(double);
    return sum;
}

} // namespace spindrift
