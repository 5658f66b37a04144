#include "spindrift/texture/grid_synthesis.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"
#include "spindrift/base/state_error.h"

#include <Eigen/Eigenvalues>
#include <fmt/format.h>
#include <utility>

namespace spindrift {

namespace {

// Covariance of some channels over all pixels of all patches, and their mean.
Eigen::MatrixXd covariance_of(const std::vector<Raster>& patches, int first, int count, Eigen::VectorXd& mean)
{
    Eigen::MatrixXd products = Eigen::MatrixXd::Zero(count, count);
    mean = Eigen::VectorXd::Zero(count);
    double pixels = 0;
    for (const Raster& patch : patches) {
        using Columns = Eigen::Map<const Eigen::MatrixXf>;
        const Columns all(patch.values.data(), patch.channels, static_cast<Eigen::Index>(patch.pixels()));
        const Eigen::MatrixXd values = all.middleRows(first, count).cast<double>();
        products.noalias() += values * values.transpose(), mean += values.rowwise().sum();
        pixels += static_cast<double>(patch.pixels());
    }
    mean /= pixels;
    return products / pixels - mean * mean.transpose();
}

} // namespace

// Corners of squares of one size that cover the frame, all inside.
struct GridSynthesis::Grid {
    std::vector<int> lefts, tops;

    Grid(int width, int height, int size) : lefts(corners(width, size)), tops(corners(height, size)) {}
    size_t count() const { return lefts.size() * tops.size(); }
    int left(size_t square) const { return lefts[square % lefts.size()]; }
    int top(size_t square) const { return tops[square / lefts.size()]; }

  private:
    static std::vector<int> corners(int length, int size)
    {
        const int step = std::max(1, size / 4), steps = (length - size + step - 1) / step;
        std::vector<int> at;
        for (int i = 0; i <= steps; ++i) at.push_back(std::min(i * step, length - size));
        return at;
    }
};

struct GridSynthesis::Wanted {
    Raster current;
    std::vector<Raster> history;
    std::vector<uint8_t> known; // bits of Window, by pixel
    const std::vector<float>& guide;
    bool begins; // nothing is known but the guide
};

GridSynthesis::GridSynthesis(std::vector<Raster> patches, const TexelLayout& layout, const GridSynthesisParams& params)
    : patches_(std::move(patches)), channels_(layout.channels), layout_(layout), params_(params)
{
    const int largest = *std::max_element(params.sizes.begin(), params.sizes.end());
    for (const Raster& patch : patches_)
        if (std::min(patch.width, patch.height) < largest)
            bad_input(
                "the example video is {} x {} pixels where its motion can be followed, smaller than a square of {}; "
                "use a larger video or smaller squares",
                patch.width, patch.height, largest);
    Eigen::VectorXd mean;
    const double variance = covariance_of(patches_, 0, channels_, mean).trace();
    constexpr double kLeast = 1e-10; // of the squares, for rounding
    if (!(variance > kLeast * mean.squaredNorm()))
        bad_input("all pixels of the example video are equal; there is nothing to learn from it");
    layout_.history_weight = params.history_weight;
    if (layout.guided) {
        const double guide = covariance_of(patches_, layout.stride() - 1, 1, mean).trace();
        layout_.guide_weight = guide > 0 ? params.guide_weight * static_cast<float>(variance / guide) : 0;
    }
    find_principal_channels();
    for (const Raster& patch : patches_) pictures_.push_back(compared(patch, 1 + layout_.history));
    for (const int size : params.sizes) matchers_.emplace_back(pictures_, layout_, size, params.exhaustive);
    last_matches_.resize(params.sizes.size());
}

// As few as keep 99% of the variance, if there are more channels than colours have.
void GridSynthesis::find_principal_channels()
{
    constexpr int kFew = 4;
    constexpr double kKept = 0.99;
    if (channels_ <= kFew) return;
    Eigen::VectorXd mean;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance_of(patches_, 0, channels_, mean));
    int count = 0;
    for (double kept = 0; count < channels_ && kept < kKept * solver.eigenvalues().sum(); ++count)
        kept += solver.eigenvalues()[channels_ - 1 - count];
    principal_ = solver.eigenvectors().rightCols(count).transpose().cast<float>();
    mean_ = mean.cast<float>();
    layout_.channels = count;
}

// What is compared of a frame: the principal of its channels, in each of its groups, and what follows them.
Raster GridSynthesis::compared(const Raster& frame, int groups) const
{
    const int rest = frame.channels - groups * channels_, kept = layout_.channels;
    Raster out(frame.width, frame.height, groups * kept + rest);
    parallel_chunks(frame.pixels(), 1 << 12, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            const float* from = frame.values.data() + i * frame.channels;
            float* to = out.values.data() + i * out.channels;
            for (int g = 0; g < groups; ++g) {
                const Eigen::Map<const Eigen::VectorXf> all(from + g * channels_, channels_);
                Eigen::Map<Eigen::VectorXf> few(to + g * kept, kept);
                if (principal_.size() > 0)
                    few.noalias() = principal_ * (all - mean_);
                else
                    few = all;
            }
            std::copy_n(from + groups * channels_, rest, to + groups * kept);
        }
    });
    return out;
}

// The frames before, where each pixel of the next frame was.
std::vector<Raster> GridSynthesis::carried_history(const OpticalFlow* back, std::vector<uint8_t>& known)
{
    const Raster& last = made_.front();
    known.assign(last.pixels(), 1);
    flows_.push_front(back ? *back : OpticalFlow(last.width, last.height));
    if (flows_.size() > static_cast<size_t>(layout_.history)) flows_.pop_back();
    std::vector<Raster> carried;
    std::vector<uint8_t> inside;
    OpticalFlow path;
    for (size_t i = 0; i < made_.size(); ++i) {
        path = i == 0 ? flows_[0] : composed(path, flows_[i]);
        carried.push_back(warped(made_[i], path, inside));
        for (size_t p = 0; p < known.size(); ++p) known[p] &= inside[p];
    }
    // At the start there are fewer frames than the layout has: the oldest repeats.
    while (carried.size() < static_cast<size_t>(layout_.history)) carried.push_back(carried.back());
    return carried;
}

void GridSynthesis::match(size_t size, const Grid& grid, const Wanted& wanted, int iteration,
                          std::vector<Matcher::Match>& matches) const
{
    const Matcher& matcher = matchers_[size];
    const int edge = matcher.size(), stride = layout_.stride(), channels = layout_.channels;
    const std::vector<Matcher::Match>& before = last_matches_[size];
    parallel_for(grid.count(), [&](size_t square) {
        auto& window = thread_scratch<Window>();
        window.known.resize(static_cast<size_t>(edge) * edge);
        window.values.assign(window.known.size() * stride, 0);
        for (int y = 0; y < edge; ++y)
            for (int x = 0; x < edge; ++x) {
                const int left = grid.left(square) + x, top = grid.top(square) + y;
                const size_t texel = static_cast<size_t>(y) * edge + x,
                             pixel = static_cast<size_t>(top) * wanted.current.width + left;
                float* values = &window.values[texel * stride];
                window.known[texel] = wanted.known[pixel];
                std::copy_n(wanted.current.at(left, top), channels, values);
                for (size_t h = 0; h < wanted.history.size(); ++h)
                    std::copy_n(wanted.history[h].at(left, top), channels, values + (h + 1) * channels);
                if (layout_.guided) values[stride - 1] = wanted.guide[pixel];
            }
        if (wanted.begins) {
            const uint64_t seed = static_cast<uint64_t>(params_.seed) + (static_cast<uint64_t>(frame_ - 1) << 32);
            matches[square] = matcher.any(window, hash64(seed, square));
            return;
        }
        // What it was in the iteration before; or the example goes on where it was in the frame before.
        Matcher::Match hint = matches[square];
        if (iteration == 0 && before.size() == grid.count()) {
            hint = before[square];
            hint.picture = std::min(hint.picture + 1, static_cast<int>(pictures_.size()) - 1);
        }
        matches[square] = matcher.best(window, {&hint, 1});
    });
}

// Each pixel becomes the mean of what its squares found, weighted by the Gaussian; squares with good matches count more
// [Kwatra 2005].
void GridSynthesis::blend(const Matcher& matcher, const Grid& grid, const std::vector<Matcher::Match>& matches,
                          bool sharp, Raster& current) const
{
    double mean = 0;
    for (const Matcher::Match& match : matches) mean += match.energy / static_cast<double>(matches.size());
    std::vector<float> good;
    for (const Matcher::Match& match : matches)
        good.push_back(mean > 0 ? static_cast<float>(std::pow(match.energy / mean + 0.1, -0.6)) : 1.0f);
    const int size = matcher.size();
    std::vector<float> weights; // for a sharp result the Gaussian is half as wide
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x)
            weights.push_back(sharp ? std::pow(matcher.weight(x, y), 4.0f) : matcher.weight(x, y));
    parallel_for(static_cast<size_t>(current.height), [&](size_t row) {
        const int y = static_cast<int>(row);
        std::vector<float> total(current.width, 0.0f);
        std::fill_n(current.at(0, y), static_cast<size_t>(current.width) * channels_, 0.0f);
        for (size_t square = 0; square < grid.count(); ++square) {
            const int left = grid.left(square), top = grid.top(square);
            if (y < top || y >= top + size) continue;
            const Matcher::Match& match = matches[square];
            for (int x = 0; x < size; ++x) {
                const float w = good[square] * weights[static_cast<size_t>(y - top) * size + x];
                const float* from = patches_[match.picture].at(match.x + x, match.y + y - top);
                float* to = current.at(left + x, y);
                for (int c = 0; c < channels_; ++c) to[c] += w * from[c];
                total[left + x] += w;
            }
        }
        for (int x = 0; x < current.width; ++x)
            for (int c = 0; c < channels_; ++c) current.at(x, y)[c] /= total[x];
    });
}

// A frame without any before it is a mean of squares found by chance, and blurred: a few frames pass unseen.
Raster GridSynthesis::next(int width, int height, const std::vector<float>& guide, const OpticalFlow* back)
{
    constexpr int kUnseen = 3;
    while (layout_.history > 0 && frame_ < kUnseen) make_frame(width, height, guide, nullptr);
    return make_frame(width, height, guide, back);
}

Raster GridSynthesis::make_frame(int width, int height, const std::vector<float>& guide, const OpticalFlow* back)
{
    const bool first = frame_++ == 0;
    Raster current(width, height, channels_);
    std::vector<uint8_t> inside(current.pixels(), 0);
    // Without a history, a frame begins with the one before where the flow carries it, or else anew.
    const bool remembers = layout_.history > 0, carried = !first && !remembers && back;
    Wanted wanted{{}, {}, std::vector<uint8_t>(current.pixels()), guide, first || !(remembers || carried)};
    if (!first && remembers)
        for (const Raster& frame : carried_history(back, inside)) wanted.history.push_back(compared(frame, 1));
    if (carried) current = warped(made_.front(), *back, inside);
    const uint8_t guided = layout_.guided ? Window::kGuide : 0;
    const uint8_t before = remembers ? Window::kHistory : Window::kCurrent;
    uint8_t made = 0; // in the first iteration, only what was before is known
    for (size_t s = 0; s < matchers_.size(); ++s) {
        const Matcher& matcher = matchers_[s];
        const Grid grid(width, height, matcher.size());
        std::vector<Matcher::Match> matches(grid.count());
        const int iterations = first ? params_.first_iterations : params_.iterations;
        for (int iteration = 0; iteration < iterations; ++iteration) {
            for (size_t i = 0; i < inside.size(); ++i)
                wanted.known[i] = static_cast<uint8_t>(guided | made | (inside[i] ? before : 0));
            wanted.current = compared(current, 1);
            match(s, grid, wanted, iteration, matches);
            blend(matcher, grid, matches, s + 1 == matchers_.size() && iteration + 1 == iterations, current);
            wanted.begins = false, made = Window::kCurrent;
        }
        double energy = 0, weights = 0;
        for (const Matcher::Match& match : matches) energy += match.energy / static_cast<double>(matches.size());
        for (int y = 0; y < matcher.size(); ++y)
            for (int x = 0; x < matcher.size(); ++x) weights += static_cast<double>(matcher.weight(x, y));
        energy_ = energy / weights;
        last_matches_[s] = std::move(matches);
    }
    made_.push_front(current);
    if (made_.size() > static_cast<size_t>(std::max(1, layout_.history))) made_.pop_back();
    return current;
}

StateFile GridSynthesis::save() const
{
    StateFile file;
    file.numbers["frame"] = frame_;
    if (!made_.empty()) file.numbers["width"] = made_[0].width, file.numbers["height"] = made_[0].height;
    for (size_t i = 0; i < made_.size(); ++i) file.fields[fmt::format("made_{}", i)] = made_[i].values;
    for (size_t i = 0; i < flows_.size(); ++i) {
        std::vector<float>& values = file.fields[fmt::format("flow_{}", i)];
        for (const Vec2f& v : flows_[i].vectors) values.insert(values.end(), {v.x(), v.y()});
    }
    for (size_t s = 0; s < last_matches_.size(); ++s) {
        if (last_matches_[s].empty()) continue; // nothing is made yet
        std::vector<float>& places = file.fields[fmt::format("matches_{}", s)];
        for (const Matcher::Match& m : last_matches_[s])
            for (const int number : {m.picture, m.x, m.y}) places.push_back(static_cast<float>(number));
    }
    return file;
}

void GridSynthesis::restore(const StateFile& file)
{
    const auto number = [&](const char* name) {
        const auto found = file.numbers.find(name);
        if (found == file.numbers.end()) bad_state("a video has no \"{}\"", name);
        return static_cast<int>(found->second);
    };
    const auto field = [&](const std::string& name) -> const std::vector<float>* {
        const auto found = file.fields.find(name);
        return found == file.fields.end() ? nullptr : &found->second;
    };
    frame_ = number("frame");
    const int width = number("width"), height = number("height");
    made_.clear(), flows_.clear();
    while (const auto* values = field(fmt::format("made_{}", made_.size()))) {
        Raster& frame = made_.emplace_back(width, height, channels_);
        if (values->size() != frame.values.size()) bad_state("a frame of a video has another size");
        frame.values = *values;
    }
    while (const auto* values = field(fmt::format("flow_{}", flows_.size()))) {
        OpticalFlow& flow = flows_.emplace_back(width, height);
        if (values->size() != 2 * flow.vectors.size()) bad_state("the motion of a video has another size");
        for (size_t i = 0; i < flow.vectors.size(); ++i) flow.vectors[i] = {(*values)[2 * i], (*values)[2 * i + 1]};
    }
    for (size_t s = 0; s < last_matches_.size(); ++s) {
        const auto* places = field(fmt::format("matches_{}", s));
        if (!places || places->size() % 3 != 0) bad_state("a video has no matches");
        last_matches_[s].clear();
        for (size_t i = 0; i < places->size(); i += 3)
            last_matches_[s].push_back({.picture = static_cast<int>((*places)[i]),
                                        .x = static_cast<int>((*places)[i + 1]),
                                        .y = static_cast<int>((*places)[i + 2])});
    }
}

} // namespace spindrift
