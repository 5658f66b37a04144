#include "spindrift/texture/synthesis.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"

#include <utility>

namespace spindrift {

namespace {

constexpr size_t kVerticesPerBlend = 1024;

// The texels of a patch: where on it each is.
struct Texels {
    std::vector<int> triangle;  // of the patch; -1 for holes
    std::vector<Vec3f> weights; // of its corners
};

Texels texels_of(const Patch& patch, int size)
{
    Texels texels;
    texels.triangle.assign(static_cast<size_t>(size) * size, -1);
    texels.weights.resize(texels.triangle.size());
    const float half = 0.5f * static_cast<float>(size - 1);
    for (size_t f = 0; f < patch.triangles.size(); ++f) {
        const Vec3i& t = patch.triangles[f];
        const Vec2f shift = Vec2f::Constant(half);
        const Vec2f a = patch.places[t[0]] + shift, ab = patch.places[t[1]] + shift - a,
                    ac = patch.places[t[2]] + shift - a;
        const float area = ab.x() * ac.y() - ab.y() * ac.x();
        const Vec2f low = a + ab.cwiseMin(ac).cwiseMin(0.0f), high = a + ab.cwiseMax(ac).cwiseMax(0.0f);
        const auto from = [size](float x) { return std::clamp(static_cast<int>(std::ceil(x - 1e-3f)), 0, size); };
        const auto to = [size](float x) { return std::clamp(static_cast<int>(std::floor(x + 1e-3f)), -1, size - 1); };
        for (int y = from(low.y()); y <= to(high.y()); ++y)
            for (int x = from(low.x()); x <= to(high.x()); ++x) {
                const Vec2f d = Vec2f(static_cast<float>(x), static_cast<float>(y)) - a;
                const float v = (d.x() * ac.y() - d.y() * ac.x()) / area, w = (ab.x() * d.y() - ab.y() * d.x()) / area;
                constexpr float kEdge = -1e-3f;
                if (v < kEdge || w < kEdge || v + w > 1 - kEdge) continue;
                const size_t pixel = static_cast<size_t>(y) * size + x;
                texels.triangle[pixel] = static_cast<int>(f), texels.weights[pixel] = {1 - v - w, v, w};
            }
    }
    return texels;
}

// For each vertex, the patches that it belongs to, and its number there.
struct Coverage {
    std::vector<int> first;
    std::vector<std::pair<int, int>> patches;

    Coverage(size_t vertices, const std::vector<Patch>& all)
    {
        first.assign(vertices + 1, 0);
        for (const Patch& patch : all)
            for (const int vertex : patch.vertices) ++first[vertex + 1];
        for (size_t i = 0; i < vertices; ++i) first[i + 1] += first[i];
        patches.resize(first[vertices]);
        std::vector<int> next(first.begin(), first.end() - 1);
        for (size_t p = 0; p < all.size(); ++p)
            for (size_t k = 0; k < all[p].vertices.size(); ++k)
                patches[next[all[p].vertices[k]]++] = {static_cast<int>(p), static_cast<int>(k)};
    }
};

// `only`, if given, are the vertices whose colours are known.
Window window_of(const Patch& patch, const Texels& texels, const std::vector<Vec3f>& colors,
                 const std::vector<uint8_t>* only)
{
    Window window;
    window.colors.assign(texels.triangle.size(), Vec3f::Zero()), window.known.assign(texels.triangle.size(), 0);
    for (size_t i = 0; i < texels.triangle.size(); ++i) {
        if (texels.triangle[i] < 0) continue;
        const Vec3i& t = patch.triangles[texels.triangle[i]];
        bool known = true;
        for (int k = 0; k < 3; ++k) {
            const int vertex = patch.vertices[t[k]];
            window.colors[i] += texels.weights[i][k] * colors[vertex];
            known &= !only || (*only)[vertex];
        }
        window.known[i] = known;
    }
    return window;
}

// Any place of the exemplar, for a patch about which nothing is known.
Matcher::Match any_match(const Matcher& matcher, uint64_t seed, int vertex)
{
    Random random(seed, static_cast<uint64_t>(vertex));
    const auto choose = [&](int count) { return static_cast<int>(random.uniform() * static_cast<float>(count)); };
    return {choose(matcher.exemplar().width - matcher.size() + 1),
            choose(matcher.exemplar().height - matcher.size() + 1), 0};
}

// Of a texel.
double mean_energy(const Matcher& matcher, const std::vector<Texels>& texels,
                   const std::vector<Matcher::Match>& matches)
{
    double energy = 0, weight = 0;
    for (size_t p = 0; p < matches.size(); ++p) {
        energy += matches[p].energy;
        for (int y = 0; y < matcher.size(); ++y)
            for (int x = 0; x < matcher.size(); ++x)
                if (texels[p].triangle[static_cast<size_t>(y) * matcher.size() + x] >= 0)
                    weight += static_cast<double>(matcher.weight(x, y));
    }
    return weight > 0 ? energy / weight : 0;
}

// Weights of patches that make the mean robust: it minimises the sum of |c - b|^0.8 instead of squares, so that patches
// that fit badly do not blur those that fit well [Kwatra 2005].
std::vector<float> robust_weights(const std::vector<Matcher::Match>& matches)
{
    double mean = 0;
    for (const Matcher::Match& match : matches) mean += match.energy / static_cast<double>(matches.size());
    std::vector<float> weights;
    for (const Matcher::Match& match : matches)
        weights.push_back(mean > 0 ? static_cast<float>(std::pow(match.energy / mean + 0.01, -0.6)) : 1.0f);
    return weights;
}

// Each vertex becomes the mean of what its patches found, weighted by the Gaussian.
void blend(const Matcher& matcher, const std::vector<Patch>& patches, const Coverage& coverage,
           const std::vector<Matcher::Match>& matches, std::vector<Vec3f>& colors)
{
    const int size = matcher.size();
    const float half = 0.5f * static_cast<float>(size - 1);
    const std::vector<float> weights = robust_weights(matches);
    parallel_for(
        colors.size(),
        [&](size_t i) {
            Vec3f sum = Vec3f::Zero();
            float total = 0;
            for (int e = coverage.first[i]; e < coverage.first[i + 1]; ++e) {
                const auto& [p, k] = coverage.patches[e];
                const Vec2f at = patches[p].places[k] + Vec2f::Constant(half);
                const auto pixel = [size](float x) {
                    return std::clamp(static_cast<int>(std::lround(x)), 0, size - 1);
                };
                const float g = weights[p] * matcher.weight(pixel(at.x()), pixel(at.y()));
                sum += g * matcher.exemplar().sample(static_cast<float>(matches[p].x) + at.x(),
                                                     static_cast<float>(matches[p].y) + at.y());
                total += g;
            }
            if (total > 0) colors[i] = sum / total;
        },
        kVerticesPerBlend);
}

} // namespace

Synthesis::Synthesis(Exemplar exemplar, const SynthesisParams& params) : exemplar_(std::move(exemplar)), params_(params)
{
    for (const int size : params.sizes) matchers_.emplace_back(exemplar_, size, params.exhaustive);
}

void Synthesis::run(const Mesh& mesh, const std::vector<Vec3f>& directions, float texel, uint64_t seed,
                    const std::vector<uint8_t>& advected, std::vector<int32_t>& seeds, std::vector<Vec3f>& colors)
{
    energy_ = 0, patches_ = 0;
    if (mesh.triangles.empty()) return;
    const MeshLinks links(mesh);
    const std::vector<Vec3f> carried = colors;
    const std::vector<int32_t> before = std::exchange(seeds, std::vector<int32_t>(colors.size(), 0));
    int bit = 1;
    for (const Matcher& matcher : matchers_) {
        std::vector<uint8_t> preferred(before.size());
        for (size_t i = 0; i < before.size(); ++i) preferred[i] = (before[i] & bit) != 0;
        const std::vector<Patch> patches =
            make_patches(mesh, links, directions,
                         {.size = matcher.size(), .texel = texel, .distortion = params_.distortion}, seed, preferred);
        for (const Patch& patch : patches) seeds[patch.seed] |= bit;
        bit *= 2;
        const Coverage coverage(colors.size(), patches);
        std::vector<Texels> texels(patches.size());
        parallel_for(patches.size(), [&](size_t p) { texels[p] = texels_of(patches[p], matcher.size()); });
        std::vector<Matcher::Match> matches(patches.size());
        std::vector<Vec3f> wanted(colors.size());
        for (int iteration = 0; iteration < params_.iterations; ++iteration) {
            // |(1 - w) (c - b) + w (a - b)| is the distance from b to (1 - w) c + w a
            parallel_for(
                colors.size(),
                [&](size_t i) {
                    const float w = advected[i] ? params_.coherence : 0;
                    wanted[i] = (1 - w) * colors[i] + w * carried[i];
                },
                kVerticesPerBlend);
            // At first only advected colours are known.
            const bool begins = iteration == 0 && &matcher == &matchers_.front();
            parallel_for(patches.size(), [&](size_t p) {
                const Window window = window_of(patches[p], texels[p], wanted, begins ? &advected : nullptr);
                constexpr double kEnough = 0.1; // of the texels
                const auto known = static_cast<double>(std::ranges::count(window.known, 1));
                matches[p] = begins && known < kEnough * static_cast<double>(window.known.size())
                                 ? any_match(matcher, seed, patches[p].seed)
                                 : matcher.best(window);
            });
            blend(matcher, patches, coverage, matches, colors);
        }
        energy_ = mean_energy(matcher, texels, matches);
        patches_ += static_cast<int>(patches.size());
    }
}

} // namespace spindrift
