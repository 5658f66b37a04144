#include "pipeline/liquid_stage.h"
#include "pipeline/render_stage.h"
#include "pipeline/surface_stage.h"

namespace spindrift {

std::vector<std::unique_ptr<Stage>> make_stages()
{
    std::vector<std::unique_ptr<Stage>> stages;
    stages.push_back(std::make_unique<LiquidStage>());
    stages.push_back(std::make_unique<SurfaceStage>());
    stages.push_back(std::make_unique<RenderStage>());
    return stages;
}

} // namespace spindrift
