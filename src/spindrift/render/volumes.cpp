#include "spindrift/render/volumes.h"

#include "spindrift/base/scratch.h"

#include <algorithm>

namespace spindrift {

namespace {

constexpr float kSlice = 2; // voxels; where volumes overlap

// The interval of a ray that a volume may fill.
struct Span {
    float near = 0, far = 0;
    bool empty() const { return !(near < far); }
};

Span span_of(const Volume& volume, const Ray& ray, float far)
{
    Span span{0, far};
    clip(ray, volume.bounds(), span.near, span.far);
    return span;
}

} // namespace

Volumes::Volumes(const std::vector<const RenderSmoke*>& smokes, const RenderParams& params, const Box3f& extent,
                 float open)
{
    int filled = 0;
    for (const RenderSmoke* smoke : smokes) {
        volumes_.push_back(std::make_unique<Volume>(smoke, params, extent, open));
        if (volumes_.back()->empty()) continue;
        color_ += volumes_.back()->color(), ++filled;
    }
    empty_ = filled == 0;
    if (filled > 1) color_ /= static_cast<float>(filled);
}

Box3f Volumes::bounds() const
{
    Box3f box;
    for (const auto& volume : volumes_)
        if (!volume->empty()) box.add(volume->bounds());
    return box;
}

float Volumes::transmittance(const Ray& ray, float far, const Volume* except) const
{
    float through = 1;
    for (const auto& volume : volumes_)
        if (volume.get() != except) through *= volume->transmittance(ray, far);
    return through;
}

float Volumes::soft_transmittance(const Ray& ray, float far, const Volume* except) const
{
    float through = 1;
    for (const auto& volume : volumes_)
        if (volume.get() != except) through *= volume->soft_transmittance(ray, far);
    return through;
}

void Volumes::light(const RayScene& rays, const Sky& sky, const Floor& floor)
{
    for (const auto& volume : volumes_) volume->light(rays, sky, floor);
}

Volume::Passage Volumes::pass(const Ray& ray, float far, float shift, std::span<Part> parts) const
{
    const auto filled = [](const auto& volume) { return !volume->empty(); };
    if (std::ranges::count_if(volumes_, filled) > 1) return pass_several(ray, far, shift, parts);
    Volume::Passage out;
    for (size_t i = 0; i < volumes_.size(); ++i) {
        if (volumes_[i]->empty()) continue;
        out = volumes_[i]->pass(ray, far, shift);
        if (!parts.empty()) parts[i] = {out.light, 1 - out.through};
    }
    return out;
}

Volume::Passage Volumes::pass_several(const Ray& ray, float far, float shift, std::span<Part> parts) const
{
    auto& inside = thread_scratch<std::vector<Volume::Passage>>(); // of each volume, in one slice
    inside.resize(volumes_.size());
    Volume::Passage out;
    float here = 0;
    while (here < far && out.through > 0) {
        // The volumes that contain the ray at this point, and the distance at which that changes.
        float end = far, finest = kInfinity;
        int among = 0;
        for (const auto& volume : volumes_) {
            if (volume->empty()) continue;
            const Span span = span_of(*volume, ray, far);
            if (span.empty() || span.far <= here) continue;
            if (span.near > here) {
                end = std::min(end, span.near);
            } else {
                end = std::min(end, span.far), finest = std::min(finest, volume->voxel());
                ++among;
            }
        }
        if (among == 0 && !(end < far)) break;
        if (among > 1) end = std::min(end, here + kSlice * finest);
        if (!(end > here)) break; // slices shorter than the rounding error
        float left = 1;
        for (size_t i = 0; i < volumes_.size(); ++i) {
            inside[i] =
                among > 0 && !volumes_[i]->empty() ? volumes_[i]->pass(ray, end, shift, here) : Volume::Passage();
            left *= inside[i].through;
        }
        for (size_t i = 0; i < volumes_.size(); ++i) {
            float before = out.through; // half of each other volume of this slice is in front of this one
            for (size_t j = 0; j < volumes_.size(); ++j)
                if (j != i) before *= 0.5f * (1 + inside[j].through);
            out.light += before * inside[i].light;
            if (!parts.empty())
                parts[i].light += before * inside[i].light, parts[i].share += before * (1 - inside[i].through);
            if (among == 1 && out.through == 1) out.middle = std::min(out.middle, inside[i].middle);
        }
        if (out.middle == kInfinity && out.through * left < 0.5f) out.middle = 0.5f * (here + end);
        out.through *= left;
        if (out.through <= kHiddenTransmittance) out.through = 0;
        here = end;
    }
    // The halves of a slice do not add up exactly to its opacity.
    float hidden = 0;
    for (const Part& part : parts) hidden += part.share;
    if (hidden > 0)
        for (Part& part : parts) part.share *= (1 - out.through) / hidden;
    return out;
}

} // namespace spindrift
