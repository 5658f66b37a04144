#include "spindrift/stages/thin_solids.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

// The smaller dimension of a shape seen from its thinnest side: the thickness of a rod, the width of a plate.
float width_of(const Shape& shape, float frame)
{
    const ShapeParams& params = shape.params();
    if (params.invert || params.shape == ShapeParams::Kind::half_space) return kInfinity;
    Vec3f size = Vec3f::Constant(2 * params.radius); // of a capsule, whose third dimension is its length
    if (params.shape == ShapeParams::Kind::box) size = params.max - params.min;
    if (params.shape == ShapeParams::Kind::mesh) size = bounds_of(shape.mesh(frame)).size();
    std::sort(size.begin(), size.end());
    return size[1];
}

} // namespace

std::vector<std::string> thin_solids(const SceneFile& scene, const std::string& stage, float voxel,
                                     const std::vector<Shape>& colliders, const std::vector<Bodies::Shapes>& bodies,
                                     float frame)
{
    std::vector<std::string> warnings;
    for (size_t i = 0; i < colliders.size(); ++i) {
        const std::string name = fmt::format("{}.collider[{}]", stage, i);
        if (const float width = width_of(colliders[i], frame); width < voxel)
            warnings.push_back(fmt::format("{}: {} is a rod or ball of {:.3g} m, thinner than {}.voxel ({:.3g} m), and "
                                           "material may pass through it; make it thicker, or lower {}.voxel",
                                           scene.where(name), name, width, stage, voxel, stage));
    }
    for (size_t b = 0; b < bodies.size(); ++b) {
        const auto is_thin = [&](const Shape& part) {
            return part.is_wall_below(voxel) || width_of(part, frame) < voxel;
        };
        const std::string name = fmt::format("{}.body[{}]", stage, b);
        if (std::any_of(bodies[b].begin(), bodies[b].end(), is_thin))
            warnings.push_back(fmt::format("{}: {} is thinner than {}.voxel ({:.3g} m) in places, where material may "
                                           "pass through it; make it thicker, lower {}.voxel, or make it a collider",
                                           scene.where(name), name, stage, voxel, stage));
    }
    return warnings;
}

} // namespace spindrift
