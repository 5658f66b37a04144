#include "spindrift/sand/body_stress.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"
#include "spindrift/world/solids.h"

namespace spindrift {

namespace {

using Cell = ColumnMatrix::Columns::Cell;

// Where the mobilities of the faces of a stress sum to less than this, sand carries no body: a few grains under the
// edge of a stone would be shot out from below it.
constexpr float kLeastMobility = kSmallestOpening;

alignas(64) constexpr float kNothing[kTileCells] = {};

// What a unit of a stress component adds to a face, `at` steps from the cell of the stress.
struct Push {
    int axis;
    Vec3i at;
    double by;
};

// The stencil D of each component, as in stress.cpp and friction.cpp.
const std::vector<Push>& pushes_of(int part)
{
    static const auto all = [] {
        std::array<std::vector<Push>, BodyStress::kParts> pushes;
        const auto along = [&](int p, int axis, double by) { // of a stress at cells
            pushes[p].push_back({axis, Vec3i::Zero(), by});
            pushes[p].push_back({axis, Vec3i::Unit(axis), -by});
        };
        for (int a = 0; a < 3; ++a) along(BodyStress::pressure, a, -1);
        along(BodyStress::axial, 0, -0.5), along(BodyStress::axial, 1, 1), along(BodyStress::axial, 2, -0.5);
        along(BodyStress::lateral, 0, 1), along(BodyStress::lateral, 2, -1);
        const auto across = [&](int p, int a, int b) { // of a stress at edges
            for (const auto& [axis, other] : {std::pair(a, b), std::pair(b, a)}) {
                pushes[p].push_back({axis, Vec3i::Zero(), -1});
                pushes[p].push_back({axis, -Vec3i::Unit(other), 1});
            }
        };
        across(BodyStress::shear_xy, 0, 1), across(BodyStress::shear_yz, 1, 2), across(BodyStress::shear_xz, 0, 2);
        return pushes;
    }();
    return all[part];
}

} // namespace

void BodyStress::prepare(const SandGrid& grid, const RigidShares& shares, const Topology& dense,
                         const std::vector<int>& tile_of, const std::array<TileMatrix*, kParts>& matrices)
{
    mass_of_cell_ = static_cast<double>(density_) * std::pow(static_cast<double>(grid.voxel), 3);
    const size_t dense_tiles = dense.tile_count();
    for (auto& columns : columns_) columns.assign(bodies_.size(), {});
    for (size_t b = 0; b < bodies_.size(); ++b) {
        std::vector<uint8_t> beside(grid.topology.tile_count() + 1, 0);
        for (const RigidShares::Tile& share : shares.tiles(b))
            for (const int t : grid.topology.neighbours(share.tile)) beside[t] = 1;
        std::vector<int> near;
        for (size_t d = 0; d < dense_tiles; ++d)
            if (beside[tile_of[d]]) near.push_back(static_cast<int>(d));
        std::vector<std::array<std::vector<Cell>, kParts>> found(near.size());
        parallel_for(near.size(),
                     [&](size_t k) { find_rows(b, grid, shares, tile_of[near[k]], near[k], matrices, found[k]); });
        for (size_t p = 0; p < kParts; ++p) {
            ColumnMatrix::Columns& columns = columns_[p][b];
            for (const auto& parts : found) columns.cells.insert(columns.cells.end(), parts[p].begin(), parts[p].end());
            columns.c = mass_of_cell_ * bodies_.inverse_mass(b);
        }
    }
    for (size_t p = 0; p < kParts; ++p) matrices_[p].reset(*matrices[p], columns_[p]);
}

// The rows of J for the cells of a tile.
void BodyStress::find_rows(size_t body, const SandGrid& grid, const RigidShares& shares, int tile, int dense_tile,
                           const std::array<TileMatrix*, kParts>& matrices,
                           std::array<std::vector<Cell>, kParts>& found) const
{
    auto& kept = thread_scratch<Block<float, 1>[3]>();
    for (int a = 0; a < 3; ++a)
        kept[a].gather(grid.topology, tile, [&](int t) {
            const RigidShares::Tile* share = shares.find(body, t);
            return share ? share->face[a] : kNothing;
        });
    const Vec3f first = grid.topology.first_cell(tile).cast<float>();
    for (size_t p = 0; p < kParts; ++p) {
        const float* diagonal = matrices[p]->diagonal().tile(dense_tile);
        const std::vector<Push>& pushes = pushes_of(static_cast<int>(p));
        for (int c = 0; c < kTileCells; ++c) {
            if (!(diagonal[c] >= kLeastMobility)) continue;
            const Vec3i cell = cell_in_tile(c);
            Vec6d row = Vec6d::Zero();
            for (const Push& push : pushes) {
                const Vec3i at = cell + push.at;
                const float share = kept[push.axis].at(at.x(), at.y(), at.z());
                if (!(share > 0)) continue;
                const Vec3f face = first + face_in_tile(c, push.axis) + push.at.cast<float>();
                const Vec3d arm = (face * grid.voxel).cast<double>() - bodies_.center(body);
                row += push.by * static_cast<double>(share) * lever(arm, push.axis);
            }
            if (!row.isZero(0))
                found[p].push_back(
                    {static_cast<size_t>(dense_tile) * kTileCells + static_cast<size_t>(c), row.cast<float>()});
        }
    }
}

bool BodyStress::lies_on_sand(float slow) const
{
    for (size_t b = 0; b < bodies_.size(); ++b)
        if (!columns_[pressure][b].cells.empty() && bodies_.solids()[b].speed() < slow) return true;
    return false;
}

void BodyStress::add_motion(Part part, std::span<float> b) const
{
    for (size_t i = 0; i < bodies_.size(); ++i) columns_[part][i].add(-bodies_.motion(i), b);
}

// (5.23)
void BodyStress::push(Part part, std::span<const float> x)
{
    for (size_t b = 0; b < bodies_.size(); ++b)
        if (const auto& columns = columns_[part][b]; !columns.cells.empty())
            bodies_.push(b, mass_of_cell_ * columns.sums(x));
}

void BodyStress::push(const Field<float>& q, const Field<float> (&s)[6])
{
    std::vector<float> difference(q.values().size());
    parallel_for(
        difference.size(), [&](size_t i) { difference[i] = 0.5f * (s[0].values()[i] - s[2].values()[i]); }, 4096);
    push(pressure, q.values()), push(axial, s[1].values()), push(lateral, difference);
    push(shear_xy, s[3].values()), push(shear_yz, s[4].values()), push(shear_xz, s[5].values());
}

std::optional<float> BodyStress::friction(const RigidSolid& body) const
{
    return bodies_.friction(&body - bodies_.solids().data());
}

} // namespace spindrift
