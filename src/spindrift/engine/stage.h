// A stage: one node of a shot's graph. It declares its parameters, says what it reads, and writes its files for each
// frame. A time stage moves from frame to frame and can save and restore its state; a frame stage can do any frame
// alone.
//
// A table of a scene makes a stage: [surface] one of the kind "surface", and [skin] with kind = "surface" another. The
// table's name is the stage's: its folder, its prefix in --set, and what other stages call it by.
//
// To add a kind: derive from TimeStage or FrameStage in stages/<kind>_stage.cpp, define `StageKind <kind>_stage()`
// there, and name it in stages/all_stages.cpp.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/state_file.h"
#include "spindrift/scene/motion.h"
#include "spindrift/scene/scene_file.h"

#include <functional>
#include <map>
#include <memory>

namespace spindrift {

class Progress;

// [shot]: what all stages share.
struct ShotParams {
    std::string frames = "1-48";
    float fps = 24;
    std::vector<NullParams> nulls; // that shapes name as their parents
    FrameRange range() const { return parse_frame_range(frames); }
    void visit(ParamVisitor& v);
};

// Where a shot's files are.
struct ShotPaths {
    std::string folder;                          // of the whole shot
    std::string shot;                            // its name
    std::map<std::string, std::string> versions; // folders of stages whose frames are not the current version
    std::string stage_folder(const std::string& stage) const
    {
        const auto version = versions.find(stage);
        return version == versions.end() ? folder + "/" + stage : version->second;
    }
    // For what is made of a stage's frames, such as a film: the shot's folder, or that of the version.
    std::string folder_beside(const std::string& stage) const
    {
        return versions.contains(stage) ? stage_folder(stage) : folder;
    }
};

// What is told about a frame when it is done.
struct FrameReport {
    std::vector<std::pair<std::string, double>> numbers; // e.g. particles, substeps
    int unconverged = 0;                                 // solves that ended above their tolerance
    PhaseTimes times;
};

// What a stage will need.
struct Estimate {
    double memory = 0, disk = 0; // bytes: at the peak, and of all frames together
    std::string note;            // what it is based on
    std::string remedy;          // what to do if it is too much: "raise liquid.voxel"
    double cells = 0;            // of its grid, or what takes as long, in a frame
};

// How numbers and files of a stage grow with the resolution: as a power of it between these.
struct Growth {
    double least = 3, most = 3;
};

// What rehearsals of the shot (engine/forecast.h) have shown of a stage, at the scene's own resolution: the largest
// of the numbers that it reports with its frames, all its files together and the memory at the peak [bytes], and the
// time [s].
struct Foreseen {
    std::map<std::string, double> most;
    double disk = 0, memory = 0, seconds = 0;
    double number(const std::string& name) const
    {
        const auto found = most.find(name);
        return found == most.end() ? 0 : found->second;
    }
};
using Forecast = std::map<std::string, Foreseen>; // by the name of the stage

// What a stage tells those that read it, besides its frames: derived by each kind, and constant once it is prepared.
struct StageFacts {
    virtual ~StageFacts() = default;
};

// A stage of the shot as another one sees it.
struct StageView {
    std::string name, kind;
    std::shared_ptr<const StageFacts> facts; // null for kinds that have none to tell
    // Facts of a type that the reader knows; null if these are not.
    template <class Facts> std::shared_ptr<const Facts> as() const
    {
        return std::dynamic_pointer_cast<const Facts>(facts);
    }
};

// An input of a stage: a parameter that names other stages of the shot.
struct Port {
    std::string name;                     // of the parameter, e.g. "of"
    std::vector<std::string> kinds;       // that may be named
    std::vector<std::string> stages = {}; // that the scene names
    // If it names none: the stages of the first of `kinds` that the scene has, or one of a kind that needs no table.
    // More than one is an error, unless all are wanted.
    enum class Unnamed { the_only_one, all, none } unnamed = Unnamed::the_only_one;
    bool many = false;        // more than one may be named
    bool optional = false;    // there may be none
    std::string missing = {}; // what to do if there is none, for people: "add [liquid]"
    bool frames = true;       // false: only facts are used
};

// The stages of a port that names one at most; an empty text names none.
inline std::vector<std::string> named(const std::string& stage)
{
    return stage.empty() ? std::vector<std::string>() : std::vector<std::string>{stage};
}

// What a stage's ports were found to be, by the names of the ports.
class Inputs {
  public:
    void add(const std::string& port, std::vector<StageView> stages) { ports_[port] = std::move(stages); }
    const std::vector<StageView>& all(const std::string& port) const
    {
        static const std::vector<StageView> none;
        const auto found = ports_.find(port);
        return found == ports_.end() ? none : found->second;
    }
    // The first one; null if there is none.
    const StageView* one(const std::string& port) const
    {
        const std::vector<StageView>& stages = all(port);
        return stages.empty() ? nullptr : &stages.front();
    }
    // The facts of the first one; null if there is none.
    template <class Facts> std::shared_ptr<const Facts> facts(const std::string& port) const
    {
        const StageView* stage = one(port);
        return stage ? stage->as<Facts>() : nullptr;
    }

  private:
    std::map<std::string, std::vector<StageView>> ports_;
};

class ShotGraph;

// All that a stage is prepared from.
struct StageContext {
    const SceneFile& scene;
    const ShotParams& shot;
    const Inputs& inputs;
};

// Where the frames of a stage that is read are; throws if one is missing.
using InputPath = std::function<std::string(const std::string& stage, int frame)>;

class Stage {
  public:
    // The name and kind that it has in the scene.
    struct Id {
        std::string name, kind;
    };
    explicit Stage(Id id) : id_(std::move(id)) {}
    virtual ~Stage() = default;

    const std::string& name() const { return id_.name; }
    const std::string& kind() const { return id_.kind; }
    // "liquid.source[0]" for the parameter "source[0]" of the stage [liquid].
    std::string param(const std::string& parameter) const { return id_.name + "." + parameter; }

    virtual void visit(ParamVisitor& v) = 0;
    // The stages that are read, after all parameters of the scene were read. `graph` has all stages; the inputs of
    // those of earlier kinds are known.
    virtual std::vector<Port> ports(const ShotGraph& graph) const { return (void)graph, std::vector<Port>(); }
    // Files of another program that are read too, as a frame pattern that the parameter `input` names.
    virtual std::string input_files() const { return {}; }
    // The endings of a frame's files; the first is the one that other stages read.
    virtual std::vector<std::string> endings() const = 0;
    // After those that are read, and before anything is computed: loads what the scene refers to and throws bad_input
    // if something cannot be done.
    virtual void prepare(const StageContext& context) = 0;
    // After prepare(); shared with the stages that read this one.
    virtual std::shared_ptr<const StageFacts> facts() const { return nullptr; }
    // What prepare() found that may not be what was meant.
    virtual std::vector<std::string> warnings() const { return {}; }
    // A first guess, from the scene alone. Memory is what the process holds at the peak beside the program itself, disk
    // all files that are there when the shot is complete.
    virtual Estimate estimate() const = 0;
    // How rehearsals run it: whether they do at all, with all frames or the first, one in the middle and the last; how
    // much coarser if the grids of simulations are k times coarser; and what they set for that, as --set does.
    enum class Rehearsal { none, some_frames, all_frames };
    virtual Rehearsal rehearsal() const { return Rehearsal::none; }
    virtual double coarseness(double k) const { return k; }
    virtual std::vector<std::string> coarser(double k) const { return (void)k, std::vector<std::string>(); }
    virtual Growth growth() const { return {}; }
    // A number of another stage that its own numbers and files are proportional to, instead.
    struct Measure {
        std::string stage, number;
    };
    virtual Measure follows() const { return {}; }
    // Memory as in estimate(), from the numbers that rehearsals have shown.
    virtual double memory(const Forecast& forecast) const { return (void)forecast, estimate().memory; }
    // Memory of other programs that run at the end, beside this one, such as the encoder of a film.
    virtual double memory_of_helpers() const { return 0; }
    // Everything that the frames depend on besides parameters and input, as lines "thing: signature".
    virtual std::string dependencies() const { return {}; }
    // The files and folders that shot_complete() writes, whether they are there or not.
    virtual std::vector<std::string> products(const ShotPaths& paths) const
    {
        (void)paths;
        return {};
    }
    // Of pictures that do not say what they show: whether the stage's frames can be drawn; the port whose stages need
    // not be drawn, because this one shows them; and the kind that shows this stage, if the scene has none that does.
    virtual bool drawable() const { return false; }
    virtual std::string stands_for() const { return {}; }
    virtual std::string shown_by() const { return {}; }
    // Called at the end of a run that leaves all frames of the shot complete; `files` are the first file of each.
    virtual void shot_complete(const std::vector<std::string>& files, const ShotPaths& paths, Progress& progress)
    {
        (void)files, (void)paths, (void)progress;
    }

  private:
    Id id_;
};

class TimeStage : public Stage {
  public:
    using Stage::Stage;
    // Called before the functions below.
    virtual void read_from(const InputPath& input) { (void)input; }
    // Each reaches a frame: the first of the shot, that of a saved state, or the next.
    virtual FrameReport start(int frame) = 0;
    virtual FrameReport restore(StateFile state) = 0;
    virtual FrameReport advance() = 0;
    // The frame that was reached.
    virtual void write(const std::string& path) = 0;
    // Has the frame in numbers["frame"].
    virtual StateFile save() const = 0;
};

class FrameStage : public Stage {
  public:
    using Stage::Stage;
    // `outputs` has a path for each of endings().
    virtual FrameReport make(int frame, const InputPath& input, const std::vector<std::string>& outputs) = 0;
};

// What a table of a scene can be.
struct StageKind {
    std::string name, help; // one line
    std::function<std::unique_ptr<Stage>(Stage::Id)> make;
    bool needs_no_table = false; // a stage that reads one makes it be there, if its own inputs are
};
using StageKinds = std::vector<StageKind>; // a kind's inputs mostly are of kinds before it

template <class Kind> StageKind stage_kind(const char* name, const char* help, bool needs_no_table = false)
{
    return {name, help, [](Stage::Id id) { return std::make_unique<Kind>(std::move(id)); }, needs_no_table};
}

} // namespace spindrift
