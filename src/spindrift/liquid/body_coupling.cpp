#include "spindrift/liquid/body_coupling.h"

namespace spindrift {

namespace {

// Tiles with cells that a body's shares touch: its own and those below them.
std::vector<int> tiles_with_columns(const Topology& topology, const std::vector<RigidShares::Tile>& shares)
{
    std::vector<int> tiles;
    for (const RigidShares::Tile& share : shares)
        for (const int tile : {share.tile, topology.neighbour(share.tile, -1, 0, 0),
                               topology.neighbour(share.tile, 0, -1, 0), topology.neighbour(share.tile, 0, 0, -1)})
            if (tile != topology.tile_count()) tiles.push_back(tile);
    std::sort(tiles.begin(), tiles.end());
    tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
    return tiles;
}

} // namespace

void BodyCoupling::prepare(const Bodies& bodies, const RigidShares& shares, const PoissonMatrix& matrix, float voxel,
                           float density)
{
    const Topology& topology = matrix.diagonal.topology();
    mass_of_cell_ = density * std::pow(static_cast<double>(voxel), 3);
    columns_.assign(bodies.size(), {});
    for (size_t b = 0; b < bodies.size(); ++b) {
        const std::vector<int> tiles = tiles_with_columns(topology, shares.tiles(b));
        std::vector<std::vector<PoissonColumns::Cell>> found(tiles.size());
        parallel_for(tiles.size(), [&](size_t k) {
            const int tile = tiles[k];
            const float* diagonal = matrix.diagonal.tile(tile);
            const Vec3f first = topology.first_cell(tile).cast<float>();
            for (int c = 0; c < kTileCells; ++c) {
                if (!(diagonal[c] > 0)) continue;
                Vec6d row = Vec6d::Zero();
                for (int a = 0; a < 3; ++a)
                    for (int side = 0; side < 2; ++side) {
                        const Topology::Cell at = side ? topology.next_cell(tile, c, a, 1) : Topology::Cell{tile, c};
                        const RigidShares::Tile* share = shares.find(b, at.tile);
                        if (!share || !(share->face[a][at.offset] > 0)) continue;
                        Vec3f face = first + face_in_tile(c, a);
                        face[a] += static_cast<float>(side);
                        const Vec3d arm = (face * voxel).cast<double>() - bodies.center(b);
                        row += (side ? 1.0 : -1.0) * share->face[a][at.offset] * lever(arm, a);
                    }
                if (!row.isZero(0)) found[k].push_back({tile, c, row.cast<float>()});
            }
        });
        for (const auto& cells : found) columns_[b].cells.insert(columns_[b].cells.end(), cells.begin(), cells.end());
        columns_[b].c = mass_of_cell_ * bodies.inverse_mass(b);
    }
}

void BodyCoupling::push(const Field<double>& s, Bodies& bodies) const
{
    for (size_t b = 0; b < columns_.size(); ++b) bodies.push(b, mass_of_cell_ * columns_[b].sums(s));
}

} // namespace spindrift
