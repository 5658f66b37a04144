#include "spindrift/expression/source.h"

#include "spindrift/base/error.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace spindrift {

namespace {

constexpr size_t kMaxBytes = 64 * 1024;
// The parser and the compiler recurse once per nesting level; this depth is safe on any stack.
constexpr int kMaxNesting = 400;
constexpr int kMaxElse = 250; // else-if chains nest too
constexpr size_t kMaxLineWidth = 120;

SourcePosition position_of(const std::string& text, size_t at)
{
    SourcePosition position{1, 1};
    for (size_t i = 0; i < at; ++i) {
        if (text[i] == '\n')
            ++position.line, position.column = 1;
        else
            ++position.column;
    }
    return position;
}

std::string line_of(const std::string& text, int line)
{
    size_t begin = 0;
    for (int l = 1; l < line && begin != std::string::npos; ++l) {
        begin = text.find('\n', begin);
        if (begin != std::string::npos) ++begin;
    }
    if (begin == std::string::npos || begin > text.size()) return "";
    return text.substr(begin, text.find('\n', begin) - begin);
}

// Length of the UTF-8 sequence at the start; 0 if invalid.
size_t utf8_length(std::string_view rest)
{
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(rest[i]); };
    const unsigned char first = byte(0);
    const size_t length = first < 0x80                    ? 1
                          : first >= 0xc2 && first < 0xe0 ? 2
                          : first >= 0xe0 && first < 0xf0 ? 3
                          : first >= 0xf0 && first < 0xf5 ? 4
                                                          : 0;
    if (length > rest.size()) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    return length;
}

void check_bytes(const std::string& label, const std::string& text)
{
    for (size_t i = 0; i < text.size();) {
        const size_t length = utf8_length(std::string_view(text).substr(i));
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool control = byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r';
        if (length == 0 || control || byte == 0x7f)
            source_error(label, text, position_of(text, i),
                         fmt::format("byte 0x{:02x} is {}", byte, length == 0 ? "not UTF-8" : "a control character"));
        i += length;
    }
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Scans tokens and bounds the depth of the syntax tree. An operator adds a level until the statement ends, a bracket
// until it closes, and `if (a) if (b)` nests without either.
class NestingCheck {
  public:
    NestingCheck(const std::string& label, const std::string& text) : label_(label), text_(text) {}

    void run()
    {
        for (size_t i = 0; i < text_.size();) {
            const std::string_view rest = std::string_view(text_).substr(i);
            if (rest.starts_with("//"))
                i = std::min(text_.find('\n', i), text_.size());
            else if (rest.starts_with("/*"))
                source_error(label_, text_, position_of(text_, i), "/* */ comments are not supported; use //");
            else if (rest[0] == '"')
                i = end_of_string(i + 1);
            else if (is_word(rest[0]))
                i += word(i);
            else
                symbol(i++);
        }
    }

  private:
    size_t end_of_string(size_t i) const
    {
        while (i < text_.size() && text_[i] != '"') i += text_[i] == '\\' ? 2 : 1;
        return std::min(i + 1, text_.size());
    }

    size_t word(size_t at)
    {
        size_t end = at;
        while (end < text_.size() && is_word(text_[end])) ++end;
        const std::string_view name = std::string_view(text_).substr(at, end - at);
        if (name == "if" || name == "for" || name == "while" || name == "do") deeper(at);
        if (name == "else" && ++else_count_ > kMaxElse)
            source_error(label_, text_, position_of(text_, at), fmt::format("more than {} else clauses", kMaxElse));
        return end - at;
    }

    void symbol(size_t at)
    {
        const char c = text_[at];
        if (c == '{') {
            deeper(at);
            blocks_.push_back({depth_, brackets_});
        } else if (c == '}') {
            if (blocks_.size() > 1) blocks_.pop_back();
            depth_ = blocks_.back().depth, brackets_ = blocks_.back().brackets;
        } else if (c == ';' && brackets_ == blocks_.back().brackets) {
            depth_ = blocks_.back().depth;
        } else if (c == '(' || c == '[') {
            ++brackets_;
            check(at);
        } else if (c == ')' || c == ']') {
            brackets_ = std::max(brackets_ - 1, blocks_.back().brackets);
        } else if (std::string_view("+-*/%!~<>=&|^?,").find(c) != std::string_view::npos) {
            deeper(at);
        }
    }

    void deeper(size_t at)
    {
        ++depth_;
        check(at);
    }

    void check(size_t at) const
    {
        if (depth_ + brackets_ > kMaxNesting)
            source_error(
                label_, text_, position_of(text_, at),
                fmt::format("more than {} operators and brackets in one statement; use variables for parts of it",
                            kMaxNesting));
    }

    struct Block {
        int depth, brackets;
    };
    const std::string& label_;
    const std::string& text_;
    int depth_ = 0, brackets_ = 0, else_count_ = 0;
    std::vector<Block> blocks_ = {{0, 0}};
};

} // namespace

void source_error(const std::string& label, const std::string& text, SourcePosition position,
                  const std::string& message)
{
    if (position.line <= 0) bad_input("{}: {}", label, message);
    // Make the line printable: tabs become spaces, control characters and non-ASCII bytes become ?, long lines are cut.
    std::string line = line_of(text, position.line);
    size_t caret = std::min(static_cast<size_t>(std::max(position.column, 1) - 1), line.size());
    if (line.size() > kMaxLineWidth) {
        const size_t begin = caret > kMaxLineWidth / 2 ? caret - kMaxLineWidth / 2 : 0;
        line = line.substr(begin, kMaxLineWidth);
        caret -= begin;
    }
    for (char& c : line) {
        if (c == '\t')
            c = ' ';
        else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
            c = '?';
    }
    bad_input("{}: line {}, column {}: {}\n    {}\n    {:>{}}", label, position.line, position.column, message, line,
              '^', caret + 1);
}

void check_source(const std::string& label, const std::string& text)
{
    if (text.size() > kMaxBytes)
        bad_input("{}: the expression has {} bytes; the limit is {}", label, text.size(), kMaxBytes);
    check_bytes(label, text);
    NestingCheck(label, text).run();
}

} // namespace spindrift
