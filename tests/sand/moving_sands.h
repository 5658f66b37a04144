// Sand on moving colliders (a belt, a drum, a shaken box and a blade), and measurements of it.
#pragma once

#include "sand/sands.h"

namespace spindrift {

inline Particles grains_of(const GranularSand& sand) { return sand.particles(); }
inline Particles grains_of(const FluidSand& sand) { return sand.grains(); }

// Calls body(sand, name) for both models.
template <class Body> void for_both_models(const SandScene& scene, const Body& body)
{
    body(*scene.start(), "grains");
    body(*scene.start_fluid(), "fluid");
}

struct MeanMotion {
    double mass = 0;
    Vec3d place = Vec3d::Zero(), velocity = Vec3d::Zero();
    explicit MeanMotion(const Particles& particles)
    {
        const auto& masses = *particles.find<float>(kMass);
        for (size_t i = 0; i < particles.size(); ++i) {
            const auto m = static_cast<double>(masses[i]);
            mass += m, place += m * particles.P[i].cast<double>(), velocity += m * particles.v[i].cast<double>();
        }
        place /= mass, velocity /= mass;
    }
};

inline void open_all_sides(DomainParams& domain)
{
    for (auto* side : {&domain.x_min, &domain.x_max, &domain.y_min, &domain.y_max, &domain.z_min, &domain.z_max})
        *side = DomainParams::Side::open;
}

// A block of sand on a floor that moves along x from the start.
inline SandScene belt(float speed, float friction, float stick)
{
    SandScene scene(0.5f, Vec3f(-1, -0.1f, -0.5f), Vec3f(1.5f, 0.6f, 0.5f));
    open_all_sides(scene.params.domain);
    scene.fill_box(Vec3f(-0.15f, 0, -0.1f), Vec3f(0.15f, 0.1f, 0.1f));
    ColliderParams floor;
    floor.min = Vec3f(-3, -0.1f, -1), floor.max = Vec3f(3, 0, 1);
    floor.friction = friction, floor.stick = stick;
    floor.translate = {{1, 0, 0, 0}, {97, speed * 96 / kFps, 0, 0}};
    scene.params.colliders.push_back(floor);
    return scene;
}

// A half-full drum that turns clockwise about z; its ends are smooth, as if it were long.
struct Drum {
    float radius, voxel, turning; // [m], [m], [rad/s]
    SandScene scene;

    Drum(float r, float cell, float froude, float alpha = 0.5f)
        : radius(r), voxel(cell), turning(std::sqrt(froude * 9.81f / r)),
          scene(alpha, Vec3f(-1.2f * r, -1.2f * r, -2 * cell), Vec3f(1.2f * r, 1.2f * r, 2 * cell), cell)
    {
        scene.params.wall_friction = 0;
        ColliderParams wall;
        wall.shape = ShapeParams::Kind::capsule, wall.invert = true;
        wall.start = Vec3f(0, 0, -1), wall.end = Vec3f(0, 0, 1), wall.radius = radius, wall.friction = 1;
        for (int second = 0; second <= 30; ++second) {
            const auto t = static_cast<float>(second);
            wall.rotate.push_back({1 + kFps * t, 0, 0, 1, -turning * t * 180 / static_cast<float>(kPi)});
        }
        scene.params.colliders.push_back(wall);
        scene.fill_box(Vec3f(-radius, -radius, -2 * voxel), Vec3f(radius, 0, 2 * voxel));
    }
    // Slope of the line fitted to the surface in the middle three fifths of the drum [deg]. The surface height follows
    // from the volume in columns one cell wide.
    double angle(const Particles& particles) const
    {
        const auto& mass = *particles.find<float>(kMass);
        const auto bins = static_cast<size_t>(std::lround(2 * radius / voxel));
        std::vector<double> volume(bins, 0);
        for (size_t i = 0; i < particles.size(); ++i)
            if (const float x = particles.P[i].x() + radius; x >= 0 && x < 2 * radius)
                volume[std::min(bins - 1, static_cast<size_t>(x / voxel))] += static_cast<double>(mass[i]) / 1600;
        const auto r = static_cast<double>(radius), cell = static_cast<double>(voxel);
        double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
        for (size_t k = 0; k < bins; ++k) {
            const double x = (static_cast<double>(k) + 0.5) * cell - r;
            if (std::abs(x) > 0.6 * r) continue;
            const double y = volume[k] / (4 * cell * cell) - std::sqrt(r * r - x * x);
            n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
        }
        return std::atan(-(n * sxy - sx * sy) / (n * sxx - sx * sx)) * 180 / kPi;
    }
    // The mean over the last `frames` of `all` frames.
    template <class Sand> double mean_angle(Sand& sand, int all, int frames) const
    {
        double sum = 0;
        for (int f = 1; f <= all; ++f) {
            sand.advance();
            if (f > all - frames) sum += angle(grains_of(sand));
        }
        return sum / frames;
    }
};

// A box that oscillates along x for a second, and then stands still.
inline SandScene shaken_box()
{
    SandScene scene(0.5f, Vec3f(-1, -1, -1), Vec3f(1, 1, 1));
    open_all_sides(scene.params.domain);
    ColliderParams box;
    box.min = Vec3f(-0.15f, 0, -0.1f), box.max = Vec3f(0.15f, 0.4f, 0.1f), box.invert = true, box.friction = 0.5f;
    for (int k = 0; k <= 24; ++k)
        box.translate.push_back({1 + static_cast<float>(k), 0.04f * std::sin(static_cast<float>(k * kPi / 6)), 0, 0});
    scene.params.colliders.push_back(box);
    scene.fill_box(Vec3f(-0.15f, 0, -0.1f), Vec3f(0.15f, 0.12f, 0.1f));
    return scene;
}

// A blade that is pushed through a layer of sand, along x for two seconds.
struct Blade {
    static constexpr float kSpeed = 0.3f, kThick = 0.04f, kFrom = -0.3f, kDepth = 0.06f, kWidth = 0.24f;
    SandScene scene;

    Blade() : scene(0.5f, Vec3f(-0.4f, 0, -0.5f * kWidth), Vec3f(0.8f, 0.5f, 0.5f * kWidth))
    {
        ColliderParams blade;
        blade.min = Vec3f(kFrom - kThick, -0.02f, -0.2f), blade.max = Vec3f(kFrom, 0.3f, 0.2f), blade.friction = 0.3f;
        blade.translate = {{1, 0, 0, 0}, {49, 2 * kSpeed, 0, 0}};
        scene.params.colliders.push_back(blade);
        scene.fill_box(Vec3f(kFrom, 0, -0.5f * kWidth), Vec3f(0.8f, kDepth, 0.5f * kWidth));
    }
    static float front(int frames) { return kFrom + kSpeed * static_cast<float>(frames) / kFps; }
    // The share of the mass behind the middle of the blade, and the height of the sand in front of it, from the volume
    // within a distance of it [m].
    static double behind(const Particles& particles, int frames)
    {
        return share_below(particles, front(frames) - 0.5f * kThick);
    }
    static double height(const Particles& particles, int frames, float far)
    {
        const auto& mass = *particles.find<float>(kMass);
        double volume = 0;
        for (size_t i = 0; i < particles.size(); ++i)
            if (const float x = particles.P[i].x() - front(frames); x > 0 && x < far)
                volume += static_cast<double>(mass[i]) / 1600;
        return volume / static_cast<double>(far * kWidth);
    }

  private:
    static double share_below(const Particles& particles, float x)
    {
        const auto& mass = *particles.find<float>(kMass);
        double all = 0, below = 0;
        for (size_t i = 0; i < particles.size(); ++i) {
            all += static_cast<double>(mass[i]);
            if (particles.P[i].x() < x) below += static_cast<double>(mass[i]);
        }
        return below / all;
    }
};

} // namespace spindrift
