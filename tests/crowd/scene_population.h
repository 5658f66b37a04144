// The population of a scene file, run without its stage.
#pragma once

#include "spindrift/crowd/population.h"
#include "spindrift/scene/scene_file.h"

namespace spindrift {

struct ScenePopulation {
    PopulationParams params;
    std::unique_ptr<Population> population; // started at frame 1
};

inline ScenePopulation load_population(const SceneFile& scene, float fps)
{
    ScenePopulation loaded;
    bool trajectories = true; // a parameter of the stage, unused here
    scene.read("crowd", [&](ParamVisitor& v) {
        loaded.params.visit(v);
        v("trajectories", trajectories, "");
    });
    loaded.population = read_population(loaded.params, scene, "crowd", fps);
    loaded.population->start(1);
    return loaded;
}

} // namespace spindrift
