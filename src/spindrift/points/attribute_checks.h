// Checks for particle sets read from files of other programs.
#pragma once

#include "spindrift/points/particles.h"

namespace spindrift {

// Number of elements that are NaN or infinite.
size_t count_non_finite(const AttributeArray& array);

[[noreturn]] void attribute_missing(const std::string& name);

// Returns the named attribute. Throws Error if it is missing or has another type.
template <class T> const std::vector<T>& required(const Particles& particles, const std::string& name)
{
    const std::vector<T>* found = particles.find<T>(name);
    if (!found) attribute_missing(name);
    return *found;
}

} // namespace spindrift
