// Flows with known results for tracked surfaces.
#pragma once

#include "spindrift/track/tracker.h"

#include <Eigen/Geometry>

namespace spindrift {

// The deformation field of [LeVeque 1996] as in [Bargteil 2006, (5.1)]: forth until t = 1, and back until t = 2.
struct Deformation : TrackFlow {
    double begin = 0, seconds = 0; // of the step

    void sample(std::span<const Vec3f> points, float share, std::span<Vec3f> velocities) const override
    {
        const auto pi = static_cast<float>(kPi);
        const auto strength = static_cast<float>(std::sin(kPi * (begin + static_cast<double>(share) * seconds)));
        for (size_t i = 0; i < points.size(); ++i) {
            const Vec3f s = (pi * points[i].array()).sin(), c = (pi * points[i].array()).cos();
            const Vec3f twice = 2 * s.cwiseProduct(c);
            velocities[i] =
                strength * Vec3f(2 * s.x() * s.x() * twice.y() * twice.z(), -twice.x() * s.y() * s.y() * twice.z(),
                                 -twice.x() * twice.y() * s.z() * s.z());
        }
    }
    float max_speed() const override { return 2; }
};

// Where the deformation field takes a point from one time to another.
inline Vec3f deformed(Vec3f x, double from, double to)
{
    constexpr int kParts = 64;
    Deformation flow;
    flow.seconds = (to - from) / kParts;
    for (int i = 0; i < kParts; ++i) {
        flow.begin = from + i * flow.seconds;
        const auto dt = static_cast<float>(flow.seconds);
        Vec3f first, middle;
        flow.sample({&x, 1}, 0, {&first, 1});
        const Vec3f half = x + 0.5f * dt * first;
        flow.sample({&half, 1}, 0.5f, {&middle, 1});
        x += dt * middle;
    }
    return x;
}

// A steady flow.
struct SteadyFlow : TrackFlow {
    std::function<Vec3f(const Vec3f&)> velocity;
    float speed;

    SteadyFlow(std::function<Vec3f(const Vec3f&)> v, float most) : velocity(std::move(v)), speed(most) {}
    void sample(std::span<const Vec3f> points, float, std::span<Vec3f> velocities) const override
    {
        for (size_t i = 0; i < points.size(); ++i) velocities[i] = velocity(points[i]);
    }
    float max_speed() const override { return speed; }
};

// A rigid motion whose paths are exact: x moves to rotation (x - center) + center + shift in a step of one second.
struct RigidFlow : TrackFlow {
    Eigen::AngleAxisf rotation;
    Vec3f center, shift;

    RigidFlow(const Eigen::AngleAxisf& r, const Vec3f& c, const Vec3f& s) : rotation(r), center(c), shift(s) {}
    // For steps in one part, whose midpoint rule reads two velocities. The first is zero, so that the second, at the
    // end of the step, can be the exact displacement.
    void sample(std::span<const Vec3f> points, float share, std::span<Vec3f> velocities) const override
    {
        for (size_t i = 0; i < points.size(); ++i)
            velocities[i] = share == 1
                                ? Vec3f(Vec3f::Zero())
                                : Vec3f(points[i] - (rotation.inverse() * (points[i] - shift - center) + center));
    }
    float max_speed() const override { return 10; }
};

// A ball, or what it is cut into.
struct BallFunction : SurfaceFunction {
    Vec3f center;
    float radius;

    BallFunction(const Vec3f& c, float r) : center(c), radius(r) {}
    void estimate(std::span<const Vec3f> points, std::span<float> values) const override
    {
        for (size_t i = 0; i < points.size(); ++i) values[i] = (points[i] - center).norm() - radius;
    }
    void evaluate(std::span<const Vec3f> points, std::span<DistanceTree::Nearest> results) const override
    {
        for (size_t i = 0; i < points.size(); ++i) results[i].distance = (points[i] - center).norm() - radius;
    }
    Box3f bounds() const override { return {center.array() - radius, center.array() + radius}; }
};

inline SurfaceTracker::Source ball_source(const Vec3f& center, float radius, GivenValues values = {})
{
    return {[=](const Vec3f& x) { return (x - center).norm() - radius; },
            {center.array() - radius, center.array() + radius},
            std::move(values)};
}

inline SurfaceTracker::Source box_source(const Box3f& box, GivenValues values = {})
{
    return {[=](const Vec3f& x) {
                const Vec3f d = (box.min - x).cwiseMax(x - box.max);
                return d.maxCoeff() < 0 ? d.maxCoeff() : d.cwiseMax(0.0f).norm();
            },
            box, std::move(values)};
}

// Steps from t = 0 to 1 of at most `cells` voxels on average.
inline int steps_forth(float voxel, float cells)
{
    return static_cast<int>(std::ceil(2 / kPi * 2 / static_cast<double>(cells * voxel)));
}

// Forth and back in the deformation field. Calls after(step) after each step.
template <class After> void deform(SurfaceTracker& tracker, float voxel, float cells, const After& after)
{
    const int half = steps_forth(voxel, cells);
    Deformation flow;
    flow.seconds = 1.0 / half;
    for (int i = 0; i < 2 * half; ++i) {
        flow.begin = i * flow.seconds;
        tracker.step(flow, static_cast<float>(flow.seconds));
        after(i);
    }
}

} // namespace spindrift
