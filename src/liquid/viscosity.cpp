#include "liquid/viscosity.h"

namespace spindrift {

namespace {

// A face near the surface that belongs to no liquid cell moves as its neighbours make it; this much mass keeps the
// system definite.
constexpr float kLeastMass = 1e-3f;
// A wall may not come nearer to a face than this share of a cell: the system would become stiff.
constexpr float kNearestWall = 0.25f;

constexpr int kStride[3] = {Block<float, 1>::kStrideX, Block<float, 1>::kStrideY, 1};

// What a tile's weights are made from, with a margin: distance to the surface and to solids at cell centres, the open
// share of cells, and dt viscosity / (density voxel^2).
class Surroundings {
  public:
    Surroundings(const Topology& topology, const Field<float>& phi, const SolidCells& cells, int tile)
    {
        phi_.gather(phi, tile);
        const auto solid = [&](int t) { return t == topology.tile_count() ? nullptr : cells.tile(t); };
        const auto& around = topology.neighbours(tile);
        has_solids_ = std::any_of(around.begin(), around.end(), solid);
        if (!has_solids_) return;
        static const std::vector<float> far(kTileCells, 10.0f);
        cells.gather_volumes(topology, tile, volume_);
        distance_.gather(topology, tile, [&](int t) { return solid(t) ? solid(t)->distance : far.data(); });
    }
    // Nothing but liquid in the whole tile and around it.
    bool only_liquid() const
    {
        if (has_solids_) return false;
        float highest = -kInfinity;
        for (const float p : phi_.data) highest = std::max(highest, p);
        return highest <= -0.5f;
    }

    // The share of a cell-sized box that liquid fills, given the cells (places in the block) whose centres its own is
    // amid. Cells in solids have no distance to the surface of their own; liquid is taken to go on there. No share
    // where none of the cells is liquid.
    template <size_t N> float filled(const std::array<int, N>& at) const
    {
        float sum = 0, count = 0, lowest = kInfinity;
        for (const int i : at)
            if (!has_solids_ || volume_.data[i] > 0) {
                sum += phi_.data[i], count += 1;
                lowest = std::min(lowest, phi_.data[i]);
            }
        if (count == 0) return 1;
        return lowest < 0 ? clamp01(0.5f - sum / count) : 0;
    }
    template <size_t N> float room(const std::array<int, N>& at) const
    {
        if (!has_solids_) return 1;
        float sum = 0;
        for (const int i : at) sum += volume_.data[i] / static_cast<float>(N);
        return sum;
    }
    bool has_solids() const { return has_solids_; }
    // Distance of the lower face of cell i from solids.
    float face_distance(int i, int axis) const
    {
        return 0.5f * (distance_.data[i] + distance_.data[i - kStride[axis]]);
    }

  private:
    bool has_solids_;
    Block<float, 1> phi_, volume_, distance_;
};

// How much larger dissipation is where a wall runs between two faces than if it were at the closed one.
float towards_wall(float open, float closed)
{
    const float share = open > 0 && closed < open ? open / (open - closed) : kNearestWall;
    return 1 / std::clamp(share, kNearestWall, 1.0f);
}

} // namespace

void Viscosity::prepare(const Topology& topology, const Field<float>& phi, const Solids& solids,
                        const SolidCells& cells, const KinematicViscosity& viscosity, float voxel, float dt)
{
    solids_ = &solids, cells_ = &cells, voxel_ = voxel;
    const float scale = dt / (voxel * voxel);
    float most = viscosity.everywhere;
    if (viscosity.at_cells)
        for (const float v : viscosity.at_cells->values()) most = std::max(most, v);
    stiffness_ = scale * most;

    matrix_.reset_uninitialized(topology);
    for_each_tile(topology, [&](int tile) {
        const Surroundings around(topology, phi, cells, tile);
        if (around.only_liquid() && !viscosity.at_cells) {
            std::fill_n(matrix_.cell.tile(tile), kTileCells, 2 * stiffness_);
            for (int a = 0; a < 3; ++a) {
                std::fill_n(matrix_.mass[a].tile(tile), kTileCells, 1.0f);
                std::fill_n(matrix_.edge[a].tile(tile), kTileCells, stiffness_);
                std::fill_n(matrix_.diagonal[a].tile(tile), kTileCells, 0.0f);
            }
            return;
        }
        Block<float, 1> local;
        if (viscosity.at_cells) local.gather(*viscosity.at_cells, tile);
        const auto stiffness = [&](const auto& at) {
            if (!viscosity.at_cells) return stiffness_;
            float sum = 0, count = 0;
            for (const int i : at)
                if (local.data[i] > 0) sum += local.data[i], count += 1;
            return count > 0 ? scale * sum / count : 0;
        };
        Block<float, 1> open[3];
        if (around.has_solids())
            for (int a = 0; a < 3; ++a) open[a].gather(topology, tile, [&](int t) { return cells.open(t, a); });
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i p = cell_in_tile(c);
            const int i = Block<float, 1>::index(p.x(), p.y(), p.z());
            const std::array<int, 1> cell = {i};
            matrix_.cell.tile(tile)[c] = 2 * stiffness(cell) * around.filled(cell);
            for (int a = 0; a < 3; ++a) {
                const std::array<int, 2> face = {i, i - kStride[a]};
                const bool closed = around.has_solids() && !(open[a].data[i] > 0);
                matrix_.diagonal[a].tile(tile)[c] = closed ? kClosedFace : 0;
                matrix_.mass[a].tile(tile)[c] = around.filled(face) * around.room(face);

                const int b = (a + 1) % 3, d = (a + 2) % 3; // the edge along a lies in the corner of b and d
                const int sb = kStride[b], sd = kStride[d];
                const std::array<int, 4> edge = {i, i - sb, i - sd, i - sb - sd};
                float weight = stiffness(edge) * around.filled(edge);
                if (around.has_solids()) {
                    // The pairs of faces whose difference counts: u_b across d, and u_d across b.
                    float wall = 1;
                    for (const auto& [axis, step] : {std::pair(b, sd), std::pair(d, sb)}) {
                        const bool here = open[axis].data[i] > 0, there = open[axis].data[i - step] > 0;
                        if (here == there) continue;
                        const float at_here = around.face_distance(i, axis),
                                    at_there = around.face_distance(i - step, axis);
                        wall = std::max(wall, here ? towards_wall(at_here, at_there) : towards_wall(at_there, at_here));
                    }
                    weight *= wall;
                }
                matrix_.edge[a].tile(tile)[c] = weight;
            }
        }
    });
    // Faces without mass that take part are those with an edge or a cell that has weight.
    for_each_tile(topology, [&](int tile) {
        const TileView cell(matrix_.cell, tile);
        const TileView edge[3] = {{matrix_.edge[0], tile}, {matrix_.edge[1], tile}, {matrix_.edge[2], tile}};
        for_each_row([&](int x, int y, int o) {
            const Row zero = splat(0), least = splat(kLeastMass);
            const Row below[3] = {cell.below_x(x, y), cell.below_y(x, y), cell.below_z(x, y)};
            const Row sides[3] = {edge[1].at(x, y) + edge[1].above_z(x, y) + edge[2].at(x, y) + edge[2].above_y(x, y),
                                  edge[0].at(x, y) + edge[0].above_z(x, y) + edge[2].at(x, y) + edge[2].above_x(x, y),
                                  edge[0].at(x, y) + edge[0].above_y(x, y) + edge[1].at(x, y) + edge[1].above_x(x, y)};
            for (int a = 0; a < 3; ++a) {
                float* mass = matrix_.mass[a].tile(tile) + o;
                const Row touching = cell.at(x, y) + below[a] + sides[a];
                store_row(mass, max(load_row(mass), touching > zero ? least : zero));
            }
        });
    });
    solver_.set_matrix(matrix_, stiffness_);
}

ViscousResult Viscosity::apply(MacField& velocity, double tolerance)
{
    const Topology& topology = matrix_.topology();
    for_each_tile(topology, [&](int tile) {
        const SolidTile* solid = cells_->tile(tile);
        if (!solid) return;
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < kTileCells; ++c)
                if (!(solid->open[a][c] > 0))
                    velocity.u[a].tile(tile)[c] =
                        solids_->moving() ? solids_->velocity((first + face_in_tile(c, a)) * voxel_)[a] : 0;
    });
    return solver_.solve(velocity, tolerance);
}

} // namespace spindrift
