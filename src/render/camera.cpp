#include "render/camera.h"

namespace spindrift {

namespace {

constexpr float kMargin = 1.07f;                   // empty rim around the box
const Vec3f kThreeQuarter(-0.48f, -0.36f, -0.80f); // where the automatic camera looks

Vec3f corner(const Box3f& box, int i)
{
    return {i & 1 ? box.max.x() : box.min.x(), i & 2 ? box.max.y() : box.min.y(), i & 4 ? box.max.z() : box.min.z()};
}

} // namespace

Box3f usable_extent(const Box3f& extent)
{
    if (extent.empty() || !extent.min.allFinite() || !extent.max.allFinite()) return {Vec3f(0, 0, 0), Vec3f(1, 1, 1)};
    const float size = extent.size().maxCoeff();
    return size > 1e-6f ? extent : extent.grown(0.5f);
}

Camera::Camera(const CameraParams& params, const Box3f& extent, int width, int height)
    : tan_half_(std::tan(std::clamp(params.fov, 1.0f, 170.0f) * static_cast<float>(kPi / 360))), width_(width),
      height_(height)
{
    const Vec3f target = params.target.value_or(extent.center());
    look(params.position ? Vec3f(target - *params.position) : kThreeQuarter);
    if (params.position)
        position_ = *params.position;
    else
        frame(extent, target, !params.target);
}

void Camera::look(const Vec3f& direction)
{
    const float length = direction.norm();
    forward_ = length > 0 ? Vec3f(direction / length) : Vec3f(0, 0, -1);
    // Straight up or down, "up" in the picture is away from the viewer.
    const Vec3f up = std::abs(forward_.y()) < 0.9999f ? Vec3f(0, 1, 0) : Vec3f(0, 0, -1);
    right_ = forward_.cross(up).normalized();
    up_ = right_.cross(forward_);
}

// Moves back until every corner is inside the frame. The near side of a box looks larger than the far one, so the
// box is not centred when its centre is: shift sideways until its outline is, unless the user chose the target.
void Camera::frame(const Box3f& extent, const Vec3f& target, bool centered)
{
    const float tan_y = tan_half_ / kMargin;
    const float tan_x = tan_y * static_cast<float>(width_) / static_cast<float>(height_);
    Vec3f aim = target;
    for (int pass = 0; pass < 12; ++pass) {
        float back = 0;
        for (int i = 0; i < 8; ++i) {
            const Vec3f d = corner(extent, i) - aim;
            const float needed = std::max(std::abs(d.dot(right_)) / tan_x, std::abs(d.dot(up_)) / tan_y);
            back = std::max(back, needed - d.dot(forward_));
        }
        position_ = aim - back * forward_;
        if (!centered || pass == 11) return;

        Vec2f low(kInfinity, kInfinity), high = -low;
        for (int i = 0; i < 8; ++i) {
            const Vec3f d = corner(extent, i) - position_;
            const float depth = std::max(d.dot(forward_), 1e-6f * back);
            const Vec2f seen(d.dot(right_) / depth, d.dot(up_) / depth);
            low = low.cwiseMin(seen), high = high.cwiseMax(seen);
        }
        aim += 0.5f * back * ((low.x() + high.x()) * right_ + (low.y() + high.y()) * up_);
    }
}

Ray Camera::ray(float x, float y) const
{
    const float step = pixel_size();
    const float u = (x - 0.5f * static_cast<float>(width_)) * step, v = (0.5f * static_cast<float>(height_) - y) * step;
    return {position_, (forward_ + u * right_ + v * up_).normalized()};
}

Vec3f Camera::project(const Vec3f& point) const
{
    const Vec3f d = point - position_;
    const float depth = d.dot(forward_), scale = 1 / (depth * pixel_size());
    return {0.5f * static_cast<float>(width_) + d.dot(right_) * scale,
            0.5f * static_cast<float>(height_) - d.dot(up_) * scale, depth};
}

} // namespace spindrift
