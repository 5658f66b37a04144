// Thin lines along the edges of a tank whose glass is not drawn, so that the water's flat sides are explained.
#pragma once

#include "spindrift/io/image.h"
#include "spindrift/render/camera.h"

namespace spindrift {

// `distance` is the distance from the camera to what each pixel shows; lines behind that are hidden.
void draw_edges(const Box3f& container, const Camera& camera, const std::vector<float>& distance, Image& image,
                std::vector<float>& alpha);

} // namespace spindrift
