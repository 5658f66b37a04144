// The upper 16 bits of a float: full range, 8 bits of precision, half the memory. For fields that are read and written
// often and need little precision, such as those of a preconditioner.
#pragma once

#include "spindrift/field/row.h"

#include <bit>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace spindrift {

struct ShortFloat {
    uint16_t bits;
};

inline float to_float(ShortFloat x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

typedef uint16_t ShortRow __attribute__((vector_size(16)));
typedef uint32_t RowBits __attribute__((vector_size(32)));

[[gnu::always_inline]] inline Row load_row(const ShortFloat* p)
{
    const ShortRow upper = *reinterpret_cast<const ShortRow*>(p);
#ifdef __AVX2__ // the compiler generates four instructions for this one
    const RowBits bits = std::bit_cast<RowBits>(_mm256_cvtepu16_epi32(std::bit_cast<__m128i>(upper)));
#else
    const RowBits bits = __builtin_convertvector(upper, RowBits);
#endif
    return std::bit_cast<Row>(bits << 16);
}
// Rounds to nearest, ties away from zero.
[[gnu::always_inline]] inline void store_row(ShortFloat* p, Row r)
{
    const RowBits bits = (std::bit_cast<RowBits>(r) + 0x8000u) >> 16;
#ifdef __AVX2__
    const __m256i wide = std::bit_cast<__m256i>(bits);
    const __m128i upper = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    *reinterpret_cast<ShortRow*>(p) = std::bit_cast<ShortRow>(upper);
#else
    *reinterpret_cast<ShortRow*>(p) = __builtin_convertvector(bits, ShortRow);
#endif
}

} // namespace spindrift
