#include "spindrift/turbulence/waves.h"

namespace spindrift {

namespace {

// Increase of the mean square wave number by blending, times the squared size of the largest eddies; measured.
constexpr float kBlur = 0.3f;

} // namespace

Waves random_waves(uint64_t seed, int32_t particle, int octave, float eddy_size, float blending, float time)
{
    const uint64_t key =
        hash64(seed, static_cast<uint64_t>(static_cast<uint32_t>(particle)) << 8 | static_cast<uint64_t>(octave));
    Random random(key);
    Row wave_number, hand; // [turns/m]; +-1
    for (int g = 0; g < Waves::kGroups; ++g) {
        // The energy density is k^(-5/3) over the octave, divided into equal parts for the groups.
        const float below = (static_cast<float>(g) + random.uniform()) / Waves::kGroups;
        const float blurred = std::pow(1 - below * (1 - std::exp2(-2.0f / 3)), -1.5f) / (kLongestWave * eddy_size);
        const float k = std::sqrt(blurred * blurred - kBlur / (blending * blending));
        const float sign = random.uniform() < 0.5f ? 1.0f : -1.0f;
        for (int w = g * Waves::kInGroup; w < (g + 1) * Waves::kInGroup; ++w) wave_number[w] = k, hand[w] = sign;
    }
    Row height, around, phase, rate;
    for (int w = 0; w < kTileSize; ++w) {
        const uint64_t bits = random.bits();
        height[w] = static_cast<float>(bits >> 44) * 0x1p-19f - 1;
        around[w] = static_cast<float>(bits >> 24 & 0xfffff) * 0x1p-20f;
        phase[w] = static_cast<float>(bits >> 8 & 0xffff) * 0x1p-16f;
        rate[w] = static_cast<float>(static_cast<int>(bits & 0xff) - 128) / 256; // whole turns per kTimePeriod
    }
    const Row across = sqrt_row(max(1 - height * height, splat(0)));
    const Phasor direction = phasor(around);
    const Row3 k = {across * direction.cos, across * direction.sin, height};
    Waves waves;
    waves.turns = {wave_number * k.x, wave_number * k.y, wave_number * k.z};
    waves.phase = phase + rate * time;
    waves.a1 = {-direction.sin, direction.cos, splat(0)};
    waves.a2 = cross({hand * k.x, hand * k.y, hand * k.z}, waves.a1);
    waves.inverse_curl = -hand / (static_cast<float>(2 * kPi) * wave_number);
    return waves;
}

} // namespace spindrift
