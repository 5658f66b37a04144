// Expressions that a scene attaches to a stage:
//
//     [[liquid.expression]]
//     at = "after_advection"
//     code = "if (length(vec3f@v) > $fastest) deletepoint();"
//     parameters = { fastest = 8 }
//
// They are compiled when the scene is read, and run at their point of the step in the order of the scene.
#pragma once

#include "spindrift/engine/files_of_frames.h"
#include "spindrift/expression/expression.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/mesh/mesh.h"
#include "spindrift/points/hooks.h"
#include "spindrift/scene/named_values.h"
#include "spindrift/scene/scene_file.h"
#include "spindrift/scene/shapes.h"

#include <memory>
#include <mutex>

namespace spindrift {

// VDB files whose grids are sampled by name. Each file is read once.
class SampledVolumes {
  public:
    SampledVolumes(const std::string& pattern, const std::string& where) : files_(pattern, where) {}

    // Adds the volumes of a frame to the context.
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

// The text of an expression and its parameters.
struct ExpressionSource {
    std::string code, file;
    NamedValues parameters; // $name
    std::string volumes;
    int loop_limit = static_cast<int>(kDefaultLoopLimit);
    void visit(ParamVisitor& v);

    // Loads text and volumes; `name` is the position in the scene. Throws bad_input.
    struct Loaded {
        std::string label, text;
        ExpressionOptions options;
        SampledVolumes volumes;
        std::string dependencies; // besides the parameters
    };
    Loaded load(const SceneFile& scene, const std::string& name) const;
};

struct ExpressionParams : ExpressionSource {
    // When an expression runs: in each step before pressure and collisions, in each step after advection, or on the
    // data written for a frame.
    enum class At { after_forces, after_advection, before_writing };
    At at = At::before_writing;
    void visit(ParamVisitor& v);
};

// Makes colliders visible to expressions, at a time in frames. The colliders must outlive the context.
void set_colliders(const std::vector<Shape>& colliders, float frame, ExpressionContext& context);

class StageExpressions {
  public:
    using At = ExpressionParams::At;

    // `list`: their name in the scene, which must outlive this object.
    void visit(ParamVisitor& v, const char* list = "expression", const char* help = "Expressions on the particles.");
    // Compiles the expressions. Throws bad_input that names the position in the scene or file.
    void prepare(const SceneFile& scene, const std::string& stage, const FrameRange& range, float fps,
                 const std::vector<Shape>& colliders);
    // Computes the radii [m] of particles whose pscale is set only when they are written: expressions see them as
    // pscale.
    using Radii = std::function<std::vector<float>(const Particles&)>;
    void set_radii(Radii radii) { radii_ = std::move(radii); }
    // What the expressions depend on besides their parameters.
    std::string dependencies() const { return dependencies_; }

    bool any() const { return !loaded_.empty(); }
    bool any(At at) const;
    // True if one of that kind writes the attribute.
    bool writes(At at, const std::string& attribute) const;
    // Throws bad_input if an expression reads an attribute or volume that does not exist. `fields` are the stage's own
    // volumes, which are available after advection.
    void check(const Particles& particles, const ExpressionContext& fields = {}) const;
    // Runs the expressions of one kind at a time in frames, in a step of dt [s].
    void run(At at, Particles& particles, float frame, float dt, const ExpressionContext& fields = {});
    // The same on the vertices of a mesh, which expressions see as points with their normals N. `stage` is for
    // messages.
    void run_on_vertices(At at, Mesh& mesh, int frame, const std::string& stage);
    // The expressions that run in steps, as hooks for a solver. `fields` is called each time.
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

    const char* list_ = "expression";
    std::vector<ExpressionParams> params_;
    std::vector<Loaded> loaded_;
    std::vector<Shape> colliders_;
    Radii radii_;
    std::string dependencies_;
    FrameRange range_;
    float fps_ = 24;
};

} // namespace spindrift
