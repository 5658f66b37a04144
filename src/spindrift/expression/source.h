// The text of an expression: what is looked at before it is parsed, and how its errors are shown.
#pragma once

#include <string>

namespace spindrift {

struct SourcePosition {
    int line = 0, column = 0; // from one; zero if unknown
};

// Throws Error(bad_input): where in which stage, what is wrong, the line and a caret below the place.
[[noreturn]] void source_error(const std::string& label, const std::string& text, SourcePosition position,
                               const std::string& message);

// What no parser should have to cope with: too much text, bytes that are not UTF-8, nesting so deep that it would fill
// the stack. Throws as above.
void check_source(const std::string& label, const std::string& text);

} // namespace spindrift
