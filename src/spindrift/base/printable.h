// Text for a terminal. Names and values in messages come from files and command lines, and a terminal would obey the
// control characters in them.
#pragma once

#include <string>
#include <string_view>

namespace spindrift {

// The text with control characters, and bytes that are not UTF-8, written as \x1b; line feeds and tabs stay.
// printable(printable(text)) is printable(text).
std::string printable(std::string_view text);

} // namespace spindrift
