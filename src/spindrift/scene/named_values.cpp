#include "spindrift/scene/named_values.h"

#include <algorithm>

namespace spindrift {

namespace {

bool is_identifier(std::string_view name)
{
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return !name.empty() && !is_digit(name[0]) &&
           std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
}

} // namespace

void NamedValues::visit(ParamVisitor& v)
{
    if (const auto* table = dynamic_cast<const TableNames*>(&v)) {
        values.clear();
        for (const auto& [name, is_list] : table->names()) {
            v.require(is_identifier(name), name.c_str(), "is not a valid name; use letters, digits and _");
            if (is_list)
                values[name] = Vec3f(0, 0, 0);
            else
                values[name] = 0.0f;
        }
    }
    for (auto& [name, value] : values)
        std::visit(
            [&, &name = name](auto& x) { v(name.c_str(), x, unit::none, between(-1e30, 1e30), "User-defined value."); },
            value);
}

} // namespace spindrift
