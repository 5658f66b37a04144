// Open fractions of cells and faces.
#include "spindrift/world/sheets.h"

namespace spindrift {

namespace {

// Free fractions of cells and lower faces between the closed sides of the domain, along one axis of a tile.
struct FreeAlong {
    float cell[kTileSize], face[kTileSize];

    FreeAlong(const Solids& solids, int axis, int first_cell, float voxel)
    {
        constexpr float kOnTheWall = 1e-3f; // in cells: a face on a wall is closed
        for (int i = 0; i < kTileSize; ++i) {
            const auto low = static_cast<float>(first_cell + i);
            cell[i] = solids.free_share(axis, low * voxel, (low + 1) * voxel);
            const float below = (low - kOnTheWall) * voxel, above = (low + kOnTheWall) * voxel;
            face[i] = std::min(solids.free_share(axis, below, below), solids.free_share(axis, above, above));
        }
    }
};

void find_closed_faces(const Solids& solids, const Vec3f& first_cell, float voxel, SolidTile& out)
{
    for (int c = 0; c < kTileCells; ++c)
        for (int a = 0; a < 3; ++a) {
            if (out.open[a][c] > 0 || !(out.distance[c] >= -2)) continue;
            const Vec3f x = (first_cell + face_in_tile(c, a)) * voxel;
            SolidTile::ClosedFace face{solids.normal(x, 0.1f * voxel), static_cast<uint16_t>(c),
                                       static_cast<uint16_t>(a)};
            // The normal velocity falls to zero between the first free face, one cell away, and the sheet.
            if (out.sheets)
                if (const float d = solids.distance(x) / voxel; d > 0) face.towards = d / (1 + d);
            out.closed_faces.push_back(face);
        }
}

// Distances [cells] at the centres of a tile's cells. Where a block of eight is far away, a common lower bound of the
// magnitude suffices. Points are in cells relative to the tile's corner.
template <class Distance, class Distances>
void distances_at_centers(const Distance& distance_at, const Distances& eight_at, float* center)
{
    constexpr float kFar = 4, kHalfDiagonal = 0.87f;
    for (int block = 0; block < 64; ++block) {
        const Vec3i low = 2 * Vec3i(block >> 4, block >> 2 & 3, block & 3);
        const float middle = distance_at(low.cast<float>() + Vec3f::Ones());
        const bool far = std::abs(middle) > kFar;
        const Row eight = far ? splat(middle - std::copysign(kHalfDiagonal, middle))
                              : eight_at(eighths(low.cast<float>() + Vec3f::Ones(), 2));
        for (int k = 0; k < 8; ++k)
            center[offset_in_tile(low.x() + (k >> 2), low.y() + (k >> 1 & 1), low.z() + (k & 1))] = eight[k];
    }
}

// Domain walls are axis-aligned, so the space that they leave free is a product over axes, and only colliders are cut
// out by their distance at cell corners. One combined distance would round off the edges between walls and colliders,
// and a domain one cell deep would have no free corner.
void evaluate(const Solids& solids, const Vec3i& first_cell, float voxel, SolidTile& out)
{
    constexpr int n = kTileSize + 1;
    const float inverse_voxel = 1 / voxel;
    const Vec3f first = first_cell.cast<float>();
    // Distances in cells, at points in cells relative to the tile's corner.
    const auto to_colliders = [&](const Vec3f& x) {
        return std::min(10.0f, inverse_voxel * solids.collider_distance((first + x) * voxel));
    };
    const auto to_walls = [&](const Vec3f& x) { return inverse_voxel * solids.wall_distance((first + x) * voxel); };
    const FreeAlong free[3] = {
        {solids, 0, first_cell.x(), voxel}, {solids, 1, first_cell.y(), voxel}, {solids, 2, first_cell.z(), voxel}};

    float center[kTileCells];
    const auto eight_to_colliders = [&](const Row3& x) {
        Row d;
        for (int k = 0; k < 8; ++k) d[k] = to_colliders({x.x[k], x.y[k], x.z[k]});
        return d;
    };
    distances_at_centers(to_colliders, eight_to_colliders, center);
    const auto near = [&](int c) { return std::abs(center[c]) <= 1.8f; };
    float corner[n][n][n];
    bool known[n][n][n] = {};
    const auto corner_of = [&](const Vec3i& at) {
        float& d = corner[at.x()][at.y()][at.z()];
        bool& is_known = known[at.x()][at.y()][at.z()];
        if (!is_known) d = to_colliders(at.cast<float>()), is_known = true;
        return d;
    };
    const SheetSides sides(solids, first_cell, voxel);
    const auto sheets = sides.look();
    out.sheets = sheets;
    for (int c = 0; c < kTileCells; ++c) {
        const Vec3i cell = cell_in_tile(c);
        const Vec3f p = cell.cast<float>();
        float open[3], volume;
        std::array<float, 8> v;
        if (near(c))
            for (int k = 0; k < 8; ++k) v[k] = corner_of(cell + Vec3i(k >> 2, k >> 1 & 1, k & 1));
        if (near(c) && sides.near(c)) {
            for (int a = 0; a < 3; ++a) open[a] = sides.open_part(c, a, to_colliders);
            volume = sides.own_part(c, to_colliders);
            constexpr float kMinVolume = 1e-3f;
            if (volume > kMinVolume) sheets->both_sides[c] = positive_volume(v, center[c]) / volume;
        } else if (near(c)) {
            open[0] = positive_area({v[0], v[1], v[3], v[2]}, to_colliders(p + Vec3f(0, 0.5f, 0.5f)));
            open[1] = positive_area({v[0], v[1], v[5], v[4]}, to_colliders(p + Vec3f(0.5f, 0, 0.5f)));
            open[2] = positive_area({v[0], v[2], v[6], v[4]}, to_colliders(p + Vec3f(0.5f, 0.5f, 0)));
            volume = positive_volume(v, center[c]);
        } else
            open[0] = open[1] = open[2] = volume = center[c] > 0 ? 1 : 0;
        out.volume[c] = volume * free[0].cell[cell.x()] * free[1].cell[cell.y()] * free[2].cell[cell.z()];
        out.distance[c] = std::min(center[c], to_walls(p + Vec3f::Constant(0.5f)));
        for (int a = 0; a < 3; ++a) {
            for (int b = 0; b < 3; ++b) open[a] *= a == b ? free[b].face[cell[b]] : free[b].cell[cell[b]];
            out.open[a][c] = open[a] < kSmallestOpening ? 0 : open[a];
        }
    }
    find_closed_faces(solids, first, voxel, out);
}

// Bodies that cover less of a face than this leave it open: the difference would vanish in rounding.
constexpr float kSmallestShare = 1e-4f;

// Cuts bodies out of a tile that already contains walls and colliders, and scales their fractions to what was open.
void cut_out(const Solids& solids, const std::vector<RigidShares::Tile*>& shares, const Vec3i& first_cell, float voxel,
             SolidTile& out)
{
    const Vec3f first = first_cell.cast<float>();
    float center[kTileCells];
    const auto eight_to_bodies = [&](const Row3& x) {
        const Row3 place = voxel * Row3{x.x + first.x(), x.y + first.y(), x.z + first.z()};
        return solids.body_distances(place) / voxel;
    };
    distances_at_centers([&](const Vec3f& x) { return solids.body_distance((first + x) * voxel) / voxel; },
                         eight_to_bodies, center);
    for (int c = 0; c < kTileCells; ++c) {
        out.distance[c] = std::min(out.distance[c], center[c]);
        float filled = 0;
        for (const RigidShares::Tile* body : shares) filled += body->cell[c];
        out.volume[c] *= std::max(0.0f, 1 - filled);
        for (int a = 0; a < 3; ++a) {
            float covered = 0;
            for (const RigidShares::Tile* body : shares) covered += body->face[a][c];
            if (covered < kSmallestShare) {
                for (RigidShares::Tile* body : shares) body->face[a][c] = 0;
                continue;
            }
            const float before = out.open[a][c], left = before * (1 - covered);
            const bool closed = left < kSmallestOpening;
            out.open[a][c] = closed ? 0 : left;
            for (RigidShares::Tile* body : shares) body->face[a][c] *= closed ? before / covered : before;
        }
    }
    out.closed_faces.clear();
    find_closed_faces(solids, first, voxel, out);
}

std::unique_ptr<SolidTile> all_open()
{
    auto tile = std::make_unique<SolidTile>();
    for (auto& axis : tile->open) std::fill_n(axis, kTileCells, 1.0f);
    std::fill_n(tile->volume, kTileCells, 1.0f), std::fill_n(tile->distance, kTileCells, 10.0f);
    return tile;
}

// Distance [cells] from the middle of a tile within which a solid may come within two cells of the tile.
const float kNearTile = (0.5f * kTileSize + 2) * std::sqrt(3.0f);

} // namespace

SolidCells::SolidCells() : closed_(std::make_unique<SolidTile>())
{
    std::memset(closed_->open, 0, sizeof closed_->open);
    std::memset(closed_->volume, 0, sizeof closed_->volume);
    std::fill_n(closed_->distance, kTileCells, -10.0f);
    std::fill_n(all_open_, kTileCells, 1.0f);
    std::fill_n(all_far_, kTileCells, 10.0f);
}

void SolidCells::update(const Topology& topology, const Solids& solids, float voxel)
{
    if (solids.colliders_move() && solids.frame() != frame_) stored_.clear();
    topology_ = &topology, solids_ = &solids, voxel_ = voxel, frame_ = solids.frame();
    const size_t count = topology.tile_count();
    tiles_.assign(count + 1, nullptr);
    tiles_[count] = closed_.get();
    near_.clear();
    blocked_.assign(count + 1, 0);
    if (solids.none()) return;

    std::vector<size_t> unknown;
    std::vector<std::unique_ptr<SolidTile>*> slots;
    for (size_t t = 0; t < count; ++t)
        if (const auto [it, added] = stored_.try_emplace(topology.codes()[t]); added) {
            unknown.push_back(t);
            slots.push_back(&it->second);
        }
    const float near = kNearTile * voxel;
    parallel_for(unknown.size(), [&](size_t k) {
        const Vec3i first = topology.first_cell(static_cast<int>(unknown[k]));
        const Vec3f middle = (first.cast<float>().array() + 0.5f * kTileSize).matrix() * voxel;
        if (std::min(solids.collider_distance(middle), solids.wall_distance(middle)) > near) return;
        *slots[k] = std::make_unique<SolidTile>();
        evaluate(solids, first, voxel, **slots[k]);
    });
    for (size_t t = 0; t < count; ++t) tiles_[t] = stored_[topology.codes()[t]].get();
    if (solids.has_bodies()) cut_out_bodies(topology, solids, voxel);
    for (size_t t = 0; t < count; ++t)
        if (tiles_[t]) near_.push_back(static_cast<int>(t));
    if (solids.has_sheets())
        for (const int t : near_)
            if (tile(t)->sheets)
                for (const int around : topology.neighbours(t)) blocked_[around] = 1;
}

void SolidCells::cut_out_bodies(const Topology& topology, const Solids& solids, float voxel)
{
    shares_.update(topology, solids.bodies(), voxel);
    body_tiles_.clear();
    body_tiles_.resize(topology.tile_count());
    parallel_for(body_tiles_.size(), [&](size_t t) {
        const int tile = static_cast<int>(t);
        const Vec3i first = topology.first_cell(tile);
        const Vec3f middle = (first.cast<float>().array() + 0.5f * kTileSize).matrix() * voxel;
        if (solids.body_distance(middle) > kNearTile * voxel) return;
        auto own = tiles_[t] ? std::make_unique<SolidTile>(*tiles_[t]) : all_open();
        cut_out(solids, shares_.at(tile), first, voxel, *own);
        body_tiles_[t] = std::move(own);
    });
    for (size_t t = 0; t < body_tiles_.size(); ++t)
        if (body_tiles_[t]) tiles_[t] = body_tiles_[t].get();
}

size_t SolidCells::bytes() const
{
    size_t sum = tiles_.capacity() * sizeof(void*) + stored_.size() * 64; // size of a map node
    for (const auto& [code, tile] : stored_)
        if (tile) sum += sizeof *tile + tile->closed_faces.capacity() * sizeof(SolidTile::ClosedFace);
    for (const auto& tile : body_tiles_)
        if (tile) sum += sizeof *tile + tile->closed_faces.capacity() * sizeof(SolidTile::ClosedFace);
    return sum + shares_.bytes();
}

void SolidCells::gather_both_sides(const Topology& topology, int tile, const Block<float, 1>& volumes,
                                   Block<float, 1>& shares) const
{
    shares.gather(topology, tile, [&](int t) {
        const SolidTile* solid = tiles_[t];
        return solid && solid->sheets ? solid->sheets->both_sides : all_open_;
    });
    for (size_t i = 0; i < std::size(shares.data); ++i) shares.data[i] *= volumes.data[i];
}

void SolidCells::gather_distances(const Topology& topology, int tile, Block<float, 1>& distances) const
{
    distances.gather(topology, tile, [&](int t) {
        const SolidTile* solid = tiles_[t];
        return solid ? solid->distance : all_far_;
    });
}

} // namespace spindrift
