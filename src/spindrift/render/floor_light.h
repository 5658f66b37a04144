// The floor and its irradiance. Before the picture is traced, the irradiance of the floor is stored in two small maps,
// so that rays that end on the floor look it up, and shadows have no noise:
//   - the key light by photons that refract through water: shadows of matte bodies and smoke, tinted shadows, caustics;
//   - the dome by rays from the floor to the sky: ambient occlusion.
// Limits: light reflected onto the floor by water or by matte bodies is ignored.
#pragma once

#include "spindrift/render/ray_scene.h"
#include "spindrift/render/sampler.h"
#include "spindrift/render/sky.h"

#include <vector>

namespace spindrift {

// A rectangle of the floor with colours on a grid of texel centres, 1 outside.
class LightMap {
  public:
    LightMap() = default;
    LightMap(const Vec2f& low, const Vec2f& high, int longer_side);

    Vec3f at(float x, float z) const;
    // Adds light to the texels around a point with a smooth kernel three texels wide.
    void splat(float x, float z, const Vec3f& light);
    void blur();
    // Blends to 1 at the rim, so that the border of the map is not visible.
    void fade_rim();

    int width = 0, height = 0;
    Vec2f low = Vec2f::Zero();
    float texel = 1;
    std::vector<Vec3f> light;
};

class Floor {
  public:
    // `blurred`: shadows are averaged over the time that the shutter is open. A draft has coarser maps with fewer
    // photons and rays.
    Floor(const RayScene& rays, const Sky& sky, const Box3f& extent, bool present, bool blurred = false,
          RenderParams::Quality quality = RenderParams::Quality::full);

    // Distance to the floor along the ray, infinite if the ray does not meet it.
    float distance(const Ray& ray) const;
    // Radiance of a point of the floor, seen along `direction`.
    Vec3f radiance(const Vec3f& point, const Vec3f& direction) const;
    // The same where nothing shades the floor, near the camera.
    Vec3f open_radiance() const { return open_key_ + open_dome_; }
    float height() const { return height_; }
    bool present() const { return present_; }

  private:
    struct Photon {
        Vec2f aim = Vec2f::Zero(), place = Vec2f::Zero();
        Vec3f light = Vec3f::Zero();
        bool disturbed = false;
    };
    void trace_key();
    void gather_dome();
    // Bodies of parallel loops are functions that are never inlined: TBB's templates inline a loop's body more than
    // once, the compiler may round differently in each copy, and which copy runs depends on the threads.
    [[gnu::noinline]] Photon shoot(size_t number) const;
    [[gnu::noinline]] Vec2f aim(PixelSampler& even) const;
    std::vector<uint32_t> photons_by_place() const;
    [[gnu::noinline]] Vec3f dome_share(size_t texel) const;
    // Where a photon that starts towards the floor arrives, and its remaining light; false if it reaches the floor
    // directly.
    bool follow(Ray ray, Vec2f& place, Vec3f& light) const;
    float smoke_along(const Ray& ray, float way) const;

    const RayScene& rays_;
    const Sky& sky_;
    bool present_, blurred_;
    int photons_, key_texels_, dome_texels_, dome_rays_;
    float height_, radius_;
    Vec2f center_;
    Vec3f open_key_, open_dome_; // radiance of the unshaded floor
    LightMap key_, dome_;
};

} // namespace spindrift
