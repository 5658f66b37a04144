#include "spindrift/sand/stress.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/points/state_checks.h"

namespace spindrift {

namespace {

} // namespace

void StressReport::add(const StressReport& other)
{
    pressure_iterations += other.pressure_iterations, friction_iterations += other.friction_iterations;
    spread_iterations += other.spread_iterations, unconverged += other.unconverged;
    complementarity = std::max(complementarity, other.complementarity);
    friction = std::max(friction, other.friction);
}

TileView Stress::view(const Field<float>& field, int tile) const
{
    const auto& n = grid_->topology.neighbours(tile);
    const auto at = [&](int slot) { return field.tile(dense_of_[n[slot]]); };
    return {at(neighbour_slot(0, 0, 0)),  at(neighbour_slot(-1, 0, 0)), at(neighbour_slot(1, 0, 0)),
            at(neighbour_slot(0, -1, 0)), at(neighbour_slot(0, 1, 0)),  at(neighbour_slot(0, 0, -1)),
            at(neighbour_slot(0, 0, 1))};
}

void Stress::prepare(const SandGrid& grid, const Solids& solids, const SolidCells& room, const SolidCells& room_before)
{
    grid_ = &grid, solids_ = &solids, solid_cells_ = &room, solid_cells_before_ = &room_before;
    find_dense();
    find_mobility();
    set_pressure_matrix();
    set_friction_matrices();
    if (bodies_)
        bodies_->prepare(grid, room.shares(), *dense_, tile_of_,
                         {&pressure_, &axial_, &lateral_, &shear_[0], &shear_[1], &shear_[2]});
    find_excess(room_before);
}

float Stress::slow_speed() const { return SandTuning::slow * std::sqrt(settings_.gravity.norm() * grid_->voxel); }

// Finds the change_ that minimises 1/2 x A x - b x between lower_ and upper_, starting at 0. Returns the norm of the
// remaining projected gradient.
double Stress::improve(QpMatrix<float>& matrix, double tolerance, int iterations, int& count)
{
    for_dense([&](int tile) { std::fill_n(change_.tile(tile), kTileCells, 0.0f); });
    const QpResult result = solver_.solve(matrix, b_.values(), {lower_.values(), upper_.values()}, change_.values(),
                                          {tolerance, iterations});
    count += result.iterations;
    return result.complementarity;
}

// The same, coupled with bodies: they are moved by the change, and their motion is part of the right-hand side.
double Stress::improve_with_bodies(TileMatrix& matrix, BodyStress::Part part, double tolerance, int iterations,
                                   int& count)
{
    if (!bodies_) return improve(matrix, tolerance, iterations, count);
    bodies_->add_motion(part, b_.values());
    const double left = improve(bodies_->matrix(part), tolerance, iterations, count);
    bodies_->push(part, change_.values());
    return left;
}

StressReport Stress::solve(float dt, MacField& flux, PhaseTimes& times)
{
    StressReport report;
    if (dense_->tile_count() == 0) {
        step_ = dt;
        return report;
    }
    if (solid_cells_ != solid_cells_before_) find_capacity(*solid_cells_, capacity_);
    find_frame();
    find_heaps();
    if (step_ > 0 && step_ != dt) { // q and s are stresses times the step: rescale them
        const float scale = dt / step_;
        for_dense([&](int tile) {
            const auto rescale = [&](Field<float>& field) {
                for (int o = 0; o < kTileCells; ++o) field.tile(tile)[o] *= scale;
            };
            rescale(q_);
            for (auto& s : s_) rescale(s);
        });
    }
    step_ = dt;
    apply_all(flux);
    if (bodies_) bodies_->push(q_, s_);
    for (int round = 0; round < settings_.rounds; ++round) {
        times.measure("friction", [&] { solve_friction(dt, flux, report); });
        times.measure("pressure", [&] { solve_pressure(dt, flux, report); });
    }
    return report;
}

void Stress::fill_beside_room(Field<float>& filled) const
{
    for_dense([&](int d) {
        float* f = filled.tile(tile_of_[d]);
        const float* c = heap_.tile(d);
        for (int o = 0; o < kTileCells; o += kTileSize)
            store_row(f + o, min(splat(1), load_row(f + o) / max(load_row(c + o), splat(SandTuning::least_room))));
    });
}

// Adds the stresses of the last step to the flux, (5.5).
void Stress::apply_all(MacField& flux) const
{
    for_stressed_faces([&](int tile) {
        const TileView q = view(q_, tile), a = view(s_[xx], tile), b = view(s_[yy], tile), c = view(s_[zz], tile);
        const TileView d = view(s_[xy], tile), e = view(s_[yz], tile), f = view(s_[xz], tile);
        for_each_row([&](int x, int y, int o) {
            const auto add = [&](int axis, Row push) {
                float* out = flux.u[axis].tile(tile) + o;
                store_row(out, load_row(out) + load_row(mobility_.u[axis].tile(tile) + o) * push);
            };
            const Row qh = q.at(x, y);
            add(0, q.below_x(x, y) - qh + a.at(x, y) - a.below_x(x, y) + d.above_y(x, y) - d.at(x, y) +
                       f.above_z(x, y) - f.at(x, y));
            add(1, q.below_y(x, y) - qh + b.at(x, y) - b.below_y(x, y) + d.above_x(x, y) - d.at(x, y) +
                       e.above_z(x, y) - e.at(x, y));
            add(2, q.below_z(x, y) - qh + c.at(x, y) - c.below_z(x, y) + e.above_y(x, y) - e.at(x, y) +
                       f.above_x(x, y) - f.at(x, y));
        });
    });
}

// (5.13): pressure, given the current friction.
void Stress::solve_pressure(float dt, MacField& flux, StressReport& report)
{
    const float c = dt / grid_->voxel, inverse_c = 1 / c;
    for_dense([&](int d) {
        const int tile = tile_of_[d];
        const TileView u(flux.u[0], tile), v(flux.u[1], tile), w(flux.u[2], tile);
        for_each_row([&](int x, int y, int o) {
            const Row f = load_row(filled_.tile(d) + o);
            const Row room = max(splat(0), (1 - SandTuning::loose) * load_row(heap_.tile(d) + o) - f);
            const Row out = u.above_x(x, y) - u.at(x, y) + v.above_y(x, y) - v.at(x, y) + w.above_z(x, y) - w.at(x, y);
            store_row(b_.tile(d) + o, -inverse_c * room - out);
            store_row(lower_.tile(d) + o, -load_row(q_.tile(d) + o));
            store_row(upper_.tile(d) + o, splat(kInfinity));
        });
    });
    const double left = improve_with_bodies(pressure_, BodyStress::pressure, settings_.tolerance * inverse_c,
                                            SandTuning::stress_iterations, report.pressure_iterations);
    report.complementarity = left * static_cast<double>(c);
    report.unconverged += left > static_cast<double>(settings_.tolerance * inverse_c);
    for_dense([&](int d) {
        for (int o = 0; o < kTileCells; o += kTileSize) {
            float* q = q_.tile(d) + o;
            store_row(q, max(splat(0), load_row(q) + load_row(change_.tile(d) + o)));
        }
    });
    for_stressed_faces([&](int tile) {
        const TileView q = view(change_, tile);
        for_each_row([&](int x, int y, int o) {
            const Row here = q.at(x, y);
            const Row slope[3] = {here - q.below_x(x, y), here - q.below_y(x, y), here - q.below_z(x, y)};
            for (int a = 0; a < 3; ++a) {
                float* out = flux.u[a].tile(tile) + o;
                store_row(out, load_row(out) - load_row(mobility_.u[a].tile(tile) + o) * slope[a]);
            }
        });
    });
}

size_t Stress::bytes() const
{
    size_t sum = q_.bytes() + carried_.bytes() + mobility_.bytes() + filled_.bytes() + capacity_.bytes() +
                 heap_.bytes() + limit_.bytes() + b_.bytes() + lower_.bytes() + upper_.bytes() + change_.bytes() +
                 pressure_.bytes() + axial_.bytes() + lateral_.bytes() + solver_.bytes();
    sum += frame_.bytes() + frame_share_.bytes() + own_frame_.bytes();
    for (const auto& strain : frame_strain_) sum += strain.bytes();
    for (const auto& s : s_) sum += s.bytes();
    for (int i = 0; i < 3; ++i) sum += shear_[i].bytes() + edge_limit_[i].bytes() + edge_q_[i].bytes();
    return sum;
}

Stress::State Stress::state() const
{
    State state;
    state.step = step_;
    if (!dense_) return state;
    state.tiles = dense_->codes();
    const auto put = [&](const Field<float>& field) {
        state.values.insert(state.values.end(), field.values().begin(), field.values().end());
    };
    put(q_);
    for (const auto& s : s_) put(s);
    return state;
}

void Stress::restore(const State& state)
{
    check_state_tiles(state.tiles, "stress");
    check_state_values(state.values, state.tiles.size() * kTileCells * (1 + std::size(s_)), "stress");
    check_state_number(state.step, 0.0f, std::numeric_limits<float>::max(), "step");
    step_ = state.step;
    dense_ = std::make_unique<Topology>(state.tiles);
    const size_t count = dense_->cell_count();
    const float* values = state.values.data();
    const auto take = [&](Field<float>& field) {
        field.reset_uninitialized(*dense_, 0);
        std::copy_n(values, count, field.values().begin());
        values += count;
    };
    take(q_);
    for (auto& s : s_) take(s);
}

} // namespace spindrift
