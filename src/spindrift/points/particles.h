// A set of particles as a structure of arrays. P, v and id always exist; anything else is a named, typed attribute that
// sorting, deletion, caching and resuming handle without further code.
#pragma once

#include "spindrift/base/math.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace spindrift {

using AttributeArray = std::variant<std::vector<float>, std::vector<int32_t>, std::vector<Vec3f>>;

struct Particles {
    std::vector<Vec3f> P;    // position [m]
    std::vector<Vec3f> v;    // velocity [m/s]
    std::vector<int32_t> id; // unique in the shot, never reused
    std::map<std::string, AttributeArray> attributes;

    size_t size() const { return P.size(); }
    // Resizes every array; new entries are zero.
    void resize(size_t count);
    // Memory held, for reports.
    size_t bytes() const;

    // The named attribute as an array of T; added with zeros if missing. Throws if it has another type.
    template <class T> std::vector<T>& attribute(const std::string& name);
    template <class T> const std::vector<T>* find(const std::string& name) const
    {
        const auto it = attributes.find(name);
        return it == attributes.end() ? nullptr : std::get_if<std::vector<T>>(&it->second);
    }

    // Calls f(name, array) for P, v, id and every attribute, in this order.
    template <class F> void for_each_array(F&& f)
    {
        f("P", P), f("v", v), f("id", id);
        for (auto& [name, array] : attributes) std::visit([&, &name = name](auto& a) { f(name, a); }, array);
    }
    template <class F> void for_each_array(F&& f) const
    {
        f("P", P), f("v", v), f("id", id);
        for (const auto& [name, array] : attributes)
            std::visit([&, &name = name](const auto& a) { f(name, a); }, array);
    }
};

// Removes the particles whose entry in `keep` is zero; the others keep their order.
void remove_particles(Particles& particles, const std::vector<uint8_t>& keep);

} // namespace spindrift
