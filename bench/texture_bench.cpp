// Textures of a turning ball. [Bargteil 2006, 5.3] takes 16 to 45 minutes a frame for synthesis, [Narain 2011, 2.5.3]
// 200 to 500 s.
#include "bench.h"

#include "spindrift/mesh/remesh.h"
#include "spindrift/texture/texture.h"
#include "texture/sequences.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

using Mode = TextureParams::Mode;

// The time of a frame after the first [s], the best of two. The ball has about as many vertices as texels.
double seconds_of_frame(Mode mode, int vertices)
{
    TextureParams params;
    params.mode = mode, params.start_steps = 10;
    params.exemplar.feature = 10;
    const float texel = std::sqrt(4 * static_cast<float>(kPi) / static_cast<float>(vertices));
    params.size = texel * params.exemplar.feature;
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
    double best = 1e9;
    for (int i = 1; i < 3; ++i)
        best = std::min(best, seconds_of([&] { texture.carry(frames[i], ball.seconds), texture.synthesize(); }));
    return best;
}

} // namespace

void bench_texture(BenchTable& table)
{
    for (const auto& [mode, name, most] : {std::tuple(Mode::parameters, "parameters", 0.5),
                                           {Mode::react, "react, four steps", 0.5},
                                           {Mode::example, "example", 5.0}}) {
        const double seconds = seconds_of_frame(mode, 200000);
        table.add(fmt::format("texture, {}, 200 thousand vertices", name), fmt::format("{:.2f} s a frame", seconds),
                  seconds, at_most(most, " s"));
        const double few = seconds_of_frame(mode, 50000),
                     many = seconds_of_frame(mode, mode == Mode::example ? 400000 : 1000000);
        const double vertices = mode == Mode::example ? 8 : 20;
        table.add("  time a vertex, 50 thousand to the most", fmt::format("{:.2f} times", many / few / vertices),
                  many / few / vertices, at_most(1.3, " times"));
    }
}

} // namespace spindrift
