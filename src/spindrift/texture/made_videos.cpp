#include "spindrift/texture/made_videos.h"

#include "spindrift/base/noise.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"

namespace spindrift {

namespace {

// A pair of equal waves in opposite directions, which is a standing wave.
struct StandingWave {
    Vec2f number; // [1/pixel]
    float frequency, phase, phase_in_time, height;
};

std::vector<StandingWave> ripple_waves(const MadeVideoParams& params)
{
    constexpr int kWaves = 40;
    constexpr float kPeriod = 16; // frames, of the mean wavelength
    Random random(static_cast<uint64_t>(params.seed));
    std::vector<StandingWave> waves;
    const float turn = static_cast<float>(2 * kPi);
    for (int i = 0; i < kWaves; ++i) {
        const float length = params.feature * std::exp2(random.uniform(-1, 1)), angle = random.uniform(0, turn);
        StandingWave wave;
        wave.number = Vec2f(std::cos(angle), std::sin(angle)) * (turn / length);
        // Deep water: the frequency grows with the root of the wave number.
        wave.frequency = turn / kPeriod * std::sqrt(params.feature / length);
        wave.phase = random.uniform(0, turn), wave.phase_in_time = random.uniform(0, turn);
        wave.height = std::sqrt(length / params.feature / kWaves);
        waves.push_back(wave);
    }
    return waves;
}

Vec3f ripple_color(const MadeVideoParams& params, const std::vector<StandingWave>& waves, const Vec2f& pixel, float t)
{
    // The place that drifted and turned to this pixel.
    const Vec2f middle = 0.5f * Vec2f(static_cast<float>(params.width - 1), static_cast<float>(params.height - 1));
    const Vec2f moved = pixel - middle - t * params.drift;
    const float c = std::cos(params.turn * t), s = std::sin(params.turn * t);
    const Vec2f place(c * moved.x() + s * moved.y(), -s * moved.x() + c * moved.y());
    float height = 0;
    for (const StandingWave& w : waves)
        height +=
            1.4f * w.height * std::cos(w.number.dot(place) + w.phase) * std::cos(w.frequency * t + w.phase_in_time);
    const float light = clamp01(0.45f + 0.3f * height);
    return light * light * Vec3f(0.75f, 0.95f, 1) + Vec3f(0.01f, 0.03f, 0.05f);
}

// Sum of `octaves` of noise, each half as strong and half as large as the one before; about -1 to 1.
float layered_noise(Vec3f x, int octaves, uint64_t seed)
{
    float sum = 0, strength = 1;
    for (int i = 0; i < octaves; ++i) {
        sum += strength * gradient_noise(x, seed + i).value;
        x = 2 * x + Vec3f(17.1f, 3.7f, 9.2f), strength *= 0.5f;
    }
    return 1.3f * sum;
}

Vec3f fire_color(const MadeVideoParams& params, const Vec2f& pixel, float t)
{
    const auto seed = static_cast<uint64_t>(params.seed);
    const float scale = 1 / static_cast<float>(params.height);
    const float across = (pixel.x() - 0.5f * static_cast<float>(params.width)) * scale, up = 1 - pixel.y() * scale;
    // Flames rise by a fiftieth of the height each frame, and their tongues sway.
    const float rise = 0.02f * t;
    const float sway = 0.12f * up * layered_noise({2.5f * across, 1.5f * (up - rise), 0.03f * t}, 2, seed + 50);
    const float tongues = layered_noise({5 * (across + sway), 2.4f * (up - rise), 0.06f * t}, 4, seed);
    const float base = 1.05f - 1.15f * up - 0.9f * across * across;
    const float heat = clamp01(base + 0.75f * (0.3f + up) * tongues);
    // Black, red, orange, yellow, nearly white.
    const auto ramp = [heat](float from, float to) { return clamp01((heat - from) / (to - from)); };
    return {std::pow(ramp(0.1f, 0.6f), 1.5f), 0.8f * std::pow(ramp(0.3f, 0.95f), 1.5f),
            0.45f * std::pow(ramp(0.65f, 1.15f), 2.0f)};
}

Vec3f cloud_color(const MadeVideoParams& params, const Vec2f& pixel, float t)
{
    const auto seed = static_cast<uint64_t>(params.seed) + 1000;
    const float scale = 1 / static_cast<float>(params.height);
    const auto thickness = [&](float x, float y) {
        return layered_noise({3 * (x * scale - 0.004f * t), 3.6f * y * scale, 0.02f * t}, 6, seed);
    };
    const float here = thickness(pixel.x(), pixel.y());
    const float cover = clamp01(0.5f + 1.6f * here);
    const float white = cover * cover * (3 - 2 * cover);
    // Lit from the upper left.
    const float lit = clamp01(0.75f + 2.2f * (here - thickness(pixel.x() - 5, pixel.y() - 5)));
    const Vec3f sky(0.08f, 0.22f, 0.55f),
        cloud = lit * Vec3f(0.95f, 0.95f, 0.95f) + (1 - lit) * Vec3f(0.4f, 0.43f, 0.5f);
    return (1 - white) * sky + white * cloud;
}

} // namespace

Video make_video(const MadeVideoParams& params)
{
    using Kind = MadeVideoParams::Kind;
    if (params.kind == Kind::boiling) {
        BoilingParams boiling;
        boiling.width = params.width, boiling.height = params.height, boiling.frames = params.frames;
        boiling.seed = params.seed;
        return make_boiling(boiling);
    }
    const std::vector<StandingWave> waves = ripple_waves(params);
    Video video;
    for (int f = 0; f < params.frames; ++f) {
        Raster frame(params.width, params.height, 3);
        const auto t = static_cast<float>(f);
        parallel_for(static_cast<size_t>(params.height), [&](size_t y) {
            for (int x = 0; x < params.width; ++x) {
                const Vec2f pixel(static_cast<float>(x), static_cast<float>(y));
                const Vec3f color = params.kind == Kind::ripples ? ripple_color(params, waves, pixel, t)
                                    : params.kind == Kind::fire  ? fire_color(params, pixel, t)
                                                                 : cloud_color(params, pixel, t);
                std::copy_n(color.data(), 3, frame.at(x, static_cast<int>(y)));
            }
        });
        video.frames.push_back(std::move(frame));
    }
    return video;
}

} // namespace spindrift
