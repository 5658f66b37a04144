// The shot's meshes and spheres in an Embree scene, and the ray queries of the renderer. Internal to the renderer;
// hides Embree.
#pragma once

#include "spindrift/render/optics.h"
#include "spindrift/render/volumes.h"

#include <bit>
#include <memory>

namespace spindrift {

struct Hit {
    enum class Kind { none, liquid, paint, solid, sphere };
    Kind kind = Kind::none;
    float distance = kInfinity;
    Vec3f position = Vec3f::Zero();
    Vec3f face = Vec3f::Zero();   // outward unit normal of the triangle or sphere
    Vec3f normal = Vec3f::Zero(); // the same, interpolated
    bool from_inside = false;
    bool container = false;      // of a solid
    Vec3f color = Vec3f::Zero(); // of matte surfaces
    float time = 0.5f;           // of the ray
    int medium = -1;             // of a liquid
    // Position on the body.
    int body = -1;
    unsigned primitive = 0;
    float u = 0, v = 0;
};

// Optical properties of a liquid.
struct Medium {
    float ior = 1;
    Vec3f absorption = Vec3f::Zero(); // [1/m]
    Vec3f deep_color = Vec3f::Zero();
    // Surfaces nearer to each other than this are in contact: about an edge of the liquid's mesh.
    float contact = 0;
};

// The liquids that contain a point. Where several overlap, the first of them has priority.
class Immersion {
  public:
    static constexpr int kMost = 64;
    bool any() const { return bits_ != 0; }
    int medium() const { return bits_ ? std::countr_zero(bits_) : -1; }
    Immersion with(int medium, bool inside) const
    {
        Immersion changed;
        const uint64_t bit = uint64_t{1} << medium;
        changed.bits_ = inside ? bits_ | bit : bits_ & ~bit;
        return changed;
    }

  private:
    uint64_t bits_ = 0;
};

class RayScene {
  public:
    // Scene and smoke must outlive this object; the smoke's light may be computed later.
    RayScene(const RenderScene& scene, const Volumes& smoke, const RenderParams& params, const Box3f& extent);
    ~RayScene();

    Hit hit(const Ray& ray, float far = kInfinity) const;
    // The same for light rays, which pass through containers.
    Hit light_hit(const Ray& ray, float far = kInfinity) const;
    // The same among solids only.
    Hit solid_hit(const Ray& ray, float far) const;
    // Transmittance along a straight ray: zero behind matte bodies, reduced by absorption and reflection in water.
    // Ignores refraction.
    Vec3f past_bodies(Ray ray, float far = kInfinity) const;
    // The same with smoke.
    Vec3f transmittance(const Ray& ray) const;
    // A ray that starts at a hit, offset from the surface so that it does not hit the same triangle again.
    Ray leave(const Hit& hit, const Vec3f& direction) const;

    bool empty() const { return bounds_.empty(); }
    const Box3f& bounds() const { return bounds_; }
    const Volumes& smoke() const { return smoke_; }
    int layer_of(const Hit& hit) const;
    // Of the object that was hit [m/s]; zero where unknown.
    Vec3f velocity_of(const Hit& hit) const;
    // Of everything that casts shadows.
    Box3f shading_bounds() const;
    // Whether a solid may be within a distance of a point.
    bool near_solid(const Vec3f& place, float distance) const;
    // There are so many spheres that each covers at most about a pixel, and a pixel averages over them.
    bool crowded() const { return crowded_; }
    const Medium& medium(int number) const { return media_[number]; }
    // Index of refraction; 1 in air.
    float ior(const Immersion& in) const { return in.any() ? medium(in.medium()).ior : 1; }
    // The longest contact distance of all liquids.
    float contact() const { return contact_; }

  private:
    struct Embree;
    Hit flattened(Hit hit) const;
    void flatten_against_walls(Hit& hit) const;
    void add_surface(const RenderSurface& surface, const RenderParams& params, const Box3f& extent);
    void add_spheres(const RenderSpheres& spheres, const RenderParams& params, const Box3f& extent);
    int add_medium(const WaterLook& look, const Box3f& extent);

    std::unique_ptr<Embree> embree_;
    const Volumes& smoke_;
    Box3f bounds_;
    std::optional<Box3f> container_;
    float offset_ = 0, contact_ = 0;
    std::vector<Medium> media_;
    bool crowded_ = false;
    std::vector<Box3f> solid_bounds_;
};

} // namespace spindrift
