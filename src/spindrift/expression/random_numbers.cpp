#include "spindrift/expression/random_numbers.h"

#include <cmath>
#include <functional>
#include <random>

namespace spindrift {

namespace {

// First draws of a freshly seeded Mersenne Twister: each mixes state word i with words i + 1 and i + m.
template <class Engine, class Word> Word draw(Word first, Word second, Word far)
{
    constexpr Word lower = (Word(1) << Engine::mask_bits) - 1;
    const Word y = (first & ~lower) | (second & lower);
    Word x = far ^ (y >> 1) ^ ((y & 1) ? Word(Engine::xor_mask) : Word(0));
    x ^= (x >> Engine::tempering_u) & Word(Engine::tempering_d);
    x ^= (x << Engine::tempering_s) & Word(Engine::tempering_b);
    x ^= (x << Engine::tempering_t) & Word(Engine::tempering_c);
    return x ^ (x >> Engine::tempering_l);
}

// State word i after seeding, from word i - 1.
template <class Engine, class Word> Word seeded(Word previous, Word i)
{
    return Word(Engine::initialization_multiplier) * (previous ^ (previous >> (Engine::word_size - 2))) + i;
}

double below_one(double x) { return x < 1 ? x : std::nextafter(1.0, 0.0); }

double first_of_64(uint64_t seed)
{
    using Engine = std::mt19937_64;
    uint64_t word = seeded<Engine>(seed, uint64_t(1));
    const uint64_t second = word;
    for (uint64_t i = 2; i <= Engine::shift_size; ++i) word = seeded<Engine>(word, i);
    return below_one(static_cast<double>(draw<Engine>(seed, second, word)) * 0x1p-64);
}

// A double takes two 32-bit draws.
double first_of_32(uint32_t seed)
{
    using Engine = std::mt19937;
    uint32_t words[3] = {seed};
    uint32_t word = seed, far = 0;
    for (uint32_t i = 1; i <= Engine::shift_size + 1; ++i) {
        far = word;
        word = seeded<Engine>(word, i);
        if (i < 3) words[i] = word;
    }
    const double low = draw<Engine>(words[0], words[1], far), high = draw<Engine>(words[1], words[2], word);
    return below_one((low + high * 0x1p32) * 0x1p-64);
}

} // namespace

double rand_of_double(double seed) { return first_of_64(std::hash<double>()(seed)); }
double rand_of_int(int64_t seed) { return first_of_64(static_cast<uint64_t>(seed)); }
double rand32_of_double(double seed)
{
    const uint64_t hash = std::hash<double>()(seed);
    return first_of_32(static_cast<uint32_t>(hash) ^ static_cast<uint32_t>(hash >> 32));
}
double rand32_of_int(int32_t seed) { return first_of_32(static_cast<uint32_t>(seed)); }

} // namespace spindrift
