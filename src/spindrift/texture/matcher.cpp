#include "spindrift/texture/matcher.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <numeric>

namespace spindrift {

namespace {

constexpr int kComponents = 24;
constexpr int kNear = 500, kCandidates = 20; // places whose components are compared, and whose pixels are
constexpr size_t kMostPlaces = 50000, kMostSamples = 3000;

} // namespace

struct Matcher::Weights {
    std::vector<float> values;
};

Matcher::Matcher(const std::vector<Raster>& pictures, const TexelLayout& layout, int size, bool exhaustive,
                 const std::vector<int>& examples)
    : pictures_(pictures), layout_(layout), size_(size), exhaustive_(exhaustive), block_(std::max(2, size / 11)),
      blocks_((size + block_ - 1) / block_)
{
    const float middle = 0.5f * static_cast<float>(size - 1), width = 0.3f * static_cast<float>(size);
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            const float dx = static_cast<float>(x) - middle, dy = static_cast<float>(y) - middle;
            weight_.push_back(std::exp(-(dx * dx + dy * dy) / (2 * width * width)));
        }
    for (int c = 0; c < layout.stride(); ++c)
        group_weight_.push_back(c < layout.channels                          ? 1
                                : c < layout.channels * (1 + layout.history) ? layout.history_weight
                                                                             : layout.guide_weight);
    index_places(examples);
    find_least_contrast();
    if (exhaustive) return;
    find_components();
    cluster();
}

// All places, or, where there are too many, every few pixels: a search ends with steps of a pixel.
void Matcher::index_places(const std::vector<int>& examples)
{
    size_t all = 0;
    for (const Raster& e : pictures_)
        all += static_cast<size_t>(e.width - size_ + 1) * static_cast<size_t>(e.height - size_ + 1);
    int step = 1;
    while (!exhaustive_ && all / static_cast<size_t>(step * step) > kMostPlaces) ++step;
    for (int p = 0; p < static_cast<int>(pictures_.size()); ++p)
        for (int y = 0; y + size_ <= pictures_[p].height; y += step)
            for (int x = 0; x + size_ <= pictures_[p].width; x += step) places_.push_back({p, x, y, 0});
    const auto example = [&](int picture) { return examples.empty() ? 0 : examples[picture]; };
    first_of_ = {0};
    for (const Match& place : places_) {
        const int own = example(place.picture);
        first_of_.resize(std::max(first_of_.size(), static_cast<size_t>(own) + 1), first_places_.size());
        const bool begins = place.picture == 0 || example(place.picture - 1) != own;
        if (layout_.history == 0 || begins) first_places_.push_back(place);
    }
    first_of_.push_back(first_places_.size());
}

double Matcher::contrast(const Window& window) const
{
    double variance = 0;
    for (int c = 0; c < layout_.channels; ++c) {
        double sum = 0, squares = 0, total = 0;
        for (size_t i = 0; i < weight_.size(); ++i) {
            if (!(window.known[i] & Window::kCurrent)) continue;
            const auto g = static_cast<double>(weight_[i]);
            const auto value = static_cast<double>(window.values[i * layout_.stride() + c]);
            sum += g * value, squares += g * value * value, total += g;
        }
        if (total > 0) variance += squares / total - sum / total * sum / total;
    }
    return variance;
}

void Matcher::find_least_contrast()
{
    const size_t step = std::max<size_t>(1, places_.size() / kMostSamples);
    std::vector<double> contrasts((places_.size() + step - 1) / step);
    parallel_for(
        contrasts.size(),
        [&](size_t i) {
            auto& window = thread_scratch<Window>();
            window_at(places_[i * step], window);
            contrasts[i] = contrast(window);
        },
        16);
    least_contrast_ = std::ranges::min(contrasts);
}

float Matcher::relative_contrast(const Window& window) const
{
    constexpr double kPlain = 1e-6;
    if (least_contrast_ < kPlain) return 1;
    if (std::ranges::none_of(window.known, [](uint8_t known) { return (known & Window::kCurrent) != 0; })) return 1;
    return static_cast<float>(std::min(1.0, contrast(window) / least_contrast_));
}

bool Matcher::inside(const Match& place) const
{
    if (place.picture < 0 || place.picture >= static_cast<int>(pictures_.size())) return false;
    const Raster& e = pictures_[place.picture];
    return place.x >= 0 && place.y >= 0 && place.x + size_ <= e.width && place.y + size_ <= e.height;
}

void Matcher::window_at(const Match& place, Window& window) const
{
    const Raster& e = pictures_[place.picture];
    const size_t row = static_cast<size_t>(size_) * layout_.stride();
    window.known.assign(weight_.size(), Window::kAll);
    window.values.resize(row * size_);
    for (int y = 0; y < size_; ++y)
        std::copy_n(e.at(place.x, place.y + y), row, window.values.begin() + static_cast<std::ptrdiff_t>(y * row));
}

void Matcher::weigh(const Window& window, Weights& weights) const
{
    const int stride = layout_.stride(), history = layout_.channels * (1 + layout_.history);
    weights.values.resize(window.values.size());
    float* out = weights.values.data();
    for (size_t i = 0; i < weight_.size(); ++i) {
        const uint8_t known = window.known[i];
        for (int c = 0; c < stride; ++c) {
            const uint8_t bit = c < layout_.channels ? Window::kCurrent
                                : c < history        ? Window::kHistory
                                                     : Window::kGuide;
            *out++ = known & bit ? weight_[i] * group_weight_[c] : 0;
        }
    }
}

// Means of blocks, weighted so that squared differences are about those of the pixels. Unknown values do not count; a
// block without any other is the mean of all, or, where nothing is known, that of the examples.
void Matcher::blocks_of(const Window& window, Eigen::VectorXf& blocks) const
{
    const int stride = layout_.stride(), count = blocks_ * blocks_;
    auto& weights = thread_scratch<Weights>();
    weigh(window, weights);
    auto& known = thread_scratch<std::vector<float>>();
    auto& all = thread_scratch<std::vector<float>>();
    auto& mean = thread_scratch<std::vector<std::pair<float, float>>>(); // weighted sum, and weight, of each value
    blocks.setZero(static_cast<Eigen::Index>(count) * stride);
    known.assign(static_cast<size_t>(count) * stride, 0), all.assign(count, 0), mean.assign(stride, {0, 0});
    for (int y = 0; y < size_; ++y)
        for (int x = 0; x < size_; ++x) {
            const size_t pixel = static_cast<size_t>(y) * size_ + x;
            const int block = y / block_ * blocks_ + x / block_;
            all[block] += weight_[pixel];
            const float *w = &weights.values[pixel * stride], *v = &window.values[pixel * stride];
            float *sum = &blocks[static_cast<Eigen::Index>(block) * stride],
                  *total = &known[static_cast<size_t>(block) * stride];
            for (int c = 0; c < stride; ++c) sum[c] += w[c] * v[c], total[c] += w[c];
        }
    for (int b = 0; b < count; ++b)
        for (int c = 0; c < stride; ++c) {
            mean[c].first += blocks[static_cast<Eigen::Index>(b) * stride + c];
            mean[c].second += known[static_cast<size_t>(b) * stride + c];
        }
    for (int b = 0; b < count; ++b)
        for (int c = 0; c < stride; ++c) {
            float& value = blocks[static_cast<Eigen::Index>(b) * stride + c];
            const float total = known[static_cast<size_t>(b) * stride + c];
            const auto& [sum, weight] = mean[c];
            if (total > 0 || weight > 0)
                value = std::sqrt(all[b] * group_weight_[c]) * (total > 0 ? value / total : sum / weight);
            else if (mean_.size() > 0)
                value = mean_[static_cast<Eigen::Index>(b) * stride + c];
        }
}

// Principal components of all squares of the examples, from some of them, and those of each place.
void Matcher::find_components()
{
    const int dimensions = layout_.stride() * blocks_ * blocks_;
    const auto square = [&](size_t place) {
        auto& window = thread_scratch<Window>();
        window_at(places_[place], window);
        Eigen::VectorXf blocks;
        blocks_of(window, blocks);
        return blocks;
    };
    const size_t count = places_.size(), step = std::max<size_t>(1, count / kMostSamples);
    Eigen::MatrixXf sampled(dimensions, static_cast<Eigen::Index>((count + step - 1) / step));
    parallel_for(
        static_cast<size_t>(sampled.cols()),
        [&](size_t i) { sampled.col(static_cast<Eigen::Index>(i)) = square(i * step); }, 16);
    mean_ = sampled.rowwise().mean();
    sampled.colwise() -= mean_;
    Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(dimensions, dimensions);
    parallel_for(static_cast<size_t>(dimensions), [&](size_t row) {
        const auto r = static_cast<Eigen::Index>(row);
        covariance.row(r) = (sampled * sampled.row(r).transpose()).transpose().cast<double>();
    });
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance); // ascending
    const int kept = std::min(kComponents, dimensions);
    axes_ = solver.eigenvectors().rightCols(kept).rowwise().reverse().transpose().cast<float>();
    components_.resize(kept, static_cast<Eigen::Index>(count));
    parallel_for(
        count, [&](size_t i) { components_.col(static_cast<Eigen::Index>(i)).noalias() = axes_ * (square(i) - mean_); },
        64);
}

// Groups places by their components (Lloyd's iteration), and puts them in the order of their groups.
void Matcher::cluster()
{
    constexpr int kPasses = 6;
    const auto count = static_cast<Eigen::Index>(places_.size());
    const auto clusters = std::max<Eigen::Index>(1, static_cast<Eigen::Index>(std::sqrt(static_cast<double>(count))));
    centres_.resize(components_.rows(), clusters);
    for (Eigen::Index c = 0; c < clusters; ++c) centres_.col(c) = components_.col(c * count / clusters);
    std::vector<int> group(places_.size());
    const auto assign = [&] {
        parallel_for(
            places_.size(),
            [&](size_t i) {
                (centres_.colwise() - components_.col(static_cast<Eigen::Index>(i)))
                    .colwise()
                    .squaredNorm()
                    .minCoeff(&group[i]);
            },
            64);
    };
    for (int pass = 0; pass < kPasses; ++pass) {
        assign();
        Eigen::MatrixXf sums = Eigen::MatrixXf::Zero(components_.rows(), clusters);
        Eigen::VectorXf members = Eigen::VectorXf::Zero(clusters);
        for (Eigen::Index i = 0; i < count; ++i) sums.col(group[i]) += components_.col(i), members[group[i]] += 1;
        for (Eigen::Index c = 0; c < clusters; ++c)
            if (members[c] > 0) centres_.col(c) = sums.col(c) / members[c];
    }
    assign();
    std::vector<int> order(places_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int i) { return group[i]; });
    const std::vector<Match> places = places_;
    const Eigen::MatrixXf components = components_;
    first_.assign(static_cast<size_t>(clusters) + 1, 0);
    for (size_t k = 0; k < order.size(); ++k) {
        places_[k] = places[order[k]];
        components_.col(static_cast<Eigen::Index>(k)) = components.col(order[k]);
        ++first_[group[order[k]] + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

// Stops when it is more than `enough`.
double Matcher::energy(const Window& window, const Weights& weights, const Match& place, double enough) const
{
    const Raster& e = pictures_[place.picture];
    const int row = size_ * layout_.stride();
    using Row = Eigen::Map<const Eigen::ArrayXf>;
    double sum = 0;
    for (int y = 0; y < size_ && sum <= enough; ++y) {
        const size_t first = static_cast<size_t>(y) * row;
        const Row given(e.at(place.x, place.y + y), row), wanted(&window.values[first], row),
            weight(&weights.values[first], row);
        sum += static_cast<double>((weight * (given - wanted).square()).sum());
    }
    return sum;
}

// The places whose components are nearest to the wanted ones among those in the nearest clusters.
void Matcher::candidates(const Eigen::VectorXf& wanted, std::vector<int>& places) const
{
    auto& clusters = thread_scratch<std::vector<std::pair<float, int>>>();
    auto& near = thread_scratch<std::vector<std::pair<float, int>>>();
    clusters.clear(), near.clear();
    for (Eigen::Index c = 0; c < centres_.cols(); ++c)
        clusters.emplace_back((centres_.col(c) - wanted).squaredNorm(), static_cast<int>(c));
    const size_t probed = std::min<size_t>(clusters.size(), 24);
    std::partial_sort(clusters.begin(), clusters.begin() + static_cast<std::ptrdiff_t>(probed), clusters.end());
    for (size_t k = 0; k < probed && near.size() < kNear; ++k) {
        const int cluster = clusters[k].second;
        for (int i = first_[cluster]; i < first_[cluster + 1]; ++i)
            near.emplace_back((components_.col(i) - wanted).squaredNorm(), i);
    }
    const size_t kept = std::min<size_t>(kCandidates, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(kept), near.end());
    places.clear();
    for (size_t k = 0; k < kept; ++k) places.push_back(near[k].second);
}

// To a neighbour, which differs by a pixel, as long as that is better.
void Matcher::descend(const Window& window, const Weights& weights, Match& found) const
{
    for (bool better = true; better;) {
        const Match before = found;
        for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
            Match next = {before.picture, before.x + dx, before.y + dy, 0};
            if (!inside(next)) continue;
            next.energy = energy(window, weights, next, found.energy);
            if (next.energy < found.energy) found = next;
        }
        better = found.energy < before.energy;
    }
}

Matcher::Match Matcher::any(const Window& window, uint64_t seed, int example) const
{
    constexpr int kChoices = 40;
    auto& weights = thread_scratch<Weights>();
    weigh(window, weights);
    Match found;
    found.energy = std::numeric_limits<double>::infinity();
    Random random(seed);
    const size_t first = example < 0 ? 0 : first_of_[example],
                 count = (example < 0 ? first_places_.size() : first_of_[example + 1]) - first;
    for (int k = 0; k < (layout_.guided ? kChoices : 1); ++k) {
        Match place = first_places_[first + random.bits() % count];
        place.energy = energy(window, weights, place, found.energy);
        if (place.energy < found.energy) found = place;
    }
    return found;
}

Matcher::Match Matcher::best(const Window& window, std::span<const Match> hints, bool near_hints) const
{
    auto& weights = thread_scratch<Weights>();
    weigh(window, weights);
    Match found;
    found.energy = std::numeric_limits<double>::infinity();
    const auto consider = [&](Match place) {
        place.energy = energy(window, weights, place, found.energy);
        if (place.energy < found.energy) found = place;
    };
    if (!exhaustive_ || near_hints)
        for (const Match& hint : hints)
            if (inside(hint)) consider(hint);
    if (near_hints && std::isfinite(found.energy)) {
        descend(window, weights, found);
        return found;
    }
    if (exhaustive_) {
        for (const Match& place : places_) consider(place);
        return found;
    }
    auto& blocks = thread_scratch<Eigen::VectorXf>();
    auto& near = thread_scratch<std::vector<int>>();
    blocks_of(window, blocks);
    blocks -= mean_;
    candidates(axes_ * blocks, near);
    for (const int place : near) consider(places_[place]);
    descend(window, weights, found);
    return found;
}

} // namespace spindrift
