#include "spindrift/stages/volume_flow.h"

#include "spindrift/base/error.h"
#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"
#include "spindrift/turbulence/sampler.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

constexpr float kUnknown = kInfinity;
// How far velocities are continued: the longest step of a surface with half the voxel of its flow, and a cell for
// interpolation [cells].
constexpr int kContinued = 5;

// The tiles of a field and those next to them.
Topology with_neighbours(const Topology& topology)
{
    std::vector<uint64_t> codes;
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int slot = 0; slot < 27; ++slot) {
            const Vec3i tile = topology.tile(t) + Vec3i(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1);
            if ((tile.array() >= -kTileReach).all() && (tile.array() < kTileReach).all())
                codes.push_back(morton_of_tile(tile));
        }
    return Topology(std::move(codes));
}

// Layer by layer, unknown cells take the mean of the known ones next to them.
void continue_outwards(Field<float>& values)
{
    const Topology& topology = values.topology();
    std::vector<std::vector<std::pair<int, float>>> found(topology.tile_count());
    for (int layer = 0; layer < kContinued; ++layer) {
        for_each_tile(topology, [&](int tile) {
            const std::span<const float> own(values.tile(tile), kTileCells);
            if (std::ranges::find(own, kUnknown) == own.end()) return;
            auto& block = thread_scratch<Block<float, 1>>();
            block.gather(values, tile);
            for (int o = 0; o < kTileCells; ++o) {
                if (own[o] != kUnknown) continue;
                const Vec3i at = cell_in_tile(o);
                float sum = 0;
                int count = 0;
                for (int a = 0; a < 3; ++a)
                    for (const int side : {-1, 1}) {
                        const Vec3i next = at + side * Vec3i::Unit(a);
                        const float value = block.at(next.x(), next.y(), next.z());
                        if (value != kUnknown) sum += value, ++count;
                    }
                if (count > 0) found[tile].emplace_back(o, sum / static_cast<float>(count));
            }
        });
        for_each_tile(topology, [&](int tile) {
            for (const auto& [offset, value] : found[tile]) values.tile(tile)[offset] = value;
            found[tile].clear();
        });
    }
}

// The values that a file has, by `value_of` a cell of its field; the others are unknown.
template <class T, class Value>
Field<float> known_values(const FieldFileOf<T>& file, const Topology& topology, const Value& value_of)
{
    Field<float> values(topology, kUnknown);
    for_each_tile(*file.topology, [&](int tile) {
        float* out = values.tile(topology.find(file.topology->tile(tile)));
        for (int o = 0; o < kTileCells; ++o)
            if (file.has(tile, o)) out[o] = value_of(file.field.tile(tile)[o]);
    });
    return values;
}

} // namespace

VelocityVolume::VelocityVolume(const std::string& path, const std::string& grid, float scale)
{
    const std::string names[3] = {grid + ".x", grid + ".y", grid + ".z"};
    FieldSet read = read_fields(path, {}, {grid, names[0], names[1], names[2]});
    if (read.numbers.contains(grid)) fail("grid \"{}\" of {} does not hold velocities, but single numbers", grid, path);
    const auto vectors = read.vectors.find(grid);
    if (vectors == read.vectors.end() && read.numbers.empty()) read_fields(path, {grid}); // says what there is
    float speed2 = 0;
    for (int a = 0; a < 3; ++a) {
        const auto number = read.numbers.find(names[a]);
        if (vectors == read.vectors.end() && number == read.numbers.end())
            fail("{} has no grid \"{}\", but others of \"{}\"", path, names[a], grid);
        components_[a] =
            vectors == read.vectors.end() ? component_of(number->second) : component_of(vectors->second, a);
        Component& component = components_[a];
        float most = 0;
        for (float& value : component.values.values())
            if (value != kUnknown) value *= scale, most = std::max(most, std::abs(value));
        continue_outwards(component.values);
        speed2 += most * most;
    }
    max_speed_ = std::sqrt(speed2);
}

VelocityVolume::Component VelocityVolume::component_of(const FieldFile& file)
{
    const auto topology = std::make_shared<const Topology>(with_neighbours(*file.topology));
    return {topology, known_values(file, *topology, [](float value) { return value; }), file.voxel, file.origin};
}

VelocityVolume::Component VelocityVolume::component_of(const FieldFileOf<Vec3f>& file, int axis) const
{
    const auto topology =
        axis > 0 ? components_[0].topology : std::make_shared<const Topology>(with_neighbours(*file.topology));
    Vec3f origin = file.origin;
    if (file.staggered) origin[axis] -= 0.5f * file.voxel; // each component lies half a cell below the centre
    return {topology, known_values(file, *topology, [axis](const Vec3f& value) { return value[axis]; }), file.voxel,
            origin};
}

void VelocityVolume::add(std::span<const Vec3f> points, float weight, std::span<Vec3f> velocities,
                         std::span<Vec3f> shares) const
{
    for (int a = 0; a < 3; ++a) {
        const Component& component = components_[a];
        Sampler sampler(*component.topology);
        for (size_t i = 0; i < points.size(); ++i) {
            const Vec3f at = (points[i] - component.origin) / component.voxel;
            sampler.for_each_sample(at, Vec3f::Zero(), [&](int t, int o, float w) {
                const float value = component.values.tile(t)[o];
                if (value != kUnknown) velocities[i][a] += weight * w * value, shares[i][a] += weight * w;
            });
        }
    }
}

Box3f VelocityVolume::bounds() const
{
    Box3f box;
    for (const Component& component : components_)
        for (int t = 0; t < component.topology->tile_count(); ++t) {
            const Vec3f first = component.origin + component.voxel * component.topology->first_cell(t).cast<float>();
            const std::span<const float> own(component.values.tile(t), kTileCells);
            if (std::ranges::all_of(own, [](float value) { return value == kUnknown; })) continue;
            box.add(first), box.add(Vec3f(first.array() + component.voxel * kTileSize));
        }
    return box;
}

void VolumeFlow::sample(std::span<const Vec3f> points, float share, std::span<Vec3f> velocities) const
{
    const float at = mix(from_, to_, share);
    auto& shares = thread_scratch<std::vector<Vec3f>>();
    shares.assign(points.size(), Vec3f::Zero());
    std::fill(velocities.begin(), velocities.end(), Vec3f::Zero());
    if (at < 1) before_.add(points, 1 - at, velocities, shares);
    if (at > 0) after_.add(points, at, velocities, shares);
    for (size_t i = 0; i < points.size(); ++i)
        for (int a = 0; a < 3; ++a)
            if (shares[i][a] > 0) velocities[i][a] /= shares[i][a];
}

} // namespace spindrift
