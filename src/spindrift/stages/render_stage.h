// Draws pictures of a shot: layers, each the frames of a stage, and solids. The kind of a stage determines how its
// frames are drawn (stages/drawable.h).
#pragma once

#include "spindrift/stages/drawable.h"
#include "spindrift/stages/taken_particles.h"

namespace spindrift {

class RenderStage : public FrameStage {
  public:
    using FrameStage::FrameStage;

    std::vector<Port> ports(const ShotGraph& graph) const override;
    std::string input_files() const override { return input_files_; }
    std::vector<std::string> endings() const override { return {is_png() ? "png" : "exr"}; }
    void visit(ParamVisitor& v) override;
    void prepare(const StageContext& context) override;
    Estimate estimate() const override;
    std::string dependencies() const override;
    Rehearsal rehearsal() const override { return Rehearsal::some_frames; }
    double coarseness(double k) const override;
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override { return {1.5, 2}; }
    double memory(const Forecast& forecast) const override;
    double memory_of_helpers() const override;
    FrameReport make(int frame, const InputPath& input, const std::vector<std::string>& outputs) override;
    std::vector<std::string> products(const ShotPaths& paths) const override;
    void shot_complete(const std::vector<std::string>& files, const ShotPaths& paths, Progress& progress) override;

  private:
    struct Layer {
        LayerParams params;
        std::shared_ptr<const DrawableFacts> facts;
    };
    std::vector<std::string> shown_stages(const ShotGraph& graph) const;
    const LayerParams& layer_of(const std::string& stage) const;
    void expect_layers_of_stages(const SceneFile& scene) const;
    void expect_looks_that_apply(const SceneFile& scene) const;
    void expect_distinct_channels(const SceneFile& scene) const;
    Box3f extent_of_shot();
    Box3f extent_of_input();
    void draw(int frame, const InputPath& input, DrawnScene& picture) const;
    RenderScene scene_of(DrawnScene& picture);
    bool is_png() const { return params_.format == RenderParams::Format::png; }

    RenderParams params_;
    std::vector<std::string> show_; // stages, as the scene names them
    std::vector<LayerParams> layer_params_;
    enum class Solids { shown, matte, holdout, hidden };
    Solids solids_ = Solids::shown;
    std::string input_, input_files_; // files of another program: as written, and from where the program runs
    bool input_is_mesh_ = false;      // or else smoke
    std::vector<Layer> layers_;
    std::vector<std::shared_ptr<const DrawableFacts>> around_; // stages whose solids are drawn
    TakenParticles taken_;
    ShotParams shot_;
    std::optional<Box3f> input_extent_; // of the other program's smoke over the shot, once it is known
};

} // namespace spindrift
