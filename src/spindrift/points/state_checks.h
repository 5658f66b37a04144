// Validation of restored states. A checksum detects damage; these checks detect states of another program or of a
// changed scene, so that arrays have the right lengths and numbers are finite whatever a file holds.
// All throw StateError.
#pragma once

#include "spindrift/base/state_error.h"
#include "spindrift/points/particles.h"

namespace spindrift {

// Arrays of equal length, finite numbers, positions within the reach of a grid with this voxel, speeds below 1e7 m/s.
void check_state(const Particles& particles, float voxel);
// The attribute exists and has this type.
template <class T> void check_state_attribute(const Particles& particles, const std::string& name)
{
    if (!particles.find<T>(name)) bad_state("particles have no attribute \"{}\"", name);
}
// Every value of the attribute is in [low, high].
template <class T> void check_state_range(const Particles& particles, const std::string& name, T low, T high)
{
    check_state_attribute<T>(particles, name);
    for (const T& value : *particles.find<T>(name))
        if (!(value >= low && value <= high)) bad_state("a particle's \"{}\" is {}", name, value);
}
// Morton codes of tiles: strictly ascending.
void check_state_tiles(const std::vector<uint64_t>& tiles, const char* name);
// The expected number of values, all finite.
void check_state_values(const std::vector<float>& values, size_t count, const char* name);
// In [low, high]; rejects NaN.
template <class T> void check_state_number(T value, T low, T high, const char* name)
{
    if (!(value >= low && value <= high)) bad_state("\"{}\" is {}", name, value);
}

} // namespace spindrift
