// All smoke of a picture, and queries over all of it. Each is a Volume with its own look, lit separately. Where several
// overlap along a ray, they are integrated in alternating short slices; within a slice, half of each is in front of the
// others and half behind. Exact in the limit of short slices.
// Limits: smoke does not scatter light onto other smoke.
#pragma once

#include "spindrift/render/volume.h"

#include <memory>
#include <span>

namespace spindrift {

class Volumes {
  public:
    // `open` is the time that the shutter is open [s].
    Volumes(const std::vector<const RenderSmoke*>& smokes, const RenderParams& params, const Box3f& extent,
            float open = 0);

    bool empty() const { return empty_; }
    size_t size() const { return volumes_.size(); }
    const Volume& operator[](size_t i) const { return *volumes_[i]; }
    Box3f bounds() const;
    // Mean colour, for estimated light.
    const Vec3f& color() const { return color_; }

    // See Volume; `except` excludes one of them.
    float transmittance(const Ray& ray, float far = kInfinity, const Volume* except = nullptr) const;
    float soft_transmittance(const Ray& ray, float far = kInfinity, const Volume* except = nullptr) const;
    void light(const RayScene& rays, const Sky& sky, const Floor& floor);

    // The contribution of one volume to a ray, attenuated by everything in front of it.
    struct Part {
        Vec3f light = Vec3f::Zero();
        float share = 0; // share of the background that this volume hides
    };
    // `parts` is empty or has one entry per volume.
    Volume::Passage pass(const Ray& ray, float far, float shift, std::span<Part> parts = {}) const;

  private:
    Volume::Passage pass_several(const Ray& ray, float far, float shift, std::span<Part> parts) const;

    std::vector<std::unique_ptr<Volume>> volumes_;
    bool empty_ = true;
    Vec3f color_ = Vec3f::Zero();
};

} // namespace spindrift
