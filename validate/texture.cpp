// Textures on moving surfaces: the number of spots on a sphere and on a finer one; and on a ball that is wound up, how
// long synthesized and advected textures look like the example, and how much they change from frame to frame.
//
//     spindrift_validate texture
//     spindrift_validate texture_decay    (200 frames)
#include "checks.h"

#include "spindrift/texture/directions.h"
#include "spindrift/texture/texture.h"
#include "spindrift/track/tracker.h"
#include "texture/neighbourhoods.h"
#include "texture/sequences.h"
#include "texture/spots.h"
#include "track/flows.h"

#include <fmt/format.h>

using namespace spindrift;

namespace {

void spots(Figures& figures)
{
    fmt::print("\n| system | triangles | spots | of those in a hexagonal pattern |\n|---|---|---|---|\n");
    for (const auto system : {ReactionParams::System::spots, ReactionParams::System::gray_scott}) {
        const char* name = system == ReactionParams::System::spots ? "spots" : "gray_scott";
        ReactionParams params;
        params.system = system, params.spacing = 0.5f;
        double counts[2];
        for (const int finer : {0, 1}) {
            const Mesh mesh = sphere_mesh({0, 0, 0}, 1, 5 + finer);
            Morphogens values = started_reaction(mesh, params);
            react(mesh, params, {}, 3000, values);
            counts[finer] = spots_of(mesh, params, values);
            const double expected = 4 * kPi / (0.866 * 0.5 * 0.5);
            fmt::print("| {} | {} | {:.0f} | {:.2f} |\n", name, mesh.triangles.size(), counts[finer],
                       counts[finer] / expected);
        }
        figures.require(fmt::format("texture: {}, difference on a finer mesh [%]", name),
                        100 * std::abs(counts[0] / counts[1] - 1), at_most(15));
    }
}

TextureParams example()
{
    TextureParams params;
    params.mode = TextureParams::Mode::example, params.size = 0.25f, params.exemplar.feature = 8;
    params.exemplar.size = 96;
    return params;
}

const std::vector<Vec3f>& colors_of(const Mesh& mesh)
{
    return std::get<std::vector<Vec3f>>(mesh.attributes.at("color"));
}

double mean_change(const TwistingBall& ball, const Mesh& before, const Mesh& now)
{
    const MeshDistance nearest(before);
    return parallel_sum(now.positions.size(),
                        [&](size_t k) {
                            const MeshDistance::Nearest at = nearest.nearest(ball.back(now.positions[k]));
                            const Vec3f was = blended(colors_of(before), before, {at.triangle, at.weights});
                            return static_cast<double>((colors_of(now)[k] - was).norm());
                        }) /
           static_cast<double>(now.positions.size());
}

void decay(Figures& figures)
{
    const TwistingBall ball;
    TextureParams params = example();
    const float texel = params.size / params.exemplar.feature;
    ExemplarParams made = params.exemplar;
    made.color = params.color, made.second_color = params.second_color, made.seed = params.seed;
    const Neighbourhoods neighbourhoods(make_exemplar(made));
    const auto distance = [&](const Mesh& mesh) {
        return neighbourhoods.distance(mesh, first_directions(mesh), colors_of(mesh), texel);
    };
    Texture synthesized(params);
    synthesized.start(ball.frame(0)), synthesized.synthesize();
    TextureParams plain = params;
    plain.mode = TextureParams::Mode::colors, plain.pattern = TextureParams::Start::surface, plain.texel = texel;
    Texture advected(plain);
    advected.start(synthesized.mesh());
    const double first = distance(synthesized.mesh());
    fmt::print("\nDistance of histograms of neighbourhoods from the example's; {} texels; in frame 1: {:.3f}\n",
               synthesized.mesh().positions.size(), first);
    fmt::print(
        "\n| frame | synthesized | advected colours | change of synthesized colours a frame |\n|---|---|---|---|\n");
    const int frames = 200;
    for (int i = 1; i <= frames; ++i) {
        const Mesh before = synthesized.mesh();
        synthesized.carry(ball.frame(i), ball.seconds), synthesized.synthesize();
        advected.carry(ball.frame(i), ball.seconds);
        if (i % 25 != 0) continue;
        const double own = distance(synthesized.mesh()) / first, other = distance(advected.mesh()) / first;
        fmt::print("| {} | {:.2f} | {:.2f} | {:.3f} |\n", i, own, other, mean_change(ball, before, synthesized.mesh()));
        if (i != frames) continue;
        figures.require("texture: histograms after 200 frames, synthesized", own, at_most(1.5));
        figures.require("texture: histograms after 200 frames, advected", other, at_least(3, ""));
    }
}

void coherence()
{
    const TwistingBall ball;
    PlotSeries changes{.name = "change of colour", .points = {}}, energies{.name = "energy x 10", .points = {}};
    fmt::print("\n| w | mean change of colour a frame | energy of the last matches |\n|---|---|---|\n");
    for (const float w : {0.0f, 0.2f, 0.4f, 0.6f, 0.8f, 0.95f}) {
        TextureParams params = example();
        params.coherence = w;
        Texture texture(params);
        texture.start(ball.frame(0)), texture.synthesize();
        double change = 0;
        const int frames = 12;
        for (int i = 1; i <= frames; ++i) {
            const Mesh before = texture.mesh();
            texture.carry(ball.frame(i), ball.seconds), texture.synthesize();
            change += mean_change(ball, before, texture.mesh()) / frames;
        }
        fmt::print("| {:.2f} | {:.4f} | {:.5f} |\n", w, change, texture.synthesis()->energy());
        changes.points.emplace_back(w, change), energies.points.emplace_back(w, 10 * texture.synthesis()->energy());
    }
    write_plot("texture_coherence.svg", {"Change of colour along the map in a frame, and energy of the matches",
                                         "coherence w",
                                         "mean of a vertex",
                                         {changes, energies}});
}

// Two balls meet, become one and part again, in a tracked surface.
void merging(Figures& figures)
{
    SurfaceTracker tracker({.voxel = 0.02f});
    tracker.start({ball_source({0.3f, 0.5f, 0.5f}, 0.12f), ball_source({0.7f, 0.5f, 0.5f}, 0.12f)});
    TextureParams params = example();
    params.size = 0.1f;
    Texture texture(params);
    texture.start(tracker.mesh()), texture.synthesize();
    std::vector<double> changes;
    const int frames = 40;
    for (int i = 0; i < frames; ++i) {
        tracker.begin_frame();
        const float speed = i < frames / 2 ? -0.4f : 0.4f;
        tracker.step(SteadyFlow(
                         [speed](const Vec3f& x) {
                             const float along = std::tanh((x.x() - 0.5f) / 0.1f), narrowing = 5 * (1 - along * along);
                             return Vec3f(speed * Vec3f(along, narrowing * (0.5f - x.y()), narrowing * (0.5f - x.z())));
                         },
                         3 * std::abs(speed)),
                     0.03f);
        Mesh mesh = tracker.mesh();
        std::vector<int32_t> triangles;
        std::vector<Vec3f> weights;
        for (const SurfacePoint& at : tracker.origins())
            triangles.push_back(at.triangle), weights.push_back(at.weights);
        mesh.attributes["origin_triangle"] = triangles, mesh.attributes["origin_weights"] = weights;
        texture.carry(std::move(mesh), 0.03f);
        const std::vector<Vec3f> advected = colors_of(texture.mesh());
        texture.synthesize();
        const std::vector<Vec3f>& made = colors_of(texture.mesh());
        changes.push_back(
            parallel_sum(made.size(), [&](size_t k) { return static_cast<double>((made[k] - advected[k]).norm()); }) /
            static_cast<double>(made.size()));
    }
    std::vector<double> sorted = changes;
    std::sort(sorted.begin(), sorted.end());
    const double median = sorted[sorted.size() / 2], largest = sorted.back();
    fmt::print(
        "\nTwo balls merge and part: mean change of colour along the map in a frame, median {:.3f}, largest {:.3f} "
        "in frame {}\n",
        median, largest, std::max_element(changes.begin(), changes.end()) - changes.begin() + 1);
    figures.require("texture: largest change of two balls that merge, over the median", largest / median, at_most(3));
}

} // namespace

void texture(Figures& figures)
{
    spots(figures);
    coherence();
    merging(figures);
}

void texture_decay(Figures& figures) { decay(figures); }
