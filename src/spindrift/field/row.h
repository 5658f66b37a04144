// Vector rows. A tile is 64 rows of 8 cells along z; a row fills one AVX register and is the unit of the hot kernels.
// Written with the compiler's vector types, so the same source compiles for AVX2 and plain x86-64.
//
// Functions that pass rows by value are always inlined: how a row is passed depends on the instruction set, and a
// program that is compiled for plain x86-64 may link a library that is compiled for AVX2.
#pragma once

#include "spindrift/field/tiles.h"

namespace spindrift {

typedef float Row __attribute__((vector_size(32)));
typedef int RowMask __attribute__((vector_size(32)));
typedef double HalfRowd __attribute__((vector_size(32)));

// Four floats: half a row.
typedef float Quad __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Quad load_quad(const float* p)
{
    Quad q;
    std::memcpy(&q, p, sizeof q);
    return q;
}
[[gnu::always_inline]] inline void store_quad(float* p, Quad q) { std::memcpy(p, &q, sizeof q); }
// The pairs of floats at p and q.
[[gnu::always_inline]] inline Quad load_pairs(const float* p, const float* q)
{
    typedef float Pair __attribute__((vector_size(8)));
    Pair a, b;
    std::memcpy(&a, p, sizeof a), std::memcpy(&b, q, sizeof b);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3);
}

[[gnu::always_inline]] inline Row load_row(const float* p) { return *reinterpret_cast<const Row*>(p); }
[[gnu::always_inline]] inline Row load_row_unaligned(const float* p)
{
    Row r;
    std::memcpy(&r, p, sizeof r);
    return r;
}
[[gnu::always_inline]] inline void store_row(float* p, Row r) { *reinterpret_cast<Row*>(p) = r; }
[[gnu::always_inline]] inline Row splat(float x) { return Row{x, x, x, x, x, x, x, x}; }
[[gnu::always_inline]] inline Row mix(Row a, Row b, Row t) { return a + t * (b - a); }
[[gnu::always_inline]] inline RowMask floor_int(Row x)
{
    const RowMask i = __builtin_convertvector(x, RowMask);
    return i + (x < __builtin_convertvector(i, Row)); // a true comparison is -1
}
[[gnu::always_inline]] inline Row to_float(RowMask x) { return __builtin_convertvector(x, Row); }
[[gnu::always_inline]] inline Row max(Row a, Row b) { return a > b ? a : b; }
[[gnu::always_inline]] inline Row min(Row a, Row b) { return a < b ? a : b; }
[[gnu::always_inline]] inline Row sqrt_row(Row r)
{
    Row out;
    for (int k = 0; k < kTileSize; ++k) out[k] = std::sqrt(r[k]);
    return out;
}
[[gnu::always_inline]] inline float largest(Row r)
{
    return std::max(std::max(std::max(r[0], r[1]), std::max(r[2], r[3])),
                    std::max(std::max(r[4], r[5]), std::max(r[6], r[7])));
}
// 1/x, or 0 where x is 0.
[[gnu::always_inline]] inline Row inverse_or_zero(Row x)
{
    const Row zero = splat(0);
    return x > zero ? splat(1) / (x > zero ? x : splat(1)) : zero;
}

// Each cell's neighbour below along z; `before` is the value below the row's first cell.
[[gnu::always_inline]] inline Row shifted_from_below(Row r, float before)
{
    return __builtin_shufflevector(r, Row{before}, 8, 0, 1, 2, 3, 4, 5, 6);
}
[[gnu::always_inline]] inline Row shifted_from_above(Row r, float after)
{
    return __builtin_shufflevector(r, Row{after}, 1, 2, 3, 4, 5, 6, 7, 8);
}

[[gnu::always_inline]] inline HalfRowd low_half(Row r) { return HalfRowd{r[0], r[1], r[2], r[3]}; }
[[gnu::always_inline]] inline HalfRowd high_half(Row r) { return HalfRowd{r[4], r[5], r[6], r[7]}; }

// Accumulates products in double precision.
class RowSum {
  public:
    [[gnu::always_inline]] void add_product(Row a, Row b)
    {
        low_ += low_half(a) * low_half(b);
        high_ += high_half(a) * high_half(b);
    }
    double total() const
    {
        const HalfRowd s = low_ + high_;
        return (s[0] + s[1]) + (s[2] + s[3]);
    }

  private:
    HalfRowd low_ = {0, 0, 0, 0}, high_ = {0, 0, 0, 0};
};

// Eight points or vectors.
struct Row3 {
    Row x, y, z;
};
inline Row3 operator+(const Row3& a, const Row3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Row3 operator*(float s, const Row3& a) { return {s * a.x, s * a.y, s * a.z}; }
// Centres of the eight octants of a cube, x slowest, z fastest.
inline Row3 eighths(const Vec3f& middle, float size)
{
    const float q = 0.25f * size;
    return {middle.x() + q * Row{-1, -1, -1, -1, 1, 1, 1, 1}, middle.y() + q * Row{-1, -1, 1, 1, -1, -1, 1, 1},
            middle.z() + q * Row{-1, 1, -1, 1, -1, 1, -1, 1}};
}
inline Row3 clamp(const Row3& a, float low, float high)
{
    const Row l = splat(low), h = splat(high);
    return {min(max(a.x, l), h), min(max(a.y, l), h), min(max(a.z, l), h)};
}
// Reads the first `count` (1 to 8) points; the other lanes repeat the last one.
inline Row3 load_row3(const Vec3f* p, size_t count)
{
    alignas(32) float v[3][kTileSize];
    for (size_t i = 0; i < kTileSize; ++i) {
        const Vec3f& from = p[std::min(i, count - 1)];
        v[0][i] = from.x(), v[1][i] = from.y(), v[2][i] = from.z();
    }
    return {load_row(v[0]), load_row(v[1]), load_row(v[2])};
}
// Writes only the first `count` lanes.
inline void store_row3(Vec3f* p, const Row3& r, size_t count)
{
    alignas(32) float v[3][kTileSize];
    store_row(v[0], r.x), store_row(v[1], r.y), store_row(v[2], r.z);
    for (size_t i = 0; i < count; ++i) p[i] = Vec3f(v[0][i], v[1][i], v[2][i]);
}

// A tile of a field and its six face neighbours.
struct TileView {
    const float *center, *x_low, *x_high, *y_low, *y_high, *z_low, *z_high;

    TileView(const float* c, const float* xl, const float* xh, const float* yl, const float* yh, const float* zl,
             const float* zh)
        : center(c), x_low(xl), x_high(xh), y_low(yl), y_high(yh), z_low(zl), z_high(zh)
    {
    }
    TileView(const Field<float>& field, int tile)
    {
        const auto& n = field.topology().neighbours(tile);
        center = field.tile(tile);
        x_low = field.tile(n[neighbour_slot(-1, 0, 0)]), x_high = field.tile(n[neighbour_slot(1, 0, 0)]);
        y_low = field.tile(n[neighbour_slot(0, -1, 0)]), y_high = field.tile(n[neighbour_slot(0, 1, 0)]);
        z_low = field.tile(n[neighbour_slot(0, 0, -1)]), z_high = field.tile(n[neighbour_slot(0, 0, 1)]);
    }

    Row at(int x, int y) const { return load_row(center + offset_in_tile(x, y, 0)); }
    Row below_x(int x, int y) const
    {
        return load_row(x > 0 ? center + offset_in_tile(x - 1, y, 0) : x_low + offset_in_tile(7, y, 0));
    }
    Row above_x(int x, int y) const
    {
        return load_row(x < 7 ? center + offset_in_tile(x + 1, y, 0) : x_high + offset_in_tile(0, y, 0));
    }
    Row below_y(int x, int y) const
    {
        return load_row(y > 0 ? center + offset_in_tile(x, y - 1, 0) : y_low + offset_in_tile(x, 7, 0));
    }
    Row above_y(int x, int y) const
    {
        return load_row(y < 7 ? center + offset_in_tile(x, y + 1, 0) : y_high + offset_in_tile(x, 0, 0));
    }
    Row below_z(int x, int y) const { return shifted_from_below(at(x, y), z_low[offset_in_tile(x, y, 7)]); }
    Row above_z(int x, int y) const { return shifted_from_above(at(x, y), z_high[offset_in_tile(x, y, 0)]); }
};

template <class Body> inline void for_each_row(const Body& body)
{
    for (int x = 0; x < kTileSize; ++x)
        for (int y = 0; y < kTileSize; ++y) body(x, y, offset_in_tile(x, y, 0));
}

} // namespace spindrift
