#include "spindrift/scene/params.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spindrift {

bool Range::contains(double x) const { return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high); }

std::string Range::text() const
{
    const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
    if (!has_low && !has_high) return "any number";
    if (has_low && has_high && !low_open && !high_open) return fmt::format("{} to {}", low, high);
    std::string from = fmt::format("{} {}", low_open ? "above" : "at least", low);
    const std::string to = fmt::format("{} {}", high_open ? "below" : "at most", high);
    if (!has_high) return from;
    return has_low ? from + " and " + to : to;
}

// ----------------------------------------------------------------------------------------------------- values as text

namespace {

// Valid in TOML and in JSON.
std::string in_quotes(std::string_view text)
{
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            result += {'\\', c};
        else if (static_cast<unsigned char>(c) < 0x20)
            result += fmt::format("\\u{:04x}", c);
        else
            result += c;
    }
    return result + '"';
}

// The shortest decimal that parses back to the same float.
std::string text_of(float value) { return fmt::format("{}", value); }
// The limits of int mean "no limit".
std::string text_of(int value)
{
    const bool limit = value != std::numeric_limits<int>::min() && value != std::numeric_limits<int>::max();
    return limit ? std::to_string(value) : "";
}
std::string text_of(const Vec3f& v) { return fmt::format("[{}, {}, {}]", v[0], v[1], v[2]); }
std::string text_of(const std::vector<std::vector<float>>& rows) { return fmt::format("{}", rows); }

// One visited parameter. Groups and lists have nested entries.
struct Entry {
    ParamInfo info;
    std::string type;
    std::string value;                     // in TOML; empty for an unset optional, no limit, a group and a list
    std::vector<Entry> children;           // of a group, or of a default item of a list
    std::vector<std::vector<Entry>> items; // the present items of a list
};

class Collector : public ParamVisitor {
  public:
    std::vector<Entry> entries;

    static std::vector<Entry> collect(const VisitFunction& visit)
    {
        Collector collector;
        visit(collector);
        return std::move(collector.entries);
    }

  protected:
    void number(const ParamInfo& info, float& value) override { add(info, "number", text_of(value)); }
    void integer(const ParamInfo& info, int& value) override { add(info, "integer", text_of(value)); }
    void vector(const ParamInfo& info, Vec3f& value) override { add(info, "vector", text_of(value)); }
    void optional_number(const ParamInfo& info, std::optional<float>& value) override
    {
        add(info, "number", value ? text_of(*value) : "");
    }
    void optional_vector(const ParamInfo& info, std::optional<Vec3f>& value) override
    {
        add(info, "vector", value ? text_of(*value) : "");
    }
    void boolean(const ParamInfo& info, bool& value) override { add(info, "boolean", value ? "true" : "false"); }
    void text(const ParamInfo& info, std::string& value) override { add(info, "text", in_quotes(value)); }
    void texts(const ParamInfo& info, std::vector<std::string>& value) override
    {
        std::vector<std::string> all;
        for (const std::string& one : value) all.push_back(in_quotes(one));
        add(info, "text, or list of texts", fmt::format("[{}]", fmt::join(all, ", ")));
    }
    void choice(const ParamInfo& info, int& value) override { add(info, "choice", in_quotes(info.choices.at(value))); }
    void table(const ParamInfo& info, int columns, std::vector<std::vector<float>>& value) override
    {
        add(info, fmt::format("rows of {}", columns), text_of(value));
    }
    void group_of(const ParamInfo& info, const VisitFunction& visit) override
    {
        add(info, "table", "").children = collect(visit);
    }
    void list_of(const ParamInfo& info, const ListAccess& access) override
    {
        Entry& entry = add(info, "list of tables", "");
        entry.children = collect(access.visit_default);
        for (size_t i = 0; i < access.size(); ++i)
            entry.items.push_back(collect([&](ParamVisitor& v) { access.visit(i, v); }));
    }

  private:
    Entry& add(const ParamInfo& info, const std::string& type, const std::string& value)
    {
        return entries.emplace_back(Entry{info, type, value, {}, {}});
    }
};

bool is_number(const Entry& entry)
{
    return entry.type == "number" || entry.type == "integer" || entry.type == "vector";
}
bool is_table(const Entry& entry) { return entry.type == "table" || entry.type == "list of tables"; }

// Allowed values as text: "above 0", "pic | flip | apic", "rows of 4".
std::string allowed(const Entry& entry)
{
    if (!entry.info.choices.empty()) return fmt::format("{}", fmt::join(entry.info.choices, " | "));
    if (!is_number(entry)) return entry.type;
    const Range& range = entry.info.range;
    const bool any = !std::isfinite(range.low) && !std::isfinite(range.high);
    if (entry.type == "number") return range.text();
    return any ? entry.type : entry.type + ", " + range.text();
}

// ------------------------------------------------------------------------------------------------------ three formats

// A line of the terminal's table, before its columns are aligned.
struct Line {
    std::string name, value, allowed, help;
};

void add_lines(const std::vector<Entry>& entries, const std::string& indent, std::vector<Line>& lines)
{
    for (const Entry& e : entries) {
        const std::string unit = e.info.unit.empty() ? "" : " " + e.info.unit;
        const std::string value = is_table(e) ? "" : e.value.empty() ? "(not set)" + unit : "= " + e.value + unit;
        lines.push_back(
            {indent + e.info.name + (e.type == "list of tables" ? "[]" : ""), value, allowed(e), e.info.help});
        add_lines(e.children, indent + "  ", lines);
    }
}

void add_markdown(const std::vector<Entry>& entries, const std::string& prefix, std::string& out)
{
    for (const Entry& e : entries) {
        const std::string path = prefix + e.info.name + (e.type == "list of tables" ? "[]" : "");
        std::string cells[] = {"`" + path + "`", e.value.empty() ? "" : "`" + e.value + "`", e.info.unit, allowed(e),
                               e.info.help};
        for (std::string& cell : cells) {
            for (size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, 1, '\\');
            out += "| " + cell + " ";
        }
        out += "|\n";
        add_markdown(e.children, path + ".", out);
    }
}

std::string json_of(const std::vector<Entry>& entries)
{
    std::vector<std::string> objects;
    for (const Entry& e : entries) {
        std::string fields = fmt::format(R"("name": {}, "type": {}, "help": {})", in_quotes(e.info.name),
                                         in_quotes(e.type), in_quotes(e.info.help));
        if (!e.info.unit.empty()) fields += R"(, "unit": )" + in_quotes(e.info.unit);
        const bool writable = !e.value.empty() && e.value != "inf" && e.value != "-inf"; // JSON has no infinity
        if (!is_table(e)) fields += R"(, "default": )" + (writable ? e.value : "null");
        if (std::isfinite(e.info.range.low))
            fields += fmt::format(R"(, "{}": {})", e.info.range.low_open ? "above" : "minimum", e.info.range.low);
        if (std::isfinite(e.info.range.high))
            fields += fmt::format(R"(, "{}": {})", e.info.range.high_open ? "below" : "maximum", e.info.range.high);
        if (!e.info.choices.empty()) {
            std::vector<std::string> names;
            for (const std::string& name : e.info.choices) names.push_back(in_quotes(name));
            fields += fmt::format(R"(, "choices": [{}])", fmt::join(names, ", "));
        }
        if (is_table(e)) fields += R"(, "parameters": )" + json_of(e.children);
        objects.push_back("{" + fields + "}");
    }
    return fmt::format("[{}]", fmt::join(objects, ",\n"));
}

void add_canonical(const std::vector<Entry>& entries, const std::string& prefix, std::string& out)
{
    for (const Entry& e : entries) {
        const std::string path = prefix + e.info.name;
        if (e.type == "table") {
            add_canonical(e.children, path + ".", out);
        } else if (e.type == "list of tables") {
            out += fmt::format("{} = {} items\n", path, e.items.size());
            for (size_t i = 0; i < e.items.size(); ++i) add_canonical(e.items[i], fmt::format("{}[{}].", path, i), out);
        } else {
            out += fmt::format("{} = {}\n", path, e.value.empty() ? "unset" : e.value);
        }
    }
}

} // namespace

std::string describe_text(const std::string& title, const VisitFunction& visit)
{
    std::vector<Line> lines;
    add_lines(Collector::collect(visit), "  ", lines);
    size_t name = 0, value = 0, may_be = 0;
    for (const Line& line : lines) {
        name = std::max(name, line.name.size());
        value = std::max(value, line.value.size());
        may_be = std::max(may_be, line.allowed.size());
    }
    std::string out = fmt::format("[{}]\n", title);
    for (const Line& line : lines)
        out += fmt::format("{:{}}  {:{}}  {:{}}  {}\n", line.name, name, line.value, value, line.allowed, may_be,
                           line.help);
    return out;
}

std::string describe_markdown(const std::string& title, const VisitFunction& visit)
{
    std::string out = fmt::format("### `[{}]`\n\n| parameter | default | unit | allowed | meaning |\n"
                                  "|---|---|---|---|---|\n",
                                  title);
    add_markdown(Collector::collect(visit), "", out);
    return out;
}

std::string describe_json(const std::string& title, const VisitFunction& visit)
{
    return fmt::format("{{\"name\": {}, \"parameters\": {}}}\n", in_quotes(title), json_of(Collector::collect(visit)));
}

std::string canonical_text(const VisitFunction& visit)
{
    std::string out;
    add_canonical(Collector::collect(visit), "", out);
    return out;
}

// ------------------------------------------------------------------------------------------------------- nearest name

namespace {

// Treats characters that are easily confused as equal.
char folded(char c) { return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Number of insertions, deletions, substitutions and transpositions that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b)
{
    std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) {
        for (size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const bool same = folded(a[i - 1]) == folded(b[j - 1]);
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (same ? 0 : 1)});
            const bool swapped =
                i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
            if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a.size()][b.size()];
}

} // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates)
{
    std::string nearest;
    size_t least = std::numeric_limits<size_t>::max();
    for (const std::string& candidate : candidates) {
        const size_t longer = std::max(word.size(), candidate.size());
        // Up to two of five letters may differ. Words of very different lengths need not be compared.
        const size_t near = std::max<size_t>(1, longer * 2 / 5);
        if (longer - std::min(word.size(), candidate.size()) > near) continue;
        const size_t distance = edit_distance(word, candidate);
        if (distance <= near && distance < std::min(least, longer)) {
            least = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

} // namespace spindrift
