// A table whose names are the user's own, each with a number or a vector:
//
//     parameters = { wind = [4, 0, 1], radius = 0.05 }
//
// Declared as a group: v.group("parameters", parameters, "...").
#pragma once

#include "spindrift/scene/params.h"

#include <map>
#include <variant>

namespace spindrift {

struct NamedValues {
    std::map<std::string, std::variant<float, Vec3f>> values;
    // A visitor that reads a table replaces the values by those that it has.
    void visit(ParamVisitor& v);
};

// What a visitor that reads a table is besides, so that it can be asked which names the table has.
class TableNames {
  public:
    virtual ~TableNames() = default;
    struct Name {
        std::string name;
        bool is_list; // and not a single value
    };
    virtual std::vector<Name> names() const = 0;
};

} // namespace spindrift
