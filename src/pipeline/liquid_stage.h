// The liquid as a stage: particles in liquid.####.vdb.
#pragma once

#include "liquid/liquid.h"
#include "pipeline/stage.h"

#include <fmt/format.h>

namespace spindrift {

class LiquidStage : public TimeStage {
  public:
    std::string name() const override { return "liquid"; }
    std::string help() const override { return "A PIC/FLIP/APIC liquid: particles that carry water."; }
    std::string ending() const override { return "vdb"; }
    void visit(ParamVisitor& v) override { params_.visit(v); }
    void prepare(const SceneFile& scene, const ShotParams& shot, const ShotPaths& paths) override;
    Estimate estimate() const override;
    std::string dependencies() const override { return mesh_contents_; }

    void start(int frame) override { liquid_->start(frame); }
    FrameReport advance() override;
    void write(const std::string& path) override;
    StateFile save() const override;
    void restore(StateFile state) override;

  private:
    LiquidParams params_;
    std::string mesh_contents_; // hashes of the mesh files that the scene names
    std::unique_ptr<Liquid> liquid_;
    Estimate estimate_;
};

// The liquid's parameters as another stage of the same scene needs them.
LiquidParams liquid_of(const SceneFile& scene);
// The box that a camera should see: the domain, or what sources and colliders cover when the shot starts.
Box3f extent_of(const LiquidParams& params, const std::vector<Shape>& sources, const std::vector<Shape>& colliders, int frame);
// Shapes of the sources or colliders in table `list` of the scene.
template <class Params> std::vector<Shape> load_shapes(const SceneFile& scene, const std::vector<Params>& items, const char* list)
{
    std::vector<Shape> shapes;
    for (size_t i = 0; i < items.size(); ++i) {
        ShapeParams shape = items[i];
        if (!shape.file.empty()) shape.file = scene.resolve(shape.file);
        shapes.emplace_back(shape, scene.where(fmt::format("liquid.{}[{}]{}", list, i, shape.file.empty() ? "" : ".file")));
    }
    return shapes;
}

} // namespace spindrift
