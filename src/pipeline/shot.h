// A shot: the scene, its stages in order, and the folder of its caches. The way from `main` to a solver's step is
// main -> Shot::run -> run_stage -> TimeStage::advance.
#pragma once

#include "pipeline/cache.h"
#include "pipeline/progress.h"

#include <optional>

namespace spindrift {

struct ShotOptions {
    std::string scene;
    std::string folder; // empty: out/<scene name>
    std::optional<FrameRange> frames;
    std::vector<std::string> overrides; // table.name=value
};

class Shot {
  public:
    // Reads and checks everything; nothing is written. Throws bad_input.
    explicit Shot(const ShotOptions& options);
    ~Shot();

    // All stages of the scene that are out of date, or the one named. Throws Error.
    void run(const std::string& only_stage, Progress& progress);
    // What the shot will need, as lines for people.
    std::string needs() const;

  private:
    struct Link {
        std::unique_ptr<Stage> stage;
        std::string fingerprint;
        bool in_scene;
    };
    void run_link(Link& link, Progress& progress);
    void run_time_stage(TimeStage& stage, StageCache& cache, Progress& progress);
    void run_frame_stage(FrameStage& stage, StageCache& cache, Progress& progress);
    void check_memory() const;
    Link* find(const std::string& stage);
    std::string pattern(const Stage& stage) const { return paths_.pattern(stage.name(), stage.ending()); }

    SceneFile scene_;
    ShotParams params_;
    ShotPaths paths_;
    FrameRange shot_range_, wanted_;
    std::vector<Link> links_;
};

} // namespace spindrift
