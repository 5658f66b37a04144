// Whether a saved state can be what a solver wrote. A checksum finds damage; these find states of another program or of
// a scene that was changed, so that whatever a file holds, arrays have their lengths and numbers are finite.
// All throw StateError.
#pragma once

#include "spindrift/base/state_error.h"
#include "spindrift/points/particles.h"

namespace spindrift {

// Arrays of one length, numbers finite, positions within the reach of a grid with these voxels, speeds below 1e7 m/s.
void check_state(const Particles& particles, float voxel);
// An attribute of this type is there.
template <class T> void check_state_attribute(const Particles& particles, const std::string& name)
{
    if (!particles.find<T>(name)) bad_state("particles have no attribute \"{}\"", name);
}
// Every value of an attribute is in [low, high].
template <class T> void check_state_range(const Particles& particles, const std::string& name, T low, T high)
{
    check_state_attribute<T>(particles, name);
    for (const T& value : *particles.find<T>(name))
        if (!(value >= low && value <= high)) bad_state("a particle's \"{}\" is {}", name, value);
}
// Tiles of a topology: sorted, each once.
void check_state_tiles(const std::vector<uint64_t>& tiles, const char* name);
// As many as there should be, and finite.
void check_state_values(const std::vector<float>& values, size_t count, const char* name);
// In [low, high], which NaN is not.
template <class T> void check_state_number(T value, T low, T high, const char* name)
{
    if (!(value >= low && value <= high)) bad_state("\"{}\" is {}", name, value);
}

} // namespace spindrift
