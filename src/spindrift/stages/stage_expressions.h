// Expressions that a scene attaches to a stage:
//
//     [[liquid.expression]]
//     at = "after_advection"
//     code = "if (length(vec3f@v) > $fastest) deletepoint();"
//     parameters = { fastest = 8 }
//
// They are compiled when the scene is read, and run at their moment, in their order.
#pragma once

#include "spindrift/engine/files_of_frames.h"
#include "spindrift/expression/expression.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/points/hooks.h"
#include "spindrift/scene/named_values.h"
#include "spindrift/scene/scene_file.h"
#include "spindrift/scene/shapes.h"

#include <memory>
#include <mutex>

namespace spindrift {

// VDB files whose grids are sampled by name. A file is read once, however many ask for it.
class SampledVolumes {
  public:
    SampledVolumes(const std::string& pattern, const std::string& where) : files_(pattern, where) {}

    // Adds the volumes of a frame.
    void add(int frame, ExpressionContext& context) const;
    std::string file_at(int frame) const { return files_.at(frame); }
    std::string signature(const std::string& name) const { return files_.signature(name); }

  private:
    struct Read {
        std::mutex mutex;
        std::string file;
        ExpressionContext volumes;
    };
    FilesOfFrames files_;
    std::shared_ptr<Read> last_ = std::make_shared<Read>();
};

// The text of an expression and what it may use.
struct ExpressionSource {
    std::string code, file;
    NamedValues parameters; // $name
    std::string volumes;
    int loop_limit = static_cast<int>(kDefaultLoopLimit);
    void visit(ParamVisitor& v);

    // `name` is its place in the scene. Throws bad_input.
    struct Loaded {
        std::string label, text;
        ExpressionOptions options;
        SampledVolumes volumes;
        std::string dependencies; // what it depends on besides its parameters
    };
    Loaded load(const SceneFile& scene, const std::string& name) const;
};

struct ExpressionParams : ExpressionSource {
    // In each step before the liquid or the droplets have felt pressure and collisions, in each step after they have
    // moved, or on what is written for a frame.
    enum class At { after_forces, after_advection, before_writing };
    At at = At::before_writing;
    void visit(ParamVisitor& v);
};

// Has an expression see colliders, if there are any, which must outlive it, at a moment in frames.
void set_colliders(const std::vector<Shape>& colliders, float frame, ExpressionContext& context);

class StageExpressions {
  public:
    using At = ExpressionParams::At;

    void visit(ParamVisitor& v);
    // Compiles them. Throws bad_input naming the place in the scene or file.
    void prepare(const SceneFile& scene, const std::string& stage, const FrameRange& range, float fps,
                 const std::vector<Shape>& colliders);
    // The radii [m] of particles that get their pscale when they are written: expressions find them under that name.
    using Radii = std::function<std::vector<float>(const Particles&)>;
    void set_radii(Radii radii) { radii_ = std::move(radii); }
    // What they depend on besides their parameters.
    std::string dependencies() const { return dependencies_; }

    bool any(At at) const;
    // Throws bad_input if one of them reads something that is not there. `fields` are the stage's own volumes, which
    // are there after advection.
    void check(const Particles& particles, const ExpressionContext& fields = {}) const;
    // At a moment in frames, in a step of dt [s].
    void run(At at, Particles& particles, float frame, float dt, const ExpressionContext& fields = {});
    // Those that run in steps, for a solver. `fields` are asked for at each of them.
    ParticleHooks hooks(std::function<ExpressionContext()> fields = {});

  private:
    struct Loaded {
        At at;
        Expression expression;
        SampledVolumes volumes;
    };
    ExpressionContext context(const Loaded& loaded, float frame, float dt, const ExpressionContext& fields) const;
    enum class Radius { as_it_is, read, written };
    Radius radius_needed(const Loaded& loaded, const Particles& particles) const;

    std::vector<ExpressionParams> params_;
    std::vector<Loaded> loaded_;
    std::vector<Shape> colliders_;
    Radii radii_;
    std::string dependencies_;
    FrameRange range_;
    float fps_ = 24;
};

} // namespace spindrift
