#include "spindrift/liquid/strays.h"

#include "spindrift/base/scratch.h"

namespace spindrift {

namespace {

// Particles farther than this [cells] do not belong to the surface. It exceeds the variation of positions in the
// outermost layer.
constexpr float kDistance = 0.3f;
// Particles farther than this do not belong to a liquid that holds together: the range in which distances are known.
constexpr float kHeldDistance = 0.95f * kSurfaceBand;
constexpr float kHalfDiagonal = 0.87f; // of a cell

// The distance at a position in cells relative to the tile, and its gradient.
struct Sample {
    float value;
    Vec3f gradient;

    Sample(const Block<float, 1>& phi, const Vec3f& x)
    {
        const Vec3f p = x - Vec3f::Constant(0.5f);
        const int i = floor_int(p.x()), j = floor_int(p.y()), k = floor_int(p.z());
        const float fx = p.x() - static_cast<float>(i), fy = p.y() - static_cast<float>(j),
                    fz = p.z() - static_cast<float>(k);
        const auto along_z = [&](int a, int b) { return mix(phi.at(a, b, k), phi.at(a, b, k + 1), fz); };
        const auto slope_z = [&](int a, int b) { return phi.at(a, b, k + 1) - phi.at(a, b, k); };
        const float v00 = along_z(i, j), v01 = along_z(i, j + 1), v10 = along_z(i + 1, j), v11 = along_z(i + 1, j + 1);
        value = mix(mix(v00, v01, fy), mix(v10, v11, fy), fx);
        gradient = Vec3f(
            mix(v10 - v00, v11 - v01, fy), mix(v01 - v00, v11 - v10, fx),
            mix(mix(slope_z(i, j), slope_z(i, j + 1), fy), mix(slope_z(i + 1, j), slope_z(i + 1, j + 1), fy), fx));
    }
};

// The same for a particle in a cell next to a sheet, from the cell centres that it sees; none if it sees none.
std::optional<float> seen_distance(const Block<float, 1>& phi, const Sight& sight, int tile, int cell, const Vec3f& P,
                                   const Vec3f& x)
{
    const CellMask27 seen = sight.cells(tile, cell, P);
    const Vec3f p = x - Vec3f::Constant(0.5f);
    const Vec3i first(floor_int(p.x()), floor_int(p.y()), floor_int(p.z()));
    const Vec3f share = p - first.cast<float>();
    float sum = 0, weights = 0;
    for (int k = 0; k < 8; ++k) {
        const Vec3i up(k >> 2, k >> 1 & 1, k & 1), at = first + up, step = at - cell_in_tile(cell);
        if (!(seen >> neighbour_slot(step.x(), step.y(), step.z()) & 1)) continue;
        float w = 1;
        for (int a = 0; a < 3; ++a) w *= up[a] ? share[a] : 1 - share[a];
        sum += w * phi.at(at.x(), at.y(), at.z()), weights += w;
    }
    if (weights < 1e-3f) return {};
    return sum / weights;
}

} // namespace

void Strays::find(const Particles& particles, const ParticleIndex& index, const Field<float>& phi, float voxel,
                  const Hold& hold, const Sight* sight)
{
    const Topology& topology = phi.topology();
    const float inverse_voxel = 1 / voxel;
    in_tile_.resize(topology.tile_count());
    kept_.resize(in_tile_.size());
    for_each_tile(topology, [&](int tile) {
        auto& strays = in_tile_[tile];
        auto& kept_here = kept_[tile];
        strays.clear(), kept_here.clear();
        if (index.tile_empty(tile)) return;
        auto& around = thread_scratch<Block<float, 1>>();
        bool gathered = false;
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (int c = 0; c < kTileCells; ++c) {
            const float center = phi.tile(tile)[c];
            const bool beside_sheet =
                sight && (sight->clearance(tile, c) <= 0 || sight->cells_from_center(tile, c) != kAllCells);
            if (center < kDistance - kHalfDiagonal) continue;
            for (size_t i = index.cell_begin(tile, c); i < index.cell_end(tile, c); ++i) {
                if (!gathered) around.gather(phi, tile), gathered = true;
                Sample distance(around, particles.P[i] * inverse_voxel - first);
                if (beside_sheet)
                    distance.value =
                        seen_distance(around, *sight, tile, c, particles.P[i], particles.P[i] * inverse_voxel - first)
                            .value_or(kSurfaceBand);
                if (!(distance.value > kDistance)) continue;
                if (distance.value > mix(kDistance, kHeldDistance, hold(i)))
                    strays.push_back({static_cast<uint32_t>(i), particles.P[i], particles.v[i], distance.gradient});
                else
                    kept_here.push_back(static_cast<uint32_t>(i));
            }
        }
    });
}

void Strays::keep(Particles& particles, const MacField& velocity, float voxel) const
{
    const Topology& topology = velocity.u[0].topology();
    for_each_tile(topology, [&](int tile) {
        const auto& kept_here = kept_[tile];
        if (kept_here.empty()) return;
        auto& block = thread_scratch<MacBlock<1>>();
        block.gather(velocity, tile, Margin::nearest);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (const uint32_t i : kept_here) {
            const Vec3f x = particles.P[i] / voxel - first;
            store_row3(&particles.v[i], block.sample(load_row3(&x, 1)), 1);
        }
    });
}

} // namespace spindrift
