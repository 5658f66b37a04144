#include "pipeline/scene_shapes.h"

#include "io/atomic_file.h"
#include "scene/mesh_sequence.h"

#include <filesystem>
#include <fmt/format.h>

namespace spindrift {

Shape load_shape(const SceneFile& scene, ShapeParams shape, const std::string& where)
{
    const bool is_mesh = !shape.file.empty();
    if (is_mesh) shape.file = scene.resolve(shape.file);
    return Shape(shape, scene.where(where + (is_mesh ? ".file" : "")));
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

} // namespace spindrift
