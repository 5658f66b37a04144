// The preview renderer: a small path tracer on Embree for previews of a shot, not a production renderer. It draws water
// that refracts, reflects a sky and absorbs with depth; a floor with soft shadows and caustics; particles as spheres
// coloured by an attribute; smoke and fire. Deterministic: the same input gives the same bits for any number of
// threads.
//
//     Image picture = render(scene, params);
//     write_image("still.png", tone_mapped(picture, params));
//
// Water has no noise at a few paths per pixel because nothing in it is random: see render/path_tracer.h for the
// limits, render/floor_light.h for the light on the floor and render/volume.h for the light in smoke.
//
// Quality: `full` traces all samples for each pixel separately; `preview` shares paths between pixels and traces more
// where their variance is larger, for about the same error (render/film.h, render/exposure.h); `draft` traces one path
// for each block of 2 x 2 pixels and enlarges. Limits: a speck smaller than a pixel that no pilot path meets is not
// refined.
#pragma once

#include "spindrift/io/image.h"
#include "spindrift/render/scene.h"

namespace spindrift {

// Linear light, no exposure or tone curve.
Image render(const RenderScene& scene, const RenderParams& params);

// A picture with channels for compositing. All channels but the colours describe the surface of water, not what is seen
// through it.
struct Picture {
    // Premultiplied, for "over". Without `background`, alpha is the share of a pixel that layers other than holdouts
    // cover; with it, floor and sky are opaque.
    Image color;
    std::vector<float> alpha;
    // Of the nearest point in a pixel, never a mean of two surfaces:
    std::vector<float> depth;    // [m] along the view axis, not along the ray; kNoDepth where nothing is seen
    std::vector<Vec3f> normal;   // unit, world space, towards the camera; zero in smoke and sky
    std::vector<Vec3f> velocity; // [m/s], world space; without the motion of the camera
    // Share of each pixel that each layer of the scene covers, holdouts included.
    std::vector<std::vector<float>> masks;
};
constexpr float kNoDepth = 1e10f; // finite, so that filtered depths are finite

// With all channels.
Picture render_picture(const RenderScene& scene, const RenderParams& params);

// The channels of an EXR file under the names that compositors expect:
//
//     R G B A                   colour and alpha; half
//     Z                         depth; float, as Nuke (depth.Z) and Blender (pass Depth) read it: a distance [m]
//     N.X N.Y N.Z               normal; half
//     velocity.X velocity.Y velocity.Z   float
//     mask_<layer>.Y            mask of each layer; half
//
// A name is layer.channel. Nuke and Natron show each layer under its name, with all but letters, digits and '_'
// replaced; Blender's multilayer reader wants channels of a single letter, and takes R, G, B, A for "Combined" and Z
// for "Depth". A velocity divided by the frame rate and projected by the camera gives the motion vectors of a vector
// blur.
ChannelImage channels_of(const Picture& picture, const RenderScene& scene);

// Applies the exposure and a filmic curve into 0..1, still linear: for PNG. EXR stores the picture unchanged.
Image tone_mapped(const Image& image, const RenderParams& params);

// Colours for a scalar attribute: a perceptually uniform map from low to high.
Vec3f color_map(float t);

} // namespace spindrift
