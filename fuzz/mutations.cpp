#include "fuzz/mutations.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>

namespace spindrift::fuzz {

namespace {

void put(std::string& bytes, size_t at, const void* value, size_t size)
{
    if (at < bytes.size()) std::memcpy(bytes.data() + at, value, std::min(size, bytes.size() - at));
}

void put_number(std::string& bytes, size_t at, Random& random)
{
    constexpr std::array<size_t, 4> kSizes = {1, 2, 4, 8};
    const size_t size = kSizes[pick(random, kSizes.size())];
    if (size == 4 && pick(random, 3) == 0) {
        const float value = odd_float(random);
        return put(bytes, at, &value, sizeof value);
    }
    const uint64_t value = odd_integer(random, bytes.size());
    put(bytes, at, &value, size);
}

// Start of a name of at least three letters. Its length is usually in the four or eight bytes before.
size_t name_after(const std::string& bytes, size_t at)
{
    for (size_t letters = 0; at < bytes.size(); ++at) {
        letters = std::isalnum(static_cast<unsigned char>(bytes[at])) || bytes[at] == '_' ? letters + 1 : 0;
        if (letters == 3) return at - 2;
    }
    return bytes.size();
}

void move_block(std::string& bytes, Random& random)
{
    const size_t at = pick(random, bytes.size()), size = 1 + pick(random, std::min<size_t>(bytes.size() - at, 256));
    const std::string block = bytes.substr(at, size);
    switch (pick(random, 3)) {
    case 0:
        bytes.erase(at, size);
        break;
    case 1:
        bytes.insert(pick(random, bytes.size()), block);
        break;
    default:
        put(bytes, pick(random, bytes.size()), block.data(), block.size());
    }
}

// Any place, or one at or right behind the end of a run of zeros: most of a sparse file is zeros that mean little, and
// what comes after them are counts, masks and names.
size_t any_place(const std::string& bytes, Random& random)
{
    const size_t at = pick(random, bytes.size());
    if (pick(random, 2) == 0) return at;
    const size_t end = bytes.find_first_not_of('\0', at);
    return end == std::string::npos ? at : std::min(end + pick(random, 16), bytes.size() - 1);
}

void change_bytes(std::string& bytes, Random& random)
{
    const size_t at = any_place(bytes, random);
    switch (pick(random, 8)) {
    case 0:
    case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(random, 8)));
        break;
    case 2:
        bytes[at] = static_cast<char>(random.bits());
        break;
    case 3: // most numbers are at multiples of four
        put_number(bytes, at / 4 * 4, random);
        break;
    case 4:
        put_number(bytes, at, random);
        break;
    case 5: { // the length of a name
        const size_t name = name_after(bytes, at), before = pick(random, 2) ? 4 : 8;
        if (name >= before && name < bytes.size()) put_number(bytes, name - before, random);
        break;
    }
    case 6:
        move_block(bytes, random);
        break;
    default:
        if (pick(random, 4) == 0)
            bytes.resize(at);
        else
            bytes[at] = static_cast<char>(bytes[at] + (pick(random, 2) ? 1 : -1));
    }
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-'; }

// The range of the word at or after a position.
std::pair<size_t, size_t> word_after(const std::string& text, size_t at)
{
    while (at < text.size() && !is_word(text[at])) ++at;
    while (at > 0 && at < text.size() && is_word(text[at - 1])) --at;
    size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    return {at, end};
}

std::string odd_number(Random& random, size_t size)
{
    constexpr std::array<const char*, 18> kNumbers = {
        "0",    "-1",    "1e39",  "-1e39",      "1e308",       "1e400",      "nan",
        "inf",  "-inf",  "1e-46", "2147483648", "-2147483649", "4294967296", "9223372036854775808",
        "0x10", "1_000", "0.1",   "1e30"};
    if (pick(random, 3) > 0) return kNumbers[pick(random, kNumbers.size())];
    return std::to_string(static_cast<int64_t>(odd_integer(random, size)));
}

void change_text(std::string& text, const std::vector<std::string>& words, Random& random)
{
    const size_t at = pick(random, text.size());
    const auto [begin, end] = word_after(text, at);
    switch (pick(random, 9)) {
    case 0:
        if (!words.empty()) text.replace(begin, end - begin, words[pick(random, words.size())]);
        break;
    case 1:
        text.replace(begin, end - begin, odd_number(random, text.size()));
        break;
    case 2:
        if (!words.empty()) text.insert(at, words[pick(random, words.size())]);
        break;
    case 3: {                                         // remove a line, or repeat it elsewhere
        const size_t line = text.rfind('\n', at) + 1; // 0 if there is none
        const std::string copy = text.substr(line, text.find('\n', at) - line + 1);
        if (pick(random, 2)) text.erase(line, copy.size());
        text.insert(pick(random, text.size() + 1), copy);
        break;
    }
    case 4: {
        const auto [other, other_end] = word_after(text, pick(random, text.size()));
        const std::string word = text.substr(other, other_end - other);
        text.replace(begin, end - begin, word);
        break;
    }
    case 5: {
        constexpr std::string_view kSigns = "[]{}()<>\"'=,;:#&/\\\n\t \0\x1b\xff\xc2";
        text.insert(at, std::string(1 + pick(random, 3), kSigns[pick(random, kSigns.size())]));
        break;
    }
    case 6:
        text.erase(at, 1 + pick(random, 16));
        break;
    case 7:
        if (!text.empty()) text[at] = static_cast<char>(random.bits());
        break;
    default: // deep nesting or long repetition
        if (pick(random, 8) == 0) {
            constexpr std::array<const char*, 7> kRepeated = {"[", "{", "(", "<g>", "a.", "-", "9"};
            const std::string part = kRepeated[pick(random, kRepeated.size())];
            std::string many;
            for (size_t i = 0, count = size_t(1) << pick(random, 15); i < count; ++i) many += part;
            text.insert(at, many);
        } else if (pick(random, 4) == 0) {
            text.resize(at);
        } else {
            text.erase(begin, end - begin);
        }
    }
}

} // namespace

uint64_t odd_integer(Random& random, size_t file_size)
{
    constexpr std::array<uint64_t, 14> kOdd = {0,
                                               1,
                                               0x7f,
                                               0xff,
                                               0x7fff,
                                               0xffff,
                                               0x7fffffff,
                                               0x80000000,
                                               0xffffffff,
                                               uint64_t(1) << 32,
                                               uint64_t(1) << 40,
                                               ~uint64_t(0) >> 1,
                                               uint64_t(1) << 63,
                                               ~uint64_t(0)};
    switch (pick(random, 4)) {
    case 0:
        return file_size + pick(random, 17) - 8;
    case 1:
        return pick(random, 1000);
    case 2:
        return random.bits() >> pick(random, 64);
    default:
        return kOdd[pick(random, kOdd.size())] + pick(random, 3) - 1;
    }
}

float odd_float(Random& random)
{
    constexpr std::array<float, 12> kOdd = {0.0f,    -0.0f,  1e-45f, 1e-30f, 1e10f, 1e30f,
                                            3.4e38f, -3e38f, 1e19f,  -1e19f, 1.0f,  -1.0f};
    switch (pick(random, 4)) {
    case 0:
        return std::bit_cast<float>(static_cast<uint32_t>(random.bits())); // any float, also not finite
    case 1:
        return std::bit_cast<float>(0x7fc00000u | (pick(random, 2) ? 0x80000000u : 0u)); // NaN
    case 2:
        return std::bit_cast<float>(0x7f800000u | (pick(random, 2) ? 0x80000000u : 0u)); // infinite
    default:
        return kOdd[pick(random, kOdd.size())];
    }
}

std::string mutate_bytes(const std::string& seed, Random& random)
{
    std::string bytes = seed;
    for (size_t left = 1 + pick(random, pick(random, 2) ? 2 : 8); left > 0 && !bytes.empty(); --left)
        change_bytes(bytes, random);
    return bytes;
}

std::string mutate_text(const std::string& seed, const std::vector<std::string>& words, Random& random)
{
    std::string text = seed;
    for (size_t left = 1 + pick(random, pick(random, 2) ? 2 : 8); left > 0 && !text.empty(); --left)
        change_text(text, words, random);
    return text;
}

} // namespace spindrift::fuzz
