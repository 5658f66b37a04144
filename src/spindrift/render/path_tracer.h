// Light along one ray of the camera. Water splits the first ray into its mirrored and its refracted part and traces
// both; deeper down only the stronger of the two. Matte surfaces and the floor end a path: they are lit by the key
// light and the dome only, not by each other. Smoke is gathered along every ray through air.
//
// The camera sees layers as their modes say (see render/scene.h); everything behind the first thing that a ray meets is
// drawn with its look, whatever its layer's mode.
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
        float distance = kInfinity; // of what is seen first
        bool detailed = false;      // something other than floor, sky and smoke
        bool hazy = false;          // smoke
    };
    // What is seen first: for the channels beside the colours.
    struct Seen {
        Vec3f normal = Vec3f::Zero(); // towards the camera; zero for smoke and sky
        Vec3f velocity = Vec3f::Zero();
        bool floor = false;
        std::vector<float> masks; // share of each layer
    };
    bool has_background() const { return background_; }
    // Fills `seen` if there is one, whose masks must have an entry for each layer.
    Sample trace(const Ray& ray, PixelSampler& random, Seen* seen = nullptr) const;

  private:
    // The smoke on the way to what a ray hits.
    Volume::Passage through_smoke(const Ray& ray, float far, PixelSampler& random,
                                  std::span<Volumes::Part> parts = {}) const;
    // The smoke as the modes of its layers say.
    void see_smoke(std::span<const Volumes::Part> parts, Volume::Passage& smoke, float& alpha) const;
    void describe(const Ray& ray, const Hit& hit, const Volume::Passage& smoke, std::span<const Volumes::Part> parts,
                  Seen& seen) const;
    Vec3f follow(Ray ray, Hit first, int depth, bool split, PixelSampler& random) const;
    // The nearest of bodies and floor; a hit of kind none with a finite distance is the floor.
    Hit next(const Ray& ray) const;
    // The same for light, which containers do not stop.
    Hit next_for_light(const Ray& ray) const;
    Hit or_floor(const Hit& hit, const Ray& ray, float floor) const;
    // Whether water, left by this ray, ends on a matte body; `hit` then becomes that body.
    bool wets_solid(const Ray& ray, Hit& hit) const;
    float contact_of(const Immersion& in) const { return in.any() ? rays_.medium(in.medium()).contact : 0; }
    Vec3f background(const Ray& ray, const Hit& hit) const;
    // Floor or sky in a direction, whatever stands in between.
    Vec3f surroundings(const Vec3f& from, const Vec3f& direction) const;
    // Share of that light that a ray finds: what stands in the way dims it.
    Vec3f openness(const Ray& ray) const;
    Vec3f openness_to(const Hit& end, const Ray& ray) const;
    // `wet` is how near to the water around it surfaces touch; 0 in air.
    Vec3f matte(const Hit& hit, const Vec3f& direction, float wet, PixelSampler& random) const;

    // The dome and the floor as an open matte surface with this normal sees them on average.
    Vec3f open_light(const Vec3f& normal) const;

    const RayScene& rays_;
    const Sky& sky_;
    const Floor& floor_;
    std::vector<RenderLayer::Mode> modes_;
    bool background_, all_shown_;
    std::array<Vec3f, 9> harmonics_; // of open_light
};

} // namespace spindrift
