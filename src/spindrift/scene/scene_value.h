// Internal to this folder: a scene as a tree of values with locations, and the visitor that fills parameters from it.
#pragma once

#include "spindrift/scene/params.h"

#include <map>

namespace spindrift {

// Location of a value: in the file, or in an override, which has no lines.
struct ScenePlace {
    uint32_t line = 1, column = 1;
    int override_index = -1;
};

// A value of the scene. The parser's tree is copied into this one, in which values from the file and from overrides mix
// freely and each keeps its location.
struct SceneValue {
    enum class Kind { table, list, text, number, integer, boolean, date };
    Kind kind = Kind::table;
    ScenePlace place, key_place; // of the value, and of its key
    std::string text;
    double number = 0; // also set for integers
    int64_t integer = 0;
    bool boolean = false;
    std::vector<SceneValue> items;             // of a list
    std::map<std::string, SceneValue> members; // of a table

    const SceneValue* find(const std::string& name) const
    {
        const auto found = members.find(name);
        return found == members.end() ? nullptr : &found->second;
    }
    std::vector<std::string> names() const
    {
        std::vector<std::string> result;
        for (const auto& [name, value] : members) result.push_back(name);
        return result;
    }
};

// User text on one line.
std::string one_line(std::string_view text);
// "the text \"abc\"", "a list of 2", ...
std::string described(const SceneValue& value);

// "file:line:column" or "--set ...".
using PlaceText = std::function<std::string(const ScenePlace&)>;

// Fills parameters from a table, which may be missing: `table` is then null and `place` is where it would be. `path` is
// its full name for messages. Throws bad_input for unknown keys, wrong types and values that are not allowed.
void read_table(const SceneValue* table, const ScenePlace& place, const std::string& path, const PlaceText& text,
                const VisitFunction& visit);
// The same, but ignores unknown keys and failed requirements.
void read_known(const SceneValue& table, const std::string& path, const PlaceText& text, const VisitFunction& visit);

} // namespace spindrift
