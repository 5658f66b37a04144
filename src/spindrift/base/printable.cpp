#include "spindrift/base/printable.h"

#include <algorithm>
#include <fmt/format.h>

namespace spindrift {

namespace {

// Length of the UTF-8 character at the start of `text`; 0 if it is invalid or a control character.
size_t printable_character(std::string_view text)
{
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t' ? 1 : 0;
    const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || size > text.size()) return 0;
    for (size_t i = 1; i < size; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    // U+0080 to U+009F are control characters too: some terminals interpret U+009B as an escape sequence.
    const bool control = first == 0xc2 && byte(1) < 0xa0;
    const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool no_character = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
    return control || overlong || no_character ? 0 : size;
}

} // namespace

std::string printable(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const size_t size = printable_character(text);
        if (size > 0)
            out += text.substr(0, size);
        else
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
        text.remove_prefix(std::max<size_t>(size, 1));
    }
    return out;
}

} // namespace spindrift
