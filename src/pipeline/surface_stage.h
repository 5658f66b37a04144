// The surface of a liquid's particles: a mesh in surface.####.ply, and its signed distance in surface.####.vdb if asked
// for.
#pragma once

#include "pipeline/liquid_setup.h"
#include "pipeline/stage.h"
#include "surface/surface.h"

namespace spindrift {

class SurfaceStage : public FrameStage {
  public:
    explicit SurfaceStage(std::shared_ptr<const LiquidSetup> liquid) : liquid_(std::move(liquid)) {}

    std::string name() const override { return "surface"; }
    std::string help() const override { return "A smooth mesh around the particles."; }
    std::string input() const override { return "liquid"; }
    std::vector<std::string> endings() const override;
    void visit(ParamVisitor& v) override { params_.visit(v); }
    void prepare(const SceneFile& scene, const ShotParams& shot) override;
    Estimate estimate() const override { return estimate_; }
    FrameReport make(int frame, const std::string& input, const std::vector<std::string>& outputs) override;

  private:
    std::shared_ptr<const LiquidSetup> liquid_;
    SurfaceParams params_;
    std::optional<Box3f> container_; // whose closed sides hold the liquid
    Estimate estimate_;
};

} // namespace spindrift
