// The sRGB transfer curve (IEC 61966-2-1): exact, piecewise.
#pragma once

namespace spindrift {

// For values in [0, 1].
float srgb_from_linear(float linear);
float linear_from_srgb(float encoded);

} // namespace spindrift
