#include "spindrift/liquid/viscosity.h"

#include "spindrift/base/scratch.h"
#include "spindrift/points/attribute_checks.h"

#include <bit>

namespace spindrift {

namespace {

// A face near the surface that belongs to no liquid cell follows its neighbours; this mass keeps the system definite. A
// rotating blob gains 2% of its angular momentum in a turn without it, and loses 2% with three times as much.
constexpr float kLeastMass = 2e-3f;
// Lower bound of the distance from a wall to a face [cells]: smaller ones would make the system stiff.
constexpr float kNearestWall = 0.25f;

// Marks faces that must not be dropped together with the edge that holds them.
constexpr float kNotLoose = -1;

// From this stiffness on, where viscosity reaches over a good part of a cell in a step, a solid that covers a face's
// centre holds the face.
constexpr float kSticks = 0.5f;

constexpr int kStride[3] = {Block<float, 1>::kStrideX, Block<float, 1>::kStrideY, 1};

inline Row load_at(const Block<float, 1>& block, int i) { return load_row_unaligned(block.data + i); }

// Inputs of a tile's weights, with a margin: distance to the surface and to solids at cell centres, and the open share
// of cells and faces.
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
    // Only liquid, or no liquid, in the whole tile and around it.
    bool only_liquid() const { return !has_solids_ && highest_ <= -0.5f; }
    bool no_liquid() const { return lowest_ >= 0; }

    // The share of cell-sized boxes that liquid fills, given the cells (indices in the block) whose centres surround
    // theirs. Cells in solids have no distance to the surface; liquid is assumed to continue there. 0 where none of the
    // cells is liquid.
    template <size_t N> Row filled(const std::array<int, N>& at) const
    {
        const Row zero = splat(0), one = splat(1);
        Row sum = zero, count = zero, lowest = one;
        if (!has_solids_) {
            for (const int i : at) sum += load_at(phi_, i), lowest = min(lowest, load_at(phi_, i));
            return lowest < zero ? min(max(0.5f - (1.0f / N) * sum, zero), one) : zero;
        }
        for (const int i : at) {
            const Row phi = load_at(phi_, i);
            const Row valid = load_at(volume_, i) > zero ? one : zero;
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
    // Whether a solid may touch a face or an edge of the row of cells at i: the error of a distance is at most its
    // change over a cell.
    bool near_solid(int i) const { return has_solids_ && largest(-load_at(distance_, i)) > -2; }
    // Faces that are closed, or whose centre is in a solid and `sticks` to it.
    RowMask closed(int i, int axis, bool sticks) const
    {
        const RowMask shut = ~(load_at(open_[axis], i) > splat(0));
        return sticks ? shut | (face_distance(i, axis) < splat(0)) : shut;
    }
    // The factor of a wall near the edges along an axis through the corners of cells i on dissipation there. The pairs
    // of faces whose difference counts are u_b across d, and u_d across b.
    Row at_wall(int i, int axis, bool sticks) const
    {
        const int b = (axis + 1) % 3, d = (axis + 2) % 3;
        return max(between_faces(i, i - kStride[d], b, sticks), between_faces(i, i - kStride[b], d, sticks));
    }

  private:
    Row face_distance(int i, int axis) const
    {
        return 0.5f * (load_at(distance_, i) + load_at(distance_, i - kStride[axis]));
    }
    // The factor by which dissipation is larger where a wall runs between two faces than if it were at the closed one.
    Row between_faces(int i, int j, int axis, bool sticks) const
    {
        const RowMask closed_i = closed(i, axis, sticks), closed_j = closed(j, axis, sticks);
        const Row at_i = face_distance(i, axis), at_j = face_distance(j, axis);
        const Row outside = closed_i ? at_j : at_i, inside = closed_i ? at_i : at_j;
        const Row nearest = splat(kNearestWall), one = splat(1);
        const Row share = ((outside > splat(0)) & (inside < outside)) ? outside / (outside - inside) : nearest;
        return (closed_i ^ closed_j) ? one / min(max(share, nearest), one) : one;
    }

    bool has_solids_ = false;
    float lowest_ = 0, highest_ = 0;
    Block<float, 1> phi_, volume_, distance_, open_[3];
};

// Massless faces take part only if some edge or cell holds them.
void give_mass_to_held_faces(const std::vector<uint8_t>& plain, const MacField& held, ViscousMatrix& matrix)
{
    for_each_tile(held.u[0].topology(), [&](int tile) {
        if (plain[tile]) return;
        for (int a = 0; a < 3; ++a) {
            float* mass = matrix.mass[a].tile(tile);
            const float* holding = held.u[a].tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize)
                store_row(mass + o, load_row(holding + o) > splat(0) ? max(load_row(mass + o), splat(kLeastMass))
                                                                     : load_row(mass + o));
        }
    });
}

} // namespace

void viscosity_at_cells(const Particles& particles, const ParticleIndex& index, const Topology& topology, float density,
                        Field<float>& out)
{
    const std::vector<float>& viscosity = required<float>(particles, kViscosityAttribute);
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

namespace {

float largest(const KinematicViscosity& viscosity)
{
    if (!viscosity.at_cells) return viscosity.everywhere;
    const std::span values = viscosity.at_cells->values();
    return parallel_reduce(
        values.size(), viscosity.everywhere, [&](size_t i) { return values[i]; },
        [](float a, float b) { return std::max(a, b); }, 1 << 16);
}

} // namespace

void Viscosity::prepare(const Topology& topology, const Field<float>& phi, const Solids& solids,
                        const SolidCells& cells, const KinematicViscosity& viscosity, float voxel, float dt)
{
    solids_ = &solids, cells_ = &cells, voxel_ = voxel, dt_ = dt;
    const float scale = dt / (voxel * voxel);
    elastic_stiffness_ = scale * dt * viscosity.elasticity; // the step's own strain acts as a viscosity of G dt
    stiffness_ = scale * largest(viscosity) + elastic_stiffness_;
    const bool elastic = viscosity.elasticity > 0;
    const bool sticks = stiffness_ > kSticks;

    matrix_.reset_uninitialized(topology);
    for (auto& held : held_.u) held.reset_uninitialized(topology, kNotLoose);
    plain_.assign(topology.tile_count(), false);
    if (elastic) shares_.reset_uninitialized(topology);
    const auto fill = [&](int tile, float mass, float stiffness) {
        if (elastic) {
            std::fill_n(shares_.cell.tile(tile), kTileCells, mass);
            for (auto& share : shares_.edge) std::fill_n(share.tile(tile), kTileCells, mass);
        }
        std::fill_n(matrix_.cell.tile(tile), kTileCells, 2 * stiffness);
        for (int a = 0; a < 3; ++a) {
            std::fill_n(matrix_.mass[a].tile(tile), kTileCells, mass);
            std::fill_n(held_.u[a].tile(tile), kTileCells, kNotLoose);
            std::fill_n(matrix_.edge[a].tile(tile), kTileCells, stiffness);
            std::fill_n(matrix_.inverse[a].tile(tile), kTileCells, 0.0f);
        }
    };
    for_each_tile(topology, [&](int tile) {
        auto& around = thread_scratch<Surroundings>();
        around.gather(topology, phi, cells, tile);
        plain_[tile] = true;
        if (around.no_liquid() && !cells.tile(tile)) return fill(tile, 0, 0);
        if (around.only_liquid() && !viscosity.at_cells) return fill(tile, 1, stiffness_);
        plain_[tile] = false;

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
            const bool near_solid = around.near_solid(i);
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
                if (!near_solid) continue;
                store_row(matrix_.inverse[a].tile(tile) + o,
                          around.closed(i, a, sticks) ? splat(kClosedFace) : splat(0));
                float* weight = matrix_.edge[a].tile(tile) + o;
                store_row(weight, load_row(weight) * around.at_wall(i, a, sticks));
            }
        });
    });
    sticking_.clear();
    if (const Sight* sight = cells.sight()) {
        drop_parted_edges(*sight, elastic);
        stick_to_sheets(*sight);
    }
    drop_loose_edges(elastic);
    find_what_holds_faces();
    give_mass_to_held_faces(plain_, held_, matrix_);
    solver_.set_matrix(matrix_, stiffness_);
}

// The sum of the weights that act on each massless face; kNotLoose for faces that have mass or a prescribed velocity.
void Viscosity::find_what_holds_faces()
{
    for_each_tile(matrix_.topology(), [&](int tile) {
        if (plain_[tile]) return;
        const TileView cell(matrix_.cell, tile);
        const TileView edge[3] = {{matrix_.edge[0], tile}, {matrix_.edge[1], tile}, {matrix_.edge[2], tile}};
        for_each_row([&](int x, int y, int o) {
            const Row below[3] = {cell.below_x(x, y), cell.below_y(x, y), cell.below_z(x, y)};
            const Row sides[3] = {edge[1].at(x, y) + edge[1].above_z(x, y) + edge[2].at(x, y) + edge[2].above_y(x, y),
                                  edge[0].at(x, y) + edge[0].above_z(x, y) + edge[2].at(x, y) + edge[2].above_x(x, y),
                                  edge[0].at(x, y) + edge[0].above_y(x, y) + edge[1].at(x, y) + edge[1].above_x(x, y)};
            for (int a = 0; a < 3; ++a) {
                const Row mass = load_row(matrix_.mass[a].tile(tile) + o);
                const Row closed = load_row(matrix_.inverse[a].tile(tile) + o);
                const Row sum = cell.at(x, y) + below[a] + sides[a];
                const Row free = closed < splat(0) ? splat(kNotLoose) : sum;
                store_row(held_.u[a].tile(tile) + o, mass > splat(0) ? splat(kNotLoose) : free);
            }
        });
    });
}

// Remove edges between faces on different sides of a sheet: there is no drag through it.
void Viscosity::drop_parted_edges(const Sight& sight, bool elastic)
{
    for_each_tile(matrix_.topology(), [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            const int b = (a + 1) % 3, d = (a + 2) % 3;
            const uint8_t *links_b = sight.links(tile, b), *links_d = sight.links(tile, d);
            if (!links_b || !links_d) continue;
            for (int c = 0; c < kTileCells; ++c) {
                // Its pairs of faces are u_b across d, and u_d across b; the one below is bit 2 axis.
                if ((links_b[c] >> (2 * d) & 1) && (links_d[c] >> (2 * b) & 1)) continue;
                matrix_.edge[a].tile(tile)[c] = 0;
                if (elastic) shares_.edge[a].tile(tile)[c] = 0;
            }
        }
    });
}

// Instead, each side is dragged by the sheet, at its actual distance.
void Viscosity::stick_to_sheets(const Sight& sight)
{
    sticking_.resize(matrix_.topology().tile_count());
    for_each_tile(matrix_.topology(), [&](int tile) {
        auto& sticking = sticking_[tile];
        for (int a = 0; a < 3; ++a) {
            const uint8_t* links = sight.links(tile, a);
            const float* distances = sight.face_distances(tile, a);
            if (!links || !distances) continue;
            float* mass = matrix_.mass[a].tile(tile);
            for (int c = 0; c < kTileCells; ++c) {
                const int across = ~links[c] & 0x3f & ~(3 << (2 * a)); // the sheet is parallel to the face's velocity
                if (across == 0 || !(mass[c] > 0) || matrix_.inverse[a].tile(tile)[c] < 0) continue;
                const float stiffness = 0.5f * matrix_.cell.tile(tile)[c];
                const float weight = static_cast<float>(std::popcount(static_cast<unsigned>(across))) * stiffness /
                                     std::clamp(distances[c], kNearestWall, 1.0f);
                mass[c] += weight;
                sticking.push_back({a, c, weight});
            }
        }
    });
}

// A massless face held by a single edge moves so that the edge has no stress: the edge constrains nothing else, and is
// removed from the system. There are thousands of such faces around a liquid, each a nearly energy-free mode that the
// solver would have to find.
void Viscosity::drop_loose_edges(bool elastic)
{
    find_what_holds_faces();
    const Topology& topology = matrix_.topology();
    loose_.resize(topology.tile_count());
    for_each_tile(topology, [&](int tile) {
        auto& loose = loose_[tile];
        loose.clear();
        if (plain_[tile]) return;
        const TileView held[3] = {{held_.u[0], tile}, {held_.u[1], tile}, {held_.u[2], tile}};
        for_each_row([&](int x, int y, int o) {
            const Row faces[3][4] = {
                {held[1].at(x, y), held[1].below_z(x, y), held[2].at(x, y), held[2].below_y(x, y)},
                {held[0].at(x, y), held[0].below_z(x, y), held[2].at(x, y), held[2].below_x(x, y)},
                {held[0].at(x, y), held[0].below_y(x, y), held[1].at(x, y), held[1].below_x(x, y)}};
            for (int a = 0; a < 3; ++a) {
                float* edge = matrix_.edge[a].tile(tile) + o;
                const Row weight = load_row(edge), zero = splat(0);
                Row found = zero;
                for (const Row& face : faces[a]) found = face == weight ? weight : found;
                if (!(largest(found) > 0)) continue;
                store_row(edge, found > zero ? zero : weight);
                for (int z = 0; z < kTileSize; ++z) {
                    if (!(found[z] > 0)) continue;
                    LooseEdge e{a, o + z, {}};
                    for (size_t n = 0; n < 4; ++n) e.loose[n] = faces[a][n][z] == weight[z];
                    loose.push_back(e);
                    if (elastic) shares_.edge[a].tile(tile)[o + z] = 0;
                }
            }
        });
    });
}

// The four faces whose velocities determine the strain at an edge, the first and third with a plus sign.
std::array<Viscosity::Face, 4> Viscosity::faces_around(int tile, const LooseEdge& edge) const
{
    const int a = edge.axis == 0 ? 1 : 0, b = edge.axis == 2 ? 1 : 2;
    const Topology& topology = matrix_.topology();
    const Topology::Cell here{tile, edge.offset};
    return {{{a, here},
             {a, topology.next_cell(tile, edge.offset, b, -1)},
             {b, here},
             {b, topology.next_cell(tile, edge.offset, a, -1)}}};
}

// Moves the loose faces by the least amount that removes the strain of their edge.
void Viscosity::move_loose_faces(MacField& velocity) const
{
    for_each_tile(matrix_.topology(), [&](int tile) {
        for (const LooseEdge& edge : loose_[tile]) {
            const auto faces = faces_around(tile, edge);
            const auto at = [&](size_t n) -> float& {
                return velocity.u[faces[n].axis].tile(faces[n].cell.tile)[faces[n].cell.offset];
            };
            const float strain = (at(0) - at(1)) + (at(2) - at(3));
            const auto count = static_cast<float>(std::count(edge.loose.begin(), edge.loose.end(), true));
            for (size_t n = 0; n < 4; ++n)
                if (edge.loose[n]) at(n) += (n % 2 == 0 ? -1.0f : 1.0f) * strain / count;
        }
    });
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
    for_each_tile(matrix_.topology(), [&](int tile) {
        for (const LooseEdge& edge : loose_[tile]) {
            const auto faces = faces_around(tile, edge);
            for (size_t n = 0; n < 4; ++n)
                if (edge.loose[n]) known.u[faces[n].axis].tile(faces[n].cell.tile)[faces[n].cell.offset] = 1;
        }
    });
}

size_t Viscosity::bytes() const
{
    return matrix_.bytes() + solver_.bytes() + shares_.bytes() + load_.bytes() + held_.bytes();
}

// The change of momentum by the stress 2 G e of an elastic strain: the flux out of each face's volume on one side less
// the flux in on the other. It uses the same shares as viscosity, so that internal stress changes no total momentum.
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
                for (int n = 1; n <= 2; ++n) { // the edges along the one axis are offset along the other
                    const int along = (a + n) % 3, across = 3 - a - along;
                    const TileView share(shares_.edge[along], tile), shear(strain.shear[along], tile);
                    sum += high(share, across, x, y) * high(shear, across, x, y) - share.at(x, y) * shear.at(x, y);
                }
                store_row(load_.u[a].tile(tile) + o, scale * sum);
            });
        }
    });
}

// The part of a face's mass that represents a sheet has the sheet's velocity, not the face's.
void Viscosity::load_from_sheets(const MacField& velocity)
{
    for_each_tile(matrix_.topology(), [&](int tile) {
        const Vec3f first = matrix_.topology().first_cell(tile).cast<float>();
        for (const auto& [a, c, weight] : sticking_[tile]) {
            const float sheet = solids_->moving() ? solids_->velocity((first + face_in_tile(c, a)) * voxel_)[a] : 0;
            load_.u[a].tile(tile)[c] += weight * (sheet - velocity.u[a].tile(tile)[c]);
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
    if (strain) load_from(*strain);
    if (!sticking_.empty()) {
        if (!strain)
            for (auto& u : load_.u) u.reset(topology, 0);
        load_from_sheets(velocity);
    }
    const bool loaded = strain || !sticking_.empty();
    const ViscousResult result = solver_.solve(velocity, tolerance, 200, loaded ? &load_ : nullptr);
    move_loose_faces(velocity);
    return result;
}

} // namespace spindrift
