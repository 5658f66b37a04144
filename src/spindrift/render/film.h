// Reconstructs pixels from paths. A path contributes to every pixel whose filter, a tent two pixels wide, covers it,
// not only to the pixel for which it was traced. A pixel then averages 9/4 times as many paths as were traced for it,
// with the expectation unchanged: nothing is blurred further [Pharr 2016, chapter 7.8].
//
// A path is weighted by one over the number of paths of its pixel, so that pixels may have different numbers of paths.
// Deterministic: each tile has its own buffer, filled by one thread, and buffers are added in a fixed order.
#pragma once

#include "spindrift/base/math.h"

#include <vector>

namespace spindrift {

class Film {
  public:
    static constexpr int kTile = 16; // pixels along each edge

    Film(int width, int height, int channels);

    int tiles_across() const { return across_; }
    int tiles() const { return across_ * down_; }
    int tile_of(int x, int y) const { return y / kTile * across_ + x / kTile; }

    // Adds a path of pixel (x, y); `offset` in [-0.5, 0.5] is relative to the pixel's centre. Paths of pixels in
    // different tiles may be added concurrently.
    void add(int x, int y, const Vec2f& offset, float weight, const float* values);
    // The weighted means of a pixel, after all paths were added.
    void develop(int x, int y, float* values) const;

  private:
    static constexpr int kEdge = kTile + 2; // with a rim of one pixel that overlaps the neighbouring tiles
    float* entry(int tile, int x, int y);
    const float* entry(int tile, int x, int y) const { return const_cast<Film*>(this)->entry(tile, x, y); }

    int width_, height_, across_, down_, channels_;
    std::vector<float> sums_; // for each pixel of each tile with its rim: channels, then the weight
};

} // namespace spindrift
