#include "spindrift/render/camera.h"

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
    const float aspect = static_cast<float>(width) / static_cast<float>(height);
    if (params.focal_length) tan_half_ = 0.5f * params.sensor_width / *params.focal_length / aspect;
    const Vec3f target = params.target.value_or(extent.center());
    look(params.position ? Vec3f(target - *params.position) : kThreeQuarter, params.roll);
    if (params.position)
        position_ = *params.position;
    else
        frame(extent, target, !params.target);

    const float to_target = (target - position_).dot(forward_);
    focus_ = params.focus.value_or(to_target > 0 ? to_target : 1.0f);
    const float focal_length = 0.5e-3f * params.sensor_width / (tan_half_ * aspect); // [m]
    if (params.f_stop > 0) lens_radius_ = 0.5f * focal_length / params.f_stop;
}

void Camera::look(const Vec3f& direction, float roll)
{
    const float length = direction.norm();
    forward_ = length > 0 ? Vec3f(direction / length) : Vec3f(0, 0, -1);
    // If the camera looks straight up or down, "up" in the picture is away from the viewer.
    const Vec3f up = std::abs(forward_.y()) < 0.9999f ? Vec3f(0, 1, 0) : Vec3f(0, 0, -1);
    right_ = forward_.cross(up).normalized();
    up_ = right_.cross(forward_);
    if (roll == 0) return;
    const float angle = roll * static_cast<float>(kPi / 180), c = std::cos(angle), s = std::sin(angle);
    const Vec3f right = right_;
    right_ = c * right - s * up_, up_ = c * up_ + s * right;
}

// Moves the camera back until every corner is inside the frame. The near side of a box appears larger than the far
// side, so that its outline is not centred if its centre is: shift sideways until it is, unless the user chose the
// target.
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

Ray Camera::ray(float x, float y, const Vec2f& lens) const
{
    const float step = pixel_size();
    const float u = (x - 0.5f * static_cast<float>(width_)) * step, v = (0.5f * static_cast<float>(height_) - y) * step;
    const float away = lens_radius_ * std::sqrt(lens.x()), turn = static_cast<float>(2 * kPi) * lens.y();
    const Vec3f aside = away * (std::cos(turn) * right_ + std::sin(turn) * up_);
    return {position_ + aside, (focus_ * (forward_ + u * right_ + v * up_) - aside).normalized()};
}

Vec3f Camera::project(const Vec3f& point) const
{
    const Vec3f d = point - position_;
    const float depth = d.dot(forward_), scale = 1 / (depth * pixel_size());
    return {0.5f * static_cast<float>(width_) + d.dot(right_) * scale,
            0.5f * static_cast<float>(height_) - d.dot(up_) * scale, depth};
}

namespace {

// The automatic camera is placed once, for the first key: it must not move back when the lens zooms in.
CameraParams placed(const CameraParams& params, const Box3f& extent, int width, int height)
{
    CameraParams fixed = params;
    if (!params.keyed() || params.position || !params.position_keys.empty()) return fixed;
    const Camera first(params.at(-kInfinity), extent, width, height);
    fixed.position = first.position();
    if (!params.target && params.target_keys.empty()) fixed.target = first.position() + first.focus() * first.forward();
    return fixed;
}

} // namespace

MovingCamera::MovingCamera(const CameraParams& params, float frame, const Box3f& extent, int width, int height)
    : has_shutter_(params.shutter > 0)
{
    constexpr int kSteps = 8; // enough for rotations within a frame
    const CameraParams fixed = placed(params, extent, width, height);
    const bool moves = params.keyed() && params.interpolation != Interpolation::step; // a cut causes no motion blur
    const int steps = has_shutter_ && moves ? kSteps : 0;
    for (int i = 0; i <= steps; ++i) {
        const float share = steps ? static_cast<float>(i) / static_cast<float>(steps) - 0.5f : 0;
        moments_.emplace_back(fixed.at(frame + share * params.shutter / 360), extent, width, height);
        has_lens_ |= moments_.back().lens_radius() > 0;
    }
}

Ray MovingCamera::ray(float x, float y, const Vec2f& lens, float time) const
{
    const auto at = [&](size_t i) { return has_lens_ ? moments_[i].ray(x, y, lens) : moments_[i].ray(x, y); };
    Ray ray;
    if (moments_.size() == 1) {
        ray = at(0);
    } else {
        const float place = time * static_cast<float>(moments_.size() - 1);
        const size_t first = std::min(static_cast<size_t>(place), moments_.size() - 2);
        const float share = place - static_cast<float>(first);
        const Ray from = at(first), to = at(first + 1);
        ray.origin = (1 - share) * from.origin + share * to.origin;
        ray.direction = ((1 - share) * from.direction + share * to.direction).normalized();
    }
    ray.time = time;
    return ray;
}

} // namespace spindrift
