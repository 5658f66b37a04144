#include "spindrift/stages/liquid_setup.h"

#include "spindrift/stages/body_files.h"
#include "spindrift/stages/scene_shapes.h"

namespace spindrift {

void LiquidSetup::load(const SceneFile& scene, int first_frame)
{
    sources = load_shapes(scene, params.sources, "liquid.source");
    sinks = load_shapes(scene, params.sinks, "liquid.sink");
    colliders = load_colliders(scene, params.colliders, "liquid.collider");
    bodies = load_body_shapes(scene, params.bodies, "liquid.body");
    for (auto* shapes : {&sources, &sinks, &colliders})
        for (Shape& shape : *shapes) shape.prepare(static_cast<float>(first_frame));
    extent = extent_of(params.domain, {&sources, &colliders}, static_cast<float>(first_frame));
}

} // namespace spindrift
