// Light along one ray of the camera. Water splits the first ray into its mirrored and its refracted part and traces
// both; deeper down only the stronger of the two. Matte surfaces and the floor end a path: they are lit by the key
// light and the dome only, not by each other. Smoke is gathered along every ray through air.
#pragma once

#include "spindrift/render/floor_light.h"
#include "spindrift/render/sampler.h"

#include <array>

namespace spindrift {

class PathTracer {
  public:
    PathTracer(const World& world, const Sky& sky, const Floor& floor);

    struct Sample {
        Vec3f light = Vec3f::Zero();
        float distance = kInfinity; // of what is seen first
        bool detailed = false;      // something other than floor, sky and smoke
        bool hazy = false;          // smoke
    };
    Sample trace(const Ray& ray, Sampler& random) const;

  private:
    // The smoke on the way to what a ray hits.
    Volume::Passage through_smoke(const Ray& ray, float far, Sampler& random) const;
    Vec3f follow(Ray ray, Hit first, int depth, bool split, Sampler& random) const;
    // The nearest of bodies and floor; a hit of kind none with a finite distance is the floor.
    Hit next(const Ray& ray) const;
    // The same for light, which containers do not stop.
    Hit next_for_light(const Ray& ray) const;
    Hit or_floor(const Hit& hit, const Ray& ray, float floor) const;
    // Whether water, left by this ray, ends on a matte body; `hit` then becomes that body.
    bool wets_solid(const Ray& ray, Hit& hit) const;
    Vec3f background(const Ray& ray, const Hit& hit) const;
    // Floor or sky in a direction, whatever stands in between.
    Vec3f surroundings(const Vec3f& from, const Vec3f& direction) const;
    // Share of that light that a ray finds: what stands in the way dims it.
    Vec3f openness(const Ray& ray) const;
    Vec3f openness_to(const Hit& end, const Ray& ray) const;
    Vec3f matte(const Hit& hit, const Vec3f& direction, bool wet, Sampler& random) const;

    // The dome and the floor as an open matte surface with this normal sees them on average.
    Vec3f open_light(const Vec3f& normal) const;

    const World& world_;
    const Sky& sky_;
    const Floor& floor_;
    std::array<Vec3f, 9> harmonics_; // of open_light
};

} // namespace spindrift
