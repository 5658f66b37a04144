// Escaping of text for terminals. Messages contain names and values from files and command lines, whose control
// characters a terminal would interpret.
#pragma once

#include <string>
#include <string_view>

namespace spindrift {

// Replaces control characters (except line feed and tab) and invalid UTF-8 bytes by \xNN. Idempotent.
std::string printable(std::string_view text);

} // namespace spindrift
