// A shot: the scene, the graph of its stages, and the folder of its caches. docs/architecture.md
// lists the calls from `main` to a solver's step.
//
//     ShotOptions options;
//     options.scene = "splash.toml";
//     Shot shot(options, all_stages());
//     Progress progress(Progress::suitable());
//     shot.run(progress);
#pragma once

#include "spindrift/engine/cache.h"
#include "spindrift/engine/graph.h"
#include "spindrift/engine/progress.h"

#include <optional>

namespace spindrift {

struct ShotOptions {
    std::string scene;
    std::string folder;                 // empty: out/<scene name>
    std::optional<FrameRange> frames;   // empty: all
    std::vector<std::string> overrides; // table.name=value
    std::string only;                   // a stage name or a kind; empty: all stages of the scene
    bool rehearsal = false;             // true in a run of a forecast, which must not start another forecast
};

class Shot {
  public:
    // Reads and checks the scene; writes nothing. Throws bad_input.
    Shot(const ShotOptions& options, const StageKinds& kinds);
    ~Shot();

    // Brings the frames of all selected stages up to date. Throws Error.
    void run(Progress& progress);
    // The forecast of memory and disk space, as lines for people.
    std::string needs() const;
    const ShotGraph& graph() const { return graph_; }

  private:
    struct Link {
        Stage* stage;
        const ShotGraph::Node* node;
        bool runs = false;     // selected
        std::string made_from; // everything its frames depend on
        // Where the frames of this version are or will be. `aside`: the run writes to a version of its own and leaves
        // the current one alone. `takes_over`: this version becomes the current one, which is moved to its own version
        // folder first.
        std::string folder;
        bool aside = false, takes_over = false;
    };
    void read_frames(const std::optional<FrameRange>& frames);
    void choose_stages();
    std::string ingredients(const Link& link) const;
    std::vector<std::string> warnings_of(Stage& stage) const;
    std::string input_path(const std::string& input, int frame) const;
    void warn_of_outdated_inputs(const Link& link, Progress& progress) const;
    // Versions (shot_versions.cpp).
    void choose_versions();
    std::string kept_folder(const Link& link) const;
    StageCache current_cache(const Link& link) const;
    bool has_results(const Link& link) const;
    std::string version_note(const Link& link) const;
    void expect_only_ours(const Link& link) const;
    void make_current(Link& link, Progress& progress);
    ShotPaths paths_now() const;
    std::string kept_note() const;
    std::string unconverged_note(const Link& link) const;
    ShotPaths paths_of_version(const Link& link, const std::string& made_from) const;

    // Needs (shot_needs.cpp).
    void expect_enough_memory() const;
    Forecast forecast() const;
    Estimate estimate_of(const Stage& stage, const Forecast& forecast) const;
    double free_space() const;
    double missing_fraction(const Link& link) const;
    void expect_room() const;
    void expect_input_files() const;
    void expect_input_file(const Stage& stage, int frame) const;
    std::string done_note(const Link& link) const;

    void run_stage(Link& link, Progress& progress);
    void run_time_stage(TimeStage& stage, StageCache& cache, Progress& progress);
    void run_frame_stage(const Link& link, StageCache& cache, const std::vector<int>& missing, Progress& progress);
    std::vector<std::string> input_paths(const Link& link, int frame) const;
    std::vector<int> missing_frames(const Link& link, const StageCache& cache) const;
    std::string replaced_note(const Link& link) const;
    FrameRange frames_of(const Stage& stage) const;
    const Link& find(const std::string& stage) const;
    StageCache cache_of(const Link& link) const;

    ShotOptions options_;
    SceneFile scene_;
    ShotParams params_;
    ShotPaths paths_;
    FrameRange shot_range_, wanted_;
    ShotGraph graph_;
    std::vector<Link> links_;
};

} // namespace spindrift
