// Thin lines along the edges of a tank whose glass is not drawn, so that water does not seem to stand by itself.
#pragma once

#include "spindrift/io/image.h"
#include "spindrift/render/camera.h"

namespace spindrift {

// `distance` is how far from the camera each pixel sees; lines behind that are hidden.
void draw_edges(const Box3f& container, const Camera& camera, const std::vector<float>& distance, Image& image,
                std::vector<float>& alpha);

} // namespace spindrift
