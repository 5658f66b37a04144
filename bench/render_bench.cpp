// Time and error of the pictures of the demo, scenes/dam_break.toml, at preview quality against what they took before:
// full quality with the same setting of `samples`. Errors are against a picture of 1024 samples, as root mean squares
// of what a screen shows (tone-mapped, sRGB from 0 to 1).
#include "bench.h"
#include "render/simple_meshes.h"
#include "spindrift/base/error.h"
#include "spindrift/cli/cli.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/render/preview.h"

#include <filesystem>
#include <fmt/format.h>

namespace spindrift {

namespace {

constexpr int kFrame = 24; // the wave has met the post and the far wall

// The surface of that frame, by the liquid itself; pictures on the way are as small as they can be.
Mesh demo_surface()
{
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / fmt::format("spindrift_render_bench_{}", ::getpid());
    std::vector<std::string> words = {"spindrift",
                                      "run",
                                      SPINDRIFT_SOURCE_DIR "/scenes/dam_break.toml",
                                      "--frames",
                                      fmt::format("1-{}", kFrame),
                                      "--set",
                                      "render.width=16",
                                      "--set",
                                      "render.height=9",
                                      "-o",
                                      folder.string()};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    if (run_command_line(static_cast<int>(arguments.size()), arguments.data()) != 0) fail("the demo does not run");
    Mesh mesh;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().parent_path().filename() == "surface" && entry.path().extension() == ".ply" &&
            entry.path().string().find(fmt::format("{:04}", kFrame)) != std::string::npos)
            mesh = read_mesh(entry.path().string());
    fs::remove_all(folder);
    if (mesh.triangles.empty()) fail("the demo leaves no surface of frame {}", kFrame);
    return mesh;
}

// Root mean square difference on a screen.
double error_of(const Image& a, const Image& b, const RenderParams& params)
{
    const std::vector<Vec3f> first = tone_mapped(a, params).pixels, second = tone_mapped(b, params).pixels;
    double sum = 0;
    for (size_t i = 0; i < first.size(); ++i)
        for (int k = 0; k < 3; ++k) {
            const double d = static_cast<double>(srgb_from_linear(first[i][k]) - srgb_from_linear(second[i][k]));
            sum += d * d;
        }
    return std::sqrt(sum / static_cast<double>(3 * first.size()));
}

} // namespace

void bench_render(BenchTable& table)
{
    const Mesh water = demo_surface(), post = box_mesh({Vec3f(1.2f, -0.1f, 0.32f), Vec3f(1.36f, 0.3f, 0.48f)});
    RenderScene scene;
    scene.surfaces = {&water}, scene.solids = {&post};
    scene.extent = {Vec3f(0, 0, 0), Vec3f(2, 1.2f, 0.8f)}, scene.container = scene.extent;
    RenderParams params;
    const auto at = [&](RenderParams::Quality quality, int samples) {
        params.quality = quality, params.samples = samples;
        return render(scene, params);
    };
    using enum RenderParams::Quality;
    Image before, now, rough;
    const double full_time = best_seconds(3, [&] { before = at(full, 16); });
    const double preview_time = best_seconds(3, [&] { now = at(preview, 16); });
    const double draft_time = best_seconds(3, [&] { rough = at(draft, 16); });
    const Image reference = at(full, 1024);
    const double full_error = error_of(before, reference, params), preview_error = error_of(now, reference, params);
    table.add(
        fmt::format("picture of the demo, frame {}, {} x {} at full quality", kFrame, params.width, params.height),
        fmt::format("{:.2f} s, error {:.4f}", full_time, full_error), "", true);
    table.add("  preview quality, time",
              fmt::format("{:.2f} s, {:.2f} of full", preview_time, preview_time / full_time), "at most 0.5 of full",
              preview_time <= 0.5 * full_time);
    table.add("  preview quality, error",
              fmt::format("{:.4f}, {:.2f} of full", preview_error, preview_error / full_error), "at most that of full",
              preview_error <= full_error);
    table.add("  draft quality, time", fmt::format("{:.3f} s, {:.3f} of full", draft_time, draft_time / full_time),
              "at most 0.1 of full", draft_time <= 0.1 * full_time);
    table.add("  draft quality, error", fmt::format("{:.4f}", error_of(rough, reference, params)), "", true);
}

} // namespace spindrift
