// Textures on moving surfaces: the number of spots on a sphere and on a finer one; and on a ball that is wound up, how
// long synthesized and advected textures look like the example, and how much they change from frame to frame.
//
//     spindrift_validate texture
//     spindrift_validate texture_decay      (200 frames, two examples, two seeds)
//     spindrift_validate texture_stretch    (a plane that is stretched)
#include "checks.h"

#include "spindrift/texture/directions.h"
#include "spindrift/texture/texture.h"
#include "spindrift/track/tracker.h"
#include "texture/neighbourhoods.h"
#include "texture/sequences.h"
#include "texture/spots.h"
#include "track/flows.h"

#include <fmt/format.h>
#include <numeric>

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

// What a texture is compared with: its example, and shares of the second colour.
struct Example {
    explicit Example(const TextureParams& params)
        : color(params.color), way(params.second_color - params.color), picture(example_picture(params)),
          neighbourhoods(picture)
    {
        std::vector<Vec3f> colors;
        for (int y = 0; y < picture.height; ++y)
            for (int x = 0; x < picture.width; ++x) colors.emplace_back(picture.color(x, y));
        std::tie(share, contrast) = moments(colors);
    }
    static Raster example_picture(const TextureParams& params)
    {
        const Raster all = example_set(params, {}).pictures.back();
        Raster colors(all.width, all.height, 3);
        for (int y = 0; y < all.height; ++y)
            for (int x = 0; x < all.width; ++x) std::copy_n(all.at(x, y), 3, colors.at(x, y));
        return colors;
    }
    // Mean and standard deviation of the share of the second colour.
    std::pair<double, double> moments(const std::vector<Vec3f>& colors) const
    {
        double sum = 0, squares = 0;
        for (const Vec3f& c : colors) {
            const auto s = static_cast<double>((c - color).dot(way) / way.squaredNorm());
            sum += s, squares += s * s;
        }
        const auto n = static_cast<double>(colors.size());
        return {sum / n, std::sqrt(std::max(0.0, squares / n - sum / n * sum / n))};
    }

    Vec3f color, way;
    Raster picture;
    Neighbourhoods neighbourhoods;
    double share, contrast;
};

TextureParams example_of(ExemplarParams::Kind kind)
{
    TextureParams params = example();
    params.exemplar.kind = kind;
    if (kind != ExemplarParams::Kind::spots) params.size = 0.375f, params.exemplar.feature = 12;
    if (kind == ExemplarParams::Kind::ripples) params.history = 1;
    return params;
}

void decay(Figures& figures, const std::string& name, const TextureParams& params)
{
    const TwistingBall ball;
    const float texel = params.size / params.exemplar.feature;
    const Example example(params);
    const auto distance = [&](const Mesh& mesh) {
        return example.neighbourhoods.distance(mesh, first_directions(mesh), colors_of(mesh), texel);
    };
    Texture synthesized(params);
    synthesized.start(ball.frame(0)), synthesized.synthesize();
    TextureParams plain = params;
    plain.mode = TextureParams::Mode::colors, plain.pattern = TextureParams::Start::surface, plain.texel = texel;
    Texture advected(plain);
    advected.start(synthesized.mesh());
    const double first = distance(synthesized.mesh());
    fmt::print("\n{}, seed {}: distance of histograms of neighbourhoods from the example's; {} texels; in frame 1: "
               "{:.3f}\n",
               name, params.seed, synthesized.mesh().positions.size(), first);
    fmt::print(
        "\n| frame | synthesized | advected colours | change of synthesized colours a frame |\n|---|---|---|---|\n");
    const int frames = 200;
    double worst = 0, other = 0;
    for (int i = 1; i <= frames; ++i) {
        const Mesh before = synthesized.mesh();
        synthesized.carry(ball.frame(i), ball.seconds), synthesized.synthesize();
        advected.carry(ball.frame(i), ball.seconds);
        if (i % 25 != 0) continue;
        const double own = distance(synthesized.mesh()) / first;
        worst = std::max(worst, own), other = distance(advected.mesh()) / first;
        fmt::print("| {} | {:.2f} | {:.2f} | {:.3f} |\n", i, own, other, mean_change(ball, before, synthesized.mesh()));
    }
    figures.require(fmt::format("texture: {}, seed {}, histograms in the worst frame, synthesized", name, params.seed),
                    worst, at_most(1.5));
    figures.require(fmt::format("texture: {}, seed {}, histograms after 200 frames, advected", name, params.seed),
                    other, at_least(3, ""));
}

// A plane in which a steady flow stretches everything away from the middle, with another mesh in each frame.
struct StretchedPlane {
    float x = 1.15f, z = 1.15f; // a frame

    Mesh frame(int number) const
    {
        Mesh mesh = plane_mesh(1.5f, 64, static_cast<uint64_t>(number));
        for (const Vec3f& p : mesh.positions)
            mesh.velocities.emplace_back((p - Vec3f(p.x() / x, p.y(), p.z() / z)) / 0.1f);
        return mesh;
    }
};

void stretched(Figures& figures, const std::string& name, const TextureParams& params, const StretchedPlane& flow)
{
    const float texel = params.size / params.exemplar.feature;
    const Example example(params);
    Texture texture(params);
    texture.start(flow.frame(0)), texture.synthesize();
    double share = 0, contrast = 0, change = 0, distance = 0;
    const int unseen = 4, frames = 16;
    const auto distance_now = [&] {
        return example.neighbourhoods.distance(texture.mesh(), first_directions(texture.mesh()),
                                               colors_of(texture.mesh()), texel);
    };
    const double first_share = example.moments(colors_of(texture.mesh())).first / example.share,
                 first_distance = distance_now();
    for (int i = 1; i <= frames; ++i) {
        texture.carry(flow.frame(i), 0.1f);
        const std::vector<Vec3f> advected = colors_of(texture.mesh());
        texture.synthesize();
        if (i <= unseen) continue;
        const std::vector<Vec3f>& colors = colors_of(texture.mesh());
        const auto [mean, deviation] = example.moments(colors);
        share += mean / example.share / (frames - unseen), contrast += deviation / example.contrast / (frames - unseen);
        for (size_t k = 0; k < colors.size(); ++k)
            change += static_cast<double>((colors[k] - advected[k]).norm()) / static_cast<double>(colors.size()) /
                      (frames - unseen);
        distance += distance_now() / (frames - unseen);
    }
    fmt::print("| {} | {} x {} | {:.2f} | {:.2f} | {:.2f} | {:.3f} | {:.3f} | {:.3f} |\n", name, flow.x, flow.z,
               first_share, share, contrast, first_distance, distance, change);
    figures.require(fmt::format("texture: share of the second colour of {} where the surface is stretched, against the "
                                "first frame",
                                name),
                    share / first_share, at_least(0.8, ""));
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

size_t components(const Mesh& mesh)
{
    std::vector<int> parent(mesh.positions.size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int i) {
        while (parent[i] != i) i = parent[i] = parent[parent[i]];
        return i;
    };
    for (const Vec3i& t : mesh.triangles)
        for (const int corner : {t[1], t[2]}) parent[root(corner)] = root(t[0]);
    std::vector<uint8_t> counted(parent.size(), 0);
    size_t roots = 0;
    for (const Vec3i& t : mesh.triangles)
        if (!std::exchange(counted[root(t[0])], 1)) ++roots;
    return roots;
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
    std::vector<double> changes, at_neck;
    size_t least_components = 2;
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
        // Of all vertices, and of those within a patch of where the balls meet.
        const float patch = 33 * params.size / params.exemplar.feature;
        double sum = 0, own = 0, count = 0;
        for (size_t k = 0; k < made.size(); ++k) {
            const auto change = static_cast<double>((made[k] - advected[k]).norm());
            sum += change;
            if (std::abs(texture.mesh().positions[k].x() - 0.5f) < 0.5f * patch) own += change, count += 1;
        }
        changes.push_back(sum / static_cast<double>(made.size()));
        if (count > 0) at_neck.push_back(own / count);
        least_components = std::min(least_components, components(texture.mesh()));
    }
    figures.require("texture: pieces of two balls that merge", static_cast<double>(least_components), at_most(1));
    for (const auto& [where, values] : {std::pair{"everywhere", changes}, {"within a patch of the neck", at_neck}}) {
        std::vector<double> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        const double median = sorted[sorted.size() / 2], largest = sorted.back();
        fmt::print("\nTwo balls merge and part: mean change of colour along the map in a frame, {}, median {:.3f}, "
                   "largest {:.3f}\n",
                   where, median, largest);
        figures.require(fmt::format("texture: largest change of two balls that merge, {}, over the median", where),
                        largest / median, at_most(3));
    }
}

} // namespace

void texture(Figures& figures)
{
    spots(figures);
    coherence();
    merging(figures);
}

void texture_decay(Figures& figures)
{
    for (const int seed : {1, 2})
        for (const auto& [name, kind] :
             {std::pair{"spots", ExemplarParams::Kind::spots}, {"crust", ExemplarParams::Kind::crust}}) {
            TextureParams params = example_of(kind);
            params.seed = seed;
            decay(figures, name, params);
        }
}

void texture_stretch(Figures& figures)
{
    fmt::print(
        "\n| example | stretching a frame | share of the second colour in frame 1 | in frames 5 to 16 | contrast | "
        "distance of histograms in frame 1 | in frames 5 to 16 | change of colours a frame "
        "|\n|---|---|---|---|---|---|---|---|\n");
    for (const auto& [name, kind] : {std::pair{"spots", ExemplarParams::Kind::spots},
                                     {"crust", ExemplarParams::Kind::crust},
                                     {"ripples", ExemplarParams::Kind::ripples}})
        for (const StretchedPlane& flow : {StretchedPlane{1.05f, 1.05f}, {1.15f, 1.15f}, {1.15f, 0.95f}}) {
            TextureParams params = example_of(kind);
            stretched(figures, name, params, flow);
        }
}
