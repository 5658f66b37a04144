#include "pipeline/scene_template.h"

#include <fmt/format.h>

namespace spindrift {

std::string scene_template(const std::string& name)
{
    return fmt::format(R"(# A ball of water falls into a pool.
#
#     spindrift run {0}.toml
#
# Every parameter there is, with unit, default, range and help:  spindrift describe

[shot]
frames = "1-36"
fps = 24

[liquid]
voxel = 0.025
transfer = "flip"

[liquid.domain]
min = [0, 0, 0]
max = [1, 1, 1]

[[liquid.source]]
shape = "box"
min = [0, 0, 0]
max = [1, 0.25, 1]

[[liquid.source]]
shape = "sphere"
center = [0.5, 0.6, 0.5]
radius = 0.15
velocity = [0, -1, 0]

[surface]

[render]
)",
                       name);
}

} // namespace spindrift
