#include "spindrift/world/solid_faces.h"

#include "spindrift/base/scratch.h"

namespace spindrift {

void solid_velocity_at_faces(const Topology& topology, const Solids& solids, const SolidCells& cells, float voxel,
                             MacField& velocity)
{
    velocity.reset(topology, 0);
    if (solids.colliders_move())
        for_each_tile(topology, [&](int tile) {
            if (!cells.tile(tile)) return;
            const Vec3f first = topology.first_cell(tile).cast<float>();
            for (int a = 0; a < 3; ++a)
                for (int c = 0; c < kTileCells; ++c)
                    if (cells.open(tile, a)[c] < 1)
                        velocity.u[a].tile(tile)[c] = solids.collider_velocity((first + face_in_tile(c, a)) * voxel)[a];
        });
    if (!solids.has_bodies()) return;
    // Weight each body by its fraction of the closed part.
    const RigidShares& shares = cells.shares();
    parallel_for(shares.touched().size(), [&](size_t k) {
        const int tile = shares.touched()[k];
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (size_t b = 0; b < solids.bodies().size(); ++b)
            if (const RigidShares::Tile* share = shares.find(b, tile))
                for (int a = 0; a < 3; ++a)
                    for (int c = 0; c < kTileCells; ++c) {
                        if (!(share->face[a][c] > 0)) continue;
                        const Vec3f x = (first + face_in_tile(c, a)) * voxel;
                        float& u = velocity.u[a].tile(tile)[c];
                        const float part = share->face[a][c] / (1 - cells.open(tile, a)[c]);
                        u += part * (solids.bodies()[b].velocity(x)[a] - solids.collider_velocity(x)[a]);
                    }
    });
}

void slide_on_solids(MacField& velocity, const Solids& solids, const SolidCells& cells, float voxel, float stick)
{
    const Topology& topology = velocity.u[0].topology();
    const std::vector<int>& near = cells.near();
    std::vector<size_t> begin = {0}; // of each tile's faces in `constrained`
    for (const int t : near) begin.push_back(begin.back() + cells.tile(t)->closed_faces.size());
    std::vector<float> constrained(begin.back());
    parallel_for(near.size(), [&](size_t k) {
        const auto& faces = cells.tile(near[k])->closed_faces;
        if (faces.empty()) return;
        auto& block = thread_scratch<MacBlock<1>>();
        block.gather(velocity, near[k], Margin::nearest);
        const Vec3f first = topology.first_cell(near[k]).cast<float>();
        const bool sheets = cells.tile(near[k])->sheets != nullptr;
        for (size_t i = 0; i < faces.size(); i += kTileSize) {
            const size_t count = std::min<size_t>(kTileSize, faces.size() - i);
            Vec3f x[kTileSize], u[kTileSize];
            for (size_t j = 0; j < count; ++j) x[j] = face_in_tile(faces[i + j].cell, faces[i + j].axis);
            store_row3(u, block.sample(load_row3(x, count)), count);
            for (size_t j = 0; sheets && j < count; ++j)
                if (const auto seen = sample_seen(velocity, *cells.sight(), voxel, (first + x[j]) * voxel))
                    u[j] = seen->u;
            for (size_t j = 0; j < count; ++j) {
                const auto& [n, cell, axis, towards] = faces[i + j];
                const Vec3f solid = solids.velocity((first + x[j]) * voxel), relative = u[j] - solid;
                float& out = constrained[begin[k] + i + j];
                out = u[j][axis] - (1 - towards) * relative.dot(n) * n[axis];
                if (stick > 0) {
                    const float depth = -solids.distance((first + x[j]) * voxel) / voxel;
                    out = mix(out, solid[axis] - clamp01(2 * depth) * relative[axis], stick);
                }
            }
        }
    });
    parallel_for(near.size(), [&](size_t k) {
        const float* value = constrained.data() + begin[k];
        for (const auto& face : cells.tile(near[k])->closed_faces)
            velocity.u[face.axis].tile(near[k])[face.cell] = *value++;
    });
}

} // namespace spindrift
