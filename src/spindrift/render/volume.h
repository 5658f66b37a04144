// Smoke and fire on a sparse grid. The light that reaches a point in the smoke is computed once for each picture:
//   - the transmittance towards the key light, through smoke and bodies, at every point of the grid;
//   - the visibility of sky and floor, along a few directions, at every fourth point.
// Camera rays then integrate, in steps of at most a voxel, the light scattered towards them (Max 1995), and skip empty
// tiles. Single scattering is exact up to the resolution of the grid; multiple scattering is estimated from how much of
// the sky the surrounding smoke occludes.
// Motion blur: a point at the time of a ray shows the smoke that was at that point minus its velocity times the time
// since the middle of the exposure, in the light that it has there.
// Limits: light of the dome is scattered uniformly; fire does not illuminate anything; shadows are not blurred by
// motion, and smoke is blurred only as far as its file has velocities.
#pragma once

#include "spindrift/render/scene.h"
#include "spindrift/render/sparse_samples.h"

#include <array>

namespace spindrift {

class Floor;
class Sky;
constexpr float kHiddenTransmittance = 0.002f; // below this, the rest of a ray is negligible

class RayScene;

class Volume {
  public:
    Volume(const RenderSmoke* smoke, const RenderParams& params, const Box3f& extent, float open);
    Volume(const Volume&) = delete;
    Volume& operator=(const Volume&) = delete;

    bool empty() const { return grids_[0].tile_count() == 0; }
    const Box3f& bounds() const { return grids_[0].bounds(); }
    float voxel() const { return grids_[0].spacing(); }
    int layer() const { return layer_; }
    // [m/s]; zero where unknown.
    Vec3f velocity(const Vec3f& place) const;
    const Vec3f& color() const { return look_.color; }

    // Transmittance between the ray's origin and a distance. Smoke far from the origin is sampled on coarser levels,
    // which blurs its shadow as a wide light does.
    float transmittance(const Ray& ray, float far = kInfinity) const;
    // The same on a coarse level only, for light from all directions.
    float soft_transmittance(const Ray& ray, float far = kInfinity) const;

    // Computes the light in the smoke. The floor's light must be known.
    void light(const RayScene& rays, const Sky& sky, const Floor& floor);

    struct Passage {
        Vec3f light = Vec3f::Zero(); // radiance of the smoke towards the ray's origin
        float through = 1;           // transmittance
        float middle = kInfinity;    // distance at which half of the light is lost
    };
    // `shift` in [0, 1) is the position of the samples within their steps.
    Passage pass(const Ray& ray, float far, float shift, float near = 0) const;

  private:
    static constexpr int kLevels = 3; // each has half the resolution of the previous one
    // Values at a point that rays interpolate.
    struct alignas(16) Point {
        float extinction;   // [1/m]
        float key;          // share of the key light that arrives
        float above, below; // visible shares of the sky and of the lower hemisphere
    };
    // The lights that smoke scatters.
    enum Share { from_key, from_key_again, from_above, from_below };
    struct Openness {
        float above = 0, below = 0;
        Openness operator+(const Openness& b) const { return {above + b.above, below + b.below}; }
        Openness operator-(const Openness& b) const { return {above - b.above, below - b.below}; }
        friend Openness operator*(float s, const Openness& a) { return {s * a.above, s * a.below}; }
    };

    void make_density(const RenderSmoke& smoke, const FireLook& fire, float open);
    bool trace_back(float late, int& tile, Vec3f& in_tile) const;
    // Optical depth between two distances on one level, and from the origin on increasingly coarse levels.
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
    std::array<Vec3f, 4> lights_; // of each kind, without occluders

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
    struct alignas(16) Triple {
        float x, y, z, unused;
    };
    SparseSamples<Triple> colors_; // empty if all have the same
    SparseSamples<Triple> motion_; // while the shutter is open, in voxels; empty if smoke does not move
};

// Default extinction of smoke of density 1 [1/m].
float default_extinction(const Box3f& extent, float voxel);

} // namespace spindrift
