// Synthesis of a video on a plane by optimisation [Kwatra 2005], [Narain 2011, 2.4.2]: for each square of a regular,
// overlapping grid, the most similar square of the example video is found, whose frames before are like those that were
// made before, carried along by the flow, and whose guide is like the wanted one; then the frame becomes the mean of
// what its squares found, in the end with the weight on their middles, since means are blurred. The energy is (2.9)
// with a guide for the current frame:
//
//     E = sum g (|s_0 - p_0|^2 + w_h sum_i |s_i - p_i|^2 + w_r |r(s) - r(p)|^2)
//
// Large squares first, then smaller ones. Squares with many channels, such as distances at many heights, are compared
// by their principal ones [Lefebvre 2006].
//
//     GridSynthesis synthesis(video_patches(video, {.history = 1}), {.channels = 3, .history = 1}, {});
//     Raster frame = synthesis.next(320, 200, {}, nullptr);
//
// Results are bit-identical for any number of threads.
#pragma once

#include "spindrift/io/state_file.h"
#include "spindrift/texture/matcher.h"
#include "spindrift/video/optical_flow.h"

#include <deque>

namespace spindrift {

struct GridSynthesisParams {
    std::vector<int> sizes = {33, 17, 9};       // of squares [pixels], odd
    int first_iterations = 6;                   // for each size, in the first frame
    int iterations = 2;                         // in the others
    float history_weight = 1, guide_weight = 1; // against the current values; a guide is scaled to their variance first
    bool exhaustive = false;                    // compare all places
    int seed = 1;
};

class GridSynthesis {
  public:
    // `patches`: channels of the current frame, of those before it, and the guide, as in TexelLayout, of which the
    // weights are not used. Throws Error(bad_input) if one is smaller than the largest square, or all of it has one
    // value.
    GridSynthesis(std::vector<Raster> patches, const TexelLayout& layout, const GridSynthesisParams& params);
    GridSynthesis(const GridSynthesis&) = delete;
    GridSynthesis& operator=(const GridSynthesis&) = delete;

    // The next frame, at least as large as the largest square. `guide`: a value for each pixel, empty without. `back`:
    // where each pixel was in the frame before; null if nothing moves.
    Raster next(int width, int height, const std::vector<float>& guide, const OpticalFlow* back);

    // What the next frame depends on besides its arguments. restore() throws StateError if that is of another video.
    StateFile save() const;
    void restore(const StateFile& file);

    double energy() const { return energy_; } // of the last matches, in the mean of a pixel
    int compared_channels() const { return layout_.channels; }

  private:
    struct Grid;
    struct Wanted; // what is compared of the frame that is made
    void find_principal_channels();
    Raster make_frame(int width, int height, const std::vector<float>& guide, const OpticalFlow* back);
    Raster compared(const Raster& frame, int groups) const;
    std::vector<Raster> carried_history(const OpticalFlow* back, std::vector<uint8_t>& known);
    void match(size_t size, const Grid& grid, const Wanted& wanted, int iteration,
               std::vector<Matcher::Match>& matches) const;
    void blend(const Matcher& matcher, const Grid& grid, const std::vector<Matcher::Match>& matches, bool sharp,
               Raster& current) const;

    std::vector<Raster> patches_;
    int channels_;
    TexelLayout layout_;        // of what is compared
    Eigen::VectorXf mean_;      // of the channels
    Eigen::MatrixXf principal_; // rows; empty if all channels are compared as they are
    std::vector<Raster> pictures_;
    GridSynthesisParams params_;
    std::vector<Matcher> matchers_;                         // by size
    std::deque<Raster> made_;                               // the last frames, the most recent first
    std::deque<OpticalFlow> flows_;                         // from each of them to the one before
    std::vector<std::vector<Matcher::Match>> last_matches_; // by size
    int frame_ = 0;
    double energy_ = 0;
};

} // namespace spindrift
