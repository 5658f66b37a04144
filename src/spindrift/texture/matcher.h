// Finds the square of an example that is most like a square of wanted texels, weighted by a Gaussian about its centre
// [Kwatra 2005]. An example is one picture or several, such as the frames of a video.
//
// fast: squares are averaged over blocks of a few pixels and projected onto their principal components. Places of the
// examples lie there in clusters; those in the clusters nearest to the wanted square are compared by their components,
// the best few pixel by pixel. exhaustive: all places are compared pixel by pixel.
#pragma once

#include "spindrift/texture/exemplar.h"

#include <Eigen/Core>
#include <span>

namespace spindrift {

// What a texel consists of, in this order: `channels` values that are synthesized, the same of `history` frames before,
// the most recent first, and a guide value [Narain 2011, (2.8), (2.9)].
struct TexelLayout {
    int channels = 3, history = 0;
    bool guided = false;
    float history_weight = 1, guide_weight = 1; // of squared differences

    int stride() const { return channels * (1 + history) + (guided ? 1 : 0); }
};

// Wanted values of a square of texels, row by row, and which of them are known.
struct Window {
    static constexpr uint8_t kCurrent = 1, kHistory = 2, kGuide = 4;
    static constexpr uint8_t kAll = kCurrent | kHistory | kGuide;
    std::vector<float> values;
    std::vector<uint8_t> known; // bits
};

class Matcher {
  public:
    // `size`: edge of the square [pixels], odd, at most that of each picture; these have `layout.stride()` channels.
    // `examples`: to which example each picture belongs, in order; empty: all to one.
    Matcher(const std::vector<Raster>& pictures, const TexelLayout& layout, int size, bool exhaustive,
            const std::vector<int>& examples = {});

    struct Match {
        int picture = 0, x = 0, y = 0; // of the corner
        double energy = 0;             // weighted sum of squared differences
    };
    // `hints` are places that are compared too; they may be outside of the pictures. With `near_hints`, other places
    // are compared only if all of them are.
    Match best(const Window& window, std::span<const Match> hints = {}, bool near_hints = false) const;
    // The variance of the current values of a window, weighted by the Gaussian, against the least of all squares of the
    // pictures; at most 1, and 1 if one of these is plain or nothing is known.
    float relative_contrast(const Window& window) const;
    int size() const { return size_; }
    const TexelLayout& layout() const { return layout_; }
    const Raster& picture(int number) const { return pictures_[number]; }
    const std::vector<float>& weights() const { return weight_; }
    float weight(int x, int y) const { return weight_[static_cast<size_t>(y) * size_ + x]; }
    // One of all places of an example, or of all for -1, by chance, of a video in its first picture, so that it goes on
    // as one; if there is a guide, the best of several for what the window knows.
    Match any(const Window& window, uint64_t seed, int example = -1) const;

  private:
    struct Weights; // of the values of a window
    double energy(const Window& window, const Weights& weights, const Match& place, double enough) const;
    void weigh(const Window& window, Weights& weights) const;
    void blocks_of(const Window& window, Eigen::VectorXf& blocks) const;
    void window_at(const Match& place, Window& window) const;
    double contrast(const Window& window) const;
    void find_least_contrast();
    void index_places(const std::vector<int>& examples);
    void find_components();
    void cluster();
    void candidates(const Eigen::VectorXf& wanted, std::vector<int>& places) const;
    bool inside(const Match& place) const;
    void descend(const Window& window, const Weights& weights, Match& found) const;

    const std::vector<Raster>& pictures_;
    TexelLayout layout_;
    int size_;
    bool exhaustive_;
    std::vector<float> weight_;
    std::vector<float> group_weight_; // of each value of a texel
    int block_, blocks_;              // pixels along the edge of a block, and blocks along that of the square
    std::vector<Match> places_; // that are compared: all, or every few pixels of many pictures; in order of clusters
    std::vector<Match> first_places_; // where any() may be, by example
    std::vector<size_t> first_of_;    // the first of each example there
    double least_contrast_ = 0;
    Eigen::VectorXf mean_;
    Eigen::MatrixXf axes_;       // principal, rows
    Eigen::MatrixXf components_; // a column for each place
    Eigen::MatrixXf centres_;    // of clusters, columns
    std::vector<int> first_;     // place of each cluster
};

} // namespace spindrift
