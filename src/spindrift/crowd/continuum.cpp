#include "spindrift/crowd/continuum.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/state_error.h"
#include "spindrift/field/row.h"

namespace spindrift {

namespace {

// Agents are splatted in strips of this many rows, first the even strips and then the odd ones. The margin is the
// number of rows that agents may have moved since the last sort before strips of the same parity conflict.
constexpr int kStripRows = 4, kStripMargin = 2;
// Relative to the weight of a face between full cells. Bounds the pressure in a closed room that is too full for
// everyone; elsewhere it changes densities by a thousandth of a percent.
constexpr double kCompliance = 1e-5;
// A flow that pressure has slowed below this share of the walking speed has no direction and is not sped up again.
constexpr float kStandstill = 0.02f;

// Interpolation between the two nearest of `count` nodes, the first of which is `offset` cells from the domain's side.
struct Between {
    int index;
    float t;
    Between(float cells, float offset, int count)
    {
        const float at = std::clamp(cells - offset, 0.0f, static_cast<float>(count - 1));
        index = std::clamp(static_cast<int>(at), 0, std::max(count - 2, 0));
        t = at - static_cast<float>(index);
    }
};

// Bilinear weights of a point among cell centres, x faces and y faces.
struct Weights {
    Between cx, cy, fx, fy;
    Weights(const CrowdGrid& g, const Vec2f& x) : Weights(g, x - g.origin, 1 / g.cell) {}
    Weights(const CrowdGrid& g, const Vec2f& x, float inverse) : Weights(g, x.x() * inverse, x.y() * inverse) {}
    Weights(const CrowdGrid& g, float x, float y)
        : cx(x, 0.5f, g.nx), cy(y, 0.5f, g.ny), fx(x, 0, g.nx + 1), fy(y, 0, g.ny + 1)
    {
    }
};

// Calls body(index, weight) for the four nodes around a point.
template <class Body> void for_each_corner(const PaddedGrid& grid, Between x, Between y, const Body& body)
{
    const size_t at = grid.index(x.index, y.index), above = at + static_cast<size_t>(grid.stride());
    body(at, (1 - x.t) * (1 - y.t)), body(at + 1, x.t * (1 - y.t));
    body(above, (1 - x.t) * y.t), body(above + 1, x.t * y.t);
}

float interpolate(const PaddedGrid& grid, const std::vector<float>& field, Between x, Between y)
{
    float sum = 0;
    for_each_corner(grid, x, y, [&](size_t c, float w) { sum += w * field[c]; });
    return sum;
}

} // namespace

Continuum::Continuum(const CrowdGrid& grid, float densest, float mean_radius)
    : grid_(grid), padded_{grid.nx, grid.ny}, densest_(densest), mean_radius_(mean_radius)
{
    const size_t size = padded_.size();
    for (auto* field : {&free_, &density_, &others_, &capacity_, &u_, &v_}) field->assign(size, 0);
    obstacle_.assign(size, 0);
    sums_x_.resize(size), sums_y_.resize(size), view_.assign(4 * size, 0);
    for (auto* field : {&right_side_, &inner_pressure_, &outer_pressure_}) field->assign(size, 0);
    matrix_.reset(padded_);
    set_free_area(std::vector<float>(static_cast<size_t>(grid.nx) * grid.ny, 1.0f));
}

void Continuum::set_free_area(std::span<const float> fraction)
{
    const int nx = grid_.nx, ny = grid_.ny;
    if (fraction.size() != static_cast<size_t>(nx) * ny)
        fail("the free area has {} values, but the crowd's grid has {} by {} cells", fraction.size(), nx, ny);
    // Extrapolate the free area beyond the domain: agents close to a side only count for the cells at it.
    const auto at = [&](int i, int j) {
        const int k = std::clamp(j, 0, ny - 1) * nx + std::clamp(i, 0, nx - 1);
        return std::clamp(fraction[k], 0.0f, 1.0f);
    };
    constexpr float kShare[3] = {0.125f, 0.75f, 0.125f}; // linear weights, integrated over a cell and its neighbours
    for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) {
            float sum = 0;
            bool obstacle = false;
            for (int dj = -1; dj <= 1; ++dj)
                for (int di = -1; di <= 1; ++di) {
                    sum += kShare[dj + 1] * kShare[di + 1] * at(i + di, j + dj);
                    obstacle |= at(i + di, j + dj) < 1;
                }
            free_[padded_.index(i, j)] = sum, obstacle_[padded_.index(i, j)] = obstacle;
        }
    capacity_ = free_;
}

void Continuum::splat(const Agents& agents, const AgentCells& cells)
{
    std::fill(density_.begin(), density_.end(), 0.0f);
    std::fill(others_.begin(), others_.end(), 0.0f);
    std::fill(sums_x_.begin(), sums_x_.end(), FaceSums{});
    std::fill(sums_y_.begin(), sums_y_.end(), FaceSums{});
    const int strips = (grid_.ny + kStripRows - 1) / kStripRows;
    std::vector<std::vector<uint32_t>> elsewhere(strips);
    for (int odd = 0; odd < 2; ++odd)
        parallel_for((strips + 1 - odd) / 2, [&](size_t s) {
            const int strip = 2 * static_cast<int>(s) + odd;
            splat_strip(agents, cells, strip, elsewhere[strip]);
        });
    for (const auto& strip : elsewhere)
        for (const uint32_t i : strip) splat_agent(agents, i);
    for (size_t c = 0; c < density_.size(); ++c) capacity_[c] = std::max(free_[c] - others_[c], 0.0f);
}

void Continuum::splat_strip(const Agents& agents, const AgentCells& cells, int strip, std::vector<uint32_t>& elsewhere)
{
    const int first = strip * kStripRows, last = std::min(first + kStripRows, grid_.ny);
    const size_t begin = cells.row_begin(first * cells.per_cell()), end = cells.row_begin(last * cells.per_cell());
    const float low = grid_.origin.y() + grid_.cell * static_cast<float>(first - kStripMargin + 1);
    const float high = grid_.origin.y() + grid_.cell * static_cast<float>(last + kStripMargin - 1);
    for (size_t i = begin; i < end; ++i) {
        const float y = agents.x[i].y();
        if (y >= low && y < high)
            splat_agent(agents, i);
        else
            elsewhere.push_back(static_cast<uint32_t>(i));
    }
}

void Continuum::splat_agent(const Agents& agents, size_t i)
{
    const Weights w(grid_, agents.x[i]);
    const float size = agents.radius[i] / mean_radius_;
    const float mass = size * size / (densest_ * grid_.cell * grid_.cell);
    if (agents.driver[i] != Driver::crowd) {
        for_each_corner(padded_, w.cx, w.cy, [&](size_t c, float share) { others_[c] += share * mass; });
        return;
    }
    const Vec2f& v = agents.preferred[i];
    const float speed = v.norm();
    const auto add = [mass, speed](FaceSums& sums, float share, float velocity) {
        const float m = share * mass;
        sums.mass += m, sums.momentum += m * velocity, sums.speed += m * speed;
    };
    for_each_corner(padded_, w.cx, w.cy, [&](size_t c, float share) { density_[c] += share * mass; });   // (4.1)
    for_each_corner(padded_, w.fx, w.cy, [&](size_t c, float share) { add(sums_x_[c], share, v.x()); }); // (4.2)
    for_each_corner(padded_, w.cx, w.fy, [&](size_t c, float share) { add(sums_y_[c], share, v.y()); });
}

ContinuumReport Continuum::project(float dt, double tolerance, int max_iterations)
{
    for (size_t c = 0; c < u_.size(); ++c) {
        u_[c] = sums_x_[c].mass > 0 ? sums_x_[c].momentum / sums_x_[c].mass : 0;
        v_[c] = sums_y_[c].mass > 0 ? sums_y_[c].momentum / sums_y_[c].mass : 0;
    }
    // No flow through the sides of the domain.
    for (int j = 0; j < grid_.ny; ++j) u_[padded_.index(0, j)] = u_[padded_.index(grid_.nx, j)] = 0;
    for (int i = 0; i < grid_.nx; ++i) v_[padded_.index(i, 0)] = v_[padded_.index(i, grid_.ny)] = 0;
    set_matrix(dt);
    const QpSettings settings{tolerance, max_iterations};
    ContinuumReport report;
    report.inner = psolve(dt, true, inner_pressure_, settings);
    renorm();
    report.outer = psolve(dt, false, outer_pressure_, settings);
    for (const double p : outer_pressure_) report.pressed += p > 0;
    keep_view();
    return report;
}

// (4.18) for densities relative to rho_max.
void Continuum::set_matrix(float dt)
{
    const auto per_density = static_cast<double>(dt / (grid_.cell * grid_.cell));
    auto &wx = matrix_.weight_x(), &wy = matrix_.weight_y();
    for (int j = 0; j < grid_.ny; ++j)
        for (int i = 0; i < grid_.nx; ++i) {
            const size_t c = padded_.index(i, j);
            wx[c] = i > 0 ? per_density * static_cast<double>(sums_x_[c].mass) : 0;
            wy[c] = j > 0 ? per_density * static_cast<double>(sums_y_[c].mass) : 0;
        }
    matrix_.prepare(kCompliance * per_density);
}

// v := v - grad p with the least pressure p >= 0 that keeps densities below the maximum, (4.15) to (4.19).
QpResult Continuum::psolve(float dt, bool clamped, std::vector<double>& pressure, const QpSettings& settings)
{
    const size_t stride = padded_.stride();
    const auto per_cell = static_cast<double>(dt / grid_.cell);
    const auto flux = [](const FaceSums& f, float velocity) { return static_cast<double>(f.mass * velocity); };
    for (int j = 0; j < grid_.ny; ++j)
        for (int i = 0; i < grid_.nx; ++i) {
            const size_t c = padded_.index(i, j);
            const double outflow = flux(sums_x_[c + 1], u_[c + 1]) - flux(sums_x_[c], u_[c]) +
                                   flux(sums_y_[c + stride], v_[c + stride]) - flux(sums_y_[c], v_[c]);
            const double room = static_cast<double>(capacity_[c] - density_[c]);
            // (4.17). [Narain 2011] clamps b where densities are already too large; only the free room in it is clamped
            // here. With b >= 0 everywhere the pressure would always be zero.
            right_side_[c] = -((clamped ? std::max(room, 0.0) : room) + per_cell * outflow);
        }
    const QpResult result = solver_.solve(matrix_, right_side_, {}, pressure, settings);
    const double inverse = 1 / static_cast<double>(grid_.cell);
    const auto gradient = [&](size_t c, size_t below) {
        return static_cast<float>(inverse * (pressure[c] - pressure[below]));
    };
    for (int j = 0; j < grid_.ny; ++j)
        for (int i = 0; i < grid_.nx; ++i) {
            const size_t c = padded_.index(i, j);
            if (i > 0 && sums_x_[c].mass > 0) u_[c] -= gradient(c, c - 1);
            if (j > 0 && sums_y_[c].mass > 0) v_[c] -= gradient(c, c - stride);
        }
    return result;
}

// Rescales the flow to the walking speed of the agents around. Each component is scaled by the speed at its face, with
// the other component averaged over the agents at the four surrounding faces.
void Continuum::renorm()
{
    const size_t stride = padded_.stride();
    const auto factor = [](const FaceSums& sums, float own, const std::vector<FaceSums>& other_sums,
                           const std::vector<float>& other, const std::array<size_t, 4>& around) {
        if (!(sums.mass > 0)) return 0.0f;
        float mass = 0, momentum = 0;
        for (const size_t f : around) mass += other_sums[f].mass, momentum += other_sums[f].mass * other[f];
        const float mean = mass > 0 ? momentum / mass : 0;
        const float wanted = sums.speed / sums.mass;
        return wanted / std::max(std::sqrt(own * own + mean * mean), kStandstill * wanted + 1e-12f);
    };
    std::vector<float> u(u_), v(v_);
    for (int j = 0; j < grid_.ny; ++j)
        for (int i = 0; i < grid_.nx; ++i) {
            const size_t c = padded_.index(i, j);
            u[c] *= factor(sums_x_[c], u_[c], sums_y_, v_, {c, c - 1, c + stride, c + stride - 1});
            v[c] *= factor(sums_y_[c], v_[c], sums_x_, u_, {c, c + 1, c - stride, c - stride + 1});
        }
    u_.swap(u), v_.swap(v);
}

Continuum::Sample Continuum::sample(const Vec2f& x) const
{
    const Weights w(grid_, x);
    const float density = interpolate(padded_, density_, w.cx, w.cy);
    const float capacity = interpolate(padded_, capacity_, w.cx, w.cy);
    return {density < capacity ? density / capacity : 1.0f,
            {interpolate(padded_, u_, w.fx, w.cy), interpolate(padded_, v_, w.cx, w.fy)}};
}

void Continuum::keep_view()
{
    const size_t stride = padded_.stride();
    for (int j = 0; j < grid_.ny; ++j)
        for (int i = 0; i < grid_.nx; ++i) {
            const size_t c = padded_.index(i, j);
            const auto mean = [](const FaceSums& a, float va, const FaceSums& b, float vb) {
                const float mass = a.mass + b.mass;
                return mass > 0 ? (a.mass * va + b.mass * vb) / mass : 0;
            };
            const float fullness = density_[c] < capacity_[c] ? density_[c] / capacity_[c]
                                   : density_[c] > 0          ? 1.0f
                                                              : 0.0f;
            const float u = mean(sums_x_[c], u_[c], sums_x_[c + 1], u_[c + 1]);
            const float v = mean(sums_y_[c], v_[c], sums_y_[c + stride], v_[c + stride]);
            store_quad(&view_[4 * c], Quad{fullness, u, v, 0});
        }
}

Continuum::Sample Continuum::smooth_sample(const Vec2f& x) const
{
    const Weights w(grid_, x);
    Quad sum = {0, 0, 0, 0};
    for_each_corner(padded_, w.cx, w.cy, [&](size_t c, float share) { sum += share * load_quad(&view_[4 * c]); });
    return {sum[0], {sum[1], sum[2]}};
}

bool Continuum::near_obstacle(const Vec2f& x) const
{
    const Vec2f cell = (x - grid_.origin) / grid_.cell;
    const int i = std::clamp(static_cast<int>(cell.x()), 0, grid_.nx - 1);
    const int j = std::clamp(static_cast<int>(cell.y()), 0, grid_.ny - 1);
    return obstacle_[padded_.index(i, j)] != 0;
}

std::vector<float> Continuum::pressure() const
{
    return without_margin(std::vector<float>(outer_pressure_.begin(), outer_pressure_.end()));
}

std::vector<float> Continuum::next_density(float dt) const
{
    const size_t stride = padded_.stride();
    std::vector<float> next = density_;
    for (int j = 0; j < grid_.ny; ++j)
        for (int i = 0; i < grid_.nx; ++i) {
            const size_t c = padded_.index(i, j);
            next[c] -= dt / grid_.cell *
                       (sums_x_[c + 1].mass * u_[c + 1] - sums_x_[c].mass * u_[c] +
                        sums_y_[c + stride].mass * v_[c + stride] - sums_y_[c].mass * v_[c]);
        }
    return without_margin(next);
}

std::vector<float> Continuum::without_margin(const std::vector<float>& field) const
{
    std::vector<float> out;
    for (int j = 0; j < grid_.ny; ++j) {
        const auto row = field.begin() + static_cast<std::ptrdiff_t>(padded_.index(0, j));
        out.insert(out.end(), row, row + grid_.nx);
    }
    return out;
}

void Continuum::restore(State state)
{
    const size_t size = padded_.size();
    if (state.view.size() != 4 * size || state.inner_pressure.size() != size || state.outer_pressure.size() != size)
        bad_state("the crowd's state was saved with a grid other than {} by {} cells", grid_.nx, grid_.ny);
    const auto finite = [](double x) { return std::isfinite(x); };
    if (!std::ranges::all_of(state.view, finite) || !std::ranges::all_of(state.inner_pressure, finite) ||
        !std::ranges::all_of(state.outer_pressure, finite))
        bad_state("the crowd's pressure or density is not finite");
    view_ = std::move(state.view);
    inner_pressure_ = std::move(state.inner_pressure), outer_pressure_ = std::move(state.outer_pressure);
}

size_t Continuum::bytes() const
{
    return padded_.size() * (10 * sizeof(float) + 2 * sizeof(FaceSums) + 3 * sizeof(double) + 1) + matrix_.bytes() +
           solver_.bytes();
}

} // namespace spindrift
