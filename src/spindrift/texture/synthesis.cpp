#include "spindrift/texture/synthesis.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"

#include <utility>

namespace spindrift {

namespace {

constexpr size_t kVerticesPerBlend = 1024;
using Match = Matcher::Match;

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

// The texels that are wanted: those of vertices, and which of them are known (bits of Window).
struct Wanted {
    const TexelLayout& layout;
    std::vector<float> texels;
    std::vector<uint8_t> known;
};

void window_of(const Patch& patch, const Texels& texels, const Wanted& wanted, Window& window)
{
    const int stride = wanted.layout.stride();
    window.values.assign(texels.triangle.size() * stride, 0), window.known.assign(texels.triangle.size(), 0);
    for (size_t i = 0; i < texels.triangle.size(); ++i) {
        if (texels.triangle[i] < 0) continue;
        const Vec3i& t = patch.triangles[texels.triangle[i]];
        uint8_t known = Window::kAll;
        float* out = &window.values[i * stride];
        for (int k = 0; k < 3; ++k) {
            const int vertex = patch.vertices[t[k]];
            const float* in = &wanted.texels[static_cast<size_t>(vertex) * stride];
            for (int c = 0; c < stride; ++c) out[c] += texels.weights[i][k] * in[c];
            known &= wanted.known[vertex];
        }
        window.known[i] = known;
    }
}

// Where in the examples the value of a vertex came from.
struct Source {
    int label = 0, picture = -1; // of that label
    Vec2f at = Vec2f::Zero();
};

// Places of the pictures of a label that continue what vertices of a patch came from.
void hints_of(const Patch& patch, const std::vector<Source>& sources, int label, int size, std::vector<Match>& hints)
{
    constexpr size_t kHints = 5;
    hints.clear();
    const Vec2f half = Vec2f::Constant(0.5f * static_cast<float>(size - 1));
    const size_t count = patch.vertices.size();
    for (size_t h = 0; h < std::min(kHints, count); ++h) {
        const size_t k = h * count / kHints; // the first is the seed
        const Source& source = sources[patch.vertices[k]];
        if (source.picture < 0 || source.label != label) continue;
        const Vec2f corner = source.at - patch.places[k] - half;
        hints.push_back(
            {source.picture, static_cast<int>(std::lround(corner.x())), static_cast<int>(std::lround(corner.y())), 0});
    }
}

// Weights of patches that make the mean robust: it minimises the sum of |c - b|^0.8 instead of squares, so that patches
// that fit badly do not blur those that fit well [Kwatra 2005].
std::vector<float> robust_weights(const std::vector<Match>& matches)
{
    double mean = 0;
    for (const Match& match : matches) mean += match.energy / static_cast<double>(matches.size());
    std::vector<float> weights;
    for (const Match& match : matches)
        weights.push_back(mean > 0 ? static_cast<float>(std::pow(match.energy / mean + 0.01, -0.6)) : 1.0f);
    return weights;
}

// Adds the values of some channels of a picture between pixels, times a weight.
void add_sample(const Raster& picture, Vec2f at, int first, int count, float weight, float* sum)
{
    at = at.cwiseMax(0.0f).cwiseMin(
        Vec2f(static_cast<float>(picture.width - 1), static_cast<float>(picture.height - 1)));
    const int i = std::min(static_cast<int>(at.x()), std::max(picture.width - 2, 0)),
              j = std::min(static_cast<int>(at.y()), std::max(picture.height - 2, 0));
    const int right = std::min(i + 1, picture.width - 1), below = std::min(j + 1, picture.height - 1);
    const float u = at.x() - static_cast<float>(i), v = at.y() - static_cast<float>(j);
    const float *a = picture.at(i, j), *b = picture.at(right, j), *c = picture.at(i, below),
                *d = picture.at(right, below);
    for (int k = first; k < first + count; ++k)
        sum[k - first] += weight * ((1 - v) * ((1 - u) * a[k] + u * b[k]) + v * ((1 - u) * c[k] + u * d[k]));
}

// The patches of one size, what they match, and what becomes of the vertices.
class Pass {
  public:
    Pass(const std::vector<Matcher>& matchers, bool by_label, std::vector<Patch> patches, const SynthesisFrame& frame)
        : matchers_(matchers), by_label_(by_label), frame_(frame), size_(matchers.front().size()),
          patches_(std::move(patches)), coverage_(frame.mesh.positions.size(), patches_), texels_(patches_.size()),
          matches_(patches_.size()), contrast_(patches_.size(), 1)
    {
        // The Gaussian of matches would blur what patches found that disagree, and blurred values fit plain places.
        constexpr float kSharper = 16;
        for (int y = 0; y < size_; ++y)
            for (int x = 0; x < size_; ++x) sharp_.push_back(std::pow(matchers.front().weight(x, y), kSharper));
        parallel_for(patches_.size(), [&](size_t p) { texels_[p] = texels_of(patches_[p], size_); });
    }

    // At first little is known: patches of which less than a tenth is get any place that suits the guide.
    void match(const Wanted& wanted, const std::vector<Source>& sources, bool at_first, bool near_hints)
    {
        parallel_for(patches_.size(), [&](size_t p) {
            auto& window = thread_scratch<Window>();
            auto& hints = thread_scratch<std::vector<Match>>();
            window_of(patches_[p], texels_[p], wanted, window);
            if (at_first) contrast_[p] = matchers_[label_of(p)].relative_contrast(window);
            constexpr double kEnough = 0.1;
            const auto known = static_cast<double>(std::ranges::count_if(
                window.known, [](uint8_t k) { return (k & (Window::kCurrent | Window::kHistory)) != 0; }));
            const Matcher& matcher = matchers_[label_of(p)];
            if (at_first && known < kEnough * static_cast<double>(window.known.size())) {
                const int seed = patches_[p].seed,
                          example = by_label_ || frame_.labels.empty() ? -1 : frame_.labels[seed];
                matches_[p] = matcher.any(window, hash64(frame_.seed, static_cast<uint64_t>(seed)), example);
                return;
            }
            hints_of(patches_[p], sources, label_of(p), size_, hints);
            matches_[p] = matcher.best(window, hints, near_hints);
        });
    }

    // Each vertex becomes the mean of what its patches found, nearly that of the patch whose middle is nearest.
    void blend(std::vector<float>& values, std::vector<Source>& sources)
    {
        weights_ = robust_weights(matches_);
        const int channels = layout().channels;
        parallel_for(
            sources.size(), [&](size_t i) { blend(i, 0, channels, &values[i * channels], sources[i]); },
            kVerticesPerBlend);
    }
    // The same for the frames before, of vertices that had none.
    void blend_history(const std::vector<uint8_t>& advected, std::vector<float>& rest) const
    {
        const int count = layout().channels * layout().history, each = layout().stride() - layout().channels;
        parallel_for(
            count > 0 ? advected.size() : 0,
            [&](size_t i) {
                Source unused;
                if (!advected[i]) blend(i, layout().channels, count, &rest[i * each], unused);
            },
            kVerticesPerBlend);
    }

    // The contrast around each vertex at first, relative to the least that the example has; at most 1.
    std::vector<float> contrast() const
    {
        std::vector<float> mean(coverage_.first.size() - 1, 1);
        parallel_for(
            mean.size(),
            [&](size_t i) {
                float sum = 0, total = 0;
                for (int e = coverage_.first[i]; e < coverage_.first[i + 1]; ++e) {
                    const float g = weight_at(coverage_.patches[e], matchers_.front().weights());
                    sum += g * contrast_[coverage_.patches[e].first], total += g;
                }
                if (total > 0) mean[i] = sum / total;
            },
            kVerticesPerBlend);
        return mean;
    }

    double mean_energy() const // of a texel
    {
        const double energy = parallel_sum(matches_.size(), [&](size_t p) { return matches_[p].energy; });
        const double weight = parallel_sum(matches_.size(), [&](size_t p) {
            double own = 0;
            for (int y = 0; y < size_; ++y)
                for (int x = 0; x < size_; ++x)
                    if (texels_[p].triangle[static_cast<size_t>(y) * size_ + x] >= 0)
                        own += static_cast<double>(matchers_.front().weight(x, y));
            return own;
        });
        return weight > 0 ? energy / weight : 0;
    }
    const std::vector<Patch>& patches() const { return patches_; }
    std::vector<Patch> take_patches() { return std::move(patches_); }

  private:
    const TexelLayout& layout() const { return matchers_.front().layout(); }
    // Of a vertex in the square of a patch, in texels from its corner.
    Vec2f place_in(int patch, int vertex) const
    {
        return patches_[patch].places[vertex] + Vec2f::Constant(0.5f * static_cast<float>(size_ - 1));
    }
    float weight_at(std::pair<int, int> patch_and_vertex, const std::vector<float>& weights) const
    {
        const Vec2f at = place_in(patch_and_vertex.first, patch_and_vertex.second);
        const auto pixel = [this](float x) { return std::clamp(static_cast<int>(std::lround(x)), 0, size_ - 1); };
        return weights[static_cast<size_t>(pixel(at.y())) * size_ + pixel(at.x())];
    }
    // `count` channels of a vertex.
    void blend(size_t vertex, int first, int count, float* values, Source& source) const
    {
        auto& sum = thread_scratch<std::vector<float>>();
        sum.assign(count, 0);
        float total = 0, most = 0;
        for (int e = coverage_.first[vertex]; e < coverage_.first[vertex + 1]; ++e) {
            const auto& [p, k] = coverage_.patches[e];
            const float g = weights_[p] * weight_at({p, k}, sharp_);
            const Vec2f from =
                place_in(p, k) + Vec2f(static_cast<float>(matches_[p].x), static_cast<float>(matches_[p].y));
            add_sample(matchers_[label_of(p)].picture(matches_[p].picture), from, first, count, g, sum.data());
            if (g > most) most = g, source = {label_of(p), matches_[p].picture, from};
            total += g;
        }
        if (total > 0)
            for (int c = 0; c < count; ++c) values[c] = sum[c] / total;
    }
    int label_of(size_t patch) const { return by_label_ ? frame_.labels[patches_[patch].seed] : 0; }

    const std::vector<Matcher>& matchers_; // by label
    bool by_label_;
    const SynthesisFrame& frame_;
    int size_;
    std::vector<Patch> patches_;
    Coverage coverage_;
    std::vector<Texels> texels_;
    std::vector<Match> matches_;
    std::vector<float> contrast_; // of the first windows, relative to the example
    std::vector<float> weights_;  // of patches
    std::vector<float> sharp_;    // of texels in a blend
};

} // namespace

Synthesis::Synthesis(ExampleSet set, const SynthesisParams& params)
    : layout_(set.layout), by_label_(set.by_label), params_(params)
{
    if (set.examples.empty()) set.examples.assign(set.pictures.size(), 0);
    pictures_.resize(by_label_ ? static_cast<size_t>(std::ranges::max(set.examples)) + 1 : 1);
    for (size_t i = 0; i < set.pictures.size(); ++i)
        pictures_[by_label_ ? set.examples[i] : 0].push_back(std::move(set.pictures[i]));
    const std::vector<int> examples = by_label_ ? std::vector<int>() : set.examples;
    for (const int size : params.sizes) {
        matchers_.emplace_back();
        for (const std::vector<Raster>& own : pictures_)
            matchers_.back().emplace_back(own, layout_, size, params.exhaustive, examples);
    }
}

void Synthesis::run(SynthesisFrame& frame, std::vector<int32_t>& seeds, std::vector<float>& values)
{
    energy_ = 0, patches_ = 0;
    const size_t count = frame.mesh.positions.size();
    if (frame.mesh.triangles.empty()) return;
    const int stride = layout_.stride(), channels = layout_.channels;
    const MeshLinks links(frame.mesh);
    const std::vector<float> carried = values;
    const std::vector<int32_t> before = std::exchange(seeds, std::vector<int32_t>(count, 0));
    Wanted wanted{layout_, std::vector<float>(count * stride), std::vector<uint8_t>(count)};
    std::vector<Source> sources(count);
    std::vector<Patch> larger;
    // Advected values that have blurred, or lost features as the surface stretched, count less.
    std::vector<float> trust(count, 1.0f);
    for (size_t s = 0; s < matchers_.size(); ++s) {
        const int bit = 1 << s;
        std::vector<uint8_t> preferred(before.size());
        for (size_t i = 0; i < before.size(); ++i) preferred[i] = (before[i] & bit) != 0;
        const PatchSettings settings{.size = params_.sizes[s], .texel = frame.texel, .distortion = params_.distortion};
        Pass pass(matchers_[s], by_label_,
                  s == 0 ? make_patches(frame.mesh, links, frame.directions, settings, frame.seed, preferred)
                         : smaller_patches(frame.mesh, links, larger, settings, frame.seed, preferred),
                  frame);
        for (const Patch& patch : pass.patches()) seeds[patch.seed] |= bit;
        for (int iteration = 0; iteration < params_.iterations; ++iteration) {
            // At first the advected values are known: as those of this frame, or, of videos, as those of the one
            // before.
            const bool at_first = s == 0 && iteration == 0;
            // |(1 - w) (c - b) + w (a - b)| is the distance from b to (1 - w) c + w a
            parallel_for(
                count,
                [&](size_t i) {
                    const float w = frame.advected[i] ? params_.coherence * trust[i] : 0;
                    float* texel = &wanted.texels[i * stride];
                    for (int c = 0; c < channels; ++c)
                        texel[c] = (1 - w) * values[i * channels + c] + w * carried[i * channels + c];
                    std::copy_n(frame.rest.begin() + static_cast<std::ptrdiff_t>(i * (stride - channels)),
                                stride - channels, texel + channels);
                    wanted.known[i] = Window::kGuide;
                    if (frame.advected[i]) wanted.known[i] |= layout_.history > 0 ? Window::kHistory : Window::kCurrent;
                    if (!at_first) wanted.known[i] |= Window::kCurrent | Window::kHistory;
                },
                kVerticesPerBlend);
            pass.match(wanted, sources, at_first, /*near_hints=*/s > 1);
            if (at_first) trust = pass.contrast();
            pass.blend(values, sources);
            pass.blend_history(frame.advected, frame.rest);
        }
        energy_ = pass.mean_energy();
        patches_ += static_cast<int>(pass.patches().size());
        if (s == 0) larger = pass.take_patches();
    }
}

} // namespace spindrift
