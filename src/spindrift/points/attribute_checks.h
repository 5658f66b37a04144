// What files of other programs may lack or get wrong in a particle set.
#pragma once

#include "spindrift/points/particles.h"

namespace spindrift {

// How many elements are NaN or infinite.
size_t count_non_finite(const AttributeArray& array);

[[noreturn]] void attribute_missing(const std::string& name);

// The named attribute. Throws Error if it is not there, or has another type.
template <class T> const std::vector<T>& required(const Particles& particles, const std::string& name)
{
    const std::vector<T>* found = particles.find<T>(name);
    if (!found) attribute_missing(name);
    return *found;
}

} // namespace spindrift
