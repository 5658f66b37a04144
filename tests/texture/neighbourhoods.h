// How much the neighbourhoods of a textured surface look like those of an example: the distance between their
// histograms.
#pragma once

#include "spindrift/base/parallel.h"
#include "spindrift/mesh/distance.h"
#include "spindrift/texture/exemplar.h"
#include "spindrift/track/properties.h"

#include <Eigen/Eigenvalues>

namespace spindrift {

// Neighbourhoods are squares of 7 by 7 texels. Their first three principal components, those of the example, fall into
// bins that hold equally many neighbourhoods of the example in each component.
class Neighbourhoods {
  public:
    explicit Neighbourhoods(const Raster& exemplar)
    {
        std::vector<Eigen::VectorXf> all;
        for (int y = kReach; y < exemplar.height - kReach; ++y)
            for (int x = kReach; x < exemplar.width - kReach; ++x)
                all.push_back(square([&](int i, int j) { return exemplar.color(x + i, y + j); }));
        mean_ = Eigen::VectorXf::Zero(kDimensions);
        for (const auto& v : all) mean_ += v / static_cast<float>(all.size());
        Eigen::MatrixXf covariance = Eigen::MatrixXf::Zero(kDimensions, kDimensions);
        for (const auto& v : all) covariance += (v - mean_) * (v - mean_).transpose() / static_cast<float>(all.size());
        components_ =
            Eigen::SelfAdjointEigenSolver<Eigen::MatrixXf>(covariance).eigenvectors().rightCols(3).transpose();
        for (int c = 0; c < 3; ++c) {
            std::vector<float> values;
            for (const auto& v : all) values.push_back(components_.row(c).dot(v - mean_));
            std::sort(values.begin(), values.end());
            for (int b = 1; b < kBins; ++b) bounds_[c].push_back(values[values.size() * b / kBins]);
        }
        histogram_ = histogram(all);
    }

    // Half the sum of absolute differences: 0 for equal histograms, 1 for those without a common bin.
    double distance(const Mesh& mesh, const std::vector<Vec3f>& directions, const std::vector<Vec3f>& colors,
                    float texel) const
    {
        const MeshDistance surface(mesh, is_closed(mesh));
        std::vector<Eigen::VectorXf> all(mesh.positions.size());
        parallel_for(all.size(), [&](size_t k) {
            const Vec3f u = directions[k], v = mesh.normals[k].cross(u);
            all[k] = square([&](int i, int j) {
                const Vec3f x = mesh.positions[k] + texel * (static_cast<float>(i) * u + static_cast<float>(j) * v);
                const MeshDistance::Nearest at = surface.nearest(x);
                return blended(colors, mesh, {at.triangle, at.weights});
            });
        });
        const std::vector<double> own = histogram(all);
        double sum = 0;
        for (size_t b = 0; b < own.size(); ++b) sum += 0.5 * std::abs(own[b] - histogram_[b]);
        return sum;
    }

  private:
    static constexpr int kReach = 3, kDimensions = 3 * 49, kBins = 6;
    template <class Color> static Eigen::VectorXf square(const Color& color)
    {
        Eigen::VectorXf out(kDimensions);
        int k = 0;
        for (int j = -kReach; j <= kReach; ++j)
            for (int i = -kReach; i <= kReach; ++i, k += 3) out.segment<3>(k) = color(i, j);
        return out;
    }
    std::vector<double> histogram(const std::vector<Eigen::VectorXf>& all) const
    {
        std::vector<double> bins(kBins * kBins * kBins, 0);
        for (const auto& v : all) {
            size_t bin = 0;
            for (int c = 0; c < 3; ++c) {
                const float value = components_.row(c).dot(v - mean_);
                bin = bin * kBins + static_cast<size_t>(std::upper_bound(bounds_[c].begin(), bounds_[c].end(), value) -
                                                        bounds_[c].begin());
            }
            bins[bin] += 1 / static_cast<double>(all.size());
        }
        return bins;
    }

    Eigen::VectorXf mean_;
    Eigen::MatrixXf components_;
    std::vector<float> bounds_[3];
    std::vector<double> histogram_;
};

} // namespace spindrift
