// Smoke markers drawn as points over a picture, from the farthest to the nearest [Madill 2013, 7.1].
//
// Each marker covers one pixel, chosen at random around its position, which filters the picture. Its opacity is its
// area in pixels times that of the material, and so falls with the square of the distance. Markers of a pixel are
// sorted by depth and blended. Markers behind what the picture shows are not drawn.
#pragma once

#include "spindrift/io/image.h"
#include "spindrift/render/camera.h"
#include "spindrift/render/scene.h"

#include <span>

namespace spindrift {

struct MarkerLight {
    float opacity = 0.35f; // of the area of a marker
    // Light that shadows remove, and light that they do not.
    Vec3f key = Vec3f::Ones(), ambient = Vec3f::Constant(0.3f);
};

// `distance` is the distance from the camera to what each pixel shows; markers behind that are hidden. Empty: none is
// hidden. Results have the same bits for any number of threads.
void draw_markers(const RenderMarkers& markers, const MarkerLight& light, const Camera& camera,
                  std::span<const float> distance, Image& picture, std::vector<float>& alpha);

} // namespace spindrift
