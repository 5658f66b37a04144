// Checks of an expression's text before parsing, and the format of its error messages.
#pragma once

#include <string>

namespace spindrift {

struct SourcePosition {
    int line = 0, column = 0; // one-based; zero if unknown
};

// Throws Error(bad_input) with label, position, message, the source line and a caret.
[[noreturn]] void source_error(const std::string& label, const std::string& text, SourcePosition position,
                               const std::string& message);

// Refuses text that the parser cannot handle safely: too long, invalid UTF-8, or nested deeply enough to overflow the
// stack. Throws like source_error().
void check_source(const std::string& label, const std::string& text);

} // namespace spindrift
