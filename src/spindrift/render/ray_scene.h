// What rays can hit: the shot's meshes and spheres in an Embree scene, and the questions the renderer asks of it.
// Only the renderer's own files include this header; Embree stays behind it.
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
    Vec3f face = Vec3f::Zero();   // unit normal of the triangle or sphere, out of the body
    Vec3f normal = Vec3f::Zero(); // the same, smooth
    bool from_inside = false;
    bool container = false;      // of a solid
    Vec3f color = Vec3f::Zero(); // of matte surfaces
    float time = 0.5f;           // of the ray that met it
    int medium = -1;             // of a liquid
    // Where it is on its body.
    int body = -1;
    unsigned primitive = 0;
    float u = 0, v = 0;
};

// What light passes through in a body of liquid.
struct Medium {
    float ior = 1;
    Vec3f absorption = Vec3f::Zero(); // [1/m]
    Vec3f deep_color = Vec3f::Zero();
    // Surfaces nearer to each other than this touch: about an edge of the liquid's mesh.
    float contact = 0;
};

// The liquids that a place is inside of. Where several overlap, the first of them fills it.
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
    // Scene and smoke must outlive it; the smoke's light may be worked out later.
    RayScene(const RenderScene& scene, const Volumes& smoke, const RenderParams& params, const Box3f& extent);
    ~RayScene();

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
    const Volumes& smoke() const { return smoke_; }
    int layer_of(const Hit& hit) const;
    // Of what was hit [m/s]; zero where it is not known.
    Vec3f velocity_of(const Hit& hit) const;
    // Of all that throws shadows.
    Box3f shading_bounds() const;
    // Whether a solid may be within a distance of a place.
    bool near_solid(const Vec3f& place, float distance) const;
    // So many spheres that each covers a pixel or less, and the pixel evens out their light.
    bool crowded() const { return crowded_; }
    const Medium& medium(int number) const { return media_[number]; }
    // Index of refraction there; 1 in the air.
    float ior(const Immersion& in) const { return in.any() ? medium(in.medium()).ior : 1; }
    // The longest of all liquids'.
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
