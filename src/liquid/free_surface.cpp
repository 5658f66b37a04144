#include "liquid/free_surface.h"

#include "field/block.h"

namespace spindrift {

namespace {

constexpr float kFullCell = 8; // particles

// (4.5) of document 001, s the squared distance over the squared radius.
inline float kernel(float s) { return s < 1 ? (1 - s) * (1 - s) * (1 - s) : 0; }

// For a half-space filled with particles whose surface is a distance d (in radii, positive outside) from the point, how
// far the weighted centre of mass lies from the point; tabulated the other way round.
class OffsetToDistance {
  public:
    OffsetToDistance()
    {
        // Mass and moment of the kernel beyond each height h: a disc at h has mass pi * integral of (1 - h^2 - q)^3 dq
        // over the squared disc radius q = pi (1 - h^2)^4 / 4.
        constexpr int steps = 4096;
        std::vector<float> distances, offsets;
        double mass = 0, moment = 0;
        for (int i = 0; i < steps; ++i) {
            const double h = 1 - (i + 0.5) * 2.0 / steps; // from the far end, where a point just begins to see particles
            const double disc = std::pow(1 - h * h, 4);
            mass += disc, moment += h * disc;
            distances.push_back(static_cast<float>(h));
            offsets.push_back(static_cast<float>(moment / mass));
        }
        // offsets fall from 1 (d = 1) to 0 (d = -1)
        size_t at = 0;
        for (int k = kEntries; k >= 0; --k) {
            const float wanted = static_cast<float>(k) / kEntries;
            while (at + 1 < offsets.size() && offsets[at] > wanted) ++at;
            table_[static_cast<size_t>(k)] = distances[at];
        }
        table_[0] = -1;
    }
    float operator()(float offset) const
    {
        const float t = std::min(offset, 1.0f) * kEntries;
        const int k = std::min(static_cast<int>(t), kEntries - 1);
        return mix(table_[static_cast<size_t>(k)], table_[static_cast<size_t>(k) + 1], t - static_cast<float>(k));
    }

  private:
    static constexpr int kEntries = 256;
    std::array<float, kEntries + 1> table_{};
};

// Particle ranges of the cells of a tile and one cell around it.
struct CellRanges {
    uint32_t begin[1000], count[1000];

    void gather(const ParticleIndex& index, const Topology& topology, int tile)
    {
        for (int x = -1; x <= kTileSize; ++x)
            for (int y = -1; y <= kTileSize; ++y)
                for (int z = -1; z <= kTileSize; ++z) {
                    const auto step = [](int c) { return c < 0 ? -1 : c / kTileSize; };
                    const int t = topology.neighbour(tile, step(x), step(y), step(z));
                    const int at = at_cell(x, y, z), offset = offset_in_tile(x & 7, y & 7, z & 7);
                    if (t == topology.tile_count()) {
                        begin[at] = count[at] = 0;
                        continue;
                    }
                    begin[at] = static_cast<uint32_t>(index.cell_begin(t, offset));
                    count[at] = static_cast<uint32_t>(index.cell_end(t, offset)) - begin[at];
                }
    }
    static int at_cell(int x, int y, int z) { return ((x + 1) * 10 + y + 1) * 10 + z + 1; }
};

float distance_at(const Particles& particles, const CellRanges& ranges, const Vec3f& center, float inverse_voxel, int x,
                  int y, int z, const OffsetToDistance& to_distance)
{
    constexpr float inverse_radius2 = 1 / (kSurfaceBand * kSurfaceBand);
    Vec3f moment = Vec3f::Zero();
    float mass = 0;
    for (int dx = -1; dx <= 1; ++dx)
        for (int dy = -1; dy <= 1; ++dy) {
            // The particles of three cells along z are consecutive unless the row leaves the tile.
            for (int dz = -1; dz <= 1; ++dz) {
                const int at = CellRanges::at_cell(x + dx, y + dy, z + dz);
                // A cell counts for at most its fill, or a clump of particles would draw the centre of mass to itself.
                const float share = std::min(1.0f, kFullCell / static_cast<float>(ranges.count[at]));
                for (uint32_t i = ranges.begin[at], end = i + ranges.count[at]; i < end; ++i) {
                    const Vec3f r = particles.P[i] * inverse_voxel - center;
                    const float w = share * kernel(r.squaredNorm() * inverse_radius2);
                    moment += w * r, mass += w;
                }
            }
        }
    if (!(mass > 0)) return kSurfaceBand;
    const float distance = kSurfaceBand * to_distance(moment.norm() / (mass * kSurfaceBand));
    // A cell that is nearly full has its centre in the liquid, whatever stands around it.
    const float fill = std::min(1.0f, static_cast<float>(ranges.count[CellRanges::at_cell(x, y, z)]) / kFullCell);
    return fill > 0.7f ? std::min(distance, 0.5f - fill) : distance;
}

void measure_tile(const Particles& particles, const ParticleIndex& index, const Topology& topology, float inverse_voxel,
                  int tile, float* phi)
{
    static const OffsetToDistance to_distance;
    thread_local CellRanges ranges;
    ranges.gather(index, topology, tile);
    const Vec3f first = topology.first_cell(tile).cast<float>();
    for (int c = 0; c < kTileCells; ++c) {
        const Vec3i cell = cell_in_tile(c);
        uint32_t fewest = std::numeric_limits<uint32_t>::max(), most = 0;
        for (int dx = -1; dx <= 1; ++dx)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dz = -1; dz <= 1; ++dz) {
                    const uint32_t n = ranges.count[CellRanges::at_cell(cell.x() + dx, cell.y() + dy, cell.z() + dz)];
                    fewest = std::min(fewest, n), most = std::max(most, n);
                }
        if (most == 0)
            phi[c] = kSurfaceBand;
        else if (fewest >= 2) // particles all around
            phi[c] = -kSurfaceBand;
        else
            phi[c] = distance_at(particles, ranges, first + cell.cast<float>() + Vec3f::Constant(0.5f), inverse_voxel,
                                 cell.x(), cell.y(), cell.z(), to_distance);
    }
}

// Trilinear value and gradient of a cell-centred block at a position in tile coordinates.
template <int H> float sample(const Block<float, H>& block, const Vec3f& position, Vec3f& gradient)
{
    const Vec3f p = position.array() - 0.5f;
    const int x = floor_int(p.x()), y = floor_int(p.y()), z = floor_int(p.z());
    const float fx = p.x() - static_cast<float>(x), fy = p.y() - static_cast<float>(y), fz = p.z() - static_cast<float>(z);
    float v[2][2][2];
    for (int k = 0; k < 8; ++k) v[k >> 2][k >> 1 & 1][k & 1] = block.at(x + (k >> 2), y + (k >> 1 & 1), z + (k & 1));
    const auto mix_yz = [&](int i) { return mix(mix(v[i][0][0], v[i][0][1], fz), mix(v[i][1][0], v[i][1][1], fz), fy); };
    const auto mix_xz = [&](int j) { return mix(mix(v[0][j][0], v[0][j][1], fz), mix(v[1][j][0], v[1][j][1], fz), fx); };
    const auto mix_xy = [&](int k) { return mix(mix(v[0][0][k], v[0][1][k], fy), mix(v[1][0][k], v[1][1][k], fy), fx); };
    gradient = {mix_yz(1) - mix_yz(0), mix_xz(1) - mix_xz(0), mix_xy(1) - mix_xy(0)};
    return mix(mix_yz(0), mix_yz(1), fx);
}

// Continues the distance from kSurfaceBand away from the wall along a straight line.
void continue_into_wall(const Topology& topology, const SolidCells& solids, const Field<float>& phi, int tile, float* out)
{
    const SolidTile* wall = solids.tile(tile);
    thread_local Block<float, 4> block;
    bool gathered = false;
    (void)topology;
    for (int c = 0; c < kTileCells; ++c) {
        const float d = wall->distance[c];
        if (d > kSurfaceBand - 0.01f || d < -1) continue;
        const Vec3i cell = cell_in_tile(c);
        // Away from the wall, from differences inside the tile.
        Vec3f n;
        for (int a = 0; a < 3; ++a) {
            Vec3i low = cell, high = cell;
            low[a] = std::max(0, low[a] - 1), high[a] = std::min(kTileSize - 1, high[a] + 1);
            n[a] = (wall->distance[offset_in_tile(high.x(), high.y(), high.z())] -
                    wall->distance[offset_in_tile(low.x(), low.y(), low.z())]) /
                   static_cast<float>(high[a] - low[a]);
        }
        if (!(n.squaredNorm() > 0.01f)) continue;
        n.normalize();
        if (!gathered) block.gather(phi, tile, Margin::nearest), gathered = true;
        const Vec3f x = cell.cast<float>().array() + 0.5f, from = x + n * (kSurfaceBand - d);
        Vec3f gradient;
        const float there = sample(block, from, gradient);
        out[c] = std::clamp(std::min(out[c], there + gradient.dot(x - from)), -kSurfaceBand, kSurfaceBand);
    }
}

} // namespace

void distance_to_surface(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
                         const SolidCells& solids, Field<float>& phi)
{
    phi.reset_uninitialized(topology, kSurfaceBand);
    const float inverse_voxel = 1 / voxel;
    for_each_tile(topology, [&](int tile) {
        measure_tile(particles, index, topology, inverse_voxel, tile, phi.tile(tile));
    });
    // Into walls, from an unchanged copy.
    std::vector<int> near;
    for (int t = 0; t < topology.tile_count(); ++t)
        if (solids.tile(t)) near.push_back(t);
    std::vector<std::array<float, kTileCells>> continued(near.size());
    parallel_for(near.size(), [&](size_t k) {
        std::memcpy(continued[k].data(), phi.tile(near[k]), sizeof continued[k]);
        continue_into_wall(topology, solids, phi, near[k], continued[k].data());
    });
    parallel_for(near.size(), [&](size_t k) { std::memcpy(phi.tile(near[k]), continued[k].data(), sizeof continued[k]); });
}

} // namespace spindrift
