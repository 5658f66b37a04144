#include "spindrift/turbulence/diffusion.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/row.h"

namespace spindrift {

namespace {

// The 64 lines through a chain of tiles, stored as slices: slice n holds cell n of all lines.
class Lines {
  public:
    static constexpr int kSlice = kTileSize * kTileSize;

    Lines(const std::vector<int>& chain, int axis) : chain_(chain), axis_(axis) {}
    size_t length() const { return chain_.size() * kTileSize; }

    void read(const Field<float>& field, float* slices) const
    {
        for_each_value([&](int tile, int offset, size_t n) { slices[n] = field.tile(tile)[offset]; });
    }
    void write(Field<float>& field, const float* slices) const
    {
        for_each_value([&](int tile, int offset, size_t n) { field.tile(tile)[offset] = slices[n]; });
    }

  private:
    template <class Body> void for_each_value(const Body& body) const
    {
        const int along = axis_ == 0 ? 64 : axis_ == 1 ? 8 : 1; // strides of offset_in_tile()
        const int first = axis_ == 0 ? 8 : 64, second = axis_ == 2 ? 8 : 1;
        size_t n = 0;
        for (const int tile : chain_)
            for (int c = 0; c < kTileSize; ++c)
                for (int i = 0; i < kTileSize; ++i)
                    for (int j = 0; j < kTileSize; ++j) body(tile, c * along + i * first + j * second, n++);
    }
    const std::vector<int>& chain_;
    int axis_;
};

// Off-diagonal coefficient between two cells.
Row coupling(Row a, Row b, float step)
{
    constexpr float kMax = 1e18f; // prevents overflow; larger values make no difference
    const Row zero = splat(0);
    const Row both = ((a > zero) & (b > zero)) ? (0.5f * step) * (a + b) : zero;
    return min(both, splat(kMax));
}

// Solves (1 + l + u) x - l x_below - u x_above = d for eight lines by elimination. Only adds, multiplies and divides
// positive numbers: 1 - c, with c = u / m, is computed as (1 + l e) / m. No step or coefficient is too large.
void solve_lines(const float* coefficient, float* d, float* c, size_t length, float step)
{
    constexpr size_t stride = Lines::kSlice;
    Row lower = splat(0), rest = splat(0), value = splat(0);
    for (size_t n = 0; n < length; ++n) {
        const Row here = load_row(coefficient + n * stride);
        const Row upper = n + 1 < length ? coupling(here, load_row(coefficient + (n + 1) * stride), step) : splat(0);
        const Row kept = 1 + lower * rest, pivot = kept + upper;
        value = (load_row(d + n * stride) + lower * value) / pivot;
        store_row(c + n * stride, upper / pivot), store_row(d + n * stride, value);
        rest = kept / pivot, lower = upper;
    }
    for (size_t n = length - 1; n-- > 0;) {
        value = load_row(d + n * stride) + load_row(c + n * stride) * value;
        store_row(d + n * stride, value);
    }
}

} // namespace

void Diffusion::set_topology(const Topology& topology)
{
    for (int axis = 0; axis < 3; ++axis) {
        const Vec3i step = Vec3i::Unit(axis);
        auto& chains = chains_[axis];
        chains.clear();
        for (int t = 0; t < topology.tile_count(); ++t) {
            if (topology.neighbour(t, -step.x(), -step.y(), -step.z()) != topology.tile_count()) continue;
            Chain chain;
            for (int next = t; next != topology.tile_count();
                 next = topology.neighbour(next, step.x(), step.y(), step.z()))
                chain.push_back(next);
            chains.push_back(std::move(chain));
        }
    }
}

void Diffusion::step(Field<float>& value, const Field<float>& coefficient, float step)
{
    for (int axis = 0; axis < 3; ++axis)
        parallel_for(chains_[axis].size(), [&](size_t i) {
            const Lines lines(chains_[axis][i], axis);
            const size_t size = lines.length() * Lines::kSlice;
            auto& memory = thread_scratch<Buffer<float>>();
            memory.resize(3 * size);
            float *d = memory.data(), *k = d + size, *c = k + size;
            lines.read(value, d), lines.read(coefficient, k);
            for (int row = 0; row < Lines::kSlice; row += kTileSize)
                solve_lines(k + row, d + row, c + row, lines.length(), step);
            lines.write(value, d);
        });
}

} // namespace spindrift
