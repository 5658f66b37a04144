// Finds the square of an exemplar that is most like a square of wanted colours, weighted by a Gaussian about its centre
// [Kwatra 2005].
//
// fast: both are averaged over blocks of a few pixels and projected onto their principal components, where all places
// are compared; the best few are then compared exactly. exhaustive: all places are, pixel by pixel.
#pragma once

#include "spindrift/texture/exemplar.h"

#include <Eigen/Core>

namespace spindrift {

// Wanted colours of a square of texels, row by row, and which of them are known.
struct Window {
    std::vector<Vec3f> colors;
    std::vector<uint8_t> known;
};

class Matcher {
  public:
    // `size`: edge of the square [pixels], odd, at most that of the exemplar.
    Matcher(const Exemplar& exemplar, int size, bool exhaustive);

    struct Match {
        int x = 0, y = 0;  // of the corner in the exemplar
        double energy = 0; // weighted sum of squared differences
    };
    Match best(const Window& window) const;
    int size() const { return size_; }
    const Exemplar& exemplar() const { return exemplar_; }
    float weight(int x, int y) const { return weight_[static_cast<size_t>(y) * size_ + x]; }

  private:
    double energy(const Window& window, int x, int y, double enough) const;
    Eigen::VectorXf blocks_of(const Window& window) const;
    std::vector<int> candidates(const Eigen::VectorXf& wanted) const;
    void find_components();
    int places_across() const { return exemplar_.width - size_ + 1; }
    int places_down() const { return exemplar_.height - size_ + 1; }

    const Exemplar& exemplar_;
    int size_;
    bool exhaustive_;
    std::vector<float> weight_;
    int block_, blocks_; // pixels along the edge of a block, and blocks along that of the square
    Eigen::VectorXf mean_;
    Eigen::MatrixXf components_; // rows
    Eigen::MatrixXf places_;     // a column for each place in the exemplar
    Eigen::MatrixXf first_;      // the first few components, a row for each place
};

} // namespace spindrift
