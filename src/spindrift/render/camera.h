// The camera: placed by the user, or automatically so that a whole box is in view. A pinhole, or a thin lens with a
// focal plane.
#pragma once

#include "spindrift/render/optics.h"
#include "spindrift/render/params.h"

namespace spindrift {

class Camera {
  public:
    // Ignores the keyframes of the parameters.
    Camera(const CameraParams& params, const Box3f& extent, int width, int height);

    // Through a point of the picture in pixels, from its upper left corner.
    Ray ray(float x, float y) const;
    // The same from a point of the lens, which is a point of the unit square mapped to the lens.
    Ray ray(float x, float y, const Vec2f& lens) const;
    // The inverse: picture coordinates in x and y, distance along the view direction in z (negative: behind the
    // camera).
    Vec3f project(const Vec3f& point) const;
    const Vec3f& position() const { return position_; }
    const Vec3f& forward() const { return forward_; }
    // Edge of a pixel at distance one.
    float pixel_size() const { return 2 * tan_half_ / static_cast<float>(height_); }
    float lens_radius() const { return lens_radius_; } // [m]
    float focus() const { return focus_; }

  private:
    void look(const Vec3f& direction, float roll);
    void frame(const Box3f& extent, const Vec3f& target, bool centered);

    Vec3f position_, forward_, right_, up_;
    float tan_half_; // of the vertical field of view
    float lens_radius_ = 0, focus_ = 1;
    int width_, height_;
};

// The camera while its shutter is open.
class MovingCamera {
  public:
    MovingCamera(const CameraParams& params, float frame, const Box3f& extent, int width, int height);

    // At the time of the frame.
    const Camera& middle() const { return moments_[moments_.size() / 2]; }
    // Whether rays of a pixel must be distributed over the lens, or over the time that the shutter is open.
    bool has_lens() const { return has_lens_; }
    bool has_shutter() const { return has_shutter_; }
    // `time` is the share of the time that the shutter is open.
    Ray ray(float x, float y, const Vec2f& lens, float time) const;

  private:
    std::vector<Camera> moments_; // from the shutter's opening to its end, in equal steps
    bool has_lens_ = false, has_shutter_ = false;
};

// The box that the camera frames and that looks scale with: `extent`, enlarged if it is empty or flat.
Box3f usable_extent(const Box3f& extent);

} // namespace spindrift
