// Paths become pixels. Every path counts for all pixels whose filter, a tent two pixels wide, reaches it, not only for
// the one that it was traced for. The mean over a pixel then rests on 9/4 times as many paths as were traced for it,
// and its expectation is the same as if they all had been: nothing is blurred [Pharr 2016, chapter 7.8].
//
// A path counts by one over the number of paths of its pixel, so that pixels may have different numbers of them.
// Deterministic: each tile is filled by one thread into a store of its own, and tiles are added in a fixed order.
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

    // Adds a path of pixel (x, y); `offset` in [-0.5, 0.5] is where it is from the pixel's centre. Paths of pixels in
    // different tiles may be added at the same time.
    void add(int x, int y, const Vec2f& offset, float weight, const float* values);
    // The means of a pixel, once all paths are there.
    void develop(int x, int y, float* values) const;

  private:
    static constexpr int kEdge = kTile + 2; // with a rim that belongs to the tiles around
    float* entry(int tile, int x, int y);
    const float* entry(int tile, int x, int y) const { return const_cast<Film*>(this)->entry(tile, x, y); }

    int width_, height_, across_, down_, channels_;
    std::vector<float> sums_; // for each pixel of each tile with its rim: channels, then the weight
};

} // namespace spindrift
