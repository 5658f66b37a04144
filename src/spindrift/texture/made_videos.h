// Example videos made by code, so that textures that change with time need no films: ripples that drift, fire, clouds,
// and the surface of a boiling liquid as distances [Narain 2011, figures 2.8 and 2.9].
#pragma once

#include "spindrift/base/math.h"
#include "spindrift/video/video.h"

namespace spindrift {

struct MadeVideoParams {
    enum class Kind { ripples, fire, clouds, boiling };
    Kind kind = Kind::ripples;
    int width = 128, height = 128; // pixels
    int frames = 48;
    float feature = 12;         // ripples: the mean wavelength [pixels]
    Vec2f drift = {1.5f, 0.6f}; // ripples: of the middle of the picture [pixels/frame], y down
    float turn = 0;             // ripples: of the whole about the middle [radians/frame]
    int seed = 1;
};
// Ripples are standing waves of many directions: without the drift nothing moves in the mean.
Video make_video(const MadeVideoParams& params);

// Bubbles rise in a layer of liquid, grow, lift the surface and burst. Each channel has the signed distances [cells],
// negative in the liquid, at one height, the lowest first; those beyond the band are clamped. `guide`: the temperature,
// 0 to 1, on which the number and size of bubbles depend.
struct BoilingParams {
    int width = 64, height = 64, frames = 40;
    int heights = 20;               // channels
    int surface = 12;               // cells below the surface at rest
    std::vector<float> temperature; // one value a pixel; empty: rises from the left edge to the right
    int seed = 1;
};
constexpr float kBoilingBand = 5; // [cells]
Video make_boiling(const BoilingParams& params);

} // namespace spindrift
