#include "spindrift/liquid/particle_flow.h"

#include "spindrift/base/scratch.h"
#include "spindrift/points/transfer.h"

#include <numeric>

namespace spindrift {

namespace {

constexpr int kFlowReach = 3;  // margin around particles that the grid covers [cells]
constexpr int kLayers = 3;     // of extrapolation [cells]
constexpr float kFarAway = 10; // from solids [cells]

std::vector<uint32_t> by_id(const Particles& particles)
{
    std::vector<uint32_t> order(particles.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return particles.id[a] < particles.id[b]; });
    return order;
}

} // namespace

Particles particles_between(const Particles& before, const Particles& after, float share, float seconds)
{
    const std::vector<uint32_t> from = by_id(before), to = by_id(after);
    Particles out;
    const auto add = [&](const Vec3f& x, const Vec3f& v, int32_t id) {
        out.P.push_back(x), out.v.push_back(v), out.id.push_back(id);
    };
    size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
        const uint32_t a = i < from.size() ? from[i] : 0, b = j < to.size() ? to[j] : 0;
        const bool has_a = i < from.size() && (j == to.size() || before.id[a] <= after.id[b]);
        const bool has_b = j < to.size() && (i == from.size() || after.id[b] <= before.id[a]);
        if (has_a && has_b)
            add(before.P[a] + share * (after.P[b] - before.P[a]), before.v[a] + share * (after.v[b] - before.v[a]),
                after.id[b]);
        else if (has_b)
            add(after.P[b] - (1 - share) * seconds * after.v[b], after.v[b], after.id[b]);
        else if (share < 1)
            add(before.P[a] + share * seconds * before.v[a], before.v[a], before.id[a]);
        i += has_a, j += has_b;
    }
    return out;
}

size_t ParticleFlow::bytes() const
{
    return particles_.bytes() + topology_.bytes() + index_.bytes() + solid_cells_.bytes() + velocity_.bytes() +
           weight_.bytes() + smoothed_.bytes() + solid_distance_.bytes() + surface_distance_.bytes();
}

void extend_into_solids(const Field<float>& solid_distance, int layers, Field<float>& value)
{
    const Topology& topology = value.topology();
    Field<uint8_t> known(topology, 1, 0);
    for_each_tile(topology, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c) known.tile(tile)[c] = solid_distance.tile(tile)[c] > 0;
    });
    std::vector<std::vector<std::pair<int, float>>> found(topology.tile_count());
    for (int layer = 0; layer < layers; ++layer) {
        for_each_tile(topology, [&](int tile) {
            auto& here = found[tile];
            here.clear();
            for (int c = 0; c < kTileCells; ++c) {
                if (known.tile(tile)[c]) continue;
                float sum = 0, count = 0;
                for (int a = 0; a < 3; ++a)
                    for (const int side : {-1, 1}) {
                        const auto [t, o] = topology.next_cell(tile, c, a, side);
                        if (known.tile(t)[o]) sum += value.tile(t)[o], ++count;
                    }
                if (count > 0) here.emplace_back(c, sum / count);
            }
        });
        for_each_tile(topology, [&](int tile) {
            for (const auto& [c, mean] : found[tile]) value.tile(tile)[c] = mean, known.tile(tile)[c] = 1;
        });
    }
}

void ParticleFlow::set(Particles particles, float frame)
{
    solids_.set_frame(frame);
    particles_ = std::move(particles);
    particles_.attributes.clear();
    topology_ = tiles_around(particles_, voxel_, kFlowReach);
    sort_by_tile(particles_, topology_, voxel_, index_);
    solid_cells_.update(topology_, solids_, voxel_);
    find_velocity();
    find_solid_distance();
    find_surface_distance();
}

void ParticleFlow::find_velocity()
{
    const Sight* sight = solid_cells_.sight();
    to_grid(particles_, index_, topology_, voxel_, Transfer::pic, velocity_, weight_, sight);
    const auto for_each_closed_face = [&](const auto& body) {
        const std::vector<int>& near = solid_cells_.near();
        parallel_for(near.size(), [&](size_t k) {
            const SolidTile& solid = *solid_cells_.tile(near[k]);
            for (int a = 0; a < 3; ++a)
                for (int c = 0; c < kTileCells; ++c)
                    if (!(solid.open[a][c] > 0)) body(near[k], a, c);
        });
    };
    for_each_closed_face([&](int tile, int a, int c) { weight_.u[a].tile(tile)[c] = 0; });
    extrapolate(velocity_, weight_, kLayers, sight);
    smooth_velocity();
    for_each_closed_face([&](int tile, int a, int c) {
        const Vec3f face = topology_.first_cell(tile).cast<float>() + face_in_tile(c, a);
        velocity_.u[a].tile(tile)[c] = solids_.velocity(face * voxel_)[a];
    });
}

// Applies a binomial filter along each axis, but not across sheets.
void ParticleFlow::smooth_velocity()
{
    smoothed_.reset(topology_, 0);
    for (int axis = 0; axis < 3; ++axis) {
        for_each_tile(topology_, [&](int tile) {
            auto& block = thread_scratch<MacBlock<1>>();
            block.gather(velocity_, tile, Margin::nearest);
            for (int a = 0; a < 3; ++a) smooth_component(block.u[a], tile, a, axis);
        });
        for (int a = 0; a < 3; ++a) std::swap(velocity_.u[a], smoothed_.u[a]);
    }
}

// Filters component a along an axis.
void ParticleFlow::smooth_component(const Block<float, 1>& u, int tile, int a, int axis)
{
    const Sight* sight = solid_cells_.sight();
    const uint8_t* links = sight ? sight->links(tile, a) : nullptr;
    const Vec3i up = Vec3i::Unit(axis);
    for_each_row([&](int x, int y, int o) {
        const auto row = [&](int side) {
            return load_row_unaligned(&u.at(x + side * up.x(), y + side * up.y(), side * up.z()));
        };
        const Row here = row(0);
        Row below = row(-1), above = row(1);
        for (int k = 0; links && k < kTileSize; ++k) {
            if (!(links[o + k] >> (2 * axis) & 1)) below[k] = here[k];
            if (!(links[o + k] >> (2 * axis + 1) & 1)) above[k] = here[k];
        }
        store_row(smoothed_.u[a].tile(tile) + o, 0.25f * (below + above) + 0.5f * here);
    });
}

void ParticleFlow::find_solid_distance()
{
    solid_distance_.reset(topology_, kFarAway * voxel_);
    const std::vector<int>& near = solid_cells_.near();
    parallel_for(near.size(), [&](size_t k) {
        const SolidTile& solid = *solid_cells_.tile(near[k]);
        for (int c = 0; c < kTileCells; ++c) solid_distance_.tile(near[k])[c] = voxel_ * solid.distance[c];
    });
}

void ParticleFlow::find_surface_distance()
{
    distance_to_surface(particles_, index_, topology_, voxel_, solid_cells_, surface_distance_);
    if (!solids_.none()) extend_into_solids(solid_distance_, kLayers, surface_distance_);
    for_each_tile(topology_, [&](int tile) {
        float* d = surface_distance_.tile(tile);
        for (int o = 0; o < kTileCells; o += kTileSize) store_row(d + o, voxel_ * load_row(d + o));
    });
}

} // namespace spindrift
