#include "spindrift/world/rigid_shares.h"

namespace spindrift {

namespace {

// Half-cell parts, from one cell below the tile to its end.
constexpr int kParts = 2 * (kTileSize + 1);

struct PartShares {
    float at[kParts][kParts][kParts];

    PartShares(const RigidSolid& solid, const Vec3i& first_cell, float voxel)
    {
        const Vec3f first = (first_cell - Vec3i::Ones()).cast<float>();
        fill<3>(solid, first, voxel, kTileSize + 1, Vec3i::Zero());
    }

  private:
    // Fills a cube of cells in blocks of `Block` cells; refines blocks that the surface crosses to single cells.
    template <int Block>
    void fill(const RigidSolid& solid, const Vec3f& first, float voxel, int cells, const Vec3i& from)
    {
        for (int x = from.x(); x < from.x() + cells; x += Block)
            for (int y = from.y(); y < from.y() + cells; y += Block)
                for (int z = from.z(); z < from.z() + cells; z += Block) {
                    const Vec3i low(x, y, z);
                    const Vec3f middle = (first + low.cast<float>() + Vec3f::Constant(0.5f * Block)) * voxel;
                    const float d = solid.distance(middle);
                    if (std::abs(d) >= kHalfDiagonal * Block * voxel)
                        set_all<Block>(low, d < 0 ? 1.0f : 0.0f);
                    else if constexpr (Block > 1)
                        fill<1>(solid, first, voxel, Block, low);
                    else
                        cut(solid, middle, voxel, &at[2 * x][2 * y][2 * z]);
                }
    }
    template <int Block> void set_all(const Vec3i& low, float share)
    {
        for (int i = 0; i < 2 * Block; ++i)
            for (int j = 0; j < 2 * Block; ++j)
                std::fill_n(&at[2 * low.x() + i][2 * low.y() + j][2 * low.z()], 2 * Block, share);
    }
    // Fractions of the eight parts of a cell, each the mean of eight subparts whose fraction varies linearly across
    // their width.
    static void cut(const RigidSolid& solid, const Vec3f& middle, float voxel, float* out)
    {
        const float size = 0.5f * voxel;
        const Row3 parts = eighths(middle, voxel);
        const Row d = solid.distances(parts);
        for (int k = 0; k < 8; ++k) {
            float& share = out[((k >> 2) * kParts + (k >> 1 & 1)) * kParts + (k & 1)];
            share = d[k] < 0 ? 1 : 0;
            if (std::abs(d[k]) >= kHalfDiagonal * size) continue;
            const Row within = solid.distances(eighths({parts.x[k], parts.y[k], parts.z[k]}, size));
            const Row filled = min(splat(1), max(splat(0), 0.5f - within / (0.5f * size)));
            float sum = 0;
            for (int l = 0; l < 8; ++l) sum += filled[l];
            share = sum / 8;
        }
    }
    static constexpr float kHalfDiagonal = 0.87f; // half the diagonal of a unit cube
};

void fill_tile(const RigidSolid& solid, const Vec3i& first_cell, float voxel, RigidShares::Tile& out)
{
    const PartShares parts(solid, first_cell, voxel);
    for (int c = 0; c < kTileCells; ++c) {
        const Vec3i first = 2 * (cell_in_tile(c) + Vec3i::Ones());
        const auto eight_from = [&](const Vec3i& p) {
            float sum = 0;
            for (int k = 0; k < 8; ++k) sum += parts.at[p.x() + (k >> 2)][p.y() + (k >> 1 & 1)][p.z() + (k & 1)];
            return sum / 8;
        };
        out.cell[c] = eight_from(first);
        for (int a = 0; a < 3; ++a) out.face[a][c] = eight_from(first - Vec3i(Vec3i::Unit(a)));
    }
}

bool has_share(const RigidShares::Tile& tile)
{
    for (int c = 0; c < kTileCells; ++c)
        if (tile.cell[c] > 0 || tile.face[0][c] > 0 || tile.face[1][c] > 0 || tile.face[2][c] > 0) return true;
    return false;
}

void normalise_overlaps(const std::vector<RigidShares::Tile*>& solids)
{
    const auto limit = [&](const auto& values) {
        for (int c = 0; c < kTileCells; ++c) {
            float sum = 0;
            for (RigidShares::Tile* s : solids) sum += values(*s)[c];
            if (sum > 1)
                for (RigidShares::Tile* s : solids) values(*s)[c] /= sum;
        }
    };
    limit([](RigidShares::Tile& t) { return t.cell; });
    for (int a = 0; a < 3; ++a) limit([a](RigidShares::Tile& t) { return t.face[a]; });
}

} // namespace

void RigidShares::update(const Topology& topology, const std::vector<RigidSolid>& solids, float voxel)
{
    struct Task {
        size_t solid;
        int tile;
    };
    std::vector<Task> tasks;
    for (size_t s = 0; s < solids.size(); ++s) {
        const Box3f box = solids[s].bounds().grown(voxel);
        const auto near_box = [&](const Vec3i& tile) {
            const Vec3f low = kTileSize * voxel * tile.cast<float>(), high = low.array() + kTileSize * voxel;
            return (low.array() < box.max.array()).all() && (high.array() > box.min.array()).all();
        };
        for (int t = 0; t < topology.tile_count(); ++t)
            if (near_box(topology.tile(t))) tasks.push_back({s, t});
    }
    std::vector<std::unique_ptr<Tile>> found(tasks.size());
    parallel_for(tasks.size(), [&](size_t k) {
        const auto& [solid, tile] = tasks[k];
        auto share = std::make_unique<Tile>();
        share->tile = tile;
        fill_tile(solids[solid], topology.first_cell(tile), voxel, *share);
        if (has_share(*share)) found[k] = std::move(share);
    });

    tiles_.assign(solids.size(), {});
    std::vector<uint8_t> sharers(topology.tile_count(), 0);
    for (size_t k = 0; k < tasks.size(); ++k) {
        if (!found[k]) continue;
        tiles_[tasks[k].solid].push_back(*found[k]);
        uint8_t& count = sharers[tasks[k].tile];
        count = static_cast<uint8_t>(std::min(count + 1, 2));
    }
    touched_.clear();
    for (int t = 0; t < topology.tile_count(); ++t)
        if (sharers[t] > 0) touched_.push_back(t);
    parallel_for(touched_.size(), [&](size_t k) {
        if (sharers[touched_[k]] > 1) normalise_overlaps(at(touched_[k]));
    });
}

const RigidShares::Tile* RigidShares::find(size_t solid, int tile) const
{
    const std::vector<Tile>& tiles = tiles_[solid];
    const auto at = std::lower_bound(tiles.begin(), tiles.end(), tile,
                                     [](const Tile& share, int wanted) { return share.tile < wanted; });
    return at != tiles.end() && at->tile == tile ? &*at : nullptr;
}

std::vector<RigidShares::Tile*> RigidShares::at(int tile)
{
    std::vector<Tile*> shares;
    for (size_t s = 0; s < tiles_.size(); ++s)
        if (const Tile* share = find(s, tile)) shares.push_back(tiles_[s].data() + (share - tiles_[s].data()));
    return shares;
}

size_t RigidShares::bytes() const
{
    size_t sum = touched_.capacity() * sizeof(int);
    for (const auto& tiles : tiles_) sum += tiles.capacity() * sizeof(Tile);
    return sum;
}

} // namespace spindrift
