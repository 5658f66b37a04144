// A table with names chosen by the user, each with a number or a vector:
//
//     parameters = { wind = [4, 0, 1], radius = 0.05 }
//
// Declare it as a group: v.group("parameters", parameters, "...").
#pragma once

#include "spindrift/scene/params.h"

#include <map>
#include <variant>

namespace spindrift {

struct NamedValues {
    std::map<std::string, std::variant<float, Vec3f>> values;
    // A visitor that reads a table replaces the values by those of the table.
    void visit(ParamVisitor& v);
};

// Additional interface of visitors that read a table: the names in it.
class TableNames {
  public:
    virtual ~TableNames() = default;
    struct Name {
        std::string name;
        bool is_list; // instead of a single value
    };
    virtual std::vector<Name> names() const = 0;
};

} // namespace spindrift
