// The colour map for scalar attributes, and the tone curve.
#include "spindrift/render/optics.h"
#include "spindrift/render/preview.h"

#include <array>

namespace spindrift {

namespace {

// Oklab (Ottosson 2020) to linear sRGB. Oklab is perceptually uniform.
Vec3f from_oklab(const Vec3f& lab)
{
    const float l = lab.x() + 0.3963377774f * lab.y() + 0.2158037573f * lab.z();
    const float m = lab.x() - 0.1055613458f * lab.y() - 0.0638541728f * lab.z();
    const float s = lab.x() - 0.0894841775f * lab.y() - 1.2914855480f * lab.z();
    const float l3 = l * l * l, m3 = m * m * m, s3 = s * s * s;
    return {4.0767416621f * l3 - 3.3077115913f * m3 + 0.2309699292f * s3,
            -1.2684380046f * l3 + 2.6097574011f * m3 - 0.3413193965f * s3,
            -0.0041960863f * l3 - 0.7034186147f * m3 + 1.7076147010f * s3};
}

// Linear up to the shoulder, then approaches 1 smoothly.
float shoulder(float x)
{
    constexpr float start = 0.55f;
    if (x <= start) return x;
    return start + (1 - start) * (1 - std::exp(-(x - start) / (1 - start)));
}

// Slightly more contrast in dark tones than a linear curve.
float toe(float x) { return x * (x + 0.010f) / (x + 0.028f); }

} // namespace

// Blue, teal, pale blue, white. Lightness rises linearly; chroma is largest in the middle.
Vec3f color_map(float t)
{
    static const std::array<Vec3f, 5> stops = {Vec3f(0.380f, -0.020f, -0.130f), Vec3f(0.525f, -0.050f, -0.125f),
                                               Vec3f(0.670f, -0.080f, -0.085f), Vec3f(0.815f, -0.060f, -0.040f),
                                               Vec3f(0.960f, -0.012f, -0.008f)};
    const float x = (t > 0 ? std::min(t, 1.0f) : 0.0f) * 4; // not-a-number counts as low
    const int i = std::min(static_cast<int>(x), 3);
    const Vec3f lab = stops[i] + (x - static_cast<float>(i)) * (stops[i + 1] - stops[i]);
    return from_oklab(lab).cwiseMax(0.0f).cwiseMin(1.0f);
}

Image tone_mapped(const Image& image, const RenderParams& params)
{
    Image out = image;
    const float gain = std::exp2(params.exposure);
    for (Vec3f& pixel : out.pixels) {
        const Vec3f light = (gain * pixel).cwiseMax(0.0f);
        // Bright colours are desaturated towards white, as on film.
        const float peak = light.maxCoeff(), white = smoothstep(0.8f, 6.0f, peak);
        const Vec3f paled = light + white * (Vec3f::Constant(luminance(light)) - light);
        for (int k = 0; k < 3; ++k) pixel[k] = shoulder(toe(paled[k]));
    }
    return out;
}

} // namespace spindrift
