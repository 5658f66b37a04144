#include "spindrift/surface/smoothing.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"

namespace spindrift {

namespace {

// Thickness up to which liquid counts as thin, and from which it is smoothed normally.
constexpr float kThin = 0.55f, kThick = 0.85f;

// The filter of one tile; its two applications reach two strides around.
template <int Stride> class TileFilter {
  public:
    void apply(const Field<float>& phi, int tile, const float* thickness, float sharpening, float* out)
    {
        block_.gather(phi, tile);
        binomial<kMargin - Stride>(block_, once_);
        binomial<0>(once_, twice_);
        for (int x = 0; x < kTileSize; ++x)
            for (int y = 0; y < kTileSize; ++y)
                for (int z = 0; z < kTileSize; ++z) {
                    const int o = offset_in_tile(x, y, z), i = Samples::index(x, y, z);
                    const float old = block_.data[i];
                    const float wanted = (2 + sharpening) * once_.data[i] - (1 + sharpening) * twice_.data[i];
                    const float thick = clamp01((thickness[o] - kThin) / (kThick - kThin));
                    out[o] = mix(std::min(old, once_.data[i]), wanted, thick);
                }
    }

  private:
    static constexpr int kMargin = 2 * Stride;
    using Samples = Block<float, kMargin>;

    // S of `in`, for the tile and `Grown` cells around it, axis by axis.
    template <int Grown> void binomial(const Samples& in, Samples& out)
    {
        constexpr int kLow = -Grown, kHigh = kTileSize + Grown;
        constexpr int X = Samples::kStrideX, Y = Samples::kStrideY;
        filter<1>(in, along_z_, kLow - Stride, kHigh + Stride, kLow - Stride, kHigh + Stride, kLow, kHigh);
        filter<Y>(along_z_, along_y_, kLow - Stride, kHigh + Stride, kLow, kHigh, kLow, kHigh);
        filter<X>(along_y_, out, kLow, kHigh, kLow, kHigh, kLow, kHigh);
    }
    template <int Step> static void filter(const Samples& in, Samples& out, int x_low, int x_high, int y_low,
                                           int y_high, int z_low, int z_high)
    {
        constexpr int kStep = Step * Stride;
        for (int x = x_low; x < x_high; ++x)
            for (int y = y_low; y < y_high; ++y) {
                const float* from = in.data + Samples::index(x, y, z_low);
                float* to = out.data + Samples::index(x, y, z_low);
                for (int k = 0; k < z_high - z_low; ++k)
                    to[k] = 0.25f * (from[k - kStep] + from[k + kStep]) + 0.5f * from[k];
            }
    }

    Samples block_, once_, twice_, along_z_, along_y_;
};

template <int Stride>
void smooth_tile(const Field<float>& phi, int tile, const float* thickness, float sharpening, float* out)
{
    auto& filter = thread_scratch<TileFilter<Stride>>();
    filter.apply(phi, tile, thickness, sharpening, out);
}

// Whether a tile has values other than the two limits.
bool near_surface(const float* phi, float band)
{
    return std::any_of(phi, phi + kTileCells, [band](float p) { return std::abs(p) < band; });
}

} // namespace

void smooth(Field<float>& phi, const Field<float>& thickness, const Smoothing& smoothing)
{
    const Topology& topology = phi.topology();
    const float band = phi.background();
    const auto smooth_one = smoothing.stride <= 1   ? smooth_tile<1>
                            : smoothing.stride == 2 ? smooth_tile<2>
                            : smoothing.stride == 3 ? smooth_tile<3>
                                                    : smooth_tile<4>;
    Field<float> next;
    for (int pass = 0; pass < smoothing.passes; ++pass) {
        next.reset_uninitialized(topology, band);
        for_each_tile(topology, [&](int tile) {
            const float* old = phi.tile(tile);
            if (near_surface(old, band))
                smooth_one(phi, tile, thickness.tile(tile), pass == 0 ? smoothing.sharpening : 0, next.tile(tile));
            else
                std::copy_n(old, kTileCells, next.tile(tile));
        });
        std::swap(phi, next);
    }
}

} // namespace spindrift
