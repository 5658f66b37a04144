// Shadows of millions of smoke markers on each other by a stochastic shadow map [Madill 2013, 7.1].
//
// Markers are drawn as points into a map of distances to the light. A marker's shadow is the share of the map's texels
// around it, a kernel of 15 x 15, that hold a marker nearer to the light. The kernel is sampled at a few random texels,
// and markers are inserted with a random offset, so that none is always hidden by another. The mean over several maps
// with other offsets and samples, and over the same marker in the frames before, reduces the noise.
//
// The map has about as many texels as there are markers. In a finer map, most texels are empty and shadows vanish. It
// covers the bulk of the smoke: the few markers far away from it, which would make its texels larger, neither cast nor
// receive shadows.
#pragma once

#include "spindrift/base/math.h"

#include <span>
#include <vector>

namespace spindrift {

struct MarkerShadowParams {
    int kernel = 15;             // texels across
    int samples = 16;            // of the kernel's texels
    int passes = 2;              // maps a frame
    float jitter = 1;            // largest offset on insertion [texels]
    float markers_per_texel = 1; // on average over the map
    int most_texels = 4096;      // across the bulk of the smoke
};

// A parallel light and the texels across it.
class LightPlane {
  public:
    LightPlane(const Vec3f& toward_light, std::span<const Vec3f> P, const MarkerShadowParams& params);

    int width() const { return width_; }
    int height() const { return height_; }
    // Texel coordinates in x and y, distance towards the light in z [m].
    Vec3f place(const Vec3f& x) const
    {
        return {(x.dot(right_) - corner_.x()) * scale_, (x.dot(up_) - corner_.y()) * scale_, x.dot(toward_)};
    }
    // Whether the map has the kernel and the offsets around such a place.
    bool covers(const Vec3f& place) const
    {
        const auto margin = static_cast<float>(margin_ - 1); // positions are rounded
        return place.x() >= margin && place.y() >= margin && place.x() <= static_cast<float>(width_) - margin &&
               place.y() <= static_cast<float>(height_) - margin;
    }

  private:
    Vec3f toward_, right_, up_;
    Vec2f corner_ = Vec2f::Zero();
    float scale_ = 1; // texels per metre
    int margin_ = 0, width_ = 1, height_ = 1;
};

// The share of light that does not reach each marker, 0 to 1. `id` and `key` seed the random numbers.
std::vector<float> marker_shadows(std::span<const Vec3f> P, std::span<const int32_t> id, const Vec3f& toward_light,
                                  const MarkerShadowParams& params, uint64_t key);

// The markers of a frame.
struct MarkerFrame {
    std::span<const Vec3f> P;
    std::span<const int32_t> id;
};
// Frames whose shadows are blended in a picture.
constexpr int kBlendedFrames = 3;
// The shadows of the markers of the last of several frames that follow each other: the mean over the frames that have
// a marker with the same id. `last` is the number of that frame.
std::vector<float> blended_shadows(std::span<const MarkerFrame> frames, const Vec3f& toward_light,
                                   const MarkerShadowParams& params, int last);

} // namespace spindrift
