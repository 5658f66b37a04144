// The crowd as a continuum (document 000, sections 4.3.2 and 4.4): density and preferred velocity of agents on a
// staggered grid, and the velocity nearest to it that lets no cell become denser than people can stand.
//
// Densities are shares of the greatest density rho_max. An agent counts by its area: with m_i = (r_i / r)^2 for a mean
// radius r, a crowd of any sizes is as dense as can be when its density is 1.
//
// Free area: an agent's share of a cell falls off linearly over two cells, so that an agent close to a wall counts in
// part for cells beyond it. The capacity of a cell is therefore the free area under the same weights, not that of the
// cell alone: what can be filled with agents is then neither over nor under its capacity because of a wall.
//
// Weak at walls thinner than a cell: the continuum does not see that they part the crowd, only the room they take.
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

    // The share of each cell that no obstacle covers, row by row; everything is free until this is called. A cell with
    // any obstacle in it must have less than 1: only around such cells are walls asked about agents' ways.
    void set_free_area(std::span<const float> fraction);
    // Density and velocity of the agents that are part of the crowd; others take their area from what is free.
    void splat(const Agents& agents, const AgentCells& cells);
    // v = psolve(renorm(psolve(v~))), (4.20). `tolerance` is that of the density, as a share of rho_max.
    ContinuumReport project(float dt, double tolerance, int max_iterations);

    // What an agent finds at its place.
    struct Sample {
        float fullness; // density beside the greatest that is possible here, at most 1
        Vec2f velocity; // [m/s]
    };
    Sample sample(const Vec2f& x) const;
    // The same at any other place, from values at cell centres after the last step: faster, and smoother by a cell.
    Sample look(const Vec2f& x) const;
    // Any cell around the place has an obstacle in it.
    bool near_obstacle(const Vec2f& x) const;

    // For looking at: row by row without margin.
    std::vector<float> density() const { return without_margin(density_); }
    std::vector<float> capacity() const { return without_margin(capacity_); }
    std::vector<float> pressure() const;
    // What the density becomes by the velocity that was found, (4.14).
    std::vector<float> next_density(float dt) const;
    const CrowdGrid& grid() const { return grid_; }
    float densest() const { return densest_; }
    size_t bytes() const;

    // What the next step depends on.
    struct State {
        std::vector<float> view;
        std::vector<double> inner_pressure, outer_pressure;
    };
    State state() const { return {view_, inner_pressure_, outer_pressure_}; }
    void restore(State state);

  private:
    // Sums of agents at a face: of their mass, and of it times velocity and speed.
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
    std::vector<float> free_;       // capacity without other agents
    std::vector<uint8_t> obstacle_; // in or around each cell
    std::vector<float> density_, others_, capacity_;
    std::vector<FaceSums> sums_x_, sums_y_; // of the lower faces of each cell
    std::vector<float> u_, v_;              // velocity at them
    std::vector<float> view_;               // four numbers a cell: fullness, velocity, nothing
    std::vector<double> right_side_;
    std::vector<double> inner_pressure_, outer_pressure_; // [m2/s], the next step starts from them
    PressureMatrix matrix_;
    BoundedQpSolver<double> solver_;
};

} // namespace spindrift
