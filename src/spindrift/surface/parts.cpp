#include "spindrift/surface/parts.h"

#include <Eigen/Geometry>
#include <numeric>

namespace spindrift {

namespace {

// Union-find of vertices, joined by triangles.
class Parts {
  public:
    explicit Parts(const Mesh& mesh) : parent_(mesh.positions.size())
    {
        std::iota(parent_.begin(), parent_.end(), 0);
        for (const Vec3i& t : mesh.triangles) join(t[0], t[1]), join(t[1], t[2]);
    }
    // The same index for all vertices of a part.
    size_t of(int vertex) { return static_cast<size_t>(root(vertex)); }

  private:
    int& parent(int i) { return parent_[i]; }
    int root(int i)
    {
        for (; parent(i) != i; i = parent(i)) parent(i) = parent(parent(i));
        return i;
    }
    void join(int i, int j)
    {
        const int a = root(i), b = root(j);
        parent(std::max(a, b)) = std::min(a, b);
    }
    std::vector<int> parent_;
};

// Six times the volume that each part encloses, at the part's index; negative for air.
std::vector<double> six_volumes(const Mesh& mesh, Parts& parts)
{
    std::vector<double> volumes(mesh.positions.size(), 0);
    for (const Vec3i& t : mesh.triangles) {
        // Relative to a corner of the part: a small part far from the origin would be lost in rounding.
        const size_t part = parts.of(t[0]);
        const Vec3d origin = mesh.positions[part].cast<double>();
        const auto at = [&](int k) { return Vec3d(mesh.positions[t[k]].cast<double>() - origin); };
        volumes[part] += at(0).dot(at(1).cross(at(2)));
    }
    return volumes;
}

} // namespace

void remove_parts(Mesh& mesh, double low, double high)
{
    Parts parts(mesh);
    const std::vector<double> volumes = six_volumes(mesh, parts);
    std::vector<uint8_t> keep(volumes.size());
    for (size_t i = 0; i < keep.size(); ++i) {
        const double volume = volumes[parts.of(static_cast<int>(i))] / 6;
        keep[i] = !(volume > low && volume < high);
    }
    if (std::ranges::find(keep, 0) != keep.end()) keep_vertices(mesh, keep);
}

} // namespace spindrift
