#include "field/mac.h"

namespace spindrift {

namespace {

// The new values and known-ness of one tile, computed from what is known before this layer.
struct Layer {
    alignas(64) float value[kTileCells];
    alignas(64) float known[kTileCells];
    bool changed, complete;
};

// Faces without a value that touch a known one get the mean of those they touch.
void compute_layer(const Field<float>& u, const Field<float>& known, int tile, Layer& out)
{
    const TileView value(u, tile), has(known, tile);
    const Row zero = splat(0), one = splat(1);
    Row filled = zero, lowest = one;
    for_each_row([&](int x, int y, int o) {
        Row sum = zero, count = zero;
        const auto add = [&](Row v, Row h) {
            const Row use = h > zero ? one : zero;
            sum += use * v, count += use;
        };
        add(value.below_x(x, y), has.below_x(x, y)), add(value.above_x(x, y), has.above_x(x, y));
        add(value.below_y(x, y), has.below_y(x, y)), add(value.above_y(x, y), has.above_y(x, y));
        add(value.below_z(x, y), has.below_z(x, y)), add(value.above_z(x, y), has.above_z(x, y));
        const Row before = has.at(x, y), fill = min(count, one) * (before > zero ? zero : one);
        store_row(out.value + o, fill > zero ? sum * inverse_or_zero(count) : value.at(x, y));
        const Row after = fill > zero ? one : before;
        store_row(out.known + o, after);
        filled += fill, lowest = min(lowest, after);
    });
    out.changed = false, out.complete = true;
    for (int i = 0; i < kTileSize; ++i) out.changed |= filled[i] > 0, out.complete &= lowest[i] > 0;
}

bool is_complete(const float* known)
{
    Row lowest = splat(1);
    for (int o = 0; o < kTileCells; o += kTileSize) lowest = min(lowest, load_row(known + o));
    for (int i = 0; i < kTileSize; ++i)
        if (!(lowest[i] > 0)) return false;
    return true;
}

} // namespace

void extrapolate(MacField& velocity, MacField& known, int layers)
{
    const Topology& topology = velocity.u[0].topology();
    thread_local std::vector<Layer> kept; // between calls, for its pages
    auto& next = kept;                    // the caller's own, also inside the loops
    for (int a = 0; a < 3; ++a) {
        Field<float>&u = velocity.u[a], &k = known.u[a];
        std::vector<uint8_t> complete(static_cast<size_t>(topology.tile_count()));
        for_each_tile(topology, [&](int tile) { complete[static_cast<size_t>(tile)] = is_complete(k.tile(tile)); });
        std::vector<int> tiles;
        for (int layer = 0; layer < layers; ++layer) {
            tiles.clear();
            for (int t = 0; t < topology.tile_count(); ++t)
                if (!complete[static_cast<size_t>(t)]) tiles.push_back(t);
            if (tiles.empty()) break;
            if (next.size() < tiles.size()) next.resize(tiles.size());
            parallel_for(
                tiles.size(), [&](size_t i) { compute_layer(u, k, tiles[i], next[i]); }, 4);
            parallel_for(
                tiles.size(),
                [&](size_t i) {
                    if (!next[i].changed) return;
                    std::memcpy(u.tile(tiles[i]), next[i].value, sizeof next[i].value);
                    std::memcpy(k.tile(tiles[i]), next[i].known, sizeof next[i].known);
                    complete[static_cast<size_t>(tiles[i])] = next[i].complete;
                },
                4);
        }
    }
}

float largest_known(const MacField& velocity, const MacField& known)
{
    return parallel_reduce(
        static_cast<size_t>(velocity.u[0].topology().tile_count()), 0.0f,
        [&](size_t t) {
            const int tile = static_cast<int>(t);
            const Row zero = splat(0);
            Row fastest = zero;
            for (int a = 0; a < 3; ++a) {
                const float *u = velocity.u[a].tile(tile), *k = known.u[a].tile(tile);
                for (int o = 0; o < kTileCells; o += kTileSize) {
                    const Row r = load_row(u + o);
                    fastest = max(fastest, load_row(k + o) > zero ? max(r, -r) : zero);
                }
            }
            return largest(fastest);
        },
        [](float a, float b) { return std::max(a, b); }, 16);
}

void accept_provisional(MacField& known)
{
    for (Field<float>& k : known.u)
        for_each_tile(k.topology(), [&](int tile) {
            float* values = k.tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize) {
                const Row r = load_row(values + o);
                store_row(values + o, max(r, -r));
            }
        });
}

} // namespace spindrift
