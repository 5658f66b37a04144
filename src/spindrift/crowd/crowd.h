// A dense crowd [Narain 2011, chapter 4]: agents walk in the direction of their plan, and a continuum built from them
// in every step keeps them out of full places. step() is the algorithm of section 4.4.4.
//
// Agents with a given path (scripted) or their own collision avoidance (avoiding) can share the floor with the crowd.
// They move first; the crowd sees them as moving obstacles.
//
//     Crowd crowd(params, grid);
//     crowd.set_planner(&planner);
//     crowd.add(agents);
//     crowd.step(0.05f);
//
// Differences from [Narain 2011] (those of the continuum are in continuum.h, of the pairs in separation.h, of
// navigation in plan/):
// - An agent's mass is its area over that of the mean radius, so that crowds of any sizes are full at one density.
// - No agent exceeds its walking speed in (4.3).
// - A quarter of the agents replan in each step; the others keep their preferred velocity.
// - CrowdParams::freedom: in (4.3) all agents move with the mean where the crowd is full, and agents with crossing
//   paths can jam forever. A tenth of their own velocity dissolves such jams.
// - Weidmann's law uses the density around an agent without its own share where the crowd is not full.
// - Agents look ahead and prefer a side, which section 4.5.2 names as missing: steer() averages five directions by
//   their progress minus the opposition of the last step's continuum.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/crowd/params.h"
#include "spindrift/crowd/separation.h"

namespace spindrift {

// Directions of agents.
class CrowdPlanner {
  public:
    virtual ~CrowdPlanner() = default;
    // Unit vector of the direction that an agent wants to walk in, or zero to stay. May change only `goal` and `leg` of
    // this agent. Called from several threads at a time, mostly for agents close to each other in sequence.
    virtual Vec2f direction(Agents& agents, size_t i) const = 0;
    // Whether an agent is at a place where it leaves the floor.
    virtual bool leaves(const Agents& agents, size_t i) const
    {
        (void)agents, (void)i;
        return false;
    }
};

// Position of a scripted agent over time, linear between points and constant before and after.
struct ScriptedPath {
    std::vector<double> time; // [s], ascending
    std::vector<Vec2f> point;
    Vec2f at(double seconds) const;
};

// Statistics of one step.
struct CrowdReport {
    ContinuumReport continuum;
    Separation::Report separation;
    std::vector<int32_t> left; // ids of the agents that left
    PhaseTimes times;
};

class Crowd {
  public:
    Crowd(const CrowdParams& params, const CrowdGrid& grid);

    // Both must outlive the following steps. Without a planner everyone stays; without walls only the domain ends the
    // floor.
    void set_planner(const CrowdPlanner* planner) { planner_ = planner; }
    void set_walls(const CrowdWalls* walls) { walls_ = walls; }
    // The share of each cell that no obstacle covers, row by row.
    void set_free_area(std::span<const float> fraction) { continuum_.set_free_area(fraction); }
    // Returns the index that scripted agents use as their goal. Must be called again, in the same order, before
    // restore().
    int32_t add_path(ScriptedPath path);

    // Uses x, radius, speed, priority, goal, leg and driver. Assigns ids in order and returns the first.
    int32_t add(const Agents& newcomers);
    void remove(std::span<const int32_t> ids);

    CrowdReport step(float dt);

    const Agents& agents() const { return agents_; }
    const Continuum& continuum() const { return continuum_; }
    const CrowdParams& params() const { return params_; }
    double time() const { return time_; } // [s]
    size_t bytes() const;

    // The state that the next step depends on, for resuming.
    struct State {
        double time = 0;
        int32_t steps = 0;
        int32_t next_id = 0;
        bool sorted = false;
        float largest_radius = 0;
        Agents agents;
        std::vector<uint32_t> sorted_cells;
        Continuum::State continuum;
    };
    State state() const;
    void restore(State state);

  private:
    void make_cells(float largest_radius);
    void sort();
    void plan();
    float density_around(size_t i) const;
    Vec2f steer(size_t i, const Vec2f& direction, float speed) const;
    void move_others(float dt);
    Vec2f avoid(size_t i, float dt) const;
    void move_crowd(float dt);
    Vec2f slide_along_walls(const Vec2f& from, const Vec2f& to, float radius) const;
    void remove_leaving();
    void keep_only(const std::vector<uint8_t>& kept);

    CrowdParams params_;
    const CrowdPlanner* planner_ = nullptr;
    const CrowdWalls* walls_ = nullptr;
    std::vector<ScriptedPath> paths_;
    double time_ = 0;
    int32_t steps_ = 0; // so far
    int32_t next_id_ = 0;
    float largest_radius_ = 0;
    Agents agents_;
    bool sorted_ = true; // no agent was added or removed since the last sort
    AgentCells cells_;
    Continuum continuum_;
    Separation separation_;
    CrowdReport report_;
};

} // namespace spindrift
