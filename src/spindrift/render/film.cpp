#include "spindrift/render/film.h"

#include <algorithm>

namespace spindrift {

Film::Film(int width, int height, int channels)
    : width_(width), height_(height), across_((width + kTile - 1) / kTile), down_((height + kTile - 1) / kTile),
      channels_(channels), sums_(static_cast<size_t>(across_) * down_ * kEdge * kEdge * (channels + 1), 0.0f)
{
}

float* Film::entry(int tile, int x, int y)
{
    const int column = x - tile % across_ * kTile + 1, row = y - tile / across_ * kTile + 1;
    const size_t pixel = (static_cast<size_t>(tile) * kEdge + row) * kEdge + column;
    return &sums_[pixel * (channels_ + 1)];
}

void Film::add(int x, int y, const Vec2f& offset, float weight, const float* values)
{
    // Along each axis, two tents cover the sample: that of its own pixel and that of the nearer neighbour.
    const int left = offset.x() < 0 ? x - 1 : x, top = offset.y() < 0 ? y - 1 : y;
    const float right = offset.x() < 0 ? 1 + offset.x() : offset.x(),
                below = offset.y() < 0 ? 1 + offset.y() : offset.y();
    const int tile = tile_of(x, y);
    for (int i = 0; i < 4; ++i) {
        const float share = weight * (i & 1 ? right : 1 - right) * (i & 2 ? below : 1 - below);
        float* sums = entry(tile, left + (i & 1), top + (i >> 1));
        for (int c = 0; c < channels_; ++c) sums[c] += share * values[c];
        sums[channels_] += share;
    }
}

void Film::develop(int x, int y, float* values) const
{
    std::fill_n(values, channels_, 0.0f);
    float weight = 0;
    const int left = std::max(x - 1, 0) / kTile, right = std::min(x + 1, width_ - 1) / kTile;
    const int top = std::max(y - 1, 0) / kTile, bottom = std::min(y + 1, height_ - 1) / kTile;
    for (int row = top; row <= bottom; ++row)
        for (int column = left; column <= right; ++column) {
            const float* sums = entry(row * across_ + column, x, y);
            for (int c = 0; c < channels_; ++c) values[c] += sums[c];
            weight += sums[channels_];
        }
    if (weight > 0)
        for (int c = 0; c < channels_; ++c) values[c] /= weight;
}

} // namespace spindrift
