#include "spindrift/points/state_checks.h"

#include "spindrift/field/tiles.h"
#include "spindrift/points/attribute_checks.h"

#include <algorithm>
#include <cmath>

namespace spindrift {

namespace {

constexpr float kFastest = 1e7f; // m/s; a hundred times the largest speed that a scene can set

// True if each component is below `most` in size; false for NaN.
bool within(const Vec3f& x, float most) { return (x.array().abs() < most).all(); }

} // namespace

void check_state(const Particles& particles, float voxel)
{
    particles.for_each_array([&](const std::string& name, const auto& array) {
        if (array.size() != particles.size())
            bad_state("{} values of \"{}\" for {} particles", array.size(), name, particles.size());
    });
    const float reach = voxel * kTileSize * (kTileReach - 16);
    for (size_t i = 0; i < particles.size(); ++i)
        if (!within(particles.P[i], reach) || !within(particles.v[i], kFastest))
            bad_state("particle {} has a position or velocity out of range", i);
    for (const auto& [name, array] : particles.attributes)
        if (count_non_finite(array) > 0) bad_state("values of \"{}\" are not finite", name);
}

void check_state_tiles(const std::vector<uint64_t>& tiles, const char* name)
{
    const bool sorted = std::ranges::adjacent_find(tiles, std::greater_equal<>()) == tiles.end();
    if (!sorted || (!tiles.empty() && tiles.back() >> 63)) bad_state("the tiles \"{}\" are out of order", name);
}

void check_state_values(const std::vector<float>& values, size_t count, const char* name)
{
    if (values.size() != count) bad_state("{} values of \"{}\" where {} are expected", values.size(), name, count);
    if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); }))
        bad_state("values of \"{}\" are not finite", name);
}

} // namespace spindrift
