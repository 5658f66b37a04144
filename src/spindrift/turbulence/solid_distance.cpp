#include "spindrift/turbulence/solid_distance.h"

namespace spindrift {

namespace {

// Weights and derivatives of the quadratic spline along one axis, for the cell that contains a point [cells] and its
// two neighbours.
struct Spline {
    int first;
    float weight[3], slope[3];

    explicit Spline(float point) : first(floor_int(point) - 1)
    {
        const float f = point - static_cast<float>(first) - 1.5f; // from the centre of its cell
        weight[0] = 0.5f * (0.5f - f) * (0.5f - f), slope[0] = f - 0.5f;
        weight[1] = 0.75f - f * f, slope[1] = -2 * f;
        weight[2] = 0.5f * (0.5f + f) * (0.5f + f), slope[2] = f + 0.5f;
    }
};

} // namespace

void SolidDistance::set(const Field<float>* distance, const Topology& topology, float voxel)
{
    any_ = distance != nullptr && topology.tile_count() > 0;
    voxel_ = voxel;
    if (!any_) return;
    field_.reset_uninitialized(topology, distance->background());
    for_each_tile(topology, [&](int t) { std::copy_n(distance->tile(t), kTileCells, field_.tile(t)); });
}

float SolidDistance::at_cell(const Vec3i& cell, const Vec3i& home, Sampler& sampler) const
{
    const Topology& topology = field_.topology();
    Topology::Cell found = sampler.cell_at(cell.cast<float>().array() + 0.5f);
    if (found.tile == topology.tile_count()) {
        const Vec3i low = home * kTileSize, high = low.array() + (kTileSize - 1);
        found = sampler.cell_at(cell.cwiseMax(low).cwiseMin(high).cast<float>().array() + 0.5f);
    }
    return found.tile == topology.tile_count() ? kInfinity : field_.tile(found.tile)[found.offset];
}

Distance SolidDistance::at(const Vec3f& x, float near, Sampler& sampler) const
{
    const Vec3i home = tile_of_cell(cell_of(x));
    const Vec3f p = x / voxel_;
    const Spline sx(p.x()), sy(p.y()), sz(p.z());
    Distance out{0, Vec3f::Zero()};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 3; ++k) {
                const Vec3i cell(sx.first + i, sy.first + j, sz.first + k);
                const float d = std::min(at_cell(cell, home, sampler), far(near));
                out.value += d * sx.weight[i] * sy.weight[j] * sz.weight[k];
                out.slope +=
                    d * Vec3f(sx.slope[i] * sy.weight[j] * sz.weight[k], sx.weight[i] * sy.slope[j] * sz.weight[k],
                              sx.weight[i] * sy.weight[j] * sz.slope[k]);
            }
    out.slope /= voxel_;
    return out;
}

bool SolidDistance::Patch::gather(const SolidDistance& solids, const Vec3f& low, const Vec3f& high, float near)
{
    if (!solids.any_) return false;
    voxel_ = solids.voxel_;
    first_ = solids.cell_of(low).array() - 2, size_ = solids.cell_of(high).array() + 3 - first_.array();
    values_.clear();
    Sampler sampler = solids.sampler();
    const Vec3i home = tile_of_cell(solids.cell_of(0.5f * (low + high)));
    float least = kInfinity;
    for (int x = 0; x < size_.x(); ++x)
        for (int y = 0; y < size_.y(); ++y)
            for (int z = 0; z < size_.z(); ++z) {
                values_.push_back(std::min(solids.at_cell(first_ + Vec3i(x, y, z), home, sampler), solids.far(near)));
                least = std::min(least, values_.back());
            }
    return least < near;
}

// Blends nine lines of cells for each row of samples, then three values along z for each sample.
void SolidDistance::Patch::sample(const Vec3f& first, float spacing, TileDistances& out) const
{
    const float inverse = 1 / voxel_;
    const auto along = [&](int axis) {
        std::vector<Spline> splines;
        for (int n = 0; n < kTileSize; ++n) {
            splines.emplace_back((first[axis] + static_cast<float>(n) * spacing) * inverse);
            splines.back().first =
                std::clamp(splines.back().first - first_[axis], 0, size_[axis] - 3); // guards against rounding
        }
        return splines;
    };
    const std::vector<Spline> xs = along(0), ys = along(1), zs = along(2);
    const size_t length = size_.z();
    std::vector<float> value(length), slope_x(length), slope_y(length);
    for (int x = 0; x < kTileSize; ++x)
        for (int y = 0; y < kTileSize; ++y) {
            const Spline &sx = xs[x], &sy = ys[y];
            std::fill(value.begin(), value.end(), 0.0f);
            std::fill(slope_x.begin(), slope_x.end(), 0.0f), std::fill(slope_y.begin(), slope_y.end(), 0.0f);
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) {
                    const float* cells = line(sx.first + i, sy.first + j);
                    const float both = sx.weight[i] * sy.weight[j], on_x = inverse * sx.slope[i] * sy.weight[j],
                                on_y = inverse * sx.weight[i] * sy.slope[j];
                    for (size_t k = 0; k < length; ++k)
                        value[k] += both * cells[k], slope_x[k] += on_x * cells[k], slope_y[k] += on_y * cells[k];
                }
            for (int z = 0; z < kTileSize; ++z) {
                const Spline& sz = zs[z];
                const auto blend = [&](const std::vector<float>& v, const float(&weight)[3]) {
                    const float* from = v.data() + sz.first;
                    return weight[0] * from[0] + weight[1] * from[1] + weight[2] * from[2];
                };
                const int o = offset_in_tile(x, y, z);
                out.value[o] = blend(value, sz.weight), out.slope[0][o] = blend(slope_x, sz.weight);
                out.slope[1][o] = blend(slope_y, sz.weight), out.slope[2][o] = inverse * blend(value, sz.slope);
            }
        }
}

} // namespace spindrift
