#include "spindrift/cli/file_info.h"

#include "spindrift/base/error.h"
#include "spindrift/engine/progress.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"

#include <filesystem>

namespace spindrift {

namespace {

std::string vector_text(const Vec3f& v) { return fmt::format("({:.6g}, {:.6g}, {:.6g})", v.x(), v.y(), v.z()); }

std::string describe_mesh(const std::string& path)
{
    const Mesh mesh = read_mesh(path);
    const Box3f box = bounds_of(mesh);
    std::string text = fmt::format("mesh: {} vertices, {} triangles, {}\n", mesh.positions.size(),
                                   mesh.triangles.size(), is_closed(mesh) ? "closed" : "open");
    if (!box.empty()) text += fmt::format("bounds: {} to {} m\n", vector_text(box.min), vector_text(box.max));
    if (is_closed(mesh)) text += fmt::format("volume: {:.6g} m3\n", volume_of(mesh));
    text += fmt::format("per vertex: position{}{}", mesh.normals.empty() ? "" : ", normal",
                        mesh.velocities.empty() ? "" : ", velocity");
    for (const auto& [name, array] : mesh.attributes) text += ", " + name;
    text += "\n";
    return text;
}

std::string describe_picture(const std::string& path)
{
    const Image image = read_image(path);
    Vec3f sum = Vec3f::Zero();
    for (const Vec3f& p : image.pixels) sum += p;
    const Vec3f mean = image.pixels.empty() ? sum : Vec3f(sum / static_cast<float>(image.pixels.size()));
    return fmt::format("picture: {} x {} pixels, mean linear RGB {}\n", image.width, image.height, vector_text(mean));
}

} // namespace

std::string describe_file(const std::string& path_or_pattern)
{
    std::string path = path_or_pattern, text;
    if (!file_exists(path) && has_frame_pattern(path_or_pattern)) {
        const std::vector<int> frames = frames_on_disk(path_or_pattern);
        if (frames.empty()) bad_input("no file matches {}", path_or_pattern);
        const bool gaps = frames.back() - frames.front() + 1 != static_cast<int>(frames.size());
        text = fmt::format("{} frames from {} to {}{}; the first:\n", frames.size(), frames.front(), frames.back(),
                           gaps ? ", with gaps" : "");
        path = frame_path(path_or_pattern, frames.front());
    }
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) bad_input("there is no file {}", path);
    text += fmt::format("{}: {}\n", path, size_text(static_cast<double>(std::filesystem::file_size(path))));
    const std::string ending = std::filesystem::path(path).extension().string();
    if (ending == ".vdb") return text + describe_vdb(path);
    if (ending == ".ply" || ending == ".obj") return text + describe_mesh(path);
    if (ending == ".png" || ending == ".exr" || ending == ".jpg") return text + describe_picture(path);
    bad_input("{}: unknown file type '{}'; known types are .vdb, .ply, .obj, .png, .exr and .jpg", path, ending);
}

} // namespace spindrift
