// Friction among grains, component by component [Narain 2011, section 5.5.1], and on solids.
#include "spindrift/base/scratch.h"
#include "spindrift/sand/stress.h"
#include "spindrift/sand/tuning.h"

namespace spindrift {

namespace {

using Cells = Block<float, 1>;

Row row_at(const Cells& block, int x, int y, int z) { return load_row_unaligned(&block.at(x, y, z)); }

// Offsets of the four cells around an edge.
struct Around {
    Vec3i step[4];
    Around(int axis_a, int axis_b)
    {
        const Vec3i a = -Vec3i::Unit(axis_a), b = -Vec3i::Unit(axis_b);
        step[0] = Vec3i::Zero(), step[1] = a, step[2] = b, step[3] = a + b;
    }
};

Row magnitude(Row r) { return max(r, -r); }

// The shear `other` interpolated to edges of `shear`: the mean of its four nearest edges, which cancels noise of single
// cells.
Row at_edges_of(int shear, int other, const Cells& values, int x, int y)
{
    const auto has = [](int k, int axis) { return kShearAxes[k][0] == axis || kShearAxes[k][1] == axis; };
    Vec3i back = Vec3i::Zero(), forth = Vec3i::Zero();
    for (int a = 0; a < 3; ++a) {
        if (has(shear, a) && !has(other, a)) back = -Vec3i::Unit(a);
        if (has(other, a) && !has(shear, a)) forth = Vec3i::Unit(a);
    }
    Row sum = splat(0);
    for (const Vec3i& e : {Vec3i(0, 0, 0), back, forth, Vec3i(back + forth)})
        sum += row_at(values, x + e.x(), y + e.y(), e.z());
    return 0.25f * sum;
}

// The mean of the four cells around an edge.
Row at_edges(const Around& around, const Cells& cells, int x, int y)
{
    Row sum = splat(0);
    for (const Vec3i& e : around.step) sum += row_at(cells, x + e.x(), y + e.y(), e.z());
    return 0.25f * sum;
}

// Enlarges the bound of a shear inside sand by two hyperplanes that touch the cone (5.4). With the friction angle phi,
// and d half the difference of the two axial stresses in its plane, a shear s is bounded by
//
//     s <= sin(phi) p            and            s <= tan(phi) (p - d),
//
// the first for sand sheared along the grid, where d = 0, the second for a slope of angle phi. At d = a p the second
// equals the bound a p, which every shear may reach. With a p everywhere, sand sheared along the grid would slide with
// three quarters of its friction. A pressure of 0 marks walls, whose bound is unchanged.
Row widen_shear(Row bound, Row pressure, Row difference)
{
    const Row rest = pressure - bound; // a = tan / (1 + tan), so that tan = bound / rest
    const Row sine = pressure * inverse_or_zero(sqrt_row(bound * bound + rest * rest));
    const Row slope = (pressure - difference) * inverse_or_zero(rest);
    return bound * max(splat(1), min(sine, slope));
}

} // namespace

// Hyperplanes approximate the cone (5.4): |s_ij| <= a p. With a = sin / (sin + cos) of the friction angle, a slope
// along the grid is exactly as steep as that angle: the corner of the bounds, where a shear and a difference of axial
// stresses are largest, then touches the stress that the slope requires. With a = alpha, as in (5.15), it would be 45
// degrees instead of 38 for alpha = 0.5. A shear with less axial stress may be larger (widen_shear).
float friction_bound(float alpha)
{
    const float sine = std::sqrt(1.5f) * alpha;
    if (sine >= 1) return alpha * std::sqrt(1.5f); // nothing slides
    return sine / (sine + std::sqrt(1 - sine * sine));
}

float rough_wall(float bound)
{
    if (bound >= 1) return bound;
    const float tangent = bound / (1 - bound);
    return tangent / std::sqrt(1 + tangent * tangent);
}

// Bounds of stresses at cells, and of shears at edges.
void Stress::find_limits(float dt)
{
    for_dense([&](int d) {
        const float* friction = grid_->friction.tile(tile_of_[d]);
        for (int o = 0; o < kTileCells; o += kTileSize)
            store_row(limit_.tile(d) + o, load_row(friction + o) * load_row(q_.tile(d) + o));
    });
    for_dense([&](int d) {
        auto& limit = thread_scratch<Cells>();
        auto& room = thread_scratch<Cells>();
        auto& q = thread_scratch<Cells>();
        limit.gather(limit_, d), q.gather(q_, d);
        const int tile = tile_of_[d];
        const bool near_solid = solid_cells_->gather_volumes(grid_->topology, tile, room);
        for (int k = 0; k < 3; ++k) {
            const Around around(kShearAxes[k][0], kShearAxes[k][1]);
            for_each_row([&](int x, int y, int o) {
                Row most = splat(0), pressed = splat(0), cells = splat(0), emptiest = splat(1);
                for (const Vec3i& e : around.step) {
                    const int i = x + e.x(), j = y + e.y();
                    const Row there = row_at(q, i, j, e.z());
                    most += row_at(limit, i, j, e.z()), pressed += there;
                    const Row open = near_solid ? row_at(room, i, j, e.z()) : splat(1);
                    emptiest = min(emptiest, open);
                    cells += open > splat(0) ? splat(1) : splat(0);
                }
                const Row share = inverse_or_zero(cells); // solids carry no pressure: average over open cells
                Row bound = share * most, pressure = share * pressed;
                if (near_solid)
                    for (int z = 0; z < kTileSize; ++z)
                        if (emptiest[z] < SandTuning::on_wall)
                            bound[z] = wall_limit(k, tile, Vec3i(x, y, z), dt, pressure[z], room), pressure[z] = 0;
                store_row(edge_limit_[k].tile(d) + o, bound), store_row(edge_q_[k].tile(d) + o, pressure);
            });
        }
    });
}

// The largest shear on a solid at an edge: Coulomb friction, or sand's own if that is less. The normal force is the
// pressure q plus what the closed faces beside the edge take from the sand: the weight of the last half cell, and all
// of the weight where sand is too thin, or strikes too loosely, for pressure.
float Stress::wall_limit(int shear, int tile, const Vec3i& at, float dt, float q, const Block<float, 1>& room) const
{
    const Topology& all = grid_->topology;
    Vec3f edge = all.first_cell(tile).cast<float>() + at.cast<float>() + Vec3f::Constant(0.5f);
    for (const int a : kShearAxes[shear]) edge[a] -= 0.5f;
    const Vec3f solid = solids_->velocity(edge * grid_->voxel);
    const auto open = [&](const Vec3i& c) { return room.at(c.x(), c.y(), c.z()) > 0; };
    const auto at_face = [&](const MacField& field, const Vec3i& cell, int axis) {
        const Vec3i step = tile_of_cell(cell);
        const int t = all.neighbour(tile, step.x(), step.y(), step.z());
        return t == all.tile_count() ? 0 : field.u[axis].tile(t)[offset_of_cell(cell)];
    };
    const auto velocity = [&](const Vec3i& cell, int axis) {
        return at_face(grid_->velocity, cell, axis) - solid[axis];
    };
    float struck = 0, faces = 0, own = 0, sliding = 0, sliding_across = 0;
    for (int n = 0; n < 2; ++n) {
        const int normal = kShearAxes[shear][n], along = kShearAxes[shear][1 - n], across = 3 - normal - along;
        for (const int back : {0, 1}) {
            const Vec3i above = at - back * Vec3i::Unit(along), below = above - Vec3i::Unit(normal);
            const Vec3i step = tile_of_cell(above);
            const int t = all.neighbour(tile, step.x(), step.y(), step.z());
            if (t == all.tile_count()) continue;
            own = std::max(own, grid_->friction.tile(t)[offset_of_cell(above)]);
            if (open(above) == open(below)) continue;
            const float into = (open(above) ? -1.0f : 1.0f) * at_face(grid_->at_faces, above, normal) *
                               (velocity(above, normal) + dt * settings_.gravity[normal]);
            struck += std::max(0.0f, into), faces += 1;
            const Vec3i beside = open(above) ? above : below;
            sliding += std::abs(velocity(beside + back * Vec3i::Unit(along), along));
            sliding_across +=
                0.5f * std::abs(velocity(beside, across) + velocity(beside + Vec3i::Unit(across), across));
        }
    }
    const float coefficient = std::min(rough_wall(own), friction_at(edge * grid_->voxel));
    if (faces == 0) return coefficient * q;
    const float all_sliding = std::hypot(sliding, sliding_across);
    const float stuck = stick_at(edge * grid_->voxel, dt) * (all_sliding / faces + dt * settings_.gravity.norm());
    // Friction opposes the sliding direction. With both shears of a surface at their bounds, sand sliding diagonally to
    // the grid would be held 1.4 times as strongly as along it.
    const float still = slow_speed() * faces;
    const float most = all_sliding + still; // 0 without gravity and motion
    const float share = most > 0 ? (sliding + still) / most : 1;
    return share * coefficient * (q + struck / faces) + stuck;
}

// The share of its sliding velocity that sand on the nearest solid loses in a step by `stick`; unbounded in effect for
// `stick = 1`.
float Stress::stick_at(const Vec3f& x, float dt) const
{
    if (!settings_.sticky) return 0;
    const float stick = solids_->grip(x).stick;
    return stick < 1 ? 1 - std::pow(1 - stick, dt * settings_.fps) : SandTuning::clings;
}

// Coulomb's coefficient of the nearest solid.
float Stress::friction_at(const Vec3f& x) const
{
    if (settings_.same_friction) return *settings_.same_friction;
    const float walls = settings_.wall_friction.value_or(kInfinity);
    if (const RigidSolid* body = solids_->nearest_body(x)) return bodies_->friction(*body).value_or(kInfinity);
    return solids_->collider_distance(x) < solids_->wall_distance(x) ? solids_->grip(x).friction : walls;
}

// One of the five trace-free components of friction: a stress x of size one adds `stresses` to the six components of s,
// and pushes faces by the differences `pushes` of x.
struct Stress::FrictionComponent {
    enum class Difference { here_below, below_here, above_here }; // the first less the second, along an axis
    struct Share {
        Component stress;
        float factor;
    };
    struct Push {
        int flux_axis, axis;
        Difference difference;
        float factor;
    };
    BodyStress::Part part;
    std::vector<Share> stresses;
    std::vector<Push> pushes;
    void (*find_strain)(const TileView (&flux)[3], float* strain); // of the flux, for the cells of a tile
    void (Stress::*set_bounds)(int dense_tile, int shear);
    int shear = -1; // index in kShearAxes
};

namespace {

Row below(const TileView& view, int axis, int x, int y)
{
    return axis == 0 ? view.below_x(x, y) : axis == 1 ? view.below_y(x, y) : view.below_z(x, y);
}

Row above(const TileView& view, int axis, int x, int y)
{
    return axis == 0 ? view.above_x(x, y) : axis == 1 ? view.above_y(x, y) : view.above_z(x, y);
}

void find_axial_strain(const TileView (&f)[3], float* strain)
{
    const TileView &u = f[0], &v = f[1], &w = f[2];
    for_each_row([&](int x, int y, int o) {
        store_row(strain + o,
                  v.above_y(x, y) - v.at(x, y) - 0.5f * (u.above_x(x, y) - u.at(x, y) + w.above_z(x, y) - w.at(x, y)));
    });
}

void find_lateral_strain(const TileView (&f)[3], float* strain)
{
    const TileView &u = f[0], &w = f[2];
    for_each_row([&](int x, int y, int o) {
        store_row(strain + o, u.above_x(x, y) - u.at(x, y) - w.above_z(x, y) + w.at(x, y));
    });
}

template <int K> void find_shear_strain(const TileView (&f)[3], float* strain)
{
    constexpr int a = kShearAxes[K][0], b = kShearAxes[K][1];
    for_each_row([&](int x, int y, int o) {
        store_row(strain + o, f[a].at(x, y) - below(f[a], b, x, y) + f[b].at(x, y) - below(f[b], a, x, y));
    });
}

} // namespace

// In the order in which they are solved: s_yy with half of it subtracted from each of the others, s_xx against s_zz,
// and the three shears.
const std::vector<Stress::FrictionComponent>& Stress::friction_components()
{
    using C = FrictionComponent;
    using enum C::Difference;
    const auto shear = [](BodyStress::Part part, int k, auto strain) {
        const int a = kShearAxes[k][0], b = kShearAxes[k][1];
        return C{part,
                 {{static_cast<Component>(xy + k), 1}},
                 {{a, b, above_here, 1}, {b, a, above_here, 1}},
                 strain,
                 &Stress::set_shear_bounds,
                 k};
    };
    static const std::vector<C> components = {
        {BodyStress::axial,
         {{yy, 1}, {xx, -0.5f}, {zz, -0.5f}},
         {{0, 0, here_below, -0.5f}, {1, 1, here_below, 1}, {2, 2, here_below, -0.5f}},
         find_axial_strain,
         &Stress::set_axial_bounds},
        {BodyStress::lateral,
         {{xx, 1}, {zz, -1}},
         {{0, 0, here_below, 1}, {2, 2, below_here, 1}},
         find_lateral_strain,
         &Stress::set_lateral_bounds},
        shear(BodyStress::shear_xy, 0, find_shear_strain<0>),
        shear(BodyStress::shear_yz, 1, find_shear_strain<1>),
        shear(BodyStress::shear_xz, 2, find_shear_strain<2>),
    };
    return components;
}

// (5.20), one component after the other.
void Stress::solve_friction(float dt, MacField& flux, StressReport& report)
{
    const bool carries = bodies_ && bodies_->lies_on_sand(slow_speed());
    const int iterations = carries ? SandTuning::friction_iterations_under_bodies : SandTuning::friction_iterations;
    const double accuracy = carries ? SandTuning::friction_tolerance_under_bodies : SandTuning::friction_tolerance;
    // Tolerance: a share of the speed that sand gains by falling in a step, or of slow creep.
    const double tolerance = accuracy * static_cast<double>(settings_.tolerance) *
                             static_cast<double>(settings_.gravity.norm() * dt + SandTuning::creep * grid_->voxel / dt);
    find_limits(dt);
    report.friction = 0;
    for (const FrictionComponent& component : friction_components()) {
        for_dense([&](int d) {
            set_strain(component, flux, d);
            (this->*component.set_bounds)(d, component.shear);
        });
        const double left = improve_with_bodies(matrix_of(component.part), component.part, tolerance, iterations,
                                                report.friction_iterations);
        report.friction = std::max(report.friction, left);
        apply_change(component, flux);
    }
}

TileMatrix& Stress::matrix_of(BodyStress::Part part)
{
    if (part == BodyStress::pressure) return pressure_;
    if (part == BodyStress::axial) return axial_;
    return part == BodyStress::lateral ? lateral_ : shear_[part - BodyStress::shear_xy];
}

// Sets b_ to the strain of the flux, in the moving frame if there is one.
void Stress::set_strain(const FrictionComponent& component, const MacField& flux, int d)
{
    const int tile = tile_of_[d];
    const TileView f[3] = {{flux.u[0], tile}, {flux.u[1], tile}, {flux.u[2], tile}};
    float* b = b_.tile(d);
    component.find_strain(f, b);
    if (!solids_->colliders_move()) return;
    const float* moved = frame_strain_[component.part - BodyStress::axial].tile(d);
    for (int o = 0; o < kTileCells; o += kTileSize) store_row(b + o, load_row(b + o) + load_row(moved + o));
}

// Bounds of the change of a stress that is `now`.
void Stress::set_bounds_of_change(int d, int o, Row bound, Row now)
{
    store_row(lower_.tile(d) + o, -bound - now), store_row(upper_.tile(d) + o, bound - now);
}

void Stress::set_axial_bounds(int d, int)
{
    for (int o = 0; o < kTileCells; o += kTileSize) {
        const auto at = [&](const Field<float>& field) { return load_row(field.tile(d) + o); };
        const Row most = at(limit_), lateral = 0.5f * magnitude(at(s_[xx]) - at(s_[zz]));
        set_bounds_of_change(d, o, min(most, max(splat(0), 2 * (most - lateral))), at(s_[yy]));
    }
}

void Stress::set_lateral_bounds(int d, int)
{
    for (int o = 0; o < kTileCells; o += kTileSize) {
        const auto at = [&](const Field<float>& field) { return load_row(field.tile(d) + o); };
        set_bounds_of_change(d, o, max(splat(0), at(limit_) - 0.5f * magnitude(at(s_[yy]))),
                             0.5f * (at(s_[xx]) - at(s_[zz])));
    }
}

void Stress::set_shear_bounds(int d, int k)
{
    const int a = kShearAxes[k][0], b = kShearAxes[k][1];
    const Around around(a, b);
    auto& others = thread_scratch<Cells[2]>();
    const int other[2] = {(k + 1) % 3, (k + 2) % 3};
    for (int n = 0; settings_.isotropic && n < 2; ++n) others[n].gather(s_[xy + other[n]], d);
    auto& axial = thread_scratch<Cells[2]>();
    axial[0].gather(s_[a], d), axial[1].gather(s_[b], d);
    for_each_row([&](int x, int y, int o) {
        const Row difference = at_edges(around, axial[0], x, y) - at_edges(around, axial[1], x, y);
        Row bound = widen_shear(load_row(edge_limit_[k].tile(d) + o), load_row(edge_q_[k].tile(d) + o),
                                0.5f * magnitude(difference));
        if (settings_.isotropic) {
            // Planes at 45 degrees between two shears: sand sliding diagonally to the grid has both of them, and would
            // have twice the friction. Each keeps its part of the corner, whichever is solved first.
            constexpr float kRoot2 = 1.41421356f;
            Row most = splat(0);
            for (int n = 0; n < 2; ++n) most = max(most, magnitude(at_edges_of(k, other[n], others[n], x, y)));
            bound = min(bound, max(kRoot2 * bound - most, bound / kRoot2));
        }
        set_bounds_of_change(d, o, bound, load_row(s_[xy + k].tile(d) + o));
    });
}

// Adds change_ of a component to the stresses, and its push to the flux.
void Stress::apply_change(const FrictionComponent& component, MacField& flux)
{
    for_dense([&](int d) {
        for (const auto& [stress, factor] : component.stresses)
            for (int o = 0; o < kTileCells; o += kTileSize) {
                float* out = s_[stress].tile(d) + o;
                store_row(out, load_row(out) + factor * load_row(change_.tile(d) + o));
            }
    });
    using enum FrictionComponent::Difference;
    for_stressed_faces([&](int tile) {
        const TileView c = view(change_, tile);
        for (const auto& [flux_axis, axis, difference, factor] : component.pushes) {
            float* f = flux.u[flux_axis].tile(tile);
            const float* mobility = mobility_.u[flux_axis].tile(tile);
            for_each_row([&, axis = axis, difference = difference, factor = factor](int x, int y, int o) {
                const Row here = c.at(x, y);
                const Row by = difference == here_below   ? here - below(c, axis, x, y)
                               : difference == below_here ? below(c, axis, x, y) - here
                                                          : above(c, axis, x, y) - here;
                store_row(f + o, load_row(f + o) + load_row(mobility + o) * (factor * by));
            });
        }
    });
}

} // namespace spindrift
