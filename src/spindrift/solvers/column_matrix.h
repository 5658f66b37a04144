// A TileMatrix with low-rank terms of rigid bodies: A + sum over bodies of J C J^T, where J has six columns that are
// nonzero in a few cells. The counterpart of PoissonColumns for quadratic programs. The preconditioner is that of A
// alone: a body costs some iterations, and more if it is lighter than the material around it.
#pragma once

#include "spindrift/solvers/tile_matrix.h"

#include <Eigen/Core>

namespace spindrift {

class ColumnMatrix : public QpMatrix<float> {
  public:
    using Vec6d = Eigen::Matrix<double, 6, 1>;
    struct Columns {
        struct Cell {
            size_t variable;
            Eigen::Matrix<float, 6, 1> row;
        };
        std::vector<Cell> cells; // each once, ascending
        Eigen::Matrix<double, 6, 6> c = Eigen::Matrix<double, 6, 6>::Zero();

        // J^T x, and out += J v.
        Vec6d sums(std::span<const float> x) const;
        void add(const Vec6d& v, std::span<float> out) const;
    };

    // `base` must be prepared. `base` and `columns` must outlive this object.
    void reset(TileMatrix& base, std::span<const Columns> columns);

    void multiply(std::span<const float> x, std::span<float> out) override;
    void precondition(std::span<const float> r, std::span<const uint8_t> free, bool face_changed,
                      std::span<float> z) override
    {
        base_->precondition(r, free, face_changed, z);
    }
    std::span<const float> steps() const override { return steps_; }

  private:
    TileMatrix* base_ = nullptr;
    std::span<const Columns> columns_;
    AlignedVector<float> steps_;
};

} // namespace spindrift
