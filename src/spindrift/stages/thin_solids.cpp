#include "spindrift/stages/thin_solids.h"

#include <fmt/format.h>

namespace spindrift {

std::vector<std::string> thin_solids(const SceneFile& scene, const std::string& stage, float voxel,
                                     const std::vector<Shape>& colliders, const std::vector<Bodies::Shapes>& bodies)
{
    std::vector<std::string> warnings;
    for (size_t i = 0; i < colliders.size(); ++i) {
        const std::string name = fmt::format("{}.collider[{}]", stage, i);
        const std::string place = scene.where(name);
        if (const float width = colliders[i].width(); width < voxel)
            warnings.push_back(fmt::format("{}: {} is a rod or ball of {:.3g} m, thinner than {}.voxel ({:.3g} m), and "
                                           "material may pass through it; make it thicker, or lower {}.voxel",
                                           place, name, width, stage, voxel, stage));
        if (colliders[i].is_divided_below(voxel))
            warnings.push_back(
                fmt::format("{}: {} has walls between its chambers that are thinner than {}.voxel ({:.3g} "
                            "m), and material may pass through them; make them thicker, lower {}.voxel, "
                            "or make them colliders of their own",
                            place, name, stage, voxel, stage));
        if (colliders[i].triangles_change() && colliders[i].is_wall_below(2 * voxel))
            warnings.push_back(
                fmt::format("{}: the triangles of {} change from frame to frame, so its motion in between "
                            "is unknown, and material may pass through its thin parts; keep the "
                            "triangles and move their vertices",
                            place, name));
    }
    for (size_t b = 0; b < bodies.size(); ++b) {
        const auto is_thin = [&](const Shape& part) { return part.is_wall_below(voxel) || part.width() < voxel; };
        const std::string name = fmt::format("{}.body[{}]", stage, b);
        if (std::any_of(bodies[b].begin(), bodies[b].end(), is_thin))
            warnings.push_back(fmt::format("{}: {} is thinner than {}.voxel ({:.3g} m) in places, where material may "
                                           "pass through it; make it thicker, lower {}.voxel, or make it a collider",
                                           scene.where(name), name, stage, voxel, stage));
    }
    return warnings;
}

} // namespace spindrift
