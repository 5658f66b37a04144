// What rays can hit: the shot's meshes and spheres in an Embree scene, and the questions the renderer asks of it.
// Only the renderer's own files include this header; Embree stays behind it.
#pragma once

#include "spindrift/render/optics.h"
#include "spindrift/render/preview.h"
#include "spindrift/render/volume.h"

#include <memory>

namespace spindrift {

struct Hit {
    enum class Kind { none, liquid, paint, solid, sphere };
    Kind kind = Kind::none;
    float distance = kInfinity;
    Vec3f position = Vec3f::Zero();
    Vec3f face = Vec3f::Zero();   // unit normal of the triangle or sphere, out of the body
    Vec3f normal = Vec3f::Zero(); // the same, smooth
    bool from_inside = false;
    bool container = false;      // of a solid
    Vec3f color = Vec3f::Zero(); // of matte surfaces
    float time = 0.5f;           // of the ray that met it
};

class World {
  public:
    // The smoke must outlive it; its light may be worked out later.
    World(const RenderScene& scene, const Volume& smoke, const RenderParams& params, const Box3f& extent);
    ~World();

    Hit hit(const Ray& ray, float far = kInfinity) const;
    // The same for light, which containers do not stop.
    Hit light_hit(const Ray& ray, float far = kInfinity) const;
    // The same among the solids alone.
    Hit solid_hit(const Ray& ray, float far) const;
    // Light that comes straight through: none past matte bodies, dimmed by absorption and reflection in water. Leaves
    // out refraction, which is the price of a shadow ray that goes where it was aimed.
    Vec3f past_bodies(Ray ray, float far = kInfinity) const;
    // The same, dimmed by smoke too.
    Vec3f transmittance(const Ray& ray) const;
    // A new ray from a hit, a hair off the surface so that it does not meet the same triangle again.
    Ray leave(const Hit& hit, const Vec3f& direction) const;

    bool empty() const { return bounds_.empty(); }
    const Box3f& bounds() const { return bounds_; }
    const Volume& smoke() const { return smoke_; }
    // Of all that throws shadows.
    Box3f shading_bounds() const;
    bool has_solids() const { return has_solids_; }
    // So many spheres that each covers a pixel or less, and the pixel evens out their light.
    bool crowded() const { return crowded_; }
    float ior() const { return ior_; }
    const Vec3f& absorption() const { return absorption_; }
    const Vec3f& deep_color() const { return deep_color_; }
    // Surfaces nearer to each other than this touch: about an edge of the liquid's mesh.
    float contact() const { return contact_; }

  private:
    struct Embree;
    Hit flattened(Hit hit) const;
    void flatten_against_walls(Hit& hit) const;

    std::unique_ptr<Embree> embree_;
    const Volume& smoke_;
    Box3f bounds_;
    std::optional<Box3f> container_;
    float ior_, offset_ = 0, contact_ = 0;
    Vec3f absorption_, deep_color_;
    bool has_solids_ = false, crowded_ = false;
};

} // namespace spindrift
