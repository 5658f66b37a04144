// How well smoke fills a mesh.
//
// Both are compared on cells as large as the control radius. A cell belongs to the smoke if it holds at least half as
// many markers as a cell would if all markers were spread evenly over the mesh, and to the mesh if at least half of 64
// points in it are inside.
#pragma once

#include "spindrift/base/parallel.h"
#include "spindrift/mesh/distance.h"
#include "spindrift/points/particles.h"
#include "spindrift/points/sort.h"

#include <map>

namespace spindrift {

struct ShapeMatch {
    double overlap = 0;  // intersection over union of the two sets of cells
    double distance = 0; // symmetric mean distance of their surfaces, relative to the diagonal of the mesh
    double outside = 0;  // share of the markers farther than a cell outside
};

class ShapeMeasure {
  public:
    ShapeMeasure(const Mesh& mesh, float edge) : mesh_(mesh), distance_(mesh), edge_(edge) { find_inside(); }

    ShapeMatch match(const Particles& markers) const
    {
        ShapeMatch result;
        std::vector<double> count(inside_.size(), 0);
        const auto outside = parallel_sum(
            markers.size(), [&](size_t i) { return distance_.distance(markers.P[i], 2 * edge_) > edge_ ? 1.0 : 0.0; });
        for (const Vec3f& x : markers.P) {
            const Vec3i cell = cell_of(x - corner_, 1 / edge_);
            const bool near = (cell.array() >= 0).all() && (cell.array() < size_.array()).all();
            if (near) ++count[index(cell)];
        }
        const double cell = std::pow(static_cast<double>(edge_), 3);
        const double enough = 0.5 * static_cast<double>(markers.size()) * cell / inside_volume_;
        double both = 0, either = 0;
        std::vector<uint8_t> smoke(count.size());
        for (size_t c = 0; c < count.size(); ++c) {
            smoke[c] = count[c] >= enough;
            both += smoke[c] && inside_[c], either += smoke[c] || inside_[c];
        }
        result.overlap = both / std::max(1.0, either);
        result.outside = outside / static_cast<double>(std::max<size_t>(1, markers.size()));
        result.distance = mean_distance(smoke) / static_cast<double>(bounds_of(mesh_).size().norm());
        return result;
    }

  private:
    size_t index(const Vec3i& c) const
    {
        return (static_cast<size_t>(c.x()) * size_.y() + c.y()) * static_cast<size_t>(size_.z()) +
               static_cast<size_t>(c.z());
    }
    template <class Body> void for_each_cell(const Body& body) const
    {
        for (int x = 0; x < size_.x(); ++x)
            for (int y = 0; y < size_.y(); ++y)
                for (int z = 0; z < size_.z(); ++z) body(Vec3i(x, y, z));
    }
    void find_inside()
    {
        const Box3f box = bounds_of(mesh_).grown(6 * edge_);
        corner_ = box.min, size_ = (box.size() / edge_).array().ceil().cast<int>();
        inside_.resize(static_cast<size_t>(size_.prod()));
        std::vector<int> points(inside_.size());
        parallel_for(static_cast<size_t>(size_.x()), [&](size_t x) {
            for (int y = 0; y < size_.y(); ++y)
                for (int z = 0; z < size_.z(); ++z) {
                    const Vec3i cell(static_cast<int>(x), y, z);
                    const Vec3f middle = corner_ + edge_ * (cell.cast<float>() + Vec3f::Constant(0.5f));
                    const float d = distance_.distance(middle);
                    if (std::abs(d) > edge_) {
                        points[index(cell)] = d < 0 ? 64 : 0;
                        continue;
                    }
                    for (int k = 0; k < 64; ++k) {
                        const Vec3f step =
                            (Vec3f(Vec3i(k >> 4, k >> 2 & 3, k & 3).cast<float>()) - Vec3f::Constant(1.5f)) / 4;
                        points[index(cell)] += distance_.distance(middle + edge_ * step) < 0;
                    }
                }
        });
        double sum = 0;
        for (size_t c = 0; c < points.size(); ++c) inside_[c] = points[c] >= 32, sum += points[c];
        inside_volume_ = sum / 64 * std::pow(static_cast<double>(edge_), 3);
    }
    // Mean of the distance of the smoke's surface to the mesh, and of that of the mesh's vertices to the smoke's
    // surface.
    double mean_distance(const std::vector<uint8_t>& smoke) const
    {
        std::vector<Vec3f> surface; // middles of faces between cells with and without smoke
        for_each_cell([&](const Vec3i& cell) {
            for (int a = 0; a < 3; ++a) {
                const Vec3i next = cell + Vec3i::Unit(a);
                if (next[a] >= size_[a] || smoke[index(cell)] == smoke[index(next)]) continue;
                surface.push_back(corner_ +
                                  edge_ * (cell.cast<float>() + Vec3f::Constant(0.5f) + 0.5f * Vec3f::Unit(a)));
            }
        });
        if (surface.empty()) return std::numeric_limits<double>::infinity();
        const double to_mesh = parallel_sum(
            surface.size(), [&](size_t i) { return static_cast<double>(std::abs(distance_.distance(surface[i]))); });
        // Corners inside other parts of the mesh are not on its surface.
        const auto& corners = mesh_.triangles;
        struct Sum {
            double distance = 0, count = 0;
        };
        const Sum to_smoke = parallel_reduce(
            corners.size(), Sum{},
            [&](size_t t) {
                Vec3f x = Vec3f::Zero();
                for (int k = 0; k < 3; ++k) x += mesh_.positions[static_cast<size_t>(corners[t][k])] / 3;
                if (distance_.distance(x) < -1e-3f * edge_) return Sum{};
                float least = kInfinity;
                for (const Vec3f& s : surface) least = std::min(least, (s - x).squaredNorm());
                return Sum{std::sqrt(static_cast<double>(least)), 1};
            },
            [](const Sum& a, const Sum& b) {
                return Sum{a.distance + b.distance, a.count + b.count};
            });
        return 0.5 *
               (to_mesh / static_cast<double>(surface.size()) + to_smoke.distance / std::max(1.0, to_smoke.count));
    }

    Mesh mesh_;
    MeshDistance distance_;
    float edge_;
    Vec3f corner_;
    Vec3i size_;
    std::vector<uint8_t> inside_;
    double inside_volume_ = 0;
};

} // namespace spindrift
