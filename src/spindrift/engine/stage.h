// A stage: one node of a shot's graph. It declares its parameters, names its inputs, and writes files for each frame. A
// time stage steps from frame to frame and can save and restore its state; a frame stage can compute any frame
// independently.
//
// Each table of a scene is a stage: [surface] has the kind "surface", and so has [skin] with kind = "surface". The
// table's name is the name of the stage, of its folder, of its prefix in --set and in references by other stages.
//
// To add a kind: derive from TimeStage or FrameStage in stages/<kind>_stage.cpp, define `StageKind <kind>_stage()`
// there, and list it in stages/all_stages.cpp.
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

// [shot]: parameters that all stages share.
struct ShotParams {
    std::string frames = "1-48";
    float fps = 24;
    std::vector<NullParams> nulls; // possible parents of shapes
    FrameRange range() const { return parse_frame_range(frames); }
    void visit(ParamVisitor& v);
};

// Locations of a shot's files.
struct ShotPaths {
    std::string folder;                          // of the whole shot
    std::string shot;                            // its name
    std::map<std::string, std::string> versions; // folders of stages whose frames are not the current version
    std::string stage_folder(const std::string& stage) const
    {
        const auto version = versions.find(stage);
        return version == versions.end() ? folder + "/" + stage : version->second;
    }
    // Folder for products of a stage's frames, such as a film: the shot's folder, or that of the version.
    std::string folder_beside(const std::string& stage) const
    {
        return versions.contains(stage) ? stage_folder(stage) : folder;
    }
};

// Statistics of a frame, for progress output.
struct FrameReport {
    std::vector<std::pair<std::string, double>> numbers; // e.g. particles, substeps
    int unconverged = 0;                                 // solves that ended above their tolerance
    PhaseTimes times;
};

// Predicted needs of a stage.
struct Estimate {
    double memory = 0, disk = 0; // [bytes] peak, and all frames together
    std::string note;            // what the estimate is based on
    std::string remedy;          // what to change if it is too much: "raise liquid.voxel"
    double cells = 0;            // of its grid in a frame, or the equivalent in computing time
};

// Exponents between which the numbers and files of a stage grow with the resolution.
struct Growth {
    double least = 3, most = 3;
};

// Predicted totals of a stage at the scene's resolution, from rehearsals (engine/forecast.h): the maximum of each
// number that it reports, all its files together and the peak memory [bytes], and the time [s].
struct Foreseen {
    std::map<std::string, double> most;
    double disk = 0, memory = 0, seconds = 0;
    double number(const std::string& name) const
    {
        const auto found = most.find(name);
        return found == most.end() ? 0 : found->second;
    }
};
using Forecast = std::map<std::string, Foreseen>; // by stage name

// What a stage tells its readers besides its frames. Each kind derives its own; constant after prepare().
struct StageFacts {
    virtual ~StageFacts() = default;
};

// A stage as its readers see it.
struct StageView {
    std::string name, kind;
    std::shared_ptr<const StageFacts> facts; // null for kinds without facts
    // The facts as the type that the reader expects; null if they have another type.
    template <class Facts> std::shared_ptr<const Facts> as() const
    {
        return std::dynamic_pointer_cast<const Facts>(facts);
    }
};

// An input of a stage: a parameter that names other stages of the shot.
struct Port {
    std::string name;                     // of the parameter, e.g. "of"
    std::vector<std::string> kinds;       // that it may read
    std::vector<std::string> stages = {}; // named by the scene
    // If the scene names none: the stages of the first of `kinds` that the scene has, or one of a kind that needs no
    // table. More than one is an error, except with `all`.
    enum class Unnamed { the_only_one, all, none } unnamed = Unnamed::the_only_one;
    bool many = false;        // may name more than one stage
    bool optional = false;    // may be empty
    std::string missing = {}; // remedy if it is empty, for people: "add [liquid]"
    bool frames = true;       // false: only facts are used
    // The parameters that name each of `stages`, if it is not one for all.
    std::vector<std::string> params = {};
    const std::string& param(size_t i) const { return i < params.size() ? params[i] : name; }
};

// The `stages` of a port that reads at most one; empty text means none.
inline std::vector<std::string> named(const std::string& stage)
{
    return stage.empty() ? std::vector<std::string>() : std::vector<std::string>{stage};
}

// The resolved inputs of a stage, by port name.
class Inputs {
  public:
    void add(const std::string& port, std::vector<StageView> stages) { ports_[port] = std::move(stages); }
    const std::vector<StageView>& all(const std::string& port) const
    {
        static const std::vector<StageView> none;
        const auto found = ports_.find(port);
        return found == ports_.end() ? none : found->second;
    }
    // The first stage of a port; null if there is none.
    const StageView* one(const std::string& port) const
    {
        const std::vector<StageView>& stages = all(port);
        return stages.empty() ? nullptr : &stages.front();
    }
    // The facts of the first stage of a port; null if there is none.
    template <class Facts> std::shared_ptr<const Facts> facts(const std::string& port) const
    {
        const StageView* stage = one(port);
        return stage ? stage->as<Facts>() : nullptr;
    }

  private:
    std::map<std::string, std::vector<StageView>> ports_;
};

class ShotGraph;

// Everything that a stage is prepared from.
struct StageContext {
    const SceneFile& scene;
    const ShotParams& shot;
    const Inputs& inputs;
};

// The path of a frame of an input stage; throws if it is missing.
using InputPath = std::function<std::string(const std::string& stage, int frame)>;

class Stage {
  public:
    // Name and kind in the scene.
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
    // The inputs. Called when all parameters of the scene are known; `graph` has all stages, with inputs resolved for
    // those of earlier kinds.
    virtual std::vector<Port> ports(const ShotGraph& graph) const { return (void)graph, std::vector<Port>(); }
    // The frame pattern of files of another program, from the parameter `input`; empty if there are none.
    virtual std::string input_files() const { return {}; }
    // The frames of those files that a frame needs.
    virtual std::vector<int> input_frames(int frame) const { return {frame}; }
    // File name endings of a frame's files; other stages read the first.
    virtual std::vector<std::string> endings() const = 0;
    // Loads what the scene refers to; throws bad_input if it cannot run. Called after prepare() of all inputs, before
    // anything is computed.
    virtual void prepare(const StageContext& context) = 0;
    // Shared with the stages that read this one. Valid after prepare().
    virtual std::shared_ptr<const StageFacts> facts() const { return nullptr; }
    // Doubtful settings that prepare() found.
    virtual std::vector<std::string> warnings() const { return {}; }
    // A rough estimate from the scene alone. Memory is the peak of the process without the program itself; disk is all
    // files of the complete shot.
    virtual Estimate estimate() const = 0;
    // How rehearsals run the stage: not at all, with some frames (first, middle, last) or with all. coarseness(k) is
    // its own factor if simulation grids are k times coarser; coarser(k) are the --set options for that.
    enum class Rehearsal { none, some_frames, all_frames };
    virtual Rehearsal rehearsal() const { return Rehearsal::none; }
    virtual double coarseness(double k) const { return k; }
    virtual std::vector<std::string> coarser(double k) const { return (void)k, std::vector<std::string>(); }
    virtual Growth growth() const { return {}; }
    // Optionally a number of another stage that the numbers and files of this one are proportional to; replaces
    // growth().
    struct Measure {
        std::string stage, number;
    };
    virtual Measure follows() const { return {}; }
    // Memory as in estimate(), computed from forecast numbers.
    virtual double memory(const Forecast& forecast) const { return (void)forecast, estimate().memory; }
    // Memory of other programs that run at the end at the same time, such as a video encoder.
    virtual double memory_of_helpers() const { return 0; }
    // Everything besides parameters and inputs that the frames depend on, as lines "thing: signature".
    virtual std::string dependencies() const { return {}; }
    // The files and folders that shot_complete() writes, whether they exist or not.
    virtual std::vector<std::string> products(const ShotPaths& paths) const
    {
        (void)paths;
        return {};
    }
    // For renders that do not name what they show: whether the stage's frames can be drawn; the port whose stages this
    // one replaces in the picture; and the kind that draws this stage, if the scene has no stage of it.
    virtual bool drawable() const { return false; }
    virtual std::string stands_for() const { return {}; }
    virtual std::string shown_by() const { return {}; }
    // Called at the end of a run if all frames of the shot are complete; `files` has the first file of each.
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
    // Sets where to read input frames. Called before the functions below.
    virtual void read_from(const InputPath& input) { (void)input; }
    // Each returns when it has reached a frame: the first of the shot, that of a saved state, or the next one.
    virtual FrameReport start(int frame) = 0;
    virtual FrameReport restore(StateFile state) = 0;
    virtual FrameReport advance() = 0;
    // Writes the frame that was reached.
    virtual void write(const std::string& path) = 0;
    // Stores the frame number in numbers["frame"].
    virtual StateFile save() const = 0;
};

class FrameStage : public Stage {
  public:
    using Stage::Stage;
    // `outputs` has a path for each of endings().
    virtual FrameReport make(int frame, const InputPath& input, const std::vector<std::string>& outputs) = 0;
};

// A kind of stage: what a table of a scene can be.
struct StageKind {
    std::string name, help; // one line
    std::function<std::unique_ptr<Stage>(Stage::Id)> make;
    bool needs_no_table = false; // added without a table if another stage reads it and its own inputs exist
};
using StageKinds = std::vector<StageKind>; // in an order where most inputs of a kind come before it

template <class Kind> StageKind stage_kind(const char* name, const char* help, bool needs_no_table = false)
{
    return {name, help, [](Stage::Id id) { return std::make_unique<Kind>(std::move(id)); }, needs_no_table};
}

} // namespace spindrift
