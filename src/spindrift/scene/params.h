// Parameters are declared once, in a member function `void visit(ParamVisitor& v)` of their struct:
//
//     v("voxel", voxel, unit::metres, above(0), "Edge of a grid cell.");
//     v("transfer", transfer, choices("pic", "flip", "apic"), "How velocity moves between particles and grid.");
//     v.list("source", sources, "Where liquid comes from.");   // [[liquid.source]] tables, each with its own visit()
//
// The scene loader, `--set`, error messages, `spindrift describe`, the docs tables and the record of what a cache was
// made from are all visitors. The value of a member before it is visited is its default.
#pragma once

#include "spindrift/base/math.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spindrift {

namespace unit {
constexpr const char* none = "";
constexpr const char* metres = "m";
constexpr const char* seconds = "s";
constexpr const char* metres_per_second = "m/s";
constexpr const char* metres_per_second2 = "m/s2";
constexpr const char* newtons_per_metre = "N/m";
constexpr const char* kg_per_metre3 = "kg/m3";
constexpr const char* pascal_seconds = "Pa s";
constexpr const char* pascals = "Pa";
constexpr const char* per_second = "1/s";
constexpr const char* celsius = "deg C";
constexpr const char* kelvin = "K";
constexpr const char* metres2_per_second = "m2/s";
constexpr const char* degrees = "deg";
constexpr const char* frames = "frames";
constexpr const char* cells = "cells";
constexpr const char* pixels = "px";
} // namespace unit

// Allowed values of a number, or of each component of a vector.
struct Range {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    bool low_open = false, high_open = false; // the end itself is excluded

    bool contains(double x) const; // false for NaN
    std::string text() const;      // "above 0", "0 to 1", "any number", ...
};
inline Range anything() { return {}; }
inline Range above(double low) { return {low, std::numeric_limits<double>::infinity(), true, false}; }
inline Range at_least(double low) { return {low, std::numeric_limits<double>::infinity(), false, false}; }
inline Range between(double low, double high) { return {low, high, false, false}; }

template <class... Names> std::vector<std::string> choices(Names... names) { return {std::string(names)...}; }

// Description of one parameter for a visitor.
struct ParamInfo {
    std::string name, unit, help;
    Range range;
    std::vector<std::string> choices; // for enumerations: names in the order of the enumerators
};

class ParamVisitor {
  public:
    virtual ~ParamVisitor() = default;

    void operator()(const char* name, float& value, const char* unit, const Range& range, const char* help)
    {
        number({name, unit, help, range, {}}, value);
    }
    void operator()(const char* name, int& value, const char* unit, const Range& range, const char* help)
    {
        integer({name, unit, help, range, {}}, value);
    }
    void operator()(const char* name, Vec3f& value, const char* unit, const Range& range, const char* help)
    {
        vector({name, unit, help, range, {}}, value);
    }
    // An optional value has no default: its absence has a meaning of its own, which the help explains.
    void operator()(const char* name, std::optional<float>& value, const char* unit, const Range& range,
                    const char* help)
    {
        optional_number({name, unit, help, range, {}}, value);
    }
    void operator()(const char* name, std::optional<Vec3f>& value, const char* unit, const Range& range,
                    const char* help)
    {
        optional_vector({name, unit, help, range, {}}, value);
    }
    void operator()(const char* name, bool& value, const char* help) { boolean({name, "", help, {}, {}}, value); }
    void operator()(const char* name, std::string& value, const char* help) { text({name, "", help, {}, {}}, value); }
    // One text, or a list of texts.
    void operator()(const char* name, std::vector<std::string>& value, const char* help)
    {
        texts({name, "", help, {}, {}}, value);
    }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void operator()(const char* name, Enum& value, const std::vector<std::string>& names, const char* help)
    {
        int index = static_cast<int>(value);
        choice({name, "", help, {}, names}, index);
        value = static_cast<Enum>(index);
    }
    // Rows of numbers with `columns` values each: keyframes [frame, x, y, z], polygons, ...
    void rows(const char* name, std::vector<std::vector<float>>& value, int columns, const char* unit, const char* help)
    {
        table({name, unit, help, {}, {}}, columns, value);
    }
    // A nested table with its own visit().
    template <class T> void group(const char* name, T& value, const char* help)
    {
        group_of({name, "", help, {}, {}}, [&value](ParamVisitor& v) { value.visit(v); });
    }
    // An array of tables, each with its own visit().
    template <class T> void list(const char* name, std::vector<T>& items, const char* help)
    {
        ListAccess access;
        access.size = [&items] { return items.size(); };
        access.clear = [&items] { items.clear(); };
        access.add = [&items] { items.emplace_back(); };
        access.visit = [&items](size_t i, ParamVisitor& v) { items[i].visit(v); };
        access.visit_default = [](ParamVisitor& v) { T().visit(v); };
        list_of({name, "", help, {}, {}}, access);
    }

    // Rejects a combination of values after reading. The error points to `name` in the scene if it is there.
    virtual void require(bool holds, const char* name, const std::string& message)
    {
        (void)holds, (void)name, (void)message;
    }

  protected:
    struct ListAccess {
        std::function<size_t()> size;
        std::function<void()> clear; // a list in the scene replaces the default list
        std::function<void()> add;
        std::function<void(size_t, ParamVisitor&)> visit;
        std::function<void(ParamVisitor&)> visit_default; // visits a default item, for descriptions
    };
    virtual void number(const ParamInfo& info, float& value) = 0;
    virtual void integer(const ParamInfo& info, int& value) = 0;
    virtual void vector(const ParamInfo& info, Vec3f& value) = 0;
    virtual void optional_number(const ParamInfo& info, std::optional<float>& value) = 0;
    virtual void optional_vector(const ParamInfo& info, std::optional<Vec3f>& value) = 0;
    virtual void boolean(const ParamInfo& info, bool& value) = 0;
    virtual void text(const ParamInfo& info, std::string& value) = 0;
    virtual void texts(const ParamInfo& info, std::vector<std::string>& value) = 0;
    virtual void choice(const ParamInfo& info, int& value) = 0;
    virtual void table(const ParamInfo& info, int columns, std::vector<std::vector<float>>& value) = 0;
    virtual void group_of(const ParamInfo& info, const std::function<void(ParamVisitor&)>& visit) = 0;
    virtual void list_of(const ParamInfo& info, const ListAccess& access) = 0;
};

using VisitFunction = std::function<void(ParamVisitor&)>;

// Every parameter with type, unit, default, range and help: as aligned text for a terminal ...
std::string describe_text(const std::string& title, const VisitFunction& visit);
// ... as a Markdown table for the docs ...
std::string describe_markdown(const std::string& title, const VisitFunction& visit);
// ... and as a JSON object for other programs.
std::string describe_json(const std::string& title, const VisitFunction& visit);

// All values including defaults, one "path = value" per line with exact floats: equal text means equal parameters.
std::string canonical_text(const VisitFunction& visit);

// The candidate nearest to `word` by edit distance, or empty if none is near.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);
// "; did you mean 'voxel'?", or, if no name is near, "; {title}: voxel, gravity".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, const char* title);
// User text for messages: on one line and truncated.
std::string shortened(std::string_view text);

} // namespace spindrift
