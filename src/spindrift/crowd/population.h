// A crowd in its floor plan: everyone who is there, where they want to go, who comes in and who leaves.
//
//     Population population(params, plan, "scene.toml");
//     population.start(first_frame);
//     population.advance();            // to the next frame
#pragma once

#include "spindrift/crowd/crowd.h"
#include "spindrift/crowd/population_params.h"
#include "spindrift/plan/navigator.h"
#include "spindrift/plan/plan_checks.h"
#include "spindrift/plan/polygon_sampler.h"

namespace spindrift {

// What happened while a frame was computed.
struct PopulationReport {
    size_t people = 0, came = 0, left = 0, waiting = 0; // waiting: for room in an entrance
    size_t pressed_cells = 0;
    int steps = 0, iterations = 0; // of the pressure solves
    int unconverged = 0;           // solves that ended above their tolerance
    PhaseTimes times;
};

class Population {
  public:
    // Throws bad_input for what cannot work, before anything is computed; what was repaired is in warnings().
    // `group_places` says where each group stands in the scene, for messages.
    Population(const PopulationParams& params, FloorPlan plan, float fps, const std::vector<std::string>& group_places);
    // Reads the plan itself; the path of a drawing is taken as it is.
    explicit Population(const PopulationParams& params, float fps = 24);
    ~Population();

    const std::vector<std::string>& warnings() const { return warnings_; }
    const FloorPlan& plan() const { return plan_; }
    const Navigator& navigator() const { return *navigator_; }
    const Crowd& crowd() const { return crowd_; }
    // That there can be after a time [s].
    double most_people(double seconds) const;

    void start(int frame);
    PopulationReport advance();
    int frame() const { return frame_; }
    int group_of(int32_t id) const { return groups_of_ids_[static_cast<size_t>(id)]; }
    // Number of the goal that an agent is on its way to, in FloorPlan::goals; -1 for none.
    int goal_of(size_t agent) const;

    // Everything that the next frame depends on, for resuming.
    struct State {
        int frame = 0;
        std::vector<int32_t> groups, came; // by id; by group, through its entrance
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
        std::vector<Vec2f> targets; // of each who starts, for those who head for places opposite
        int entrance = -1;
        size_t first = 0; // of those who start
        int32_t path = -1;
    };
    void place_groups(const std::vector<std::string>& group_places);
    void check(const std::vector<std::string>& group_places);
    void set_agent(Agents& agents, size_t i, size_t group, const Vec2f& x, uint64_t number) const;
    double groups_through(size_t entrance) const;
    void let_in(float dt, PopulationReport& report);

    PopulationParams params_;
    FloorPlan plan_;
    float fps_;
    std::vector<std::string> warnings_;
    std::unique_ptr<Navigator> navigator_;
    std::vector<Group> groups_;
    std::vector<Vec2f> starts_; // of everyone, group by group
    std::vector<int32_t> group_of_start_;
    std::vector<PolygonSampler> doors_; // where those stand who come in, by entrance
    std::unique_ptr<Planner> planner_;
    std::unique_ptr<Walls> walls_;
    Crowd crowd_;
    int frame_ = 0;
    std::vector<int32_t> groups_of_ids_, came_;
};

// The crowd that a scene's [crowd] describes; throws bad_input if nobody is in it.
std::unique_ptr<Population> read_population(const PopulationParams& params, const SceneFile& scene,
                                            const std::string& table, float fps);

} // namespace spindrift
