// The graph of a shot: its stages and what each one reads, built from the tables of a scene.
//
// Each table is a stage. Its kind is its parameter `kind`, or else its name. Parameters name the inputs; missing ones
// are resolved from the stages that the scene has (Port::Unnamed). Unknown names and kinds, inputs of the wrong kind
// and cycles are errors that report their position in the scene.
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
        bool in_scene = true; // false: the stage has no table and exists because another one reads it
        std::vector<Input> inputs;
        // The stages whose frames this one reads, without duplicates.
        std::vector<std::string> read() const;
    };

    // Reads the parameters of all stages and resolves their inputs. Throws bad_input. `also` names kinds to add even if
    // no table asks for them.
    ShotGraph(const SceneFile& scene, const StageKinds& kinds, const std::vector<std::string>& also = {});

    // Prepares all stages, each after those that it reads, and passes their facts on. Throws bad_input.
    void prepare(const ShotParams& shot);

    // Sorted so that each stage follows those it reads; ties in the order of the kinds, then of the names.
    const std::vector<Node>& nodes() const { return nodes_; }
    const Node* find(const std::string& name) const;
    std::vector<const Node*> of_kind(const std::string& kind) const;
    const StageKinds& kinds() const { return kinds_; }
    const SceneFile& scene() const { return scene_; }

    // text(): a line for each stage, "skin (surface) <- milk (liquid)". svg(): a drawing of the graph.
    std::string text() const;
    std::string svg() const;

  private:
    void add_stages();
    void add_stage(const StageKind& kind, const std::string& name, bool in_scene);
    void find_inputs(const std::string& name);
    std::vector<std::string> unnamed(const Node& node, const Port& port);
    void expect_readable(const Node& node, const Port& port, const std::string& name,
                         const std::string& param_name) const;
    void sort();
    const StageKind* kind_named(const std::string& name) const;

    const SceneFile& scene_;
    const StageKinds& kinds_;
    std::vector<Node> nodes_;
};

// Visits the parameters that `describe` shows and the scene may set: `kind` and the stage's own.
void visit_stage(Stage& stage, ParamVisitor& v);

} // namespace spindrift
