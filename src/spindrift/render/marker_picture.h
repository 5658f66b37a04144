// Smoke markers drawn as points over a picture, from the farthest to the nearest [Madill 2013, 7.1].
//
// Each marker covers one pixel, chosen at random around its place, which smooths the picture as a filter would, and
// hides a share of what is behind it that falls with the square of the distance: that of its area in the pixel.
// Markers of a pixel are sorted by depth and blended. Markers behind what the picture shows are not drawn.
#pragma once

#include "spindrift/io/image.h"
#include "spindrift/render/camera.h"
#include "spindrift/render/scene.h"

#include <span>

namespace spindrift {

struct MarkerLight {
    float opacity = 0.35f; // of the area of a marker
    // Light that shadows take away, and that they do not.
    Vec3f key = Vec3f::Ones(), ambient = Vec3f::Constant(0.3f);
};

// `distance` is how far from the camera each pixel sees; markers behind that are hidden. Empty: nothing hides them. The
// same bits for any number of threads.
void draw_markers(const RenderMarkers& markers, const MarkerLight& light, const Camera& camera,
                  std::span<const float> distance, Image& picture, std::vector<float>& alpha);

} // namespace spindrift
