#include "spindrift/points/attribute_checks.h"

#include "spindrift/base/error.h"

#include <algorithm>
#include <cmath>

namespace spindrift {

size_t count_non_finite(const AttributeArray& array)
{
    return std::visit(
        []<class T>(const std::vector<T>& values) {
            const auto is_not = [](const T& value) {
                if constexpr (std::is_same_v<T, Vec3f>)
                    return !value.allFinite();
                else
                    return !std::isfinite(static_cast<float>(value));
            };
            return static_cast<size_t>(std::count_if(values.begin(), values.end(), is_not));
        },
        array);
}

void attribute_missing(const std::string& name)
{
    fail("particles have no attribute \"{}\" of the expected type", name);
}

} // namespace spindrift
