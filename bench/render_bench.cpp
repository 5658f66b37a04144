// Time and error of the pictures of the demo, scenes/dam_break.toml, at preview quality relative to full quality with
// the same setting of `samples`. Errors are root mean square differences from a picture of 1024 samples in every pixel
// (256 in further frames), of displayed values (tone-mapped, sRGB from 0 to 1).
#include "bench.h"
#include "render/simple_meshes.h"
#include "spindrift/base/error.h"
#include "spindrift/cli/cli.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/render/preview.h"

#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

namespace spindrift {

namespace {

constexpr int kFrame = 24;                // the wave has met the post and the far wall
constexpr int kCalm = 12, kBreaking = 40; // other frames, for errors alone

// The surfaces of these frames, by simulating the shot with tiny pictures.
std::map<int, Mesh> demo_surfaces()
{
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / fmt::format("spindrift_render_bench_{}", ::getpid());
    std::vector<std::string> words = {"spindrift",
                                      "run",
                                      SPINDRIFT_SOURCE_DIR "/scenes/dam_break.toml",
                                      "--frames",
                                      fmt::format("1-{}", kBreaking),
                                      "--set",
                                      "render.width=16",
                                      "--set",
                                      "render.height=9",
                                      "-o",
                                      folder.string()};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    if (run_command_line(static_cast<int>(arguments.size()), arguments.data()) != 0) fail("the demo does not run");
    std::map<int, Mesh> surfaces;
    for (const int frame : {kCalm, kFrame, kBreaking})
        surfaces[frame] = read_mesh((folder / "surface" / fmt::format("surface.{:04}.ply", frame)).string());
    fs::remove_all(folder);
    return surfaces;
}

// Root mean square difference on a screen.
double error_between(const Image& a, const Image& b)
{
    const std::vector<Vec3f> first = tone_mapped(a, {}).pixels, second = tone_mapped(b, {}).pixels;
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
    const std::map<int, Mesh> water = demo_surfaces();
    const Mesh post = box_mesh({Vec3f(1.2f, -0.1f, 0.32f), Vec3f(1.36f, 0.3f, 0.48f)});
    RenderScene scene;
    scene.surfaces = {&water.at(kFrame)}, scene.solids = {&post};
    scene.extent = {Vec3f(0, 0, 0), Vec3f(2, 1.2f, 0.8f)}, scene.container = scene.extent;
    const auto at = [&](RenderParams::Quality quality, int samples, int width, bool everywhere = false) {
        RenderParams params;
        params.quality = quality, params.samples = samples;
        params.width = width, params.height = width * 9 / 16;
        if (everywhere) params.camera.f_stop = 1e6f; // with a lens, however small, every pixel gets all samples
        return render(scene, params);
    };
    using enum RenderParams::Quality;
    constexpr int kSamples = 16, kWidth = 960; // those of the demo
    const double full_time = best_seconds(3, [&] { at(full, kSamples, kWidth); });
    const double preview_time = best_seconds(3, [&] { at(preview, kSamples, kWidth); });
    const double draft_time = best_seconds(3, [&] { at(draft, kSamples, kWidth); });
    // Errors at a size at which the reference takes two minutes.
    constexpr int kSmall = 480;
    Image reference = at(full, 1024, kSmall, true);
    const auto error = [&](RenderParams::Quality quality) {
        return error_between(at(quality, kSamples, kSmall), reference);
    };
    const double full_error = error(full), preview_error = error(preview), draft_error = error(draft);
    table.add(fmt::format("picture of the demo, frame {}, at full quality", kFrame),
              fmt::format("{:.2f} s, error {:.4f}", full_time, full_error));
    table.add("  preview quality, time",
              fmt::format("{:.2f} s, {:.2f} of full", preview_time, preview_time / full_time), preview_time / full_time,
              at_most(0.5, " of full"));
    table.add("  preview quality, error",
              fmt::format("{:.4f}, {:.2f} of full", preview_error, preview_error / full_error),
              preview_error / full_error, at_most(1, " of full"));
    table.add("  draft quality, time",
              fmt::format("{:.3f} s, {:.2f} of preview", draft_time, draft_time / preview_time),
              draft_time / preview_time, at_most(0.1, " of preview"));
    table.add("  draft quality, error", fmt::format("{:.4f}", draft_error));
    for (const int frame : {kCalm, kBreaking}) { // paths are distributed well in other pictures too
        scene.surfaces = {&water.at(frame)};
        reference = at(full, 256, kSmall, true);
        const double ratio = error(preview) / error(full);
        table.add(fmt::format("  preview quality, error in frame {}", frame), fmt::format("{:.2f} of full", ratio),
                  ratio, at_most(1, " of full"));
    }
}

} // namespace spindrift
