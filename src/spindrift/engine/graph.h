// The stages of a shot and what each reads: made from the tables of a scene.
//
// A table is a stage. Its kind is what its parameter `kind` says, or else its name. Inputs are named by parameters;
// what a scene leaves out follows from what it has (Port::Unnamed). Unknown names and kinds, inputs of a wrong kind and
// cycles are errors with their place in the scene.
#pragma once

#include "spindrift/engine/stage.h"

namespace spindrift {

class ShotGraph {
  public:
    struct Input {
        std::string port, stage;
        bool frames = true;
    };
    struct Node {
        std::unique_ptr<Stage> stage;
        bool in_scene = true; // has a table; others are there because a stage reads them
        std::vector<Input> inputs;
        // The stages whose frames it reads, each once.
        std::vector<std::string> read() const;
    };

    // Reads the parameters of all stages and finds their inputs. Throws bad_input. `also` names kinds that are wanted
    // even if no table asks for them.
    ShotGraph(const SceneFile& scene, const StageKinds& kinds, const std::vector<std::string>& also = {});

    // Prepares all stages, each after those that it reads, which tell it what they are. Throws bad_input.
    void prepare(const ShotParams& shot);

    // Each after those that it reads; otherwise in the order of the kinds, and of names.
    const std::vector<Node>& nodes() const { return nodes_; }
    const Node* find(const std::string& name) const;
    std::vector<const Node*> of_kind(const std::string& kind) const;
    const StageKinds& kinds() const { return kinds_; }
    const SceneFile& scene() const { return scene_; }

    // A line for each stage: "skin (surface) <- milk (liquid)"; and a picture of it.
    std::string text() const;
    std::string svg() const;

  private:
    void add_stages();
    void add_stage(const StageKind& kind, const std::string& name, bool in_scene);
    void find_inputs(const std::string& name);
    std::vector<std::string> unnamed(const Node& node, const Port& port);
    std::string required(const Node& node, const Port& port, const std::string& name) const;
    void sort();
    const StageKind* kind_named(const std::string& name) const;

    const SceneFile& scene_;
    const StageKinds& kinds_;
    std::vector<Node> nodes_;
};

// What `describe` shows and the scene may set: the stage's own parameters, and its kind.
void visit_stage(Stage& stage, ParamVisitor& v);

} // namespace spindrift
