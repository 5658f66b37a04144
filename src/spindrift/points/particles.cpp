#include "spindrift/points/particles.h"

#include "spindrift/base/error.h"

namespace spindrift {

namespace {

// Eigen's default constructor leaves its numbers uninitialised, so new vectors need an explicit zero.
template <class T> T zero()
{
    if constexpr (std::is_same_v<T, Vec3f>)
        return Vec3f::Zero();
    else
        return T{};
}

template <class T> const char* type_name()
{
    if constexpr (std::is_same_v<T, float>)
        return "float";
    else if constexpr (std::is_same_v<T, int32_t>)
        return "int32";
    else
        return "vec3f";
}

template <class T> const char* element_name(const std::vector<T>&) { return type_name<T>(); }

} // namespace

void Particles::resize(size_t count)
{
    for_each_array([count](const std::string&, auto& array) {
        using T = typename std::decay_t<decltype(array)>::value_type;
        array.resize(count, zero<T>());
    });
}

size_t Particles::bytes() const
{
    size_t total = 0;
    for_each_array([&total](const std::string&, const auto& array) { total += array.capacity() * sizeof(array[0]); });
    return total;
}

template <class T> std::vector<T>& Particles::attribute(const std::string& name)
{
    const auto found = attributes.find(name);
    if (found == attributes.end())
        return std::get<std::vector<T>>(attributes[name] = std::vector<T>(size(), zero<T>()));
    if (auto* array = std::get_if<std::vector<T>>(&found->second)) return *array;
    const char* held = std::visit([](const auto& array) { return element_name(array); }, found->second);
    fail("particle attribute \"{}\" holds {} values and was requested as {}", name, held, type_name<T>());
}

template std::vector<float>& Particles::attribute<float>(const std::string&);
template std::vector<int32_t>& Particles::attribute<int32_t>(const std::string&);
template std::vector<Vec3f>& Particles::attribute<Vec3f>(const std::string&);

void remove_particles(Particles& particles, const std::vector<uint8_t>& keep)
{
    const size_t kept = std::count_if(keep.begin(), keep.end(), [](uint8_t k) { return k != 0; });
    if (kept == particles.size()) return;
    particles.for_each_array([&](const std::string&, auto& array) {
        size_t to = 0;
        for (size_t from = 0; from < array.size(); ++from)
            if (keep[from]) array[to++] = array[from];
    });
    particles.resize(kept);
}

} // namespace spindrift
