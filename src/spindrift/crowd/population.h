// A crowd in its floor plan: groups of agents, their goals, entrances and exits.
//
//     Population population(params, plan, 24, group_places);
//     population.start(first_frame);
//     population.advance();            // to the next frame
//
// Agents walk to their goals along the shortest paths in the free space of the plan (plan/navigator.h), avoid each
// other [van den Berg 2011], and are slowed down and pushed apart by a continuum where they are dense [Narain 2011,
// chapter 4]: see crowd.h. Entrances let in agents at a rate, whenever one has room; exits are goals at which a group
// leaves.
//
// Limits: one floor, and a plan that does not change during the shot. All agents see all of the plan. Agents are discs;
// they do not queue in order, and do not fall.
#pragma once

#include "spindrift/crowd/crowd.h"
#include "spindrift/crowd/population_params.h"
#include "spindrift/plan/navigator.h"
#include "spindrift/plan/plan_checks.h"
#include "spindrift/plan/polygon_sampler.h"

namespace spindrift {

// Statistics of one frame.
struct PopulationReport {
    size_t people = 0, came = 0, left = 0, waiting = 0; // waiting: for room in an entrance
    size_t pressed_cells = 0;
    int steps = 0, iterations = 0; // of the pressure solves
    int unconverged = 0;           // solves that ended above their tolerance
    PhaseTimes times;
};

class Population {
  public:
    // Throws bad_input for a scene that cannot work, before anything is computed; repairs are listed in warnings().
    // `group_places` are the places of the groups in the scene, for messages.
    Population(const PopulationParams& params, FloorPlan plan, float fps, const std::vector<std::string>& group_places);
    // Reads the plan itself; the path of a drawing is taken as it is.
    explicit Population(const PopulationParams& params, float fps = 24);
    ~Population();

    const std::vector<std::string>& warnings() const { return warnings_; }
    const FloorPlan& plan() const { return plan_; }
    const Navigator& navigator() const { return *navigator_; }
    const Crowd& crowd() const { return crowd_; }
    // Upper bound after a time [s].
    double most_people(double seconds) const;

    void start(int frame);
    PopulationReport advance();
    int frame() const { return frame_; }
    int group_of(int32_t id) const { return groups_of_ids_[id]; }
    // Index in FloorPlan::goals of an agent's current goal; -1 for none.
    int goal_of(size_t agent) const;

    // The state that the next frame depends on, for resuming.
    struct State {
        int frame = 0;
        std::vector<int32_t> groups, came; // group of each id; number of agents let in, by group
        Crowd::State crowd;
    };
    State state() const { return {frame_, groups_of_ids_, came_, crowd_.state()}; }
    void restore(State state);

  private:
    class Planner;
    class Walls;
    struct Group {
        GroupParams params;
        std::vector<GoalId> goals;  // of its visits
        std::vector<Vec2f> targets; // of each agent at the start, for groups heading to the opposite side
        int entrance = -1;
        size_t first = 0; // index of its first start
        int32_t path = -1;
    };
    void place_groups(const std::vector<std::string>& group_places);
    void check(const std::vector<std::string>& group_places);
    void set_agent(Agents& agents, size_t i, size_t group, const Vec2f& x, uint64_t number) const;
    double groups_through(size_t entrance) const;
    void admit_newcomers(float dt, PopulationReport& report);

    PopulationParams params_;
    FloorPlan plan_;
    float fps_;
    std::vector<std::string> warnings_;
    std::unique_ptr<Navigator> navigator_;
    std::vector<Group> groups_;
    std::vector<Vec2f> starts_; // of all agents, group by group
    std::vector<int32_t> group_of_start_;
    std::vector<PolygonSampler> doors_; // where agents appear, by entrance
    std::unique_ptr<Planner> planner_;
    std::unique_ptr<Walls> walls_;
    Crowd crowd_;
    int frame_ = 0;
    std::vector<int32_t> groups_of_ids_, came_;
};

// The population described by the [crowd] table of a scene. Throws bad_input if it has no people.
std::unique_ptr<Population> read_population(const PopulationParams& params, const SceneFile& scene,
                                            const std::string& table, float fps);

} // namespace spindrift
