#include "spindrift/texture/diffusion.h"

#include "spindrift/base/parallel.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

constexpr size_t kRowsPerTask = 2048;
constexpr int kMostIterations = 500;

double dot(const std::vector<float>& a, const std::vector<float>& b)
{
    return parallel_sum(
        a.size(), [&](size_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); }, kRowsPerTask);
}

// Half the cotangent of the angle at corner k. Slivers are as good as right angles are steep: their weights are
// bounded.
float half_cotangent(const Mesh& mesh, const Vec3i& t, int k)
{
    constexpr float kSteepest = 1e3f;
    const Vec3f a = mesh.positions[t[(k + 1) % 3]] - mesh.positions[t[k]],
                b = mesh.positions[t[(k + 2) % 3]] - mesh.positions[t[k]];
    const float sine = a.cross(b).norm();
    const float cosine = a.dot(b);
    if (!(sine > std::abs(cosine) / kSteepest)) return std::copysign(0.5f * kSteepest, cosine);
    return 0.5f * cosine / sine;
}

} // namespace

SurfaceDiffusion::SurfaceDiffusion(const Mesh& mesh, const std::vector<float>& factors)
{
    const size_t count = mesh.positions.size();
    const MeshLinks links(mesh);
    area_.assign(count, 0);
    parallel_for(
        count,
        [&](size_t i) {
            for (const int t : links.triangles_at(static_cast<int>(i))) {
                const Vec3i& c = mesh.triangles[t];
                const Vec3f &a = mesh.positions[c[0]], b = mesh.positions[c[1]] - a, d = mesh.positions[c[2]] - a;
                area_[i] += b.cross(d).norm() / 6;
            }
        },
        kRowsPerTask);
    // Vertices without any area take part in nothing, but must not divide by zero.
    total_area_ = parallel_sum(
        count, [&](size_t i) { return static_cast<double>(area_[i]); }, kRowsPerTask);
    const float least = count == 0 ? 1 : std::max(1e-6f * static_cast<float>(total_area_ / double(count)), 1e-30f);
    for (float& a : area_) a = std::max(a, least);
    total_area_ = parallel_sum(
        count, [&](size_t i) { return static_cast<double>(area_[i]); }, kRowsPerTask);
    find_edges(mesh, links);
    find_weights(mesh, factors);
    for (auto* vector : {&r_, &z_, &p_, &q_}) vector->resize(count);
}

// The neighbours of each vertex, in ascending order.
void SurfaceDiffusion::find_edges(const Mesh& mesh, const MeshLinks& links)
{
    const size_t count = mesh.positions.size();
    const auto neighbours = [&](size_t i, std::vector<int>& out) {
        out.clear();
        for (const int t : links.triangles_at(static_cast<int>(i)))
            for (int k = 0; k < 3; ++k)
                if (mesh.triangles[t][k] != static_cast<int>(i)) out.push_back(mesh.triangles[t][k]);
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
    };
    first_.assign(count + 1, 0);
    parallel_chunks(count, kRowsPerTask, [&](size_t begin, size_t end) {
        std::vector<int> row;
        for (size_t i = begin; i < end; ++i) neighbours(i, row), first_[i + 1] = static_cast<int>(row.size());
    });
    for (size_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
    neighbour_.resize(first_[count]);
    parallel_chunks(count, kRowsPerTask, [&](size_t begin, size_t end) {
        std::vector<int> row;
        for (size_t i = begin; i < end; ++i)
            neighbours(i, row), std::copy(row.begin(), row.end(), &neighbour_[first_[i]]);
    });
}

void SurfaceDiffusion::find_weights(const Mesh& mesh, const std::vector<float>& factors)
{
    const size_t count = mesh.positions.size();
    weight_.assign(neighbour_.size(), 0);
    const auto weight = [&](int row, int column) -> float& {
        const auto begin = neighbour_.begin() + first_[row], end = neighbour_.begin() + first_[row + 1];
        return weight_[static_cast<size_t>(std::lower_bound(begin, end, column) - neighbour_.begin())];
    };
    for (const Vec3i& t : mesh.triangles)
        for (int k = 0; k < 3; ++k) {
            const int i = t[(k + 1) % 3], j = t[(k + 2) % 3];
            if (i == j || i == t[k] || j == t[k]) continue;
            const float half = half_cotangent(mesh, t, k);
            weight(i, j) += half, weight(j, i) += half;
        }
    diagonal_.assign(count, 0);
    parallel_for(
        count,
        [&](size_t i) {
            for (int e = first_[i]; e < first_[i + 1]; ++e) {
                float& w = weight_[e];
                w = std::max(w, 0.0f);
                if (!factors.empty()) w *= 0.5f * (factors[i] + factors[neighbour_[e]]);
                diagonal_[i] += w;
            }
        },
        kRowsPerTask);
}

int SurfaceDiffusion::spread(float t, std::vector<float>& x, double residual)
{
    const size_t count = x.size();
    const double before = total(x);
    const auto rows = [&](const auto& body) { parallel_for(count, body, kRowsPerTask); };
    const auto flow_out = [&](const std::vector<float>& v, size_t i) { // row i of L v
        float sum = 0;
        for (int e = first_[i]; e < first_[i + 1]; ++e) sum += weight_[e] * (v[i] - v[neighbour_[e]]);
        return sum;
    };
    const auto relax = [&](size_t i) { z_[i] = r_[i] / (area_[i] + t * diagonal_[i]); };
    rows([&](size_t i) { r_[i] = -t * flow_out(x, i), relax(i), p_[i] = z_[i]; });
    double rho = dot(r_, z_);
    const double enough = residual * residual * rho;
    int iterations = 0;
    while (rho > enough && rho > 0 && iterations < kMostIterations) {
        ++iterations;
        rows([&](size_t i) { q_[i] = area_[i] * p_[i] + t * flow_out(p_, i); });
        const auto alpha = static_cast<float>(rho / dot(p_, q_));
        rows([&](size_t i) { x[i] += alpha * p_[i], r_[i] -= alpha * q_[i], relax(i); });
        const double next = dot(r_, z_);
        const auto beta = static_cast<float>(next / rho);
        rows([&](size_t i) { p_[i] = z_[i] + beta * p_[i]; });
        rho = next;
    }
    unconverged_ += !(rho <= enough);
    // What rounding and the tolerance have changed.
    const auto lost = static_cast<float>((before - total(x)) / total_area_);
    rows([&](size_t i) { x[i] += lost; });
    return iterations;
}

double SurfaceDiffusion::total(const std::vector<float>& x) const { return dot(area_, x); }

size_t SurfaceDiffusion::bytes() const
{
    return sizeof(float) * (6 * area_.size() + weight_.size()) + sizeof(int) * (first_.size() + neighbour_.size());
}

} // namespace spindrift
