#include "spindrift/expression/source.h"

#include "spindrift/base/error.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace spindrift {

namespace {

constexpr size_t kMostText = 64 * 1024;
// The parser, the tree and the compiler call themselves for each level; this many fit into any stack.
constexpr int kDeepestNesting = 400;
constexpr int kMostElse = 250; // a chain of else-if nests as well
constexpr size_t kWidestLine = 120;

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

// Length of the UTF-8 sequence that begins here, 0 if it is none.
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

// Walks over the text as a lexer does and counts how deeply the tree will nest. An operator nests what stands around it
// until the statement ends; brackets nest until they close; `if (a) if (b)` nests without either.
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
                source_error(label_, text_, position_of(text_, i), "comments begin with // and end with the line");
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
        if (name == "else" && ++else_count_ > kMostElse)
            source_error(label_, text_, position_of(text_, at), fmt::format("there are more than {} else", kMostElse));
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
        if (depth_ + brackets_ > kDeepestNesting)
            source_error(
                label_, text_, position_of(text_, at),
                fmt::format("more than {} operators and brackets in one statement; use variables for parts of it",
                            kDeepestNesting));
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
    // The line as it is shown: tabs as one space, other bytes that a terminal might act upon as ?, not too wide.
    std::string line = line_of(text, position.line);
    size_t caret = std::min(static_cast<size_t>(std::max(position.column, 1) - 1), line.size());
    if (line.size() > kWidestLine) {
        const size_t begin = caret > kWidestLine / 2 ? caret - kWidestLine / 2 : 0;
        line = line.substr(begin, kWidestLine);
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
    if (text.size() > kMostText)
        bad_input("{}: the expression has {} bytes; at most {} are possible", label, text.size(), kMostText);
    check_bytes(label, text);
    NestingCheck(label, text).run();
}

} // namespace spindrift
