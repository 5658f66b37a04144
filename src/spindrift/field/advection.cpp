#include "spindrift/field/advection.h"

#include "spindrift/base/scratch.h"

#include <atomic>

namespace spindrift {

namespace {

// The tile of a grid coarser by `factor` that contains a tile of the fine grid.
Vec3i coarse_tile_of(const Topology& fine, int tile, int factor)
{
    const auto floor_div = [&](int a) { return (a >= 0 ? a : a - factor + 1) / factor; };
    const Vec3i at = fine.tile(tile);
    return {floor_div(at.x()), floor_div(at.y()), floor_div(at.z())};
}

// The largest velocity component in each tile and its 26 neighbours. The last entry, 0, is for missing tiles.
std::vector<float> largest_around(const Field<float>* u)
{
    const Topology& topology = u[0].topology();
    const size_t count = topology.tile_count();
    std::vector<float> here(count + 1), most(count + 1); // the last entry is for missing tiles
    parallel_for(
        count,
        [&](size_t t) {
            Row fastest = splat(0);
            for (int a = 0; a < 3; ++a)
                for (int o = 0; o < kTileCells; o += kTileSize) {
                    const Row r = load_row(u[a].tile(static_cast<int>(t)) + o);
                    fastest = max(fastest, max(r, -r));
                }
            here[t] = largest(fastest);
        },
        16);
    parallel_for(
        count,
        [&](size_t t) {
            for (int k = 0; k < 27; ++k)
                most[t] = std::max(most[t],
                                   here[topology.neighbour(static_cast<int>(t), k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1)]);
        },
        64);
    return most;
}

// For each tile, an upper bound of the displacement of its values in the step [cells].
std::vector<float> reaches(const Carrier& carrier, const Topology& values)
{
    const Topology& coarse = carrier.velocity->u[0].topology();
    std::vector<float> speed = largest_around(carrier.velocity->u);
    if (carrier.refine > 1) {
        const std::vector<float> speed_of_coarse = std::move(speed);
        speed.assign(values.tile_count() + 1, 0);
        if (carrier.detail) speed = largest_around(carrier.detail);
        parallel_for(
            values.tile_count(),
            [&](size_t t) {
                speed[t] += speed_of_coarse[coarse.find(coarse_tile_of(values, static_cast<int>(t), carrier.refine))];
            },
            64);
    }
    for (float& cells : speed) cells *= carrier.cells;
    return speed;
}

// Positions of a row's samples, in cells relative to the tile's corner.
Row3 places_of_row(Location location, int x, int y)
{
    const Row along_z = {0, 1, 2, 3, 4, 5, 6, 7};
    const float half[3] = {location == Location::x_face ? 0 : 0.5f, location == Location::y_face ? 0 : 0.5f,
                           location == Location::z_face ? 0 : 0.5f};
    return {splat(static_cast<float>(x) + half[0]), splat(static_cast<float>(y) + half[1]), along_z + half[2]};
}

// The flow around a tile, sampled at any eight points within H - 1 cells of it [cells per step].
template <int H> class SameGridFlow {
  public:
    static constexpr int kMargin = H;
    void gather(const Carrier& carrier, uint64_t, const Topology&, int tile)
    {
        cells_ = carrier.cells;
        block_.gather(*carrier.velocity, tile, Margin::nearest);
    }
    const Block<float, H>* component(int axis) const { return &block_.u[axis]; }
    Row3 at(const Row3& points) const { return cells_ * block_.sample(points); }
    // At the sample positions themselves, averages of faces replace the general interpolation.
    Row3 at_row(Location location, int x, int y) const
    {
        const auto component = [&](int axis) {
            using B = Block<float, H>;
            constexpr int stride[3] = {B::kStrideX, B::kStrideY, 1};
            const float* u = block_.u[axis].data + B::index(x, y, 0);
            const int face = static_cast<int>(location);
            if (face == axis) return load_row_unaligned(u);
            const Row here = load_row_unaligned(u) + load_row_unaligned(u + stride[axis]);
            if (face < 0) return 0.5f * here;
            const float* below = u - stride[face];
            return 0.25f * (here + load_row_unaligned(below) + load_row_unaligned(below + stride[axis]));
        };
        return cells_ * Row3{component(0), component(1), component(2)};
    }

  private:
    float cells_ = 0;
    MacBlock<H> block_;
};

// The same for values on a finer grid than the velocity.
template <int H> class FinerGridFlow {
  public:
    static constexpr int kMargin = H;
    // `pass` identifies the sweep over the tiles, so that a block kept from an earlier sweep is not reused.
    void gather(const Carrier& carrier, uint64_t pass, const Topology& fine, int tile)
    {
        carrier_ = &carrier;
        const Topology& coarse = carrier.velocity->u[0].topology();
        const Vec3i coarse_tile = coarse_tile_of(fine, tile, carrier.refine);
        // In Morton order, tiles that share a tile of the coarse grid are consecutive.
        if (pass_ != pass || coarse_tile != coarse_tile_) {
            const int found = coarse.find(coarse_tile);
            missing_ = found == coarse.tile_count();
            if (!missing_) coarse_.gather(*carrier.velocity, found, Margin::nearest);
            pass_ = pass, coarse_tile_ = coarse_tile;
        }
        offset_ = ((fine.tile(tile) - coarse_tile * carrier.refine) * kTileSize).cast<float>();
        if (carrier.detail)
            for (int a = 0; a < 3; ++a) detail_.u[a].gather(carrier.detail[a], tile, Margin::nearest);
    }
    const Block<float, H>* component(int) const { return nullptr; } // the velocity is on another grid
    Row3 at(const Row3& points) const
    {
        const float shrink = 1.0f / static_cast<float>(carrier_->refine);
        Row3 u = {splat(0), splat(0), splat(0)};
        if (!missing_)
            u = coarse_.sample({shrink * (points.x + offset_.x()), shrink * (points.y + offset_.y()),
                                shrink * (points.z + offset_.z())});
        if (carrier_->detail) {
            const auto place = typename MacBlock<H>::Places(points).of(-1);
            const auto component = [&](int a) {
                return typename MacBlock<H>::Corners(detail_.u[a], place).value(place);
            };
            u = u + Row3{component(0), component(1), component(2)};
        }
        return carrier_->cells * u;
    }
    Row3 at_row(Location location, int x, int y) const { return at(places_of_row(location, x, y)); }

  private:
    const Carrier* carrier_ = nullptr;
    uint64_t pass_ = 0;
    Vec3i coarse_tile_ = Vec3i::Zero();
    bool missing_ = false;
    Vec3f offset_;
    MacBlock<5> coarse_;
    MacBlock<H> detail_; // all components at cell centres
};

// Clamps points to the closed sides of the flow and to the gathered block.
struct Limits {
    Vec3f low, high;

    Limits(const Carrier& carrier, Location location, const Vec3f& first, int margin)
    {
        for (int a = 0; a < 3; ++a) {
            const float rim = static_cast<int>(location) == a ? 0 : 0.5f; // centres end half a cell from walls
            low[a] = std::max(carrier.bounds.min[a] - first[a] + rim, 1.0f - static_cast<float>(margin));
            high[a] = std::min(carrier.bounds.max[a] - first[a] - rim, kTileSize + static_cast<float>(margin) - 1.01f);
        }
    }
    Row3 clamp(const Row3& p) const
    {
        return {min(max(p.x, splat(low.x())), splat(high.x())), min(max(p.y, splat(low.y())), splat(high.y())),
                min(max(p.z, splat(low.z())), splat(high.z()))};
    }
};

// Traces the samples of a row backwards (sign -1) or forwards (1) with the midpoint rule.
template <class Flow> [[gnu::always_inline]] inline Row3 trace(const Flow& flow, const Limits& limits,
                                                               Location location, int x, int y, float sign)
{
    const Row3 start = places_of_row(location, x, y);
    const Row3 middle = limits.clamp(start + 0.5f * sign * flow.at_row(location, x, y));
    return limits.clamp(start + sign * flow.at(middle));
}

template <int H> bool is_constant(const Block<float, H>& block)
{
    constexpr int count = Block<float, H>::kSize * Block<float, H>::kSize * Block<float, H>::kSize;
    static_assert(count % 8 == 0);
    const Row value = splat(block.data[0]);
    RowMask differs = {};
    for (int i = 0; i < count; i += 8) differs |= load_row(block.data + i) != value;
    for (int i = 0; i < 8; ++i)
        if (differs[i]) return false;
    return true;
}

// Interpolates fields at the ends of their traces: calls body(tile, field index, row offset, corners, place). Where a
// field is constant over a tile and its margin, calls constant(tile, field index, value) instead.
template <class Constant, class Body> struct Lookup {
    const Carrier& carrier;
    std::span<const AdvectedField> fields;
    const std::vector<const Field<float>*>& values;
    float sign;
    uint64_t pass;
    const Constant& constant;
    const Body& body;

    template <class Flow> void in_tile(int tile) const
    {
        constexpr int H = Flow::kMargin;
        const Topology& topology = values[0]->topology();
        struct Memory {
            Flow flow;
            std::vector<Block<float, H>> blocks;
            std::vector<const Block<float, H>*> varying; // per field; nullptr where it is constant
        };
        Memory& memory = thread_scratch<Memory>();
        memory.blocks.resize(std::max(memory.blocks.size(), values.size()));
        memory.varying.assign(values.size(), nullptr);
        bool have_flow = false;
        const auto flow = [&]() -> const Flow& {
            if (!have_flow) memory.flow.gather(carrier, pass, topology, tile), have_flow = true;
            return memory.flow;
        };
        for (size_t i = 0; i < values.size(); ++i) {
            const int face = static_cast<int>(fields[i].location);
            if (face >= 0 && carrier.refine == 1 && values[i] == &carrier.velocity->u[face]) {
                memory.varying[i] = flow().component(face);
                continue;
            }
            memory.blocks[i].gather(*values[i], tile, face < 0 ? Margin::background : Margin::nearest);
            if (face < 0 && is_constant(memory.blocks[i]))
                constant(tile, i, memory.blocks[i].data[0]);
            else
                memory.varying[i] = &memory.blocks[i];
        }
        const Vec3f first = topology.first_cell(tile).template cast<float>();
        for (const Location location : {Location::x_face, Location::y_face, Location::z_face, Location::center}) {
            size_t chosen[32], count = 0;
            for (size_t i = 0; i < values.size(); ++i)
                if (memory.varying[i] && fields[i].location == location) chosen[count++] = i;
            if (count == 0) continue;
            const Limits limits(carrier, location, first, H);
            for_each_row([&](int x, int y, int o) {
                const Row3 end = trace(flow(), limits, location, x, y, sign);
                const auto place = typename MacBlock<H>::Places(end).of(static_cast<int>(location));
                for (size_t k = 0; k < count; ++k)
                    body(tile, chosen[k], o, typename MacBlock<H>::Corners(*memory.varying[chosen[k]], place), place);
            });
        }
    }
};

// Gathers only as wide a margin as the tile's displacement needs, since most of a flow is slow: the displacement, plus
// one sample beyond the end point, plus half a cell.
template <template <int> class Flow, class Constant, class Body>
void for_each_end(const Carrier& carrier, const std::vector<float>& reach, std::span<const AdvectedField> fields,
                  const std::vector<const Field<float>*>& values, float sign, const Constant& constant,
                  const Body& body)
{
    static std::atomic<uint64_t> passes = 0;
    const Lookup<Constant, Body> lookup{carrier, fields, values, sign, ++passes, constant, body};
    for_each_tile(values[0]->topology(), [&](int tile) {
        const float cells = reach[tile];
        if (cells < 1.4f)
            lookup.template in_tile<Flow<3>>(tile);
        else if (cells < 3.4f)
            lookup.template in_tile<Flow<5>>(tile);
        else
            lookup.template in_tile<Flow<8>>(tile);
    });
}

template <template <int> class Flow> void advect_with(const Carrier& carrier, Advection scheme,
                                                      std::span<const AdvectedField> fields, AdvectionScratch& scratch)
{
    const size_t count = fields.size();
    const Topology& topology = fields[0].in->topology();
    const std::vector<float> reach = reaches(carrier, topology);
    const bool corrected = scheme != Advection::semi_lagrangian;
    std::vector<const Field<float>*> before, first, compensated;
    for (auto* kept : {&scratch.first, &scratch.low, &scratch.high})
        if (kept->size() < count) kept->resize(count);
    for (size_t i = 0; i < count; ++i) {
        const float background = fields[i].in->background();
        fields[i].out->reset_uninitialized(topology, background);
        for (auto* kept : {&scratch.low, &scratch.high}) (*kept)[i].reset_uninitialized(topology, background);
        if (corrected) scratch.first[i].reset_uninitialized(topology, background);
        before.push_back(fields[i].in), first.push_back(&scratch.first[i]), compensated.push_back(fields[i].out);
    }
    const auto out = [&](size_t i, int tile) { return fields[i].out->tile(tile); };

    // Forth: values at the origins of the backward traces.
    for_each_end<Flow>(
        carrier, reach, fields, before, -1,
        [&](int tile, size_t i, float value) {
            std::fill_n(corrected ? scratch.first[i].tile(tile) : out(i, tile), kTileCells, value);
            std::fill_n(scratch.low[i].tile(tile), kTileCells, value);
            std::fill_n(scratch.high[i].tile(tile), kTileCells, value);
        },
        [&](int tile, size_t i, int o, const auto& corners, const auto& place) {
            store_row((corrected ? scratch.first[i].tile(tile) : out(i, tile)) + o, corners.value(place));
            store_row(scratch.low[i].tile(tile) + o, corners.lowest());
            store_row(scratch.high[i].tile(tile) + o, corners.highest());
        });
    if (!corrected) return;

    const auto limited = [&](size_t i, int tile, int o, Row value) {
        return min(max(value, load_row(scratch.low[i].tile(tile) + o)), load_row(scratch.high[i].tile(tile) + o));
    };
    // And back: half the difference to the original value is the error of one trace.
    const bool maccormack = scheme == Advection::maccormack;
    const auto correct = [&](int tile, size_t i, int o, Row back) {
        const Row was = load_row(fields[i].in->tile(tile) + o), error = 0.5f * (was - back);
        store_row(out(i, tile) + o,
                  maccormack ? limited(i, tile, o, load_row(scratch.first[i].tile(tile) + o) + error) : was + error);
    };
    for_each_end<Flow>(
        carrier, reach, fields, first, 1,
        [&](int tile, size_t i, float value) {
            for (int o = 0; o < kTileCells; o += kTileSize) correct(tile, i, o, splat(value));
        },
        [&](int tile, size_t i, int o, const auto& corners, const auto& place) {
            correct(tile, i, o, corners.value(place));
        });
    if (maccormack) return;

    // BFECC traces once more, from values with the error already subtracted.
    const auto keep = [&](int tile, size_t i, int o, Row value) {
        store_row(scratch.first[i].tile(tile) + o, limited(i, tile, o, value));
    };
    for_each_end<Flow>(
        carrier, reach, fields, compensated, -1,
        [&](int tile, size_t i, float value) {
            for (int o = 0; o < kTileCells; o += kTileSize) keep(tile, i, o, splat(value));
        },
        [&](int tile, size_t i, int o, const auto& corners, const auto& place) {
            keep(tile, i, o, corners.value(place));
        });
    for (size_t i = 0; i < count; ++i) std::swap(*fields[i].out, scratch.first[i]);
}

} // namespace

size_t AdvectionScratch::bytes() const
{
    size_t sum = 0;
    for (const auto* fields : {&first, &low, &high})
        for (const Field<float>& field : *fields) sum += field.bytes();
    return sum;
}

void advect(const Carrier& carrier, Advection scheme, std::span<const AdvectedField> fields, AdvectionScratch& scratch)
{
    if (fields.empty()) return;
    if (carrier.refine > 1)
        advect_with<FinerGridFlow>(carrier, scheme, fields, scratch);
    else
        advect_with<SameGridFlow>(carrier, scheme, fields, scratch);
}

float max_abs(const Field<float>& field)
{
    return parallel_reduce(
        field.topology().tile_count(), 0.0f,
        [&](size_t t) {
            Row most = splat(0);
            for (int o = 0; o < kTileCells; o += kTileSize) {
                const Row r = load_row(field.tile(static_cast<int>(t)) + o);
                most = max(most, max(r, -r));
            }
            return largest(most);
        },
        [](float a, float b) { return std::max(a, b); }, 16);
}

float largest_component(const MacField& velocity)
{
    return std::max({max_abs(velocity.u[0]), max_abs(velocity.u[1]), max_abs(velocity.u[2])});
}

} // namespace spindrift
