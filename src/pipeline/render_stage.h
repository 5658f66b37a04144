// Pictures of a shot: its surface as water, or its particles.
#pragma once

#include "pipeline/stage.h"
#include "render/preview.h"
#include "scene/shapes.h"

namespace spindrift {

class RenderStage : public FrameStage {
  public:
    std::string name() const override { return "render"; }
    std::string help() const override { return "Preview pictures, a contact sheet and a film."; }
    std::string input() const override { return params_.show == RenderParams::Show::surface ? "surface" : "liquid"; }
    std::string ending() const override { return params_.format == RenderParams::Format::png ? "png" : "exr"; }
    void visit(ParamVisitor& v) override { params_.visit(v); }
    void prepare(const SceneFile& scene, const ShotParams& shot, const ShotPaths& paths) override;
    Estimate estimate() const override;
    FrameReport make(int frame, const std::string& input, const std::string& output) override;

  private:
    RenderParams params_;
    std::vector<Shape> colliders_;
    Box3f extent_;
    std::optional<Box3f> container_;
    int frames_ = 0;
};

} // namespace spindrift
