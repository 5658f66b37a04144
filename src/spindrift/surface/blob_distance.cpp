#include "spindrift/surface/blob_distance.h"

#include "spindrift/field/row.h"

#include <cstring>

namespace spindrift {

namespace {

// The tiles of size `tile_size` that a box touches.
struct TileBox {
    Vec3i low, high; // inclusive

    TileBox(const Box3f& box, float tile_size) : low(floor_of(box.min / tile_size)), high(floor_of(box.max / tile_size))
    {
    }
    TileBox within(const TileBox& other) const
    {
        TileBox box = *this;
        box.low = low.cwiseMax(other.low), box.high = high.cwiseMin(other.high);
        return box;
    }
    template <class Body> void for_each(const Body& body) const
    {
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z) body(Vec3i(x, y, z));
    }
    size_t count() const { return static_cast<size_t>((high - low + Vec3i::Ones()).cast<int64_t>().prod()); }
    size_t number(const Vec3i& tile) const
    {
        const Vec3i at = tile - low, size = high - low + Vec3i::Ones();
        return (static_cast<size_t>(at.x()) * size.y() + at.y()) * static_cast<size_t>(size.z()) +
               static_cast<size_t>(at.z());
    }
    static Vec3i floor_of(const Vec3f& x)
    {
        constexpr float most = 1e9f; // fits an int
        const Vec3f y = x.cwiseMax(-most).cwiseMin(most);
        return {floor_int(y.x()), floor_int(y.y()), floor_int(y.z())};
    }
};

Box3f box_of(const Blob& blob, float margin)
{
    return Box3f{blob.centre - blob.half, blob.centre + blob.half}.grown(margin);
}

// Stamps blobs into the cells of one tile.
class TileStamp {
  public:
    TileStamp(const Vec3i& first_cell, float voxel, float band, float* phi, uint32_t* nearest)
        : first_(first_cell.cast<float>()), voxel_(voxel), band_(band), phi_(phi), nearest_(nearest)
    {
    }

    void add(const Blob& blob, uint32_t number)
    {
        // Cells whose centres lie in the box around the blob and the band.
        const Vec3f centre = blob.centre * (1 / voxel_) - first_ - Vec3f::Constant(0.5f);
        const Vec3f half = blob.half * (1 / voxel_) + Vec3f::Constant(band_);
        int low[3], high[3];
        for (int a = 0; a < 3; ++a) {
            low[a] = std::max(0, static_cast<int>(std::ceil(centre[a] - half[a])));
            high[a] = std::min(kTileSize - 1, floor_int(centre[a] + half[a]));
            if (low[a] > high[a]) return;
        }
        const float xx = blob.xx * voxel_, xy = blob.xy * voxel_, xz = blob.xz * voxel_;
        const float yy = blob.yy * voxel_, yz = blob.yz * voxel_, zz = blob.zz * voxel_;
        const Row dz = Row{0, 1, 2, 3, 4, 5, 6, 7} - centre.z();
        // At the centre itself, where the direction is undefined, use a mean radius.
        constexpr float kCentre = 1e-12f;
        const float mean = (xx + yy + zz) / 3;
        const Row least_v2 = splat(kCentre * mean * mean);
        const Row ux_z = xz * dz, uy_z = yz * dz, uz_z = zz * dz;
        for (int x = low[0]; x <= high[0]; ++x)
            for (int y = low[1]; y <= high[1]; ++y) {
                const float dx = static_cast<float>(x) - centre.x(), dy = static_cast<float>(y) - centre.y();
                const Row ux = (xx * dx + xy * dy) + ux_z, uy = (xy * dx + yy * dy) + uy_z;
                const Row uz = (xz * dx + yz * dy) + uz_z;
                const Row vx = xx * ux + xy * uy + xz * uz, vy = xy * ux + yy * uy + yz * uz;
                const Row vz = xz * ux + yz * uy + zz * uz;
                // |u| (|u| - 1) / |v|
                const Row u2 = max(ux * ux + uy * uy + uz * uz, splat(kCentre));
                const Row v2 = max(vx * vx + vy * vy + vz * vz, least_v2);
                const Row distance = (u2 - sqrt_row(u2)) / sqrt_row(v2);
                float* phi = phi_ + offset_in_tile(x, y, 0);
                const Row old = load_row(phi);
                const RowMask nearer = distance < old;
                store_row(phi, nearer ? distance : old);
                auto* who = reinterpret_cast<RowMask*>(nearest_ + offset_in_tile(x, y, 0));
                *who = nearer ? splat_int(static_cast<int>(number)) : *who;
            }
    }

  private:
    static RowMask splat_int(int i) { return RowMask{i, i, i, i, i, i, i, i}; }
    const Vec3f first_;
    const float voxel_, band_;
    float* phi_;
    uint32_t* nearest_;
};

// Kernel radius of weighted spheres, in their radii; and the distance from all of them at which liquid ends, in
// weighted radii: gaps between particles that fill space unevenly are narrower. Beyond it the distance grows with a
// steeper slope.
constexpr float kKernel = 4, kFarthest = 0.94f, kSteepness = 3;

// Sums over weighted spheres, for the cells of one tile.
class WeightedSpheres {
  public:
    WeightedSpheres(const Vec3i& first_cell, float voxel) : first_(first_cell.cast<float>()), inverse_voxel_(1 / voxel)
    {
        std::memset(static_cast<void*>(&sums_), 0, sizeof sums_);
        std::fill_n(sums_.gap, kTileCells, kInfinity);
    }

    void add(const Blob& blob, uint32_t number, uint32_t* nearest)
    {
        const Vec3f centre = blob.centre * inverse_voxel_ - first_ - Vec3f::Constant(0.5f);
        const float radius = inverse_voxel_ / blob.xx, reach = kKernel * radius;
        int low[3], high[3];
        for (int a = 0; a < 3; ++a) {
            low[a] = std::max(0, static_cast<int>(std::ceil(std::max(centre[a] - reach, -1.0f))));
            high[a] = std::min(kTileSize - 1, floor_int(std::min(centre[a] + reach, 1.0f * kTileSize)));
            if (low[a] > high[a]) return;
        }
        any_ = true;
        const Row inverse_reach2 = splat(1 / (reach * reach)), dz = centre.z() - Row{0, 1, 2, 3, 4, 5, 6, 7};
        for (int x = low[0]; x <= high[0]; ++x)
            for (int y = low[1]; y <= high[1]; ++y) {
                const float dx = centre.x() - static_cast<float>(x), dy = centre.y() - static_cast<float>(y);
                const Row r2 = splat(dx * dx + dy * dy) + dz * dz;
                const Row t = max(splat(1) - r2 * inverse_reach2, splat(0)), w = t * t * t;
                const int o = offset_in_tile(x, y, 0);
                const auto sum = [&](float* to, Row more) { store_row(to + o, load_row(to + o) + more); };
                sum(sums_.mass, w), sum(sums_.x, w * dx), sum(sums_.y, w * dy), sum(sums_.z, w * dz);
                sum(sums_.radius, w * radius);
                const Row gap = sqrt_row(r2) - radius, old = load_row(sums_.gap + o);
                const RowMask nearer = gap < old;
                store_row(sums_.gap + o, nearer ? gap : old);
                const int n = static_cast<int>(number);
                auto* who = reinterpret_cast<RowMask*>(nearest + o);
                *who = nearer ? RowMask{n, n, n, n, n, n, n, n} : *who;
            }
    }

    // Combines phi of `drops` with the weighted spheres: the smaller distance wins.
    void finish(float band, float* phi, const uint32_t* drops, uint32_t* nearest) const
    {
        for (int c = 0; c < kTileCells; ++c) {
            float distance = band;
            if (any_ && sums_.mass[c] > 1e-6f) {
                const float inverse = 1 / sums_.mass[c], radius = inverse * sums_.radius[c];
                const float offset = inverse * Vec3f(sums_.x[c], sums_.y[c], sums_.z[c]).norm();
                distance = std::max(offset - radius, kSteepness * (sums_.gap[c] - kFarthest * radius));
            }
            if (phi[c] <= distance)
                nearest[c] = drops[c] != BlobGrid::kNone ? drops[c] : nearest[c];
            else
                phi[c] = distance;
        }
    }

  private:
    const Vec3f first_;
    const float inverse_voxel_;
    bool any_ = false;
    struct {
        alignas(64) float mass[kTileCells], x[kTileCells], y[kTileCells], z[kTileCells], radius[kTileCells];
        alignas(64) float gap[kTileCells]; // to the nearest sphere
    } sums_;
};

// Positions that the interior marks as liquid without blobs.
class DeepCells {
  public:
    DeepCells(const Topology& search, const Interior& interior, float spacing)
        : search_(search), inverse_spacing_(1 / spacing), masks_(search.tile_count() + 1)
    {
        for_each_tile(search, [&](int tile) { masks_[tile] = interior.mask(tile, kDeepBins); });
    }
    bool any(int tile) const { return masks_[tile].any(); }

    // Makes the deep cells of one tile of the surface's grid liquid, at least to `depth`.
    void fill(const Vec3i& first_cell, float voxel, float depth, float* phi) const
    {
        Vec3i last = Vec3i::Constant(std::numeric_limits<int>::max());
        int tile = 0;
        for (int i = 0; i < kTileCells; ++i) {
            if (phi[i] <= depth) continue;
            const Vec3f x = ((first_cell + cell_in_tile(i)).cast<float>() + Vec3f::Constant(0.5f)) * voxel;
            const Vec3i cell = cell_of(x, inverse_spacing_), at = tile_of_cell(cell);
            if (at != last) last = at, tile = search_.find(at);
            if (masks_[tile].at(offset_of_cell(cell))) phi[i] = depth;
        }
    }

  private:
    const Topology& search_;
    const float inverse_spacing_;
    std::vector<InteriorMask> masks_;
};

// The tiles of the surface's grid that blobs or deep cells touch.
Topology tiles_of(const Blobs& blobs, const Topology& search, const DeepCells& deep, float spacing, float voxel,
                  float margin)
{
    const float tile_size = voxel * kTileSize;
    std::vector<std::vector<uint64_t>> codes(search.tile_count());
    for_each_tile(search, [&](int tile) {
        Box3f all = blobs.tile_box[tile].grown(margin);
        if (deep.any(tile)) {
            const Vec3f first = search.first_cell(tile).cast<float>() * spacing;
            const Box3f whole = Box3f{first, first + Vec3f::Constant(kTileSize * spacing)};
            TileBox(whole, tile_size).for_each([&](const Vec3i& at) { codes[tile].push_back(morton_of_tile(at)); });
        }
        if (blobs.tile_first[tile] == blobs.tile_first[tile + 1]) return;
        const TileBox box(all, tile_size);
        std::vector<uint8_t> touched(box.count(), 0);
        for (uint32_t i = blobs.tile_first[tile]; i < blobs.tile_first[tile + 1]; ++i)
            TileBox(box_of(blobs.list[i], margin), tile_size).for_each([&](const Vec3i& at) {
                touched[box.number(at)] = 1;
            });
        box.for_each([&](const Vec3i& at) {
            if (touched[box.number(at)]) codes[tile].push_back(morton_of_tile(at));
        });
    });
    std::vector<uint64_t> all;
    for (const auto& part : codes) all.insert(all.end(), part.begin(), part.end());
    return Topology(std::move(all));
}

} // namespace

BlobGrid measure_distance(const Blobs& blobs, const Topology& search, const Interior& interior, float spacing,
                          float voxel, float band, BlobUnion of)
{
    const float margin = band * voxel;
    const DeepCells deep(search, interior, spacing);
    BlobGrid grid;
    grid.topology = std::make_unique<Topology>(tiles_of(blobs, search, deep, spacing, voxel, margin));
    const Topology& topology = *grid.topology;
    grid.phi.reset_uninitialized(topology, band);
    grid.nearest.reset_uninitialized(topology, BlobGrid::kNone);

    // Weighted spheres reach farther than their boxes.
    float kernel = 0;
    if (of == BlobUnion::drops)
        for (const Blob& blob : blobs.list) kernel = std::max(kernel, kKernel / blob.xx - blob.half.x());
    // How far a blob reaches from the tile that contains its particle; the tiles that exist, which tiles of a coarse
    // grid extend far beyond.
    float reach = margin;
    TileBox all({Vec3f::Zero(), Vec3f::Zero()}, 1);
    for (int t = 0; t < search.tile_count(); ++t) {
        all.low = t == 0 ? search.tile(t) : Vec3i(all.low.cwiseMin(search.tile(t)));
        all.high = t == 0 ? search.tile(t) : Vec3i(all.high.cwiseMax(search.tile(t)));
        const Box3f& box = blobs.tile_box[t];
        if (box.empty()) continue;
        const Vec3f first = search.first_cell(t).cast<float>() * spacing;
        const Vec3f last = first + Vec3f::Constant(kTileSize * spacing);
        reach = std::max({reach, margin + (first - box.min).maxCoeff(), margin + (box.max - last).maxCoeff()});
    }
    reach += kernel;
    for_each_tile(topology, [&](int tile) {
        float* phi = grid.phi.tile(tile);
        uint32_t* nearest = grid.nearest.tile(tile);
        std::fill_n(phi, kTileCells, band), std::fill_n(nearest, kTileCells, BlobGrid::kNone);
        const Vec3i first_cell = topology.first_cell(tile);
        const Vec3f first = first_cell.cast<float>() * voxel;
        const Box3f own{first, first + Vec3f::Constant(kTileSize * voxel)};
        const Box3f wide = own.grown(margin + kernel);
        TileStamp stamp(first_cell, voxel, band, phi, nearest);
        std::optional<WeightedSpheres> weighted;
        alignas(64) uint32_t nearest_weighted[kTileCells];
        if (of == BlobUnion::drops) {
            weighted.emplace(first_cell, voxel);
            std::fill_n(nearest_weighted, kTileCells, BlobGrid::kNone);
        }
        TileBox(own.grown(reach), kTileSize * spacing).within(all).for_each([&](const Vec3i& at) {
            const int t = search.find(at);
            if (t == search.tile_count()) return;
            const Box3f& box = blobs.tile_box[t];
            if ((box.min.array() > wide.max.array()).any() || (box.max.array() < wide.min.array()).any()) return;
            for (uint32_t i = blobs.tile_first[t]; i < blobs.tile_first[t + 1]; ++i) {
                if (weighted && blobs.list[i].firmness > 0)
                    weighted->add(blobs.list[i], i, nearest_weighted);
                else
                    stamp.add(blobs.list[i], i);
            }
        });
        if (weighted) {
            weighted->finish(band, phi, nearest, nearest_weighted);
            std::copy_n(nearest_weighted, kTileCells, nearest);
        }
        deep.fill(first_cell, voxel, -std::min(band, 1.0f), phi);
        for (int i = 0; i < kTileCells; ++i) phi[i] = std::max(phi[i], -band);
    });
    return grid;
}

} // namespace spindrift
