#include "pipeline/crowd_stage.h"
#include "pipeline/grains_stage.h"
#include "pipeline/liquid_stage.h"
#include "pipeline/render_stage.h"
#include "pipeline/ripples_stage.h"
#include "pipeline/sand_stage.h"
#include "pipeline/smoke_stage.h"
#include "pipeline/spray_stage.h"
#include "pipeline/surface_stage.h"

namespace spindrift {

std::vector<std::unique_ptr<Stage>> make_stages()
{
    const auto liquid = std::make_shared<LiquidSetup>();
    const auto spray = std::make_shared<SpraySetup>();
    const auto smoke = std::make_shared<SmokeSetup>();
    const auto crowd = std::make_shared<CrowdSetup>();
    const auto sand = std::make_shared<SandSetup>();
    std::vector<std::unique_ptr<Stage>> stages;
    stages.push_back(std::make_unique<LiquidStage>(liquid));
    stages.push_back(std::make_unique<SprayStage>(liquid, spray));
    stages.push_back(std::make_unique<SurfaceStage>(liquid));
    stages.push_back(std::make_unique<RipplesStage>(liquid));
    stages.push_back(std::make_unique<SmokeStage>(smoke));
    stages.push_back(std::make_unique<CrowdStage>(crowd));
    stages.push_back(std::make_unique<SandStage>(sand));
    stages.push_back(std::make_unique<GrainsStage>(sand));
    stages.push_back(std::make_unique<RenderStage>(liquid, spray, smoke, crowd, sand));
    return stages;
}

} // namespace spindrift
