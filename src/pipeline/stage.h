// A stage: one link of a shot's chain. It declares its parameters, says what it reads, and writes one file a frame. A time
// stage moves from frame to frame and can save and restore its state; a frame stage can do any frame alone.
//
// To add one: derive from TimeStage or FrameStage, and name it in make_stages() (stages.cpp).
#pragma once

#include "base/timing.h"
#include "io/frame_path.h"
#include "io/state_file.h"
#include "scene/scene_file.h"

#include <memory>

namespace spindrift {

// [shot]: what all stages share.
struct ShotParams {
    std::string frames = "1-48";
    float fps = 24;
    FrameRange range() const { return parse_frame_range(frames); }
    void visit(ParamVisitor& v);
};

// Where a shot's files are.
struct ShotPaths {
    std::string folder; // of the whole shot
    std::string shot;   // its name
    std::string stage_folder(const std::string& stage) const { return folder + "/" + stage; }
    std::string pattern(const std::string& stage, const std::string& ending) const
    {
        return stage_folder(stage) + "/" + stage + ".####." + ending;
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
};

class Stage {
  public:
    virtual ~Stage() = default;

    virtual std::string name() const = 0;
    virtual std::string help() const = 0; // one line
    virtual void visit(ParamVisitor& v) = 0;
    // The stage whose frames are read; empty for none.
    virtual std::string input() const { return {}; }
    // The ending of the frames written.
    virtual std::string ending() const = 0;
    // After the parameters were read and before anything is computed: loads what the scene refers to and throws
    // bad_input if something cannot be done.
    virtual void prepare(const SceneFile& scene, const ShotParams& shot, const ShotPaths& paths) = 0;
    virtual Estimate estimate() const = 0;
    // Everything that the frames depend on besides parameters and input, e.g. the contents of mesh files.
    virtual std::string dependencies() const { return {}; }
};

class TimeStage : public Stage {
  public:
    virtual void start(int frame) = 0;
    virtual FrameReport advance() = 0;
    virtual void write(const std::string& path) = 0;
    virtual StateFile save() const = 0;
    virtual void restore(StateFile state) = 0;
};

class FrameStage : public Stage {
  public:
    virtual FrameReport make(int frame, const std::string& input, const std::string& output) = 0;
};

// All stages there are, in the order of the chain.
std::vector<std::unique_ptr<Stage>> make_stages();

} // namespace spindrift
