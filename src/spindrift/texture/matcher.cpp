#include "spindrift/texture/matcher.h"

#include "spindrift/base/parallel.h"

#include <Eigen/Eigenvalues>

namespace spindrift {

namespace {

// Squares are compared by few components first, the nearest of them by all, and the nearest of those pixel by pixel.
constexpr int kFewComponents = 8, kComponents = 32;
constexpr int kNear = 300, kCandidates = 24;
constexpr size_t kMostSamples = 3000; // of squares that the components are computed from

} // namespace

Matcher::Matcher(const Exemplar& exemplar, int size, bool exhaustive)
    : exemplar_(exemplar), size_(size), exhaustive_(exhaustive), block_(std::max(2, size / 11)),
      blocks_((size + block_ - 1) / block_)
{
    const float middle = 0.5f * static_cast<float>(size - 1), width = 0.3f * static_cast<float>(size);
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            const float dx = static_cast<float>(x) - middle, dy = static_cast<float>(y) - middle;
            weight_.push_back(std::exp(-(dx * dx + dy * dy) / (2 * width * width)));
        }
    if (!exhaustive) find_components();
}

// Means of blocks, weighted so that squared differences are about those of the pixels. Unknown pixels do not count; a
// block without any other is the mean of all.
Eigen::VectorXf Matcher::blocks_of(const Window& window) const
{
    Eigen::Matrix<float, 3, Eigen::Dynamic> sums = Eigen::Matrix<float, 3, Eigen::Dynamic>::Zero(3, blocks_ * blocks_);
    std::vector<float> known(static_cast<size_t>(blocks_) * blocks_, 0), all(known);
    Vec3f mean = Vec3f::Zero();
    float total = 0;
    for (int y = 0; y < size_; ++y)
        for (int x = 0; x < size_; ++x) {
            const size_t pixel = static_cast<size_t>(y) * size_ + x;
            const int block = y / block_ * blocks_ + x / block_;
            const float w = weight_[pixel];
            all[block] += w;
            if (!window.known[pixel]) continue;
            sums.col(block) += w * window.colors[pixel], known[block] += w;
            mean += w * window.colors[pixel], total += w;
        }
    if (total > 0) mean /= total;
    Eigen::VectorXf out(3 * blocks_ * blocks_);
    for (int b = 0; b < blocks_ * blocks_; ++b)
        out.segment<3>(3 * b) = std::sqrt(all[b]) * (known[b] > 0 ? Vec3f(sums.col(b) / known[b]) : mean);
    return out;
}

// Principal components of all squares of the exemplar, from some of them, and the place of each square in their space.
void Matcher::find_components()
{
    const size_t count = static_cast<size_t>(places_across()) * places_down();
    const int dimensions = 3 * blocks_ * blocks_;
    const auto square = [&](size_t place) {
        const int left = static_cast<int>(place) % places_across(), top = static_cast<int>(place) / places_across();
        Window window;
        window.known.assign(weight_.size(), 1);
        for (int y = 0; y < size_; ++y)
            for (int x = 0; x < size_; ++x) window.colors.push_back(exemplar_.at(left + x, top + y));
        return blocks_of(window);
    };
    const size_t step = std::max<size_t>(1, count / kMostSamples), samples = (count + step - 1) / step;
    Eigen::MatrixXf sampled(dimensions, samples);
    parallel_for(
        samples, [&](size_t i) { sampled.col(static_cast<Eigen::Index>(i)) = square(i * step); }, 16);
    mean_ = sampled.rowwise().mean();
    sampled.colwise() -= mean_;
    Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(dimensions, dimensions);
    parallel_for(static_cast<size_t>(dimensions), [&](size_t row) {
        const auto r = static_cast<Eigen::Index>(row);
        covariance.row(r) = (sampled * sampled.row(r).transpose()).transpose().cast<double>();
    });
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance); // ascending
    const int kept = std::min(kComponents, dimensions);
    components_ = solver.eigenvectors().rightCols(kept).rowwise().reverse().transpose().cast<float>();
    places_.resize(kept, static_cast<Eigen::Index>(count));
    parallel_for(
        count, [&](size_t i) { places_.col(static_cast<Eigen::Index>(i)) = components_ * (square(i) - mean_); }, 64);
    first_ = places_.topRows(std::min(kFewComponents, kept)).transpose();
}

// Stops when it is more than `enough`.
double Matcher::energy(const Window& window, int x, int y, double enough) const
{
    double sum = 0;
    for (int j = 0; j < size_ && sum <= enough; ++j) {
        float row = 0;
        const size_t first = static_cast<size_t>(j) * size_;
        const Vec3f* colors = &exemplar_.at(x, y + j);
        for (int i = 0; i < size_; ++i)
            if (window.known[first + i])
                row += weight_[first + i] * (colors[i] - window.colors[first + i]).squaredNorm();
        sum += static_cast<double>(row);
    }
    return sum;
}

// The places whose components are nearest to the wanted ones, in ascending order of distance.
std::vector<int> Matcher::candidates(const Eigen::VectorXf& wanted) const
{
    Eigen::ArrayXf distance = Eigen::ArrayXf::Zero(first_.rows());
    for (Eigen::Index c = 0; c < first_.cols(); ++c) distance += (first_.col(c).array() - wanted[c]).square();
    float limit = kInfinity;
    if (distance.size() > kNear) {
        std::vector<float> sorted(distance.begin(), distance.end());
        std::nth_element(sorted.begin(), sorted.begin() + kNear, sorted.end());
        limit = sorted[kNear];
    }
    std::vector<std::pair<float, int>> near;
    for (Eigen::Index i = 0; i < distance.size(); ++i)
        if (distance[i] <= limit) near.emplace_back((places_.col(i) - wanted).squaredNorm(), static_cast<int>(i));
    const size_t kept = std::min<size_t>(kCandidates, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(kept), near.end());
    std::vector<int> places;
    for (size_t k = 0; k < kept; ++k) places.push_back(near[k].second);
    return places;
}

Matcher::Match Matcher::best(const Window& window) const
{
    const int across = places_across(), count = across * places_down();
    Match found;
    found.energy = std::numeric_limits<double>::infinity();
    const auto consider = [&](int place) {
        const int x = place % across, y = place / across;
        const double e = energy(window, x, y, found.energy);
        if (e < found.energy) found = {x, y, e};
    };
    if (exhaustive_) {
        for (int place = 0; place < count; ++place) consider(place);
        return found;
    }
    for (const int place : candidates(components_ * (blocks_of(window) - mean_))) consider(place);
    // The neighbours of the best, which differ by a pixel.
    for (bool better = true; better;) {
        const Match before = found;
        for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
            const int x = before.x + dx, y = before.y + dy;
            if (x >= 0 && y >= 0 && x < across && y < places_down()) consider(y * across + x);
        }
        better = found.energy < before.energy;
    }
    return found;
}

} // namespace spindrift
