// A dense crowd (document 000, chapter 4): agents walk where their plan says, and a continuum made from them in every
// step keeps them from walking into places that are full. See step() for the algorithm.
//
// Beside agents of the crowd there may be others in the same world, who follow a given path or avoid everyone by
// themselves. They are moved first; the crowd sees them as obstacles that move.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/crowd/params.h"
#include "spindrift/crowd/separation.h"

namespace spindrift {

// Where agents want to go.
class CrowdPlanner {
  public:
    virtual ~CrowdPlanner() = default;
    // The unit vector in which an agent wants to go, or zero if it wants to stay where it is. May change `goal` and
    // `leg` of this agent, and nothing else. Called by several threads at a time; agents in sequence are mostly near
    // each other.
    virtual Vec2f direction(Agents& agents, size_t i) const = 0;
    // Whether an agent is where it leaves the world.
    virtual bool leaves(const Agents& agents, size_t i) const
    {
        (void)agents, (void)i;
        return false;
    }
};

// Where a scripted agent is when, from point to point at even speed. It stands still before and after.
struct ScriptedPath {
    std::vector<double> time; // [s], rising
    std::vector<Vec2f> point;
    Vec2f at(double seconds) const;
};

// What happened in a step.
struct CrowdReport {
    ContinuumReport continuum;
    Separation::Report separation;
    std::vector<int32_t> left; // ids of agents that left the world
    PhaseTimes times;
};

class Crowd {
  public:
    Crowd(const CrowdParams& params, const CrowdGrid& grid);

    // Both must outlive the steps that follow; without a planner everyone stays, without walls only the domain ends.
    void set_planner(const CrowdPlanner* planner) { planner_ = planner; }
    void set_walls(const CrowdWalls* walls) { walls_ = walls; }
    // The share of each cell that no obstacle covers, row by row, when it starts or changes.
    void set_free_area(std::span<const float> fraction) { continuum_.set_free_area(fraction); }
    // Returns the number by which scripted agents name it as their goal. To be called anew, in order, before restore().
    int32_t add_path(ScriptedPath path);

    // Takes x, radius, speed, priority, goal, leg and driver; gives ids in their order, and returns the first.
    int32_t add(const Agents& newcomers);
    void remove(std::span<const int32_t> ids);

    CrowdReport step(float dt);

    const Agents& agents() const { return agents_; }
    const Continuum& continuum() const { return continuum_; }
    const CrowdParams& params() const { return params_; }
    double time() const { return time_; } // [s]
    size_t bytes() const;

    // Everything that the next step depends on, for resuming.
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
    Vec2f bent_direction(size_t i, const Vec2f& direction, float speed) const;
    void move_others(float dt);
    Vec2f avoid(size_t i, float dt) const;
    void move_crowd(float dt);
    Vec2f kept_out(const Vec2f& from, const Vec2f& to, float radius) const;
    void let_leave();
    void keep(const std::vector<uint8_t>& kept);

    CrowdParams params_;
    const CrowdPlanner* planner_ = nullptr;
    const CrowdWalls* walls_ = nullptr;
    std::vector<ScriptedPath> paths_;
    double time_ = 0;
    int32_t steps_ = 0; // that were made
    int32_t next_id_ = 0;
    float largest_radius_ = 0;
    Agents agents_;
    bool sorted_ = true; // nobody was added or removed since
    AgentCells cells_;
    Continuum continuum_;
    Separation separation_;
    CrowdReport report_;
};

} // namespace spindrift
