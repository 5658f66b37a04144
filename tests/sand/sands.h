// Sand scenes for tests: shapes filled in a box, and measurements of the sand.
#pragma once

#include "bodies/body_shapes.h"
#include "spindrift/sand/fluid_sand.h"
#include "spindrift/sand/granular_sand.h"

namespace spindrift {

constexpr float kFps = 24;

struct SandScene {
    SandParams params;

    SandScene(float alpha, const Vec3f& min, const Vec3f& max, float voxel = 0.02f)
    {
        params.voxel = voxel;
        params.materials.resize(1);
        params.materials[0].friction = alpha;
        params.domain.min = min, params.domain.max = max;
    }
    void fill_box(const Vec3f& min, const Vec3f& max, int material = 0, const Vec3f& velocity = Vec3f::Zero())
    {
        SandSourceParams source;
        source.min = min, source.max = max, source.material = material, source.velocity = velocity;
        params.sources.push_back(source);
    }
    void add_ball(const Vec3f& center, float radius, float density)
    {
        params.bodies.push_back(ball_body(center, radius, density));
    }
    void add_crate(const Vec3f& min, const Vec3f& max, float density)
    {
        params.bodies.push_back(box_body(0.5f * (min + max), max - min, density));
    }
    // Three boards on an axle along z.
    void add_wheel(const Vec3f& center, float radius, float half_width, float density)
    {
        constexpr float kHalfThickness = 0.02f; // [m]
        BodyParams wheel = box_body(center, 2 * Vec3f(radius, kHalfThickness, half_width), density);
        wheel.hinge.anchor = center;
        for (const float degrees : {60.0f, 120.0f}) {
            BodyPartParams board;
            board.min = wheel.min, board.max = wheel.max, board.rotation = Vec3f(0, 0, degrees);
            wheel.parts.push_back(board);
        }
        params.bodies.push_back(wheel);
    }
    // Fills only positions where keep(x) holds.
    template <class Keep> std::unique_ptr<GranularSand> start(const Keep& keep, float fps = kFps) const
    {
        auto sand = std::make_unique<GranularSand>(
            params,
            GranularSand::Shapes{shapes_of(params.sources), shapes_of(params.colliders), body_shapes_of(params.bodies)},
            fps);
        sand->start(1);
        GranularSand::State state = sand->state();
        remove_others(state.particles, keep);
        sand->restore(std::move(state));
        return sand;
    }
    std::unique_ptr<GranularSand> start(float fps = kFps) const { return start(everywhere, fps); }
    // The same as a fluid.
    template <class Keep> std::unique_ptr<FluidSand> start_fluid(const Keep& keep) const
    {
        auto sand = std::make_unique<FluidSand>(params, shapes_of(params.sources), shapes_of(params.colliders), kFps);
        sand->start(1);
        FluidSand::State state = sand->state();
        remove_others(state.liquid.particles, keep);
        sand->restore(std::move(state));
        return sand;
    }
    std::unique_ptr<FluidSand> start_fluid() const { return start_fluid(everywhere); }

  private:
    static bool everywhere(const Vec3f&) { return true; }
    template <class Keep> static void remove_others(Particles& particles, const Keep& keep)
    {
        std::vector<uint8_t> kept;
        for (const Vec3f& x : particles.P) kept.push_back(keep(x));
        remove_particles(particles, kept);
    }
};

// The height profile around the axis x = z = 0: in rings one cell wide, from the volume in them.
struct RadialProfile {
    std::vector<double> height;
    float ring;

    RadialProfile(const Particles& particles, float density, float width) : height(200, 0), ring(width)
    {
        const auto& mass = *particles.find<float>(kMass);
        for (size_t i = 0; i < particles.size(); ++i) {
            const auto k = static_cast<size_t>(std::hypot(particles.P[i].x(), particles.P[i].z()) / ring);
            if (k < height.size()) height[k] += static_cast<double>(mass[i] / density);
        }
        for (size_t k = 0; k < height.size(); ++k)
            height[k] /= kPi * (2 * static_cast<double>(k) + 1) * static_cast<double>(ring * ring);
    }
    double top() const { return std::max({height[0], height[1], height[2]}); }
    double radius(double least = 0.5) const // of the outermost ring that is at least this many cells high
    {
        size_t k = height.size();
        while (k > 0 && height[k - 1] < least * static_cast<double>(ring)) --k;
        return static_cast<double>(k) * static_cast<double>(ring);
    }
    // Slope of the line fitted between a fifth and four fifths of the height [deg].
    double angle() const
    {
        double n = 0, x = 0, y = 0, xx = 0, xy = 0;
        for (size_t k = 0; k < height.size(); ++k) {
            if (height[k] < 0.2 * top() || height[k] > 0.8 * top()) continue;
            const double r = (static_cast<double>(k) + 0.5) * static_cast<double>(ring);
            n += 1, x += r, y += height[k], xx += r * r, xy += r * height[k];
        }
        return n < 2 ? 0 : std::atan(-(n * xy - x * y) / (n * xx - x * x)) * 180 / kPi;
    }
};

inline double angle_of_friction(double alpha) { return std::asin(std::min(1.0, alpha * std::sqrt(1.5))) * 180 / kPi; }

inline double rms_speed(const Particles& particles)
{
    double sum = 0;
    for (const Vec3f& v : particles.v) sum += static_cast<double>(v.squaredNorm());
    return std::sqrt(sum / static_cast<double>(particles.size()));
}

// A cone of this slope on the floor.
inline auto cone(float radius, double degrees)
{
    const auto slope = static_cast<float>(std::tan(degrees * kPi / 180));
    return [=](const Vec3f& x) { return x.y() < slope * (radius - std::hypot(x.x(), x.z())); };
}

} // namespace spindrift
