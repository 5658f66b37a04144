// The floor and the light on it. Before the picture is traced, the light that reaches the floor is worked out once into
// two small maps, so that every ray that ends on the floor only looks it up, and shadows are free of noise:
//   - the key light by photons that refract through the water: shadows of matte bodies and smoke, tinted shadows and
//   caustics;
//   - the dome by rays from the floor straight to the sky: the soft darkening where things stand.
// Limits: light mirrored by water onto the floor is left out, and so is light that matte bodies throw on it.
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
    // Adds to the texels around a point with a smooth kernel three texels wide.
    void splat(float x, float z, const Vec3f& light);
    void blur();
    // Towards 1 at the rim, so that the end of the map is not seen.
    void fade_rim();

    int width = 0, height = 0;
    Vec2f low = Vec2f::Zero();
    float texel = 1;
    std::vector<Vec3f> light;
};

class Floor {
  public:
    // `blurred`: shadows are those of all the time that the shutter is open. A draft has coarser maps with an eighth of
    // the photons and rays.
    Floor(const RayScene& rays, const Sky& sky, const Box3f& extent, bool present, bool blurred = false,
          RenderParams::Quality quality = RenderParams::Quality::full);

    // Distance along the ray, infinite if it does not come down on the floor.
    float distance(const Ray& ray) const;
    // What the eye sees at a point of the floor when it looks along `direction`.
    Vec3f radiance(const Vec3f& point, const Vec3f& direction) const;
    // The same where nothing shades it and the camera is near.
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
    // What parallel loops do for one index stands in functions of their own that are never inlined: TBB's templates
    // inline a loop's body more than once, the compiler fuses multiplications and additions differently in each copy,
    // and which copy runs depends on the threads. The last bits of the result would too.
    [[gnu::noinline]] Photon shoot(size_t number) const;
    [[gnu::noinline]] Vec2f aim(PixelSampler& even) const;
    std::vector<uint32_t> photons_by_place() const;
    [[gnu::noinline]] Vec3f dome_share(size_t texel) const;
    // Where a photon that starts towards the floor ends, and what is left of it; false if it meets nothing before.
    bool follow(Ray ray, Vec2f& place, Vec3f& light) const;
    float smoke_along(const Ray& ray, float way) const;

    const RayScene& rays_;
    const Sky& sky_;
    bool present_, blurred_;
    int photons_, key_texels_, dome_texels_, dome_rays_;
    float height_, radius_;
    Vec2f center_;
    Vec3f open_key_, open_dome_; // radiance of the floor where nothing is in the way
    LightMap key_, dome_;
};

} // namespace spindrift
