#include "spindrift/field/mac.h"

#include "spindrift/base/scratch.h"

namespace spindrift {

namespace {

// New values of one tile, computed from the state before this layer; NaN where there is none.
struct Layer {
    alignas(64) float value[kTileCells];
    bool changed, complete;
};

// Sets unknown faces with known neighbours to their mean. `links` as in Sight::links().
template <bool Parted>
void compute_layer(const Field<float>& u, const Field<float>& known, int tile, const uint8_t* links, Layer& out)
{
    const TileView value(u, tile), has(known, tile);
    const Row zero = splat(0), one = splat(1), none = splat(std::numeric_limits<float>::quiet_NaN());
    Row filled = zero, lowest = one;
    for_each_row([&](int x, int y, int o) {
        Row sum = zero, count = zero;
        const auto add = [&](Row v, Row h, int link) {
            Row use = h > zero ? one : zero;
            if constexpr (Parted)
                for (int z = 0; z < kTileSize; ++z)
                    if (!(links[o + z] >> link & 1)) use[z] = 0;
            sum += use * v, count += use;
        };
        add(value.below_x(x, y), has.below_x(x, y), 0), add(value.above_x(x, y), has.above_x(x, y), 1);
        add(value.below_y(x, y), has.below_y(x, y), 2), add(value.above_y(x, y), has.above_y(x, y), 3);
        add(value.below_z(x, y), has.below_z(x, y), 4), add(value.above_z(x, y), has.above_z(x, y), 5);
        const Row before = has.at(x, y), fill = min(count, one) * (before > zero ? zero : one);
        store_row(out.value + o, fill > zero ? sum * inverse_or_zero(count) : none);
        const Row after = fill > zero ? one : before;
        filled += fill, lowest = min(lowest, after);
    });
    out.changed = false, out.complete = true;
    for (int i = 0; i < kTileSize; ++i) out.changed |= filled[i] > 0, out.complete &= lowest[i] > 0;
}

void take_on(const Layer& layer, float* value, float* known)
{
    for (int o = 0; o < kTileCells; o += kTileSize) {
        const Row filled = load_row(layer.value + o);
        store_row(value + o, filled == filled ? filled : load_row(value + o));
        store_row(known + o, filled == filled ? splat(1) : load_row(known + o));
    }
}

// Slots of a tile itself and the six that share a face with it.
constexpr int kSelfAndFaces[] = {neighbour_slot(0, 0, 0),  neighbour_slot(-1, 0, 0), neighbour_slot(1, 0, 0),
                                 neighbour_slot(0, -1, 0), neighbour_slot(0, 1, 0),  neighbour_slot(0, 0, -1),
                                 neighbour_slot(0, 0, 1)};

bool is_complete(const float* known)
{
    Row lowest = splat(1);
    for (int o = 0; o < kTileCells; o += kTileSize) lowest = min(lowest, load_row(known + o));
    for (int i = 0; i < kTileSize; ++i)
        if (!(lowest[i] > 0)) return false;
    return true;
}

} // namespace

void extrapolate(MacField& velocity, MacField& known, int layers, const Sight* sight)
{
    const Topology& topology = velocity.u[0].topology();
    auto& next = thread_scratch<std::vector<Layer>>(); // keeps its pages between calls
    for (int a = 0; a < 3; ++a) {
        Field<float>&u = velocity.u[a], &k = known.u[a];
        std::vector<uint8_t> complete(topology.tile_count());
        for_each_tile(topology, [&](int tile) { complete[tile] = is_complete(k.tile(tile)); });
        // Whether the last layer changed a tile: where it changed nothing near, the next one does not either.
        std::vector<uint8_t> changed(topology.tile_count() + 1, 1);
        const auto changes = [&](int t) {
            const std::array<int, 27>& around = topology.neighbours(t);
            return std::ranges::any_of(kSelfAndFaces, [&](int slot) { return changed[around[slot]] != 0; });
        };
        std::vector<int> tiles;
        for (int layer = 0; layer < layers; ++layer) {
            tiles.clear();
            for (int t = 0; t < topology.tile_count(); ++t)
                if (!complete[t] && changes(t)) tiles.push_back(t);
            if (tiles.empty()) break;
            std::ranges::fill(changed, 0);
            if (next.size() < tiles.size()) next.resize(tiles.size());
            parallel_for(
                tiles.size(),
                [&](size_t i) {
                    const uint8_t* links = sight ? sight->links(tiles[i], a) : nullptr;
                    (links ? compute_layer<true> : compute_layer<false>)(u, k, tiles[i], links, next[i]);
                },
                4);
            parallel_for(
                tiles.size(),
                [&](size_t i) {
                    if (!next[i].changed) return;
                    changed[tiles[i]] = 1;
                    take_on(next[i], u.tile(tiles[i]), k.tile(tiles[i]));
                    complete[tiles[i]] = next[i].complete;
                },
                4);
        }
    }
}

std::optional<SeenVelocity> sample_seen(const MacField& velocity, const Sight& sight, float voxel, const Vec3f& x,
                                        std::optional<FaceMask> visible)
{
    const Topology& topology = velocity.u[0].topology();
    const Vec3f place = x / voxel;
    const Vec3i cell(floor_int(place.x()), floor_int(place.y()), floor_int(place.z()));
    const int tile = topology.find(tile_of_cell(cell));
    if (tile == topology.tile_count()) return {};
    const FaceMask seen = visible ? *visible : sight.faces(tile, offset_of_cell(cell), x);
    // Calls body(tile, offset, weight) for the visible faces of a component.
    const auto for_each_seen = [&](int axis, const auto& body) {
        Vec3f among = place - Vec3f::Constant(0.5f);
        among[axis] += 0.5f;
        const Vec3i first(floor_int(among.x()), floor_int(among.y()), floor_int(among.z()));
        const Vec3f share = among - first.cast<float>();
        for (int k = 0; k < 8; ++k) {
            const Vec3i up(k >> 2, k >> 1 & 1, k & 1), at = first + up, step = at - cell;
            if (!in_face_mask(axis, step) || !(seen >> face_bit(axis, step) & 1)) continue;
            float w = 1;
            for (int b = 0; b < 3; ++b) w *= up[b] ? share[b] : 1 - share[b];
            const Vec3i way = tile_of_cell(at) - tile_of_cell(cell);
            body(topology.neighbour(tile, way.x(), way.y(), way.z()), offset_of_cell(at), w);
        }
    };
    constexpr float kLeast = 1e-3f; // smaller weights are numerically zero
    SeenVelocity sampled{Vec3f::Zero(), 1};
    Vec3f weights;
    for (int a = 0; a < 3; ++a) {
        float sum = 0, weight = 0;
        for_each_seen(a, [&](int t, int o, float w) { sum += w * velocity.u[a].tile(t)[o], weight += w; });
        if (weight < kLeast) return {};
        sampled.u[a] = sum / weight, weights[a] = weight;
        sampled.share = std::min(sampled.share, weight);
    }
    if (sampled.share > 1 - 1e-4f) return sampled;
    const Sight::Wall wall = sight.wall(x);
    float nearer = 0;
    for (int a = 0; a < 3; ++a) {
        constexpr float kFar = 2; // cells; farther than any wall that occludes a face
        float distance = 0;       // mean wall distance of the component's visible faces
        for_each_seen(a, [&](int t, int o, float w) {
            const float* distances = sight.face_distances(t, a);
            distance += w / weights[a] * (distances ? distances[o] : kFar);
        });
        nearer += wall.normal[a] * wall.normal[a] * std::min(1.0f, wall.distance / std::max(distance, 1e-3f));
    }
    sampled.u -= (1 - std::max(0.0f, nearer)) * (sampled.u - wall.velocity).dot(wall.normal) * wall.normal;
    return sampled;
}

float largest_known(const MacField& velocity, const MacField& known)
{
    return parallel_reduce(
        velocity.u[0].topology().tile_count(), 0.0f,
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
