// Smoke markers drawn as points over a picture, from the farthest to the nearest [Madill 2013, 7.1].
//
// Each marker covers one pixel, chosen at random around its position, which filters the picture. Its opacity is its
// area in pixels times that of the material, and so falls with the square of the distance. The markers of a pixel, of
// all clouds together, are sorted by depth and blended as the mode of their layer says.
//
// Limit: what the path tracer has drawn either hides a marker or does not. Smoke drawn as a volume hides markers beyond
// the distance at which it has absorbed half of the light, and none before.
#pragma once

#include "spindrift/render/camera.h"
#include "spindrift/render/preview.h"

#include <span>

namespace spindrift {

struct MarkerLight {
    float opacity = 0.35f; // of the area of a marker
    // Light that shadows remove, and light that they do not.
    Vec3f key = Vec3f::Ones(), ambient = Vec3f::Constant(0.3f);
};

// `modes` are those of the layers; none: all are shown. `distance` is the distance from the camera to what each pixel
// shows; markers behind that are hidden. Empty: none is hidden. Draws into the channels that the picture has: depth and
// velocity are those of the marker behind which less than half of the light is left. Results have the same bits for any
// number of threads.
void draw_markers(std::span<const RenderMarkers* const> clouds, std::span<const RenderLayer::Mode> modes,
                  const MarkerLight& light, const Camera& camera, std::span<const float> distance, Picture& picture);

} // namespace spindrift
