// Runs Texture (texture/texture.h) as a stage: textures the surface of a tracked surface, of a liquid or of another
// program. Writes it to texture.####.ply with colours and the values that make them, and, with `atlas`, the surface
// with texture coordinates to texture.####.obj and .mtl, and its colours to texture.####.png or .exr.
#pragma once

#include "spindrift/stages/stage_expressions.h"
#include "spindrift/stages/surface_stage.h"
#include "spindrift/stages/texture_files.h"
#include "spindrift/texture/texture.h"

namespace spindrift {

// Drawn as paint, in the colours of the texture, unless the picture says otherwise.
struct TextureFacts : DrawableFacts {
    Looks looks() const override { return {.look = true, .color = true}; }
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override;
    double memory(const Foreseen& foreseen) const override;
};

class TextureStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    std::vector<Port> ports(const ShotGraph& graph) const override;
    std::string input_files() const override { return input_files_; }
    std::vector<std::string> endings() const override { return files_.endings(); }
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    bool drawable() const override { return true; }
    std::string stands_for() const override { return "of"; }
    std::vector<std::string> warnings() const override { return warnings_; }
    Estimate estimate() const override { return estimate_; }
    Rehearsal rehearsal() const override { return Rehearsal::all_frames; }
    // Meshes of another program cannot be made coarser: rehearses at full resolution.
    double coarseness(double k) const override { return input_.empty() ? k : 1; }
    Growth growth() const override { return {2, 2.6}; }
    std::vector<std::string> coarser(double k) const override;
    double memory(const Forecast& forecast) const override;
    std::string dependencies() const override { return dependencies_ + expressions_.dependencies(); }

    void read_from(const InputPath& input) override { input_path_ = input; }
    FrameReport start(int frame) override;
    FrameReport restore(StateFile file) override;
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;

  private:
    void prepare_input(const SceneFile& scene);
    std::vector<ExampleFiles> example_files(const SceneFile& scene);
    std::string file_at(int frame) const;
    Mesh read(int frame) const;
    void set_walls();
    void change_attributes(float seconds);
    FrameReport report(PhaseTimes times) const;

    std::string of_, input_;
    TextureParams params_;
    TextureFileParams files_;
    StageExpressions expressions_;

    std::string where_atlas_; // in the scene
    std::vector<std::string> warnings_;
    std::string source_, input_files_;
    std::vector<Shape> colliders_;
    std::optional<Box3f> container_;
    bool of_liquid_ = false; // a tracked one, whose surface is in a file of its own
    std::shared_ptr<const TextureFacts> facts_;
    std::string dependencies_;
    Estimate estimate_;
    InputPath input_path_;
    FrameRange range_;
    float fps_ = 24;
    std::unique_ptr<Texture> texture_;
    int frame_ = 0;
};

} // namespace spindrift
