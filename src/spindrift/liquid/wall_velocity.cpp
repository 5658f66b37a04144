#include "spindrift/liquid/wall_velocity.h"

#include "spindrift/base/scratch.h"

namespace spindrift {

namespace {

// A cell whose centre is at least this many cells away from solids has no particle within one cell of them: 1 plus half
// its diagonal.
constexpr float kNear = 1.87f;

// Calls body(begin, end) for runs of particles of a tile whose cells are near solids.
template <class Body> void for_each_run(const ParticleIndex& index, const SolidTile& solid, int tile, const Body& body)
{
    for (int c = 0; c < kTileCells; ++c) {
        if (!(solid.distance[c] < kNear)) continue;
        const size_t begin = index.cell_begin(tile, c);
        while (c + 1 < kTileCells && solid.distance[c + 1] < kNear) ++c;
        if (const size_t end = index.cell_end(tile, c); begin != end) body(begin, end);
    }
}

} // namespace

void meet_walls(const MacField& velocity, const ParticleIndex& index, const SolidCells& solids, float voxel,
                Particles& particles)
{
    const Topology& topology = velocity.u[0].topology();
    const std::vector<int>& near = solids.near();
    parallel_for(near.size(), [&](size_t k) {
        const int tile = near[k];
        if (index.tile_empty(tile)) return;
        if (solids.sight() && solids.sight()->blocked(tile)) return; // to_particles() handles these
        auto& grid = thread_scratch<MacBlock<1>>();
        auto& distances = thread_scratch<Block<float, 1>>(); // [cells]
        grid.gather(velocity, tile, Margin::nearest);
        solids.gather_distances(topology, tile, distances);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        const auto meet = [&](size_t begin, size_t count) {
            const Row zero = splat(0), one = splat(1);
            const Row3 x = places_in_tile(&particles.P[begin], count, 1 / voxel, first);
            const auto place = MacBlock<1>::Places(x).of(-1);
            const MacBlock<1>::Corners around(distances, place);
            const Row weight = min(max(one - around.value(place), zero), one);
            if (!(largest(weight) > 0)) return;
            const Row3 n = around.gradient(place), u = grid.sample(x);
            Row3 v = load_row3(&particles.v[begin], count);
            const Row length2 = n.x * n.x + n.y * n.y + n.z * n.z;
            const Row own = (v.x - u.x) * n.x + (v.y - u.y) * n.y + (v.z - u.z) * n.z;
            const Row lost = weight * own * inverse_or_zero(length2);
            v = {v.x - lost * n.x, v.y - lost * n.y, v.z - lost * n.z};
            store_row3(&particles.v[begin], v, count);
        };
        for_each_run(index, *solids.tile(tile), tile, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; i += kTileSize) meet(i, std::min<size_t>(kTileSize, end - i));
        });
    });
}

} // namespace spindrift
