// Textures of a turning ball. [Bargteil 2006, 5.3] takes 16 to 45 minutes a frame for synthesis, [Narain 2011, 2.5.3]
// 200 to 500 s.
#include "bench.h"

#include "spindrift/base/memory.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/mesh/remesh.h"
#include "spindrift/stages/texture_files.h"
#include "spindrift/texture/bake.h"
#include "spindrift/texture/texture.h"
#include "texture/sequences.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>

namespace spindrift {

namespace {

using Mode = TextureParams::Mode;

// What a case changes of the parameters of its mode.
using Change = std::function<void(TextureParams&)>;

// The time of a frame after the first [s], the best of two. The ball has about as many vertices as texels. With files,
// frames are read from a file, and textured ones written to another.
double seconds_of_frame(Mode mode, int vertices, const Change& change = {}, bool files = false)
{
    TextureParams params;
    params.mode = mode, params.start_steps = 10;
    params.exemplar.feature = 10;
    const float texel = std::sqrt(4 * static_cast<float>(kPi) / static_cast<float>(vertices));
    params.size = texel * params.exemplar.feature;
    if (change) change(params);
    TurningBall ball;
    ball.levels = 7;
    std::vector<Mesh> frames;
    for (int i = 0; i < 3; ++i) {
        frames.push_back(remeshed(ball.frame(i, true), 1.0746f * texel).mesh);
        for (const Vec3f& x : frames.back().positions)
            frames.back().velocities.emplace_back((x - ball.back(x, 1)) / ball.seconds);
    }
    Texture texture(params);
    texture.start(frames[0]), texture.synthesize();
    const std::string folder = std::filesystem::temp_directory_path() / "spindrift_texture_bench";
    if (files) std::filesystem::create_directories(folder);
    double best = 1e9;
    for (int i = 1; i < 3; ++i) {
        if (files) write_mesh(folder + "/surface.ply", frames[i]);
        best = std::min(best, seconds_of([&] {
                            texture.carry(files ? read_mesh(folder + "/surface.ply") : frames[i], ball.seconds);
                            texture.synthesize();
                            if (files)
                                write_texture(folder + "/texture.ply", texture.mesh(), texture.surface(), {}, {});
                        }));
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return best;
}

// A ball as its atlas, and a finer ball's colours baked into that [s].
struct AtlasTimes {
    double atlas, baking;

    AtlasTimes(const Mesh& surface, const Mesh& fine, int size)
    {
        const std::vector<Vec3f> colors(fine.positions.size(), Vec3f::Ones());
        Atlas made;
        atlas = seconds_of([&] { made = make_atlas(surface, size); });
        baking = seconds_of([&] { baked_from_nearest(made, surface, fine, colors); });
    }
};

void bench_atlas(BenchTable& table)
{
    const Mesh small = rough_ball(6, 0.2f), large = rough_ball(8, 0.2f), fine = sphere_mesh({0, 0, 0}, 1, 8);
    const AtlasTimes few(small, fine, 1024), many(large, fine, 2048), pixels(small, fine, 4096);
    const double triangles = static_cast<double>(large.triangles.size()),
                 more = triangles / static_cast<double>(small.triangles.size());
    table.add(fmt::format("texture, atlas of {:.0f} thousand triangles", triangles / 1000),
              fmt::format("{:.2f} s a frame", many.atlas), many.atlas, at_most(1, " s"));
    table.add(fmt::format("  time a triangle, {:.0f} times as many", more),
              fmt::format("{:.2f} times", many.atlas / few.atlas / more), many.atlas / few.atlas / more,
              at_most(1.3, " times"));
    table.add("  baking, 2048 x 2048 pixels from a million triangles", fmt::format("{:.2f} s a frame", many.baking),
              many.baking, at_most(3, " s"));
    table.add("  time a pixel, 16 times as many", fmt::format("{:.2f} times", pixels.baking / few.baking / 16),
              pixels.baking / few.baking / 16, at_most(1.3, " times"));
}

// Further cases with 200 thousand vertices.
void bench_cases(BenchTable& table)
{
    struct Case {
        const char* name;
        Mode mode;
        double most; // s
        Change change = {};
        bool files = false;
    };
    const auto two = [](TextureParams& p) {
        p.examples.resize(2);
        p.examples[1].kind = ExemplarParams::Kind::foam, p.examples[1].parameter = 1;
    };
    const auto foam = [&](TextureParams& p) {
        two(p);
        p.select = TextureParams::Select::parameter, p.orientation = 5;
    };
    const auto ripples = [](TextureParams& p) { p.exemplar.kind = ExemplarParams::Kind::ripples, p.history = 1; };
    for (const Case& c : {Case{"colors", Mode::colors, 0.5},
                          Case{"react, 60 steps", Mode::react, 0.5, [](TextureParams& p) { p.steps = 60; }},
                          Case{"example, two of them", Mode::example, 5, two},
                          Case{"example, foam and orientation", Mode::example, 5, foam},
                          Case{"example, ripples with a history", Mode::example, 5, ripples},
                          Case{"example, with its files", Mode::example, 5, {}, true}}) {
        const double seconds = seconds_of_frame(c.mode, 200000, c.change, c.files);
        table.add(fmt::format("texture, {}, 200 thousand vertices", c.name), fmt::format("{:.2f} s a frame", seconds),
                  seconds, at_most(c.most, " s"));
    }
}

} // namespace

void bench_texture(BenchTable& table)
{
    bench_atlas(table);
    bench_cases(table);
    struct Case {
        Mode mode;
        const char* name;
        double most;  // s, for 200 thousand vertices
        int vertices; // the most that time is compared for
    };
    for (const Case& c :
         {Case{Mode::parameters, "parameters", 0.5, 1000000}, Case{Mode::react, "react, four steps", 0.5, 1000000},
          Case{Mode::example, "example", 5.0, 1000000}}) {
        std::ofstream("/proc/self/clear_refs") << 5; // the peak counts from here
        const double seconds = seconds_of_frame(c.mode, 200000);
        const double peak = peak_memory();
        table.add(fmt::format("texture, {}, 200 thousand vertices", c.name), fmt::format("{:.2f} s a frame", seconds),
                  seconds, at_most(c.most, " s"));
        if (c.mode == Mode::example)
            table.add("  peak memory of the process", fmt::format("{:.0f} MB", peak / 1e6), peak,
                      at_most(2e9, " bytes"));
        const double few = seconds_of_frame(c.mode, 50000);
        const double many = seconds_of_frame(c.mode, c.vertices);
        const double ratio = many / few / (c.vertices / 50000.0);
        table.add(fmt::format("  time a vertex, {} against 50 thousand", c.vertices),
                  fmt::format("{:.2f} times", ratio), ratio, at_most(1.3, " times"));
    }
}

} // namespace spindrift
