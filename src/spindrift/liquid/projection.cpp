#include "spindrift/liquid/projection.h"

#include "spindrift/field/row.h"

namespace spindrift {

namespace {

// Lower bound of the distance from a cell's centre to the surface [cells]: smaller ones would make the system stiff.
constexpr float kSmallestShare = 0.05f;

constexpr int kMostIterations = 100;

// The contribution of a face to the diagonal of a liquid cell: 1 towards liquid; towards air, the inverse of the
// distance to the surface.
inline Row towards(Row phi, Row neighbour)
{
    const Row zero = splat(0), one = splat(1);
    const Row share = phi / (neighbour > zero ? phi - neighbour : splat(-1)); // unused where the neighbour is liquid
    return neighbour < zero ? one : one / max(share, splat(kSmallestShare));
}

inline float share_of(float liquid, float air) { return std::max(liquid / (liquid - air), kSmallestShare); }

} // namespace

void Projection::prepare(const Topology& topology, const Field<float>& phi, const Solids& solids,
                         const SolidCells& cells, float voxel)
{
    phi_ = &phi, solids_ = &solids, cells_ = &cells, voxel_ = voxel;
    bodies_ = nullptr;
    const size_t tiles = topology.tile_count();
    has_liquid_.assign(tiles + 1, 0);
    std::vector<int> liquid(tiles, 0);
    parallel_for(
        tiles,
        [&](size_t t) {
            const float* p = phi.tile(static_cast<int>(t));
            for (int i = 0; i < kTileCells; ++i) liquid[t] += p[i] < 0;
            has_liquid_[t] = liquid[t] > 0;
        },
        16);
    liquid_cells_ = 0;
    for (const int n : liquid) liquid_cells_ += n;

    matrix_.reset(topology);
    for_each_tile(topology, [&](int tile) {
        if (!has_liquid(tile)) return;
        const TileView p(phi, tile);
        const OpenView open(cells, topology, tile);
        for_each_row([&](int x, int y, int o) {
            const Row zero = splat(0), one = splat(1), here = p.at(x, y);
            const Row in_liquid = here < zero ? one : zero;
            const Row below[3] = {p.below_x(x, y), p.below_y(x, y), p.below_z(x, y)};
            const Row above[3] = {p.above_x(x, y), p.above_y(x, y), p.above_z(x, y)};
            const Row low[3] = {open.x.at(x, y), open.y.at(x, y), open.z.at(x, y)};
            const Row high[3] = {open.x.above_x(x, y), open.y.above_y(x, y), open.z.above_z(x, y)};
            Row faces = zero, air = zero;
            for (int a = 0; a < 3; ++a) {
                const Row w_low = low[a] * (below[a] < zero ? in_liquid : zero);
                const Row w_high = high[a] * (above[a] < zero ? in_liquid : zero);
                store_row(matrix_.face[a].tile(tile) + o, w_low);
                faces += w_low + w_high; // in the order in which the solver sums them
                air += (low[a] * towards(here, below[a]) - (below[a] < zero ? low[a] : zero)) +
                       (high[a] * towards(here, above[a]) - (above[a] < zero ? high[a] : zero));
            }
            store_row(matrix_.diagonal.tile(tile) + o, faces + in_liquid * air);
        });
    });
    solver_.set_matrix(matrix_);

    solids_move_ = solids.moving();
    if (!solids_move_) return;
    solid_velocity_at_faces(topology, solids, cells, voxel, solid_velocity_);
}

void Projection::couple(Bodies& bodies, float density)
{
    if (bodies.empty()) return;
    bodies_ = &bodies;
    coupling_.prepare(bodies, cells_->shares(), matrix_, voxel_, density);
}

PoissonResult Projection::make_divergence_free(MacField& velocity, MacField& known, double tolerance,
                                               const Field<float>* surface_s)
{
    const Topology& topology = phi_->topology();
    b_.reset(topology, 0);
    for_each_tile(topology, [&](int tile) {
        if (!has_liquid(tile)) return;
        const OpenView open(*cells_, topology, tile);
        const Outflow out(open, velocity, solid_velocity(tile), tile);
        for_each_row([&](int x, int y, int o) { store_row(b_.tile(tile) + o, -out.at(x, y)); });
    });
    if (surface_s) add_surface_pressure(*surface_s);
    const auto columns =
        bodies_ ? std::span<const PoissonColumns>(coupling_.columns()) : std::span<const PoissonColumns>();
    const PoissonResult result = solver_.solve(b_, s_, tolerance, kMostIterations, columns);
    add_gradient(velocity, -1, surface_s);
    if (bodies_) {
        coupling_.push(s_, *bodies_);
        solid_velocity_at_faces(topology, *solids_, *cells_, voxel_, solid_velocity_);
    }

    // Closed faces have no velocity of their own.
    for_each_tile(topology, [&](int tile) {
        const TileView p(*phi_, tile);
        for_each_row([&](int x, int y, int o) {
            const Row zero = splat(0), one = splat(1);
            const Row below[3] = {p.below_x(x, y), p.below_y(x, y), p.below_z(x, y)};
            for (int a = 0; a < 3; ++a) {
                float* k = known.u[a].tile(tile) + o;
                const Row wet = min(p.at(x, y), below[a]) < zero ? one : -max(load_row(k), -load_row(k));
                store_row(k, load_row(cells_->open(tile, a) + o) > zero ? wet : zero);
            }
        });
    });
    return result;
}

namespace {

// The value of a cell's lower neighbour along an axis, which is in the same tile or in the one below.
struct LowerNeighbour {
    int stride, wrap;
    explicit LowerNeighbour(int axis) : stride(axis == 0 ? 64 : axis == 1 ? 8 : 1), wrap(7 * stride) {}
    template <class T> T operator()(const T* tile, const T* below, int c) const
    {
        return c & wrap ? tile[c - stride] : below[c + wrap];
    }
};

// The value at the surface between two cells on different sides of it.
inline float at_crossing(float phi0, float phi1, float value0, float value1)
{
    return mix(value0, value1, phi0 / (phi0 - phi1));
}

} // namespace

// velocity += factor * gradient of s, on open faces next to liquid.
void Projection::add_gradient(MacField& velocity, float factor, const Field<float>* surface_s) const
{
    const Topology& topology = phi_->topology();
    for_each_tile(topology, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            const Vec3i step = -Vec3i::Unit(a);
            const int below = topology.neighbour(tile, step.x(), step.y(), step.z());
            if (!has_liquid(tile) && !has_liquid(below)) continue;
            const LowerNeighbour lower(a);
            const float *phi = phi_->tile(tile), *phi_below = phi_->tile(below), *open = cells_->open(tile, a);
            const double *s = s_.tile(tile), *s_below = s_.tile(below);
            float* u = velocity.u[a].tile(tile);
            for (int c = 0; c < kTileCells; ++c) {
                const float phi1 = phi[c], phi0 = lower(phi, phi_below, c);
                if (!(open[c] > 0) || (phi0 >= 0 && phi1 >= 0)) continue;
                const double s1 = s[c], s0 = lower(s, s_below, c);
                double difference = s1 - s0;
                if (phi0 >= 0 || phi1 >= 0) {
                    double at_surface = 0;
                    if (surface_s)
                        at_surface = at_crossing(phi0, phi1, lower(surface_s->tile(tile), surface_s->tile(below), c),
                                                 surface_s->tile(tile)[c]);
                    difference =
                        phi0 >= 0 ? (s1 - at_surface) / share_of(phi1, phi0) : (at_surface - s0) / share_of(phi0, phi1);
                }
                u[c] += factor * static_cast<float>(difference);
            }
        }
    });
}

// The contribution of a given s at the surface to the right-hand side.
void Projection::add_surface_pressure(const Field<float>& surface_s)
{
    const Topology& topology = phi_->topology();
    for_each_tile(topology, [&](int tile) {
        if (!has_liquid(tile)) return;
        float* b = b_.tile(tile);
        for (int c = 0; c < kTileCells; ++c) {
            const float here = phi_->tile(tile)[c];
            if (!(here < 0)) continue;
            for (int a = 0; a < 3; ++a)
                for (int side = -1; side <= 1; side += 2) {
                    const auto [t, o] = topology.next_cell(tile, c, a, side);
                    const float there = phi_->tile(t)[o];
                    if (there < 0) continue;
                    const float open = side < 0 ? cells_->open(tile, a)[c] : cells_->open(t, a)[o];
                    b[c] += open / share_of(here, there) *
                            at_crossing(here, there, surface_s.tile(tile)[c], surface_s.tile(t)[o]);
                }
        }
    });
}

void Projection::close_surface(MacField& velocity)
{
    constexpr float kLeastOutlet = 0.5f; // open share of a face; less could not carry the flow at a plausible speed
    const Topology& topology = phi_->topology();
    const Row zero = splat(0), one = splat(1), two = splat(2);
    layer_.reset_uninitialized(topology, 2);
    std::vector<uint8_t> has_layer(topology.tile_count());
    for_each_tile(topology, [&](int tile) {
        const TileView p(*phi_, tile);
        const OpenView open(*cells_, topology, tile);
        Row outermost_air = zero;
        for_each_row([&](int x, int y, int o) {
            const auto wet = [&](Row phi, Row face) { return phi < zero ? face : zero; };
            const Row touching = wet(p.below_x(x, y), open.x.at(x, y)) + wet(p.above_x(x, y), open.x.above_x(x, y)) +
                                 wet(p.below_y(x, y), open.y.at(x, y)) + wet(p.above_y(x, y), open.y.above_y(x, y)) +
                                 wet(p.below_z(x, y), open.z.at(x, y)) + wet(p.above_z(x, y), open.z.above_z(x, y));
            const Row outside = touching > zero ? one : two, layer = p.at(x, y) < zero ? zero : outside;
            store_row(layer_.tile(tile) + o, layer);
            outermost_air = max(outermost_air, layer == one ? one : zero);
        });
        has_layer[tile] = largest(outermost_air) > 0;
    });

    // What has to leave a cell of the layer through each of its outer faces.
    Field<float>& excess = b_;
    excess.reset(topology, 0);
    for_each_tile(topology, [&](int tile) {
        if (!has_layer[tile]) return;
        const TileView l(layer_, tile);
        const OpenView open(*cells_, topology, tile);
        const Outflow out(open, velocity, solid_velocity(tile), tile);
        for_each_row([&](int x, int y, int o) {
            Row outlet = zero;
            const auto face = [&](Row area, Row neighbour) { outlet += neighbour > one ? area : zero; };
            face(open.x.at(x, y), l.below_x(x, y)), face(open.x.above_x(x, y), l.above_x(x, y));
            face(open.y.at(x, y), l.below_y(x, y)), face(open.y.above_y(x, y), l.above_y(x, y));
            face(open.z.at(x, y), l.below_z(x, y)), face(open.z.above_z(x, y), l.above_z(x, y));
            const Row in_layer = l.at(x, y) == one ? one : zero;
            const Row can = outlet >= splat(kLeastOutlet) ? in_layer : zero;
            store_row(excess.tile(tile) + o, -can * out.at(x, y) * inverse_or_zero(outlet));
        });
    });
    for_each_tile(topology, [&](int tile) {
        const TileView l(layer_, tile), out(excess, tile);
        const OpenView open(*cells_, topology, tile);
        for_each_row([&](int x, int y, int o) {
            const Row here = l.at(x, y), from_here = out.at(x, y);
            const auto change = [&](Field<float>& u, Row area, Row below, Row from_below) {
                const Row up = here > one ? from_below : zero, down = below > one ? from_here : zero;
                float* value = u.tile(tile) + o;
                store_row(value, load_row(value) + (area > zero ? up - down : zero));
            };
            change(velocity.u[0], open.x.at(x, y), l.below_x(x, y), out.below_x(x, y));
            change(velocity.u[1], open.y.at(x, y), l.below_y(x, y), out.below_y(x, y));
            change(velocity.u[2], open.z.at(x, y), l.below_z(x, y), out.below_z(x, y));
        });
    });
}

PoissonResult Projection::spread(const Field<float>& crowding, float voxel, float dt, MacField& velocity)
{
    // A displacement d [cells] whose divergence equals the excess removes it: d = -grad s, -laplace s = excess.
    const PoissonResult result = solver_.solve(crowding, s_, 0.1, 4);
    add_gradient(velocity, -voxel / dt, nullptr);
    return result;
}

size_t Projection::bytes() const
{
    return matrix_.bytes() + solver_.bytes() + b_.bytes() + layer_.bytes() + s_.bytes() + solid_velocity_.bytes();
}

} // namespace spindrift
