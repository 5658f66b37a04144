// The crowd as a continuum [Narain 2011, sections 4.3.2 and 4.4]: density and preferred velocity of agents on a
// staggered grid, and the nearest velocity that lets no cell exceed the maximum density.
//
// Densities are relative to the maximum rho_max. An agent counts by its area: with m_i = (r_i / r)^2 for a mean radius
// r, a crowd of any sizes is full at density 1.
//
// Differences from [Narain 2011]:
// - MPRGP (solvers/bounded_qp.h) first tries a step that leaves the bounds in full and projects it: 95 iterations
//   instead of 551 from a zero pressure on 256x256 cells. The preconditioner is a multigrid cycle (pressure_matrix.h)
//   instead of MIC(0): both take 2 to 4 iterations from the last step's pressure in the circle of 10000, but MIC(0)
//   takes 165 from zero on 256x256 cells and is sequential.
// - The inner solve clamps the free room of a cell, not all of (4.17): with b >= 0 everywhere the pressure would always
//   be zero.
// - An agent's weight falls off linearly over two cells, so that an agent close to a wall counts in part for cells
//   beyond it. The capacity of a cell is therefore the free area under the same weights. With the plain share, agents
//   close to a wall would overfill the cells beyond it and be pushed away at any speed.
// - Agents that are not driven by the crowd reduce the capacity by their area; their velocity is not part of the flow.
// - v_max is the mean walking speed of the agents around, not a constant: standing agents are not sped up, and
//   individual speeds and Weidmann's law need nothing more.
// - A compliance of 1e-5 of a face's weight bounds the pressure in a closed room that is too full for everyone.
//
// Limit: walls thinner than a cell take up room but do not separate the flow on their two sides.
#pragma once

#include "spindrift/crowd/agents.h"
#include "spindrift/crowd/pressure_matrix.h"

namespace spindrift {

struct ContinuumReport {
    QpResult inner, outer; // of the two pressure solves
    size_t pressed = 0;    // cells with pressure
};

class Continuum {
  public:
    // `densest` is rho_max [1/m2] for agents of the mean radius [m].
    Continuum(const CrowdGrid& grid, float densest, float mean_radius);

    // The share of each cell that no obstacle covers, row by row; by default everything is free. A cell that contains
    // an obstacle must have less than 1: walls are only tested near such cells.
    void set_free_area(std::span<const float> fraction);
    // Density and velocity of the agents driven by the crowd; others reduce the capacity by their area.
    void splat(const Agents& agents, const AgentCells& cells);
    // v = psolve(renorm(psolve(v~))), (4.20). `tolerance` is that of the density relative to rho_max.
    ContinuumReport project(float dt, double tolerance, int max_iterations);

    // The flow at the place of an agent.
    struct Sample {
        float fullness; // density over the capacity at this place, at most 1
        Vec2f velocity; // [m/s]
    };
    Sample sample(const Vec2f& x) const;
    // The same at any place, interpolated from cell centres after the last step: faster, and smoother by a cell.
    Sample smooth_sample(const Vec2f& x) const;
    // Whether a cell around the place contains an obstacle.
    bool near_obstacle(const Vec2f& x) const;

    // For output: row by row without margin.
    std::vector<float> density() const { return without_margin(density_); }
    std::vector<float> capacity() const { return without_margin(capacity_); }
    std::vector<float> pressure() const;
    // Density after a step with the velocity found, (4.14).
    std::vector<float> next_density(float dt) const;
    const CrowdGrid& grid() const { return grid_; }
    float densest() const { return densest_; }
    size_t bytes() const;

    // The state that the next step depends on.
    struct State {
        std::vector<float> view;
        std::vector<double> inner_pressure, outer_pressure;
    };
    State state() const { return {view_, inner_pressure_, outer_pressure_}; }
    void restore(State state);

  private:
    // Sums over agents at a face: mass, and mass times velocity and speed.
    struct FaceSums {
        float mass = 0, momentum = 0, speed = 0, unused = 0;
    };
    void splat_strip(const Agents& agents, const AgentCells& cells, int strip, std::vector<uint32_t>& elsewhere);
    void splat_agent(const Agents& agents, size_t i);
    void set_matrix(float dt);
    void renorm();
    void keep_view();
    QpResult psolve(float dt, bool clamped, std::vector<double>& pressure, const QpSettings& settings);
    std::vector<float> without_margin(const std::vector<float>& field) const;

    CrowdGrid grid_;
    PaddedGrid padded_;
    float densest_, mean_radius_;
    std::vector<float> free_;       // capacity without agents of other drivers
    std::vector<uint8_t> obstacle_; // in or next to each cell
    std::vector<float> density_, others_, capacity_;
    std::vector<FaceSums> sums_x_, sums_y_; // at the lower faces of each cell
    std::vector<float> u_, v_;              // velocity at the same faces
    std::vector<float> view_;               // four numbers a cell: fullness, velocity, padding
    std::vector<double> right_side_;
    std::vector<double> inner_pressure_, outer_pressure_; // [m2/s], warm start of the next step
    PressureMatrix matrix_;
    BoundedQpSolver<double> solver_;
};

} // namespace spindrift
