// The pinhole camera: placed by the user, or by itself so that a whole box is in view.
#pragma once

#include "render/optics.h"
#include "render/preview.h"

namespace spindrift {

class Camera {
  public:
    Camera(const CameraParams& params, const Box3f& extent, int width, int height);

    // Through a point of the picture in pixels, from its upper left corner.
    Ray ray(float x, float y) const;
    // The other way: picture coordinates in x and y, distance along the view direction in z (negative: behind).
    Vec3f project(const Vec3f& point) const;
    const Vec3f& position() const { return position_; }
    const Vec3f& forward() const { return forward_; }
    // Edge of a pixel at distance one.
    float pixel_size() const { return 2 * tan_half_ / static_cast<float>(height_); }

  private:
    void look(const Vec3f& direction);
    void frame(const Box3f& extent, const Vec3f& target, bool centered);

    Vec3f position_, forward_, right_, up_;
    float tan_half_; // of the vertical field of view
    int width_, height_;
};

// What the camera frames and the look scales with: `extent`, or something sensible where it is empty or flat.
Box3f usable_extent(const Box3f& extent);

} // namespace spindrift
