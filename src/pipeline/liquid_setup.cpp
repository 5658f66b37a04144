#include "pipeline/liquid_setup.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

// The shapes of `items`, which stand in the list `name` of the scene.
template <class Params>
std::vector<Shape> load_shapes(const SceneFile& scene, const std::vector<Params>& items, const char* name)
{
    std::vector<Shape> shapes;
    for (size_t i = 0; i < items.size(); ++i) {
        ShapeParams shape = items[i];
        const bool is_mesh = !shape.file.empty();
        if (is_mesh) shape.file = scene.resolve(shape.file);
        shapes.emplace_back(shape, scene.where(fmt::format("liquid.{}[{}]{}", name, i, is_mesh ? ".file" : "")));
    }
    return shapes;
}

} // namespace

void LiquidSetup::load(const SceneFile& scene, int first_frame)
{
    sources = load_shapes(scene, params.sources, "source");
    sinks = load_shapes(scene, params.sinks, "sink");
    colliders = load_shapes(scene, params.colliders, "collider");
    for (auto* shapes : {&sources, &sinks, &colliders})
        for (Shape& shape : *shapes) shape.prepare(static_cast<float>(first_frame));
    if (params.domain.bounded()) {
        extent = {*params.domain.min, *params.domain.max};
        return;
    }
    for (const auto* shapes : {&sources, &colliders})
        for (const Shape& shape : *shapes)
            if (const Box3f box = shape.bounds(static_cast<float>(first_frame)); box.size().allFinite())
                extent.add(box);
}

} // namespace spindrift
