// A stage: one link of a shot's chain. It declares its parameters, says what it reads, and writes its files for each
// frame. A time stage moves from frame to frame and can save and restore its state; a frame stage can do any frame
// alone.
//
// To add one: derive from TimeStage or FrameStage, and name it in make_stages() (stages.cpp).
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

class Stage {
  public:
    virtual ~Stage() = default;

    virtual std::string name() const = 0;
    virtual std::string help() const = 0; // one line
    // What runs this stage alone: spindrift <command> scene.toml
    virtual std::string command() const { return name(); }
    virtual void visit(ParamVisitor& v) = 0;
    // The stages whose frames are read, and those whose frames are read too if the scene has them.
    virtual std::vector<std::string> inputs() const { return {}; }
    virtual std::vector<std::string> optional_inputs() const { return {}; }
    // Files of another program, as a frame pattern that the parameter `input` names. A time stage reads them if
    // inputs() is empty, a frame stage after those of its inputs.
    virtual std::string input_files() const { return {}; }
    // The endings of a frame's files; the first is the one that other stages read.
    virtual std::vector<std::string> endings() const = 0;
    // After the parameters were read, in the order of the chain, and before anything is computed: loads what the scene
    // refers to and throws bad_input if something cannot be done. Called even if the scene has no table of this stage.
    virtual void prepare(const SceneFile& scene, const ShotParams& shot) = 0;
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
    // Called at the end of a run that leaves all frames of the shot complete; `files` are the first file of each.
    virtual void shot_complete(const std::vector<std::string>& files, const ShotPaths& paths, Progress& progress)
    {
        (void)files, (void)paths, (void)progress;
    }
};

class TimeStage : public Stage {
  public:
    // Where the frames of inputs(), or of input_files(), are. Called before the functions below.
    using InputPath = std::function<std::string(int frame)>;
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
    // A path for each of the inputs, in their order, then that of input_files(), and one for each of endings().
    virtual FrameReport make(int frame, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs) = 0;
};

// All stages there are, in the order of the chain.
std::vector<std::unique_ptr<Stage>> make_stages();

} // namespace spindrift
