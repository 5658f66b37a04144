// The matrix of the crowd's pressure [Narain 2011, (4.18)]: on a grid of nx by ny cells
//
//     (A p)_c = sum over the four faces of w_f (p_c - p_neighbour) + compliance p_c
//
// and its preconditioner, one multigrid cycle among the free cells; at bounds the pressure is given. Coarse levels
// merge 2x2 cells and halve the weights of faces between free cells, since coarse cells are twice as far apart.
// Rebuilding them for another set of free cells takes a few passes over the grid.
//
// All arrays have a margin of one cell around the grid, where everything is zero, so that no loop has special cases.
#pragma once

#include "spindrift/solvers/bounded_qp.h"

namespace spindrift {

struct PaddedGrid {
    int nx = 0, ny = 0;
    int stride() const { return nx + 2; }
    size_t size() const { return static_cast<size_t>(nx + 2) * (ny + 2); }
    size_t index(int i, int j) const { return static_cast<size_t>(j + 1) * stride() + i + 1; }
    // Calls body(first index of a row) for all rows, in parallel if there are enough of them.
    template <class Body> void for_each_row(const Body& body) const;
};

class PressureMatrix : public QpMatrix<double> {
  public:
    void reset(const PaddedGrid& grid);
    // Weights of the lower x and y face of each cell. Fill before prepare(), with zero at the domain's sides.
    std::vector<double>& weight_x() { return levels_[0].wx; }
    std::vector<double>& weight_y() { return levels_[0].wy; }
    void prepare(double compliance);

    void multiply(std::span<const double> x, std::span<double> out) override;
    void precondition(std::span<const double> r, std::span<const uint8_t> free, bool face_changed,
                      std::span<double> z) override;
    std::span<const double> steps() const override { return steps_; }
    size_t bytes() const;

  private:
    struct Level {
        PaddedGrid grid;
        std::vector<double> wx, wy, diagonal;
        std::vector<double> inverse; // of the diagonal; 0 where a cell is not free
        std::vector<double> r, z, scratch;
    };
    void coarsen(const Level& fine, Level& coarse);
    void cycle(size_t number, const double* r, double* z);

    double compliance_ = 0;
    std::vector<double> steps_;
    std::vector<Level> levels_;
};

} // namespace spindrift
