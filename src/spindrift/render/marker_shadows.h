// Shadows of millions of smoke markers on each other by a stochastic shadow map [Madill 2013, 7.1].
//
// Markers are drawn as points into a map of distances to the light. A marker's shadow is the share of the map's texels
// around it, a kernel of 15 x 15, that hold a marker nearer to the light. The kernel is sampled at a few random texels,
// and markers are inserted with a random offset, so that none is always hidden by another. Blending with the shadow of
// the previous frame reduces the noise.
//
// The map has about as many texels as there are markers. In a finer map, most texels are empty and shadows vanish.
#pragma once

#include "spindrift/base/math.h"

#include <span>
#include <vector>

namespace spindrift {

struct MarkerShadowParams {
    int kernel = 15;             // texels across
    int samples = 16;            // of the kernel's texels
    float jitter = 1;            // largest offset on insertion [texels]
    float markers_per_texel = 1; // on average over the map
    int most_texels = 4096;      // across
    float blend = 0.3f;          // share of the new shadow in the blended one
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

  private:
    Vec3f toward_, right_, up_;
    Vec2f corner_ = Vec2f::Zero();
    float scale_ = 1; // texels per metre
    int width_ = 1, height_ = 1;
};

// The share of light that does not reach each marker, 0 to 1. `id` and `pass` seed the random numbers.
std::vector<float> marker_shadows(std::span<const Vec3f> P, std::span<const int32_t> id, const Vec3f& toward_light,
                                  const MarkerShadowParams& params, uint64_t pass);
// Blends with the shadows of an earlier frame, where a marker with the same id had one.
void blend_shadows(std::span<float> shadow, std::span<const int32_t> id, std::span<const float> before,
                   std::span<const int32_t> id_before, float blend);

} // namespace spindrift
