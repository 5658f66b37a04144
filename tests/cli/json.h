// Checks whether a text is JSON (RFC 8259); just enough for the program's output.
#pragma once

#include <string_view>

namespace spindrift {

class JsonChecker {
  public:
    // One value surrounded by nothing but white space.
    static bool accepts(std::string_view text)
    {
        JsonChecker checker(text);
        return checker.value() && (checker.blanks(), checker.rest_.empty());
    }

  private:
    explicit JsonChecker(std::string_view text) : rest_(text) {}

    void blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
    bool take(std::string_view word)
    {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    bool digits()
    {
        const size_t count = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
        rest_.remove_prefix(count);
        return count > 0;
    }
    bool number()
    {
        take("-");
        if (!take("0") && !digits()) return false;
        if (take(".") && !digits()) return false;
        if (!take("e") && !take("E")) return true;
        if (!take("+")) take("-");
        return digits();
    }
    bool string()
    {
        if (!take("\"")) return false;
        while (!rest_.empty() && !take("\"")) {
            const bool escaped = take("\\");
            if (rest_.empty() || static_cast<unsigned char>(rest_[0]) < 0x20) return false;
            if (escaped && rest_[0] == 'u') {
                if (rest_.size() < 5 || rest_.substr(1, 4).find_first_not_of("0123456789abcdefABCDEF") != rest_.npos)
                    return false;
                rest_.remove_prefix(4);
            } else if (escaped && std::string_view("\"\\/bfnrt").find(rest_[0]) == std::string_view::npos) {
                return false;
            }
            rest_.remove_prefix(1);
            if (rest_.empty()) return false;
        }
        return true;
    }
    // Items between brackets; each must satisfy `item`.
    template <class Item> bool sequence(const char* end, const Item& item)
    {
        blanks();
        if (take(end)) return true;
        do {
            if (!item()) return false;
            blanks();
        } while (take(","));
        return take(end);
    }
    bool member() { return blanks(), string() && (blanks(), take(":")) && value(); }
    bool value()
    {
        blanks();
        if (take("{")) return sequence("}", [this] { return member(); });
        if (take("[")) return sequence("]", [this] { return value(); });
        if (rest_.starts_with('"')) return string();
        return take("true") || take("false") || take("null") || number();
    }

    std::string_view rest_;
};

} // namespace spindrift
