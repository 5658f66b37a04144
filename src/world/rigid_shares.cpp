#include "world/rigid_shares.h"

namespace spindrift {

namespace {

// Parts of half a cell, from one cell below a tile to its end.
constexpr int kParts = 2 * (kTileSize + 1);

struct PartShares {
    float at[kParts][kParts][kParts];

    PartShares(const RigidSolid& solid, const Vec3i& first_cell, float voxel)
    {
        constexpr float kHalfDiagonal = 0.87f; // of a cell, in cells
        for (int x = 0; x < kParts; x += 2)
            for (int y = 0; y < kParts; y += 2)
                for (int z = 0; z < kParts; z += 2) {
                    const Vec3f corner = (first_cell + Vec3i(x, y, z) / 2 - Vec3i::Ones()).cast<float>();
                    const float d = solid.distance((corner + Vec3f::Constant(0.5f)) * voxel);
                    const bool cut = std::abs(d) < kHalfDiagonal * voxel;
                    for (int k = 0; k < 8; ++k) {
                        const Vec3i part(k >> 2, k >> 1 & 1, k & 1);
                        const Vec3f middle = corner + 0.5f * part.cast<float>() + Vec3f::Constant(0.25f);
                        at[x + part.x()][y + part.y()][z + part.z()] = cut     ? filled(solid, middle * voxel, voxel)
                                                                       : d < 0 ? 1.0f
                                                                               : 0.0f;
                    }
                }
    }

  private:
    // Share of the part around a point: the mean of eight smaller ones, in each of which the distance passes through
    // zero over its width.
    static float filled(const RigidSolid& solid, const Vec3f& middle, float voxel)
    {
        const float size = 0.5f * voxel, d = solid.distance(middle);
        if (std::abs(d) >= 0.87f * size) return d < 0 ? 1 : 0;
        float sum = 0;
        for (int k = 0; k < 8; ++k) {
            const Vec3f off = 0.5f * Vec3i(k >> 2, k >> 1 & 1, k & 1).cast<float>() - Vec3f::Constant(0.25f);
            sum += clamp01(0.5f - solid.distance(middle + size * off) / (0.5f * size));
        }
        return sum / 8;
    }
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

void share_out(const std::vector<RigidShares::Tile*>& solids)
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
    std::vector<uint8_t> sharers(static_cast<size_t>(topology.tile_count()), 0);
    for (size_t k = 0; k < tasks.size(); ++k) {
        if (!found[k]) continue;
        tiles_[tasks[k].solid].push_back(*found[k]);
        uint8_t& count = sharers[static_cast<size_t>(tasks[k].tile)];
        count = static_cast<uint8_t>(std::min(count + 1, 2));
    }
    touched_.clear();
    for (int t = 0; t < topology.tile_count(); ++t)
        if (sharers[static_cast<size_t>(t)] > 0) touched_.push_back(t);
    parallel_for(touched_.size(), [&](size_t k) {
        if (sharers[static_cast<size_t>(touched_[k])] < 2) return;
        std::vector<Tile*> here;
        for_each_at(touched_[k], [&](size_t, Tile& share) { here.push_back(&share); });
        share_out(here);
    });
}

const RigidShares::Tile* RigidShares::find(size_t solid, int tile) const
{
    const std::vector<Tile>& tiles = tiles_[solid];
    const auto at = std::lower_bound(tiles.begin(), tiles.end(), tile,
                                     [](const Tile& share, int wanted) { return share.tile < wanted; });
    return at != tiles.end() && at->tile == tile ? &*at : nullptr;
}

size_t RigidShares::bytes() const
{
    size_t sum = touched_.capacity() * sizeof(int);
    for (const auto& tiles : tiles_) sum += tiles.capacity() * sizeof(Tile);
    return sum;
}

} // namespace spindrift
