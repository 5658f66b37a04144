#include "turbulence/waves.h"

namespace spindrift {

Waves random_waves(uint64_t seed, int32_t particle, int octave, float eddy_size, float time)
{
    const uint64_t key =
        hash64(seed, static_cast<uint64_t>(static_cast<uint32_t>(particle)) << 8 | static_cast<uint64_t>(octave));
    Random random(key);
    // Energy between k and k + dk is as k^(-5/3) dk, from one end of the octave to the other.
    const float hand = random.uniform() < 0.5f ? 1.0f : -1.0f;
    const float shorter = std::pow(1 - random.uniform() * (1 - std::exp2(-2.0f / 3)), -1.5f);
    const float wave_number = 0.5f / eddy_size * shorter; // [turns/m]
    Row height, around, phase, rate;
    for (int w = 0; w < kTileSize; ++w) {
        const uint64_t bits = random.bits();
        height[w] = static_cast<float>(bits >> 44) * 0x1p-19f - 1;
        around[w] = static_cast<float>(bits >> 24 & 0xfffff) * 0x1p-20f;
        phase[w] = static_cast<float>(bits >> 8 & 0xffff) * 0x1p-16f;
        rate[w] = static_cast<float>(static_cast<int>(bits & 0xff) - 128) / 256; // whole turns in kTimePeriod
    }
    const Row across = sqrt_row(max(1 - height * height, splat(0)));
    const Phasor direction = phasor(around);
    const Row3 k = {across * direction.cos, across * direction.sin, height};
    Waves waves;
    waves.turns = wave_number * k;
    waves.phase = phase + rate * time;
    waves.a1 = {-direction.sin, direction.cos, splat(0)};
    // hand (k x a1)
    waves.a2 = {hand * -k.z * waves.a1.y, hand * k.z * waves.a1.x, hand * (k.x * waves.a1.y - k.y * waves.a1.x)};
    waves.curl = -hand * static_cast<float>(2 * kPi) * wave_number;
    return waves;
}

} // namespace spindrift
