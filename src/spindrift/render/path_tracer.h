// Radiance along a camera ray. At the first water surface both the reflected and the refracted ray are traced; at later
// ones only the stronger of the two. Matte surfaces and the floor end a path: they are lit by the key light and the
// dome only, not by each other. Smoke is integrated along every ray through air.
//
// The mode of a layer (see render/scene.h) applies to the first object that a camera ray hits; objects seen in
// reflections and refractions are drawn with their look in every mode.
#pragma once

#include "spindrift/render/floor_light.h"
#include "spindrift/render/sampler.h"

#include <array>

namespace spindrift {

class PathTracer {
  public:
    // `background`: whether the camera sees floor and sky.
    PathTracer(const RayScene& rays, const Sky& sky, const Floor& floor, std::vector<RenderLayer::Mode> modes,
               bool background);

    struct Sample {
        Vec3f light = Vec3f::Zero();
        float alpha = 1;
        float distance = kInfinity; // of the first object on the ray
        bool detailed = false;      // hit an object: not only floor, sky or smoke
        bool hazy = false;          // smoke
    };
    // Properties of the first object on the ray, for the other channels.
    struct Seen {
        Vec3f normal = Vec3f::Zero(); // towards the camera; zero for smoke and sky
        Vec3f velocity = Vec3f::Zero();
        bool floor = false;
        std::vector<float> masks; // share of each layer
    };
    bool has_background() const { return background_; }
    // Fills `seen` unless it is null; its masks must have an entry for each layer.
    Sample trace(const Ray& ray, PixelSampler& random, Seen* seen = nullptr) const;

  private:
    // The smoke between the ray's origin and the hit.
    Volume::Passage through_smoke(const Ray& ray, float far, PixelSampler& random,
                                  std::span<Volumes::Part> parts = {}) const;
    // Applies the modes of layers to their smoke.
    void see_smoke(std::span<const Volumes::Part> parts, Volume::Passage& smoke, float& alpha) const;
    void describe(const Ray& ray, const Hit& hit, const Volume::Passage& smoke, std::span<const Volumes::Part> parts,
                  Seen& seen) const;
    Vec3f follow(Ray ray, Hit first, int depth, bool split, PixelSampler& random) const;
    // The nearest body or the floor; a hit of kind none with a finite distance is the floor.
    Hit next(const Ray& ray) const;
    // The same for light rays, which pass through containers.
    Hit next_for_light(const Ray& ray) const;
    Hit or_floor(const Hit& hit, const Ray& ray, float floor) const;
    // Whether a ray that leaves water meets a matte body there that the water touches; `hit` is then set to that body.
    bool wets_solid(const Ray& ray, Hit& hit) const;
    float contact_of(const Immersion& in) const { return in.any() ? rays_.medium(in.medium()).contact : 0; }
    Vec3f background(const Ray& ray, const Hit& hit) const;
    // Floor or sky in a direction, without occluders.
    Vec3f surroundings(const Vec3f& from, const Vec3f& direction) const;
    // Transmittance towards the surroundings along a ray: occluders reduce it.
    Vec3f openness(const Ray& ray) const;
    Vec3f openness_to(const Hit& end, const Ray& ray) const;
    // `wet` is the distance below which surfaces touch in the surrounding water; 0 in air.
    Vec3f matte(const Hit& hit, const Vec3f& direction, float wet, PixelSampler& random) const;

    // Mean radiance of dome and floor over the hemisphere of a normal, weighted by the cosine, without occluders.
    Vec3f open_light(const Vec3f& normal) const;

    const RayScene& rays_;
    const Sky& sky_;
    const Floor& floor_;
    std::vector<RenderLayer::Mode> modes_;
    bool background_, all_shown_;
    std::array<Vec3f, 9> harmonics_; // of open_light
};

} // namespace spindrift
