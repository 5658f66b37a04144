// The surface of a liquid's particles: a mesh in surface.####.ply.
#pragma once

#include "pipeline/stage.h"
#include "surface/surface.h"

namespace spindrift {

class SurfaceStage : public FrameStage {
  public:
    std::string name() const override { return "surface"; }
    std::string help() const override { return "A smooth mesh around the particles."; }
    std::string input() const override { return "liquid"; }
    std::string ending() const override { return "ply"; }
    void visit(ParamVisitor& v) override { params_.visit(v); }
    void prepare(const SceneFile& scene, const ShotParams& shot, const ShotPaths& paths) override;
    Estimate estimate() const override { return estimate_; }
    FrameReport make(int frame, const std::string& input, const std::string& output) override;

  private:
    SurfaceParams params_;
    std::optional<Box3f> container_;
    Estimate estimate_;
};

} // namespace spindrift
