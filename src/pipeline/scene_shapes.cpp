#include "pipeline/scene_shapes.h"

#include "io/atomic_file.h"
#include "scene/mesh_sequence.h"

#include <filesystem>
#include <fmt/format.h>

namespace spindrift {

Shape load_shape(const SceneFile& scene, ShapeParams shape, const std::string& where, bool may_be_open)
{
    const bool is_mesh = !shape.file.empty();
    if (is_mesh) shape.file = scene.resolve(shape.file);
    return Shape(shape, scene.where(where + (is_mesh ? ".file" : "")), may_be_open);
}

std::string mesh_files_of(const ShapeParams& shape, const SceneFile& scene)
{
    std::string lines;
    if (shape.file.empty()) return lines;
    for (const std::string& file : mesh_files(scene.resolve(shape.file)))
        lines += fmt::format("mesh {}: {:016x}\n", std::filesystem::path(file).filename().string(),
                             hash_bytes(read_file(file)));
    return lines;
}

Box3f extent_of(const DomainParams& domain, std::initializer_list<const std::vector<Shape>*> shapes, float frame)
{
    if (domain.bounded()) return {*domain.min, *domain.max};
    Box3f extent;
    for (const auto* list : shapes)
        for (const Shape& shape : *list)
            if (const Box3f box = shape.bounds(frame); box.size().allFinite()) extent.add(box);
    return extent;
}

double volume_of(const Vec3f& size) { return static_cast<double>(size.x()) * size.y() * size.z(); }

double volume_inside(const Shape& shape, const Box3f& box, float frame)
{
    constexpr int n = 48;
    int inside = 0;
    for (int x = 0; x < n; ++x)
        for (int y = 0; y < n; ++y)
            for (int z = 0; z < n; ++z) {
                const Vec3f f = (Vec3i(x, y, z).cast<float>().array() + 0.5f) / n;
                inside += shape.distance(box.min + f.cwiseProduct(box.size()), frame) < 0;
            }
    return volume_of(box.size()) * inside / (n * n * n);
}

} // namespace spindrift
