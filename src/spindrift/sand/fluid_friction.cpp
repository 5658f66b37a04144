#include "spindrift/sand/fluid_friction.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/base/scratch.h"
#include "spindrift/points/state_checks.h"

namespace spindrift {

namespace {

constexpr int kShear[3][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}}; // index of component (a, b) among the six

Row row_at(const Block<float, 1>& block, int x, int y, const Vec3i& d)
{
    return load_row_unaligned(&block.at(x + d.x(), y + d.y(), d.z()));
}

Row pressure_row(const double* s)
{
    Row r;
    for (int k = 0; k < kTileSize; ++k) r[k] = static_cast<float>(s[k]);
    return max(r, splat(0));
}

Row norm_of(const Row (&s)[6])
{
    return sqrt_row(s[0] * s[0] + s[1] * s[1] + s[2] * s[2] + 2 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]));
}

// Which cells around a tile contain sand. `full`: all of them.
template <bool full> struct Wet {
    const Block<float, 1>& block;
    Row at(int x, int y, const Vec3i& d, Row value) const { return full ? value : row_at(block, x, y, d) * value; }
    bool anywhere(int x, int y) const { return full || largest(row_at(block, x, y, Vec3i::Zero())) > 0; }
    bool anywhere_or_below(int x, int y) const
    {
        if (full) return true;
        Row most = row_at(block, x, y, Vec3i::Zero());
        for (int a = 0; a < 3; ++a) most = max(most, row_at(block, x, y, -Vec3i::Unit(a)));
        return largest(most) > 0;
    }
};

// Pressure around a tile.
template <bool full> struct Pressure {
    const Block<double, 1>& block;
    Wet<full> wet;

    Row at(int x, int y, const Vec3i& d) const { return pressure_row(&block.at(x + d.x(), y + d.y(), d.z())); }
    // The difference over two cells, or over one where only one side has sand.
    Row change(int a, int x, int y) const
    {
        const Vec3i step = Vec3i::Unit(a);
        const Row here = at(x, y, Vec3i::Zero());
        return wet.at(x, y, step, at(x, y, step) - here) + wet.at(x, y, -step, here - at(x, y, -step));
    }
    Row most_beside(int x, int y) const
    {
        Row most = splat(0);
        for (int a = 0; a < 3; ++a)
            for (const Vec3i& step : {Vec3i(Vec3i::Unit(a)), Vec3i(-Vec3i::Unit(a))})
                most = max(most, wet.at(x, y, step, at(x, y, step)));
        return most;
    }
};

// The velocity around a tile.
template <bool full> struct Strain {
    const Block<float, 1> (&u)[3];
    Wet<full> wet;

    // Component a at cell centres, d cells off.
    Row middle(int a, int x, int y, const Vec3i& d) const
    {
        return 0.5f * (row_at(u[a], x, y, d) + row_at(u[a], x, y, d + Vec3i::Unit(a)));
    }
    // Its difference over a cell along another axis. Beyond the sand it is extended as a constant: there is no traction
    // at the free surface, and friction at solids is handled separately.
    Row change(int a, int b, int x, int y) const
    {
        const Vec3i step = Vec3i::Unit(b);
        const Row above = middle(a, x, y, step), below = middle(a, x, y, -step);
        if (full) return 0.5f * (above - below);
        const Row here = middle(a, x, y, Vec3i::Zero());
        return 0.5f * (wet.at(x, y, step, above - here) + wet.at(x, y, -step, here - below));
    }
    // (2.5): the deviatoric strain rate times the voxel size, which is the stress that would stop it.
    void find(int x, int y, Row (&d)[6]) const
    {
        for (int a = 0; a < 3; ++a) d[a] = row_at(u[a], x, y, Vec3i::Unit(a)) - row_at(u[a], x, y, Vec3i::Zero());
        const Row mean = (d[0] + d[1] + d[2]) * (1.0f / 3);
        for (int a = 0; a < 3; ++a) {
            d[a] -= mean;
            const int b = (a + 1) % 3;
            d[kShear[a][b]] = 0.5f * (change(a, b, x, y) + change(b, a, x, y));
        }
    }
};

// The divergence of shear stress, as the adjoint of the strain rate above: the energy that it removes is the work of
// the stress.
template <bool full> struct StressPush {
    const Block<float, 1> (&shear)[3]; // xy, yz, xz
    Wet<full> wet;

    // What cell c contributes to component a through its sides along b.
    Row gain(int a, int b, int x, int y, const Vec3i& c) const
    {
        const Block<float, 1>& s = shear[kShear[a][b] - 3];
        const Vec3i step = Vec3i::Unit(b);
        const Row above = row_at(s, x, y, c + step), below = row_at(s, x, y, c - step);
        if (full) return 0.5f * (above - below);
        const Row here = row_at(s, x, y, c);
        return 0.5f * wet.at(x, y, c, wet.at(x, y, c + step, here + above) - wet.at(x, y, c - step, here + below));
    }
    Row at_face(int a, int x, int y) const
    {
        const Vec3i none = Vec3i::Zero(), down = -Vec3i::Unit(a);
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        return 0.5f *
               (gain(a, b, x, y, none) + gain(a, b, x, y, down) + gain(a, c, x, y, none) + gain(a, c, x, y, down));
    }
};

} // namespace

void FluidFriction::before_pressure(const FlowStep& flow)
{
    find_wet_cells(flow);
    find_turning(flow);
    walls_.find(flow, wet_);
    take_up(flow);
    slide(flow, stress_);
}

void FluidFriction::after_pressure(const FlowStep& flow)
{
    find_bounds(flow);
    walls_.set_limits(flow, params_.fps);
    for (auto& component : change_) component.reset(flow.phi.topology(), 0);
    rigid_.reset(flow.phi.topology(), 0);
    for (int i = 1; i <= SandTuning::sweeps; ++i) {
        change_stress(flow, i == SandTuning::sweeps);
        slide(flow, change_);
        walls_.hold(flow, traction_);
    }
    clusters_.find(rigid_, flow);
    clusters_.make_rigid(flow, walls_.contacts());
}

// Closed faces move with their solid.
void FluidFriction::find_wet_cells(const FlowStep& flow)
{
    const Topology& topology = flow.phi.topology();
    wet_.reset_uninitialized(topology, 0);
    std::vector<uint8_t> all(topology.tile_count() + 1, 0);
    for_each_tile(topology, [&](int tile) {
        const Row zero = splat(0), one = splat(1);
        const SolidTile* solid = flow.solid_cells.tile(tile);
        const MacField* moving = flow.projection.solid_velocity(tile);
        Row least = one;
        for (int o = 0; o < kTileCells; o += kTileSize) {
            Row wet = load_row(flow.phi.tile(tile) + o) < zero ? one : zero;
            if (solid) {
                wet = load_row(solid->volume + o) > zero ? wet : zero;
                for (int a = 0; a < 3; ++a) {
                    float* u = flow.velocity.u[a].tile(tile) + o;
                    const Row of_solid = moving ? load_row(moving->u[a].tile(tile) + o) : zero;
                    store_row(u, load_row(solid->open[a] + o) > zero ? load_row(u) : of_solid);
                }
            }
            store_row(wet_.tile(tile) + o, wet);
            least = min(least, wet);
        }
        all[tile] = largest(one - least) == 0;
    });
    full_.assign(all.size(), 0);
    for_each_tile(topology, [&](int tile) {
        full_[tile] = std::ranges::all_of(topology.neighbours(tile), [&](int t) { return all[t] != 0; });
    });
}

// Next to cells without sand, Strain::change() misses half of the velocity difference, and rigid rotation appears as
// shear: friction would hold back sand in a turning drum. The missing part due to the rotation of the nearest collider
// is known, and is subtracted.
void FluidFriction::find_turning(const FlowStep& flow)
{
    const Topology& topology = flow.phi.topology();
    turns_.assign(topology.tile_count(), 0);
    if (!flow.solids.colliders_move()) return;
    for (auto& shear : turning_) shear.reset_uninitialized(topology, 0);
    const float voxel = flow.voxel, half = 0.5f * kTileSize * voxel;
    // Velocity differences across a cell: xy, yz, xz.
    const auto turning_at = [&](const Solids::Neighbour& solid, const Vec3f& x) -> Vec3f {
        if (!solid.shape) return Vec3f::Zero();
        Mat3f gradient;
        for (int a = 0; a < 3; ++a)
            gradient.col(a) = 0.5f * (flow.solids.velocity_of(solid, x + voxel * Vec3f::Unit(a)) -
                                      flow.solids.velocity_of(solid, x - voxel * Vec3f::Unit(a)));
        return 0.5f *
               Vec3f(gradient(0, 1) - gradient(1, 0), gradient(1, 2) - gradient(2, 1), gradient(0, 2) - gradient(2, 0));
    };
    for_each_tile(topology, [&](int tile) {
        if (full_[tile] || !flow.projection.has_liquid(tile)) return;
        const Vec3f corner = voxel * topology.first_cell(tile).cast<float>();
        const Vec3f middle = corner + Vec3f::Constant(half);
        const bool near = flow.solid_cells.tile(tile) != nullptr;
        const auto nearest = flow.solids.nearest_within(middle, near ? std::sqrt(3.0f) * half : 0);
        const bool as_one = !near || nearest.alone;
        Vec3f turning = as_one ? turning_at(nearest, middle) : Vec3f::Zero();
        if (as_one && turning.isZero(0)) return;
        turns_[tile] = 1;
        auto& wet = thread_scratch<Block<float, 1>>();
        wet.gather(wet_, tile);
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = cell_in_tile(c);
            const auto beside = [&](int axis) {
                const Vec3i e = Vec3i::Unit(axis), above = cell + e, below = cell - e;
                return wet.at(above.x(), above.y(), above.z()) + wet.at(below.x(), below.y(), below.z());
            };
            const float sides[3] = {beside(0), beside(1), beside(2)};
            const bool some = sides[0] != sides[1] || sides[1] != sides[2];
            if (some && !as_one) {
                const Vec3f x = corner + voxel * (cell.cast<float>() + Vec3f::Constant(0.5f));
                turning = turning_at(flow.solids.nearest_within(x, 0), x);
            }
            for (int k = 0; k < 3; ++k) {
                const int a = k == 1 ? 1 : 0, b = k == 0 ? 1 : 2;
                turning_[k].tile(tile)[c] = some ? 0.25f * turning[k] * (sides[b] - sides[a]) : 0;
            }
        }
    });
}

// Carry over stress and traction of the last step, where there still is sand.
void FluidFriction::take_up(const FlowStep& flow)
{
    const Topology& topology = flow.phi.topology();
    const float scale = step_ > 0 ? flow.dt / step_ : 0;
    const auto before = [&](int tile) { // the same tile in the last step, or -1
        const int t = tiles_.tile_count() > 0 ? tiles_.find(topology.tile(tile)) : 0;
        return t < tiles_.tile_count() ? t : -1;
    };
    Stress& stress_before = change_;
    for (int i = 0; i < 6; ++i) std::swap(stress_[i], stress_before[i]), stress_[i].reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        const int from = before(tile);
        for (int i = 0; i < 6; ++i)
            for (int o = 0; o < kTileCells; o += kTileSize)
                store_row(stress_[i].tile(tile) + o,
                          from < 0 ? splat(0)
                                   : scale * load_row(wet_.tile(tile) + o) * load_row(stress_before[i].tile(from) + o));
    });
    for (int a = 0; a < 3; ++a) std::swap(traction_[a], traction_before_[a]), traction_[a].reset(topology, 0);
    walls_.start(flow, traction_, [&](const WallFriction::Contact& c) {
        Vec3f t = Vec3f::Zero();
        if (const int from = before(c.tile); from >= 0)
            for (int a = 0; a < 3; ++a) t[a] = scale * traction_before_[a].tile(from)[c.cell];
        return t;
    });
    tiles_ = topology, step_ = flow.dt;
}

// (2.9): |stress| <= sqrt(2) (friction * pressing + cohesion), which in pure shear is Coulomb's law. The tangent of the
// friction angle replaces the sine in (2.3): pressure here is that of a liquid, which on a slope is the normal stress,
// not the mean of a stress with friction. (2.4) lies on neither yield surface.
void FluidFriction::find_bounds(const FlowStep& flow)
{
    const Topology& topology = flow.phi.topology();
    const float slope = std::sqrt(2.0f) * params_.friction;
    const float cohesion = std::sqrt(2.0f) * params_.cohesion * flow.dt / flow.voxel;
    bound_.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        struct Blocks {
            Block<double, 1> pressure;
            Block<float, 1> wet;
        };
        auto& around = thread_scratch<Blocks>();
        const auto each_row = [&](const auto& pressing_at) {
            for_each_row([&](int x, int y, int o) {
                const Row bound = slope * pressing_at(x, y, o) + cohesion;
                store_row(bound_.tile(tile) + o, load_row(wet_.tile(tile) + o) * bound);
            });
        };
        if (!flow.projection.has_liquid(tile)) return each_row([](int, int, int) { return splat(0); });
        around.pressure.gather(flow.projection.s(), tile);
        const auto with = [&](const auto& pressure) {
            each_row([&](int x, int y, int o) { return pressing(flow, pressure, tile, x, y, o); });
        };
        if (full_[tile]) return with(Pressure<true>{around.pressure, {around.wet}});
        around.wet.gather(wet_, tile);
        with(Pressure<false>{around.pressure, {around.wet}});
    });
    // In a layer one cell deep, no sand below shows what presses on the solid.
    for (const WallFriction::Contact& c : walls_.contacts()) {
        if (!(flow.projection.s().tile(c.tile)[c.cell] > 0)) continue;
        const float weight = std::max(0.0f, -flow.dt * flow.gravity.dot(c.normal));
        float& bound = bound_.tile(c.tile)[c.cell];
        bound = std::max(bound, slope * weight + cohesion);
    }
}

// The normal stress for friction, between planes parallel to the surface. It differs from the pressure in two ways.
//
// Pressure is the mean of the normal stresses. Sand squeezed along its slope, as between the walls of a drum, has more
// pressure than the weight above it: if the frictional stress has a normal part q across the slope, planes along the
// slope are pressed together by p - q only. With all of p, a slope of friction tan(a) would stand at a tangent of
// tan(a) / sqrt(1 - tan(a)^2): 51 degrees for 38. With max(p - q, cos(a) p) it is at most tan(a) for any q, and the
// most squeezed state, q = sin(a) p, lies on the Mohr-Coulomb surface. The slope is taken along isosurfaces of
// pressure.
//
// A surface cell weighs a whole cell in the equations of motion, but its pressure depends on where the surface cuts it.
// Just below the surface it is nearly zero: friction could not hold such cells, and piles would creep. Half the sum of
// its bound and that of the cell below must hold a cell, which takes at least the weight of a cell. A cell that rests
// on others gets that weight, or as much as presses on those; in flight there is none.
template <class PressureAround>
Row FluidFriction::pressing(const FlowStep& flow, const PressureAround& pressure, int tile, int x, int y, int o) const
{
    const float cosine = 1 / std::sqrt(1 + params_.friction * params_.friction);
    const Row p = pressure.at(x, y, Vec3i::Zero());
    Row steepest[3];
    for (int a = 0; a < 3; ++a) steepest[a] = pressure.change(a, x, y);
    Row across = splat(0), square = splat(0);
    for (int a = 0; a < 3; ++a) {
        square += steepest[a] * steepest[a];
        for (int b = 0; b < 3; ++b)
            across += load_row(stress_[kShear[a][b]].tile(tile) + o) * steepest[a] * steepest[b];
    }
    const Row normal_part = max(across * inverse_or_zero(square), splat(0));
    const Row weight = splat(flow.dt * flow.gravity.norm()); // of a cell
    return max(max(p - normal_part, cosine * p), min(weight, pressure.most_beside(x, y)));
}

// Calls body(tile, offset, strain) for each row with sand.
template <class Body> void FluidFriction::for_each_strain(const FlowStep& flow, const Body& body) const
{
    for_each_tile(flow.phi.topology(), [&](int tile) {
        if (!flow.projection.has_liquid(tile)) return;
        struct Blocks {
            Block<float, 1> u[3], wet;
        };
        auto& around = thread_scratch<Blocks>();
        for (int a = 0; a < 3; ++a) around.u[a].gather(flow.velocity.u[a], tile);
        const auto each_row = [&](const auto& strain) {
            for_each_row([&](int x, int y, int o) {
                if (!strain.wet.anywhere(x, y)) return;
                Row d[6];
                strain.find(x, y, d);
                if (turns_[tile])
                    for (int k = 0; k < 3; ++k) d[3 + k] -= load_row(turning_[k].tile(tile) + o);
                body(tile, o, d);
            });
        };
        if (full_[tile]) return each_row(Strain<true>{around.u, {around.wet}});
        around.wet.gather(wet_, tile);
        each_row(Strain<false>{around.u, {around.wet}});
    });
}

void FluidFriction::change_stress(const FlowStep& flow, bool last)
{
    const float weight = flow.gravity.norm() * flow.dt, by_weight = weight > 0 ? 1 / weight : 0; // of a cell
    for_each_strain(flow, [&](int tile, int o, const Row(&d)[6]) {
        Row before[6], s[6];
        for (int i = 0; i < 6; ++i) before[i] = load_row(stress_[i].tile(tile) + o);
        const Row bound = load_row(bound_.tile(tile) + o); // 0 without sand
        if (last) {
            const Row depth = by_weight * pressure_row(flow.projection.s().tile(tile) + o);
            const Row reserve = max(SandTuning::reserve_by_depth2 * depth * depth, splat(SandTuning::least_reserve));
            for (int i = 0; i < 6; ++i) s[i] = before[i] + reserve * d[i];
            const RowMask holds = norm_of(s) < bound;
            for (int k = 0; k < kTileSize; ++k) rigid_.tile(tile)[o + k] = holds[k] != 0;
        }
        for (int i = 0; i < 6; ++i) s[i] = before[i] + SandTuning::sweep * d[i];
        const Row share = min(splat(1), bound * inverse_or_zero(norm_of(s)));
        for (int i = 0; i < 6; ++i) {
            store_row(stress_[i].tile(tile) + o, share * s[i]);
            store_row(change_[i].tile(tile) + o, share * s[i] - before[i]);
        }
    });
}

// Applies a stress to the velocity.
void FluidFriction::slide(const FlowStep& flow, const Stress& stress) const
{
    const Topology& topology = flow.phi.topology();
    for_each_tile(topology, [&](int tile) {
        const auto dry = [&](int dx, int dy, int dz) {
            return !flow.projection.has_liquid(topology.neighbour(tile, dx, dy, dz));
        };
        if (dry(0, 0, 0) && dry(-1, 0, 0) && dry(0, -1, 0) && dry(0, 0, -1)) return;
        struct Blocks {
            Block<float, 1> shear[3], wet;
        };
        auto& around = thread_scratch<Blocks>();
        for (int i = 0; i < 3; ++i) around.shear[i].gather(stress[3 + i], tile);
        const TileView normal[3] = {{stress[0], tile}, {stress[1], tile}, {stress[2], tile}};
        const auto each_row = [&](const auto& push) {
            for_each_row([&](int x, int y, int o) {
                if (!push.wet.anywhere_or_below(x, y)) return;
                const Row zero = splat(0);
                const Row below[3] = {normal[0].below_x(x, y), normal[1].below_y(x, y), normal[2].below_z(x, y)};
                for (int a = 0; a < 3; ++a) {
                    const Row change = normal[a].at(x, y) - below[a] + push.at_face(a, x, y);
                    const Row open = load_row(flow.solid_cells.open(tile, a) + o);
                    float* u = flow.velocity.u[a].tile(tile) + o;
                    store_row(u, load_row(u) + (open > zero ? change : zero));
                }
            });
        };
        if (full_[tile]) return each_row(StressPush<true>{around.shear, {around.wet}});
        around.wet.gather(wet_, tile);
        each_row(StressPush<false>{around.shear, {around.wet}});
    });
}

FluidFriction::State FluidFriction::state() const
{
    State state{step_, tiles_.codes(), {}};
    const auto put = [&](const Field<float>& field) {
        const std::span<const float> values(field.tile(0), tiles_.cell_count());
        state.values.insert(state.values.end(), values.begin(), values.end());
    };
    if (tiles_.tile_count() == 0) return state;
    for (const auto& s : stress_) put(s);
    for (const auto& t : traction_) put(t);
    return state;
}

void FluidFriction::restore(const State& state)
{
    check_state_tiles(state.tiles, "stress");
    check_state_values(state.values, state.tiles.size() * kTileCells * (std::size(stress_) + std::size(traction_)),
                       "stress");
    check_state_number(state.step, 0.0f, std::numeric_limits<float>::max(), "step");
    step_ = state.step, tiles_ = Topology(state.tiles);
    const float* values = state.values.data();
    const auto take = [&](Field<float>& field) {
        field.reset_uninitialized(tiles_, 0);
        std::copy_n(values, tiles_.cell_count(), field.tile(0));
        values += tiles_.cell_count();
    };
    for (auto& s : stress_) take(s);
    for (auto& t : traction_) take(t);
}

size_t FluidFriction::bytes() const
{
    size_t sum = wet_.bytes() + bound_.bytes() + rigid_.bytes() + walls_.bytes() + thin_layers_.bytes() +
                 clusters_.bytes() + tiles_.bytes();
    for (const auto* components : {&stress_, &change_})
        for (const auto& component : *components) sum += component.bytes();
    for (int a = 0; a < 3; ++a) sum += traction_[a].bytes() + traction_before_[a].bytes() + turning_[a].bytes();
    return sum;
}

} // namespace spindrift
