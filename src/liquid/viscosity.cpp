#include "liquid/viscosity.h"

namespace spindrift {

namespace {

// A face near the surface that belongs to no liquid cell moves as its neighbours make it; this much mass keeps the
// system definite. More would be solved faster, but would hold a turning blob back: at 0.01 it loses 15% of its angular
// momentum in a turn.
constexpr float kLeastMass = 1e-3f;
// A wall may not come nearer to a face than this share of a cell: the system would become stiff.
constexpr float kNearestWall = 0.25f;

// Where viscosity reaches over a good part of a cell in a step, so does the hold of a solid that covers a face's
// centre.
constexpr float kSticks = 0.5f;

constexpr int kStride[3] = {Block<float, 1>::kStrideX, Block<float, 1>::kStrideY, 1};

inline Row load_at(const Block<float, 1>& block, int i) { return load_row_unaligned(block.data + i); }

// What a tile's weights are made from, with a margin: distance to the surface and to solids at cell centres, and the
// open share of cells and faces.
class Surroundings {
  public:
    void gather(const Topology& topology, const Field<float>& phi, const SolidCells& cells, int tile)
    {
        phi_.gather(phi, tile);
        lowest_ = *std::min_element(std::begin(phi_.data), std::end(phi_.data));
        highest_ = *std::max_element(std::begin(phi_.data), std::end(phi_.data));
        has_solids_ = cells.gather_volumes(topology, tile, volume_);
        if (!has_solids_) return;
        static const std::vector<float> far(kTileCells, 10.0f), all_open(kTileCells, 1.0f);
        const auto solid = [&](int t) { return t == topology.tile_count() ? nullptr : cells.tile(t); };
        distance_.gather(topology, tile, [&](int t) { return solid(t) ? solid(t)->distance : far.data(); });
        for (int a = 0; a < 3; ++a)
            open_[a].gather(topology, tile, [&](int t) { return solid(t) ? solid(t)->open[a] : all_open.data(); });
    }
    bool has_solids() const { return has_solids_; }
    // Nothing but liquid, or no liquid, in the whole tile and around it.
    bool only_liquid() const { return !has_solids_ && highest_ <= -0.5f; }
    bool no_liquid() const { return lowest_ >= 0; }

    // The share of cell-sized boxes that liquid fills, given the cells (places in the block) whose centres their own
    // are amid. Cells in solids have no distance to the surface of their own; liquid is taken to go on there. No share
    // where none of the cells is liquid.
    template <size_t N> Row filled(const std::array<int, N>& at) const
    {
        const Row zero = splat(0), one = splat(1);
        Row sum = zero, count = zero, lowest = one;
        for (const int i : at) {
            const Row phi = load_at(phi_, i);
            const Row valid = has_solids_ ? (load_at(volume_, i) > zero ? one : zero) : one;
            sum += valid * phi, count += valid;
            lowest = min(lowest, valid * phi);
        }
        const Row share = min(max(0.5f - sum * inverse_or_zero(count), zero), one);
        return count > zero ? (lowest < zero ? share : zero) : one;
    }
    template <size_t N> Row room(const std::array<int, N>& at) const
    {
        if (!has_solids_) return splat(1);
        Row sum = splat(0);
        for (const int i : at) sum += load_at(volume_, i);
        return sum * (1.0f / N);
    }
    // A face that is closed, or whose centre is in a solid and `sticks` to it.
    bool is_closed(int i, int axis, bool sticks) const
    {
        return !(open_[axis].data[i] > 0) || (sticks && face_distance(i, axis) < 0);
    }
    // What a wall near the edge along an axis through the corner of cell i makes of dissipation there. The pairs of
    // faces whose difference counts are u_b across d, and u_d across b.
    float at_wall(int i, int axis, bool sticks) const
    {
        const int b = (axis + 1) % 3, d = (axis + 2) % 3;
        return std::max(between_faces(i, i - kStride[d], b, sticks), between_faces(i, i - kStride[b], d, sticks));
    }

  private:
    float face_distance(int i, int axis) const
    {
        return 0.5f * (distance_.data[i] + distance_.data[i - kStride[axis]]);
    }
    // How much larger dissipation is where a wall runs between two faces than if it were at the closed one.
    float between_faces(int i, int j, int axis, bool sticks) const
    {
        const bool open_i = !is_closed(i, axis, sticks), open_j = !is_closed(j, axis, sticks);
        if (open_i == open_j) return 1;
        const float open = face_distance(open_i ? i : j, axis), closed = face_distance(open_i ? j : i, axis);
        const float share = open > 0 && closed < open ? open / (open - closed) : kNearestWall;
        return 1 / std::clamp(share, kNearestWall, 1.0f);
    }

    bool has_solids_ = false;
    float lowest_ = 0, highest_ = 0;
    Block<float, 1> phi_, volume_, distance_, open_[3];
};

} // namespace

void viscosity_at_cells(const Particles& particles, const ParticleIndex& index, const Topology& topology, float density,
                        Field<float>& out)
{
    const std::vector<float>& viscosity = *particles.find<float>(kViscosityAttribute);
    out.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c) {
            const size_t begin = index.cell_begin(tile, c), end = index.cell_end(tile, c);
            float sum = 0;
            for (size_t i = begin; i < end; ++i) sum += viscosity[i];
            out.tile(tile)[c] = begin < end ? sum / (density * static_cast<float>(end - begin)) : 0;
        }
    });
}

void Viscosity::prepare(const Topology& topology, const Field<float>& phi, const Solids& solids,
                        const SolidCells& cells, const KinematicViscosity& viscosity, float voxel, float dt)
{
    solids_ = &solids, cells_ = &cells, voxel_ = voxel, dt_ = dt;
    const float scale = dt / (voxel * voxel);
    float most = viscosity.everywhere;
    if (viscosity.at_cells)
        for (const float v : viscosity.at_cells->values()) most = std::max(most, v);
    elastic_stiffness_ = scale * dt * viscosity.elasticity; // the step's own strain acts as a viscosity of G dt
    stiffness_ = scale * most + elastic_stiffness_;
    const bool elastic = viscosity.elasticity > 0;
    const bool sticks = stiffness_ > kSticks;

    matrix_.reset_uninitialized(topology);
    if (elastic) shares_.reset_uninitialized(topology);
    const auto fill = [&](int tile, float mass, float stiffness) {
        if (elastic) {
            std::fill_n(shares_.cell.tile(tile), kTileCells, mass);
            for (auto& share : shares_.edge) std::fill_n(share.tile(tile), kTileCells, mass);
        }
        std::fill_n(matrix_.cell.tile(tile), kTileCells, 2 * stiffness);
        for (int a = 0; a < 3; ++a) {
            std::fill_n(matrix_.mass[a].tile(tile), kTileCells, mass);
            std::fill_n(matrix_.edge[a].tile(tile), kTileCells, stiffness);
            std::fill_n(matrix_.inverse[a].tile(tile), kTileCells, 0.0f);
        }
    };
    for_each_tile(topology, [&](int tile) {
        thread_local Surroundings kept;
        auto& around = kept;
        around.gather(topology, phi, cells, tile);
        if (around.no_liquid() && !cells.tile(tile)) return fill(tile, 0, 0);
        if (around.only_liquid() && !viscosity.at_cells) return fill(tile, 1, stiffness_);

        Block<float, 1> local;
        if (viscosity.at_cells) local.gather(*viscosity.at_cells, tile);
        const auto stiffness = [&](const auto& at) {
            if (!viscosity.at_cells) return splat(stiffness_);
            Row sum = splat(0), count = splat(0);
            for (const int i : at) {
                const Row v = load_at(local, i);
                sum += v, count += v > splat(0) ? splat(1) : splat(0);
            }
            return scale * sum * inverse_or_zero(count) + elastic_stiffness_;
        };
        for_each_row([&](int x, int y, int o) {
            const int i = Block<float, 1>::index(x, y, 0);
            const std::array<int, 1> cell = {i};
            const std::array<int, 7> near = {
                i, i - 1, i + 1, i - kStride[1], i + kStride[1], i - kStride[0], i + kStride[0]};
            const Row own = stiffness(cell); // a cell may be liquid without particles in it
            const Row inside = own > splat(elastic_stiffness_) ? own : stiffness(near);
            const Row filled = around.filled(cell);
            store_row(matrix_.cell.tile(tile) + o, 2 * inside * filled);
            if (elastic) store_row(shares_.cell.tile(tile) + o, filled);
            for (int a = 0; a < 3; ++a) {
                const std::array<int, 2> face = {i, i - kStride[a]};
                store_row(matrix_.mass[a].tile(tile) + o, around.filled(face) * around.room(face));
                store_row(matrix_.inverse[a].tile(tile) + o, splat(0));
                const int sb = kStride[(a + 1) % 3], sd = kStride[(a + 2) % 3];
                const std::array<int, 4> edge = {i, i - sb, i - sd, i - sb - sd};
                const Row share = around.filled(edge);
                store_row(matrix_.edge[a].tile(tile) + o, stiffness(edge) * share);
                if (elastic) store_row(shares_.edge[a].tile(tile) + o, share);
                if (!around.has_solids()) continue;
                for (int z = 0; z < kTileSize; ++z) {
                    if (around.is_closed(i + z, a, sticks)) matrix_.inverse[a].tile(tile)[o + z] = kClosedFace;
                    matrix_.edge[a].tile(tile)[o + z] *= around.at_wall(i + z, a, sticks);
                }
            }
        });
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

void Viscosity::mark_known(MacField& known) const
{
    for_each_tile(matrix_.topology(), [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            float* k = known.u[a].tile(tile);
            const float* inverse = matrix_.inverse[a].tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize)
                store_row(k + o, load_row(inverse + o) > splat(0) ? splat(1) : load_row(k + o));
        }
    });
}

size_t Viscosity::bytes() const { return matrix_.bytes() + solver_.bytes() + shares_.bytes() + load_.bytes(); }

// The change of momentum by the stress 2 G e of an elastic strain: what leaves each face's volume on one side, less
// what comes in on the other. With the same shares as viscosity, so that a stress does to a body as a whole what it
// does to the faces' volumes: nothing.
void Viscosity::load_from(const StrainField& strain)
{
    const Topology& topology = matrix_.topology();
    const float scale = 2 * elastic_stiffness_ * voxel_ / dt_; // dt 2 G / (density voxel)
    for (auto& u : load_.u) u.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        const TileView cell_share(shares_.cell, tile);
        for (int a = 0; a < 3; ++a) {
            const auto low = [&](const TileView& v, int x, int y) {
                return a == 0 ? v.below_x(x, y) : a == 1 ? v.below_y(x, y) : v.below_z(x, y);
            };
            const auto high = [](const TileView& v, int axis, int x, int y) {
                return axis == 0 ? v.above_x(x, y) : axis == 1 ? v.above_y(x, y) : v.above_z(x, y);
            };
            const TileView normal(strain.diagonal[a], tile);
            for_each_row([&](int x, int y, int o) {
                Row sum = cell_share.at(x, y) * normal.at(x, y) - low(cell_share, x, y) * low(normal, x, y);
                for (int n = 1; n <= 2; ++n) { // the edges along the one axis lie apart along the other
                    const int along = (a + n) % 3, across = 3 - a - along;
                    const TileView share(shares_.edge[along], tile), shear(strain.shear[along], tile);
                    sum += high(share, across, x, y) * high(shear, across, x, y) - share.at(x, y) * shear.at(x, y);
                }
                store_row(load_.u[a].tile(tile) + o, scale * sum);
            });
        }
    });
}

ViscousResult Viscosity::apply(MacField& velocity, double tolerance, const StrainField* strain)
{
    const Topology& topology = matrix_.topology();
    for_each_tile(topology, [&](int tile) {
        if (!cells_->tile(tile)) return;
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < kTileCells; ++c)
                if (matrix_.inverse[a].tile(tile)[c] < 0)
                    velocity.u[a].tile(tile)[c] =
                        solids_->moving() ? solids_->velocity((first + face_in_tile(c, a)) * voxel_)[a] : 0;
    });
    if (!strain) return solver_.solve(velocity, tolerance);
    load_from(*strain);
    return solver_.solve(velocity, tolerance, 200, &load_);
}

} // namespace spindrift
