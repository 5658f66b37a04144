#include "spindrift/stages/volume_flow.h"

#include "spindrift/base/error.h"
#include "spindrift/turbulence/sampler.h"

namespace spindrift {

VelocityVolume::VelocityVolume(const std::string& path, const std::string& grid, float scale) : scale_(scale)
{
    FieldSet read = read_fields(path, {grid});
    if (!read.vectors.contains(grid))
        fail("grid \"{}\" of {} does not hold velocities, but single numbers", grid, path);
    file_ = std::move(read.vectors.at(grid));
    const auto values = file_.field.values();
    max_speed_ = parallel_reduce(
        values.size(), 0.0f, [&](size_t i) { return std::abs(scale) * values[i].norm(); },
        [](float a, float b) { return std::max(a, b); }, 4096);
}

void VelocityVolume::add(std::span<const Vec3f> points, float weight, std::span<Vec3f> velocities) const
{
    Sampler sampler(*file_.topology);
    const Field<Vec3f>& field = file_.field;
    for (size_t i = 0; i < points.size(); ++i) {
        const Vec3f at = (points[i] - file_.origin) / file_.voxel; // in cells from the first value
        Vec3f sum = Vec3f::Zero();
        if (file_.staggered)
            for (int a = 0; a < 3; ++a) // a component lies half a cell below the centre
                sampler.for_each_sample(at, -0.5f * Vec3f::Unit(a),
                                        [&](int t, int o, float w) { sum[a] += w * field.tile(t)[o][a]; });
        else
            sampler.for_each_sample(at, Vec3f::Zero(), [&](int t, int o, float w) { sum += w * field.tile(t)[o]; });
        velocities[i] += weight * scale_ * sum;
    }
}

Box3f VelocityVolume::bounds() const
{
    Box3f box;
    for (int t = 0; t < file_.topology->tile_count(); ++t) {
        const Vec3f first = file_.origin + file_.voxel * file_.topology->first_cell(t).cast<float>();
        box.add(first), box.add(Vec3f(first.array() + file_.voxel * kTileSize));
    }
    return box;
}

void VolumeFlow::sample(std::span<const Vec3f> points, float share, std::span<Vec3f> velocities) const
{
    const float at = mix(from_, to_, share);
    std::fill(velocities.begin(), velocities.end(), Vec3f::Zero());
    if (at < 1) before_.add(points, 1 - at, velocities);
    if (at > 0) after_.add(points, at, velocities);
}

} // namespace spindrift
