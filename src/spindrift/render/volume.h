// Smoke and fire on a sparse grid. Light that reaches a place in the smoke is worked out once for each picture:
//   - how much of the key light gets there, past smoke and bodies, at every point of the grid;
//   - how open it is to the sky and to the floor, along a few directions, at every fourth.
// A ray of the camera then only gathers, in steps of a voxel at most, what is scattered towards it (Max 1995), and
// jumps over tiles that are empty. Light that was scattered once is exact but for the grid; what is scattered again is
// estimated from how much of the smoke around a place hides the sky from it.
// Limits: the dome is scattered evenly in all directions; fire lights nothing but the picture.
#pragma once

#include "spindrift/render/scene.h"
#include "spindrift/render/sparse_samples.h"

#include <array>

namespace spindrift {

class Floor;
class Sky;
constexpr float kHiddenTransmittance = 0.002f; // so little gets through that the rest does not matter

class RayScene;

class Volume {
  public:
    Volume(const RenderSmoke* smoke, const RenderParams& params, const Box3f& extent);
    Volume(const Volume&) = delete;
    Volume& operator=(const Volume&) = delete;

    bool empty() const { return grids_[0].tile_count() == 0; }
    const Box3f& bounds() const { return grids_[0].bounds(); }
    float voxel() const { return grids_[0].spacing(); }
    int layer() const { return layer_; }
    // [m/s]; zero where it is not known.
    Vec3f velocity(const Vec3f& place) const;
    const Vec3f& color() const { return look_.color; }

    // What is left of light that comes to the ray's origin from that far. What is not near is taken coarser, as a wide
    // light would.
    float transmittance(const Ray& ray, float far = kInfinity) const;
    // The same, all of it coarse: for light from everywhere.
    float soft_transmittance(const Ray& ray, float far = kInfinity) const;

    // Works out the light in the smoke. The floor's own must be known.
    void light(const RayScene& rays, const Sky& sky, const Floor& floor);

    struct Passage {
        Vec3f light = Vec3f::Zero(); // what the smoke sends towards the ray's origin
        float through = 1;           // what is left of light from behind
        float middle = kInfinity;    // where half of it is lost
    };
    // `shift` in [0, 1) moves the places that are looked at within their steps.
    Passage pass(const Ray& ray, float far, float shift, float near = 0) const;

  private:
    static constexpr int kLevels = 3; // each of half the resolution of the one before
    // What a ray needs to know of a point.
    struct alignas(16) Point {
        float extinction;   // [1/m]
        float key;          // share of the key light that gets there
        float above, below; // shares of the sky and of what is below
    };
    // The lights that smoke scatters.
    enum Share { from_key, from_key_again, from_above, from_below };
    struct Openness {
        float above = 0, below = 0;
        Openness operator+(const Openness& b) const { return {above + b.above, below + b.below}; }
        Openness operator-(const Openness& b) const { return {above - b.above, below - b.below}; }
        friend Openness operator*(float s, const Openness& a) { return {s * a.above, s * a.below}; }
    };

    void make_density(const RenderSmoke& smoke, const FireLook& fire);
    // Optical depth between two distances on one level, and from the origin on, first on this level, then ever coarser.
    float march(int level, const Ray& ray, float near, float far) const;
    float depth(const Ray& ray, float far, int level) const;
    SparseSamples<float> key_light() const;
    SparseSamples<float> light_past_bodies(const RayScene& rays, const Sky& sky) const;
    SparseSamples<Openness> openness(const RayScene& rays, const Sky& sky, const Floor& floor);
    Openness openness_at(const Vec3f& place, const RayScene& rays, const Floor& floor) const;
    Vec3f glow(float temperature) const;

    SmokeLook look_;
    FireLook fire_;
    int layer_ = 0;
    PlacedField<Vec3f> velocity_;
    float extinction_ = 0; // of density 1 [1/m]
    float albedo_ = 0;     // as a grey
    Vec3f key_direction_ = Vec3f(0, 1, 0);
    std::array<Vec3f, 4> lights_; // of each kind, where nothing is in the way

    struct Direction {
        Vec3f toward;
        float weight; // of its light among those above or below
    };
    std::vector<Direction> around_;

    std::array<SparseSampleGrid, kLevels> grids_;
    std::array<SparseSamples<float>, kLevels> density_; // extinction
    SparseSamples<Point> points_;
    std::vector<float> longest_step_;  // of a ray in each tile
    SparseSamples<float> temperature_; // empty without fire
    struct alignas(16) Color {
        float r, g, b, unused;
    };
    SparseSamples<Color> colors_; // empty if all have the same
};

// Of smoke of density 1 [1/m], for a look that does not say.
float default_extinction(const Box3f& extent, float voxel);

} // namespace spindrift
