#include "spindrift/base/error.h"
#include "spindrift/scene/limits.h"
#include "spindrift/scene/named_values.h"
#include "spindrift/scene/scene_value.h"

#include <fmt/ranges.h>

namespace spindrift {

std::string one_line(std::string_view text)
{
    std::string result(text);
    for (char& c : result)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    return result;
}

std::string shortened(std::string_view text)
{
    size_t length = std::min<size_t>(text.size(), 60);
    while (length < text.size() && (text[length] & 0xC0) == 0x80) ++length; // do not cut a multi-byte character
    return one_line(text.substr(0, length)) + (length < text.size() ? "..." : "");
}

std::string described(const SceneValue& value)
{
    switch (value.kind) {
    case SceneValue::Kind::table:
        return "a table";
    case SceneValue::Kind::list:
        return fmt::format("a list of {}", value.items.size());
    case SceneValue::Kind::text:
        return fmt::format("the text \"{}\"", shortened(value.text));
    case SceneValue::Kind::number:
        return fmt::format("the number {}", value.number);
    case SceneValue::Kind::integer:
        return fmt::format("the integer {}", value.integer);
    case SceneValue::Kind::boolean:
        return value.boolean ? "true" : "false";
    case SceneValue::Kind::date:
        break;
    }
    return "a date";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, const char* title)
{
    const std::string nearest = nearest_name(word, names);
    if (!nearest.empty()) return fmt::format("; did you mean '{}'?", nearest);
    return names.empty() ? "" : fmt::format("; {}: {}", title, fmt::join(names, ", "));
}

namespace {

// Fills parameters from one table, which may be missing.
class Reader : public ParamVisitor, public TableNames {
  public:
    Reader(const SceneValue* table, const ScenePlace& place, std::string path, const PlaceText& text)
        : table_(table), place_(place), path_(std::move(path)), text_(text)
    {
    }

    // A misspelt key is often why a requirement fails, so it is reported first.
    void finish() const
    {
        if (table_)
            for (const auto& [name, value] : table_->members)
                if (std::find(known_.begin(), known_.end(), name) == known_.end())
                    bad_input("{}: unknown parameter {}.{}{}", text_(value.key_place), path_, shortened(name),
                              did_you_mean(name, known_, "valid names"));
        if (!broken_.empty()) bad_input("{}", broken_);
    }

    std::vector<Name> names() const override
    {
        std::vector<Name> names;
        if (table_)
            for (const auto& [name, value] : table_->members)
                names.push_back({name, value.kind == SceneValue::Kind::list});
        return names;
    }

    void require(bool holds, const char* name, const std::string& message) override
    {
        if (holds || !broken_.empty()) return;
        const SceneValue* value = table_ ? table_->find(name) : nullptr;
        broken_ = fmt::format("{}: {}.{} {}", text_(value ? value->key_place : place_), path_, name, message);
    }

  protected:
    void number(const ParamInfo& info, float& value) override
    {
        if (const SceneValue* given = find(info)) value = float_of(*given, info, path_of(info));
    }
    void integer(const ParamInfo& info, int& value) override
    {
        const SceneValue* given = find(info);
        if (!given) return;
        if (given->kind != SceneValue::Kind::integer) wrong_type(*given, path_of(info), "an integer", info);
        expect_in_range(*given, info, path_of(info));
        if (given->integer != static_cast<int>(given->integer))
            bad_input("{}: {} is {}, which is too large", at(*given), path_of(info), given->integer);
        value = static_cast<int>(given->integer);
    }
    void vector(const ParamInfo& info, Vec3f& value) override
    {
        const SceneValue* given = find(info);
        if (!given) return;
        const std::vector<float> numbers = row_of(*given, 3, info, path_of(info));
        value = {numbers[0], numbers[1], numbers[2]};
    }
    void optional_number(const ParamInfo& info, std::optional<float>& value) override
    {
        float given = 0;
        number(info, given);
        if (is_given(info)) value = given;
    }
    void optional_vector(const ParamInfo& info, std::optional<Vec3f>& value) override
    {
        Vec3f given = Vec3f::Zero();
        vector(info, given);
        if (is_given(info)) value = given;
    }
    void boolean(const ParamInfo& info, bool& value) override
    {
        const SceneValue* given = find(info);
        if (!given) return;
        if (given->kind != SceneValue::Kind::boolean) wrong_type(*given, path_of(info), "true or false", info);
        value = given->boolean;
    }
    void text(const ParamInfo& info, std::string& value) override
    {
        const SceneValue* given = find(info);
        if (!given) return;
        if (given->kind != SceneValue::Kind::text) wrong_type(*given, path_of(info), "a text in quotes", info);
        value = given->text;
    }
    void texts(const ParamInfo& info, std::vector<std::string>& value) override
    {
        const SceneValue* given = find(info);
        if (!given) return;
        const bool list = given->kind == SceneValue::Kind::list;
        value.clear();
        for (const SceneValue& item : list ? given->items : std::vector<SceneValue>{*given}) {
            if (item.kind != SceneValue::Kind::text)
                wrong_type(item, path_of(info), "a text in quotes, or a list of them", info);
            value.push_back(item.text);
        }
    }
    void choice(const ParamInfo& info, int& value) override
    {
        const SceneValue* given = find(info);
        if (!given) return;
        const std::string names = fmt::format("one of \"{}\"", fmt::join(info.choices, "\", \""));
        if (given->kind != SceneValue::Kind::text) wrong_type(*given, path_of(info), names, info);
        const auto found = std::find(info.choices.begin(), info.choices.end(), given->text);
        if (found == info.choices.end()) {
            const std::string nearest = nearest_name(given->text, info.choices);
            bad_input("{}: {} must be {}, not \"{}\"{}", at(*given), path_of(info), names, shortened(given->text),
                      nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest));
        }
        value = static_cast<int>(found - info.choices.begin());
    }
    void table(const ParamInfo& info, int columns, std::vector<std::vector<float>>& value) override
    {
        const SceneValue* given = find(info);
        if (!given) return;
        if (given->kind != SceneValue::Kind::list)
            wrong_type(*given, path_of(info), fmt::format("a list of rows of {} numbers", columns), info);
        value.clear();
        ParamInfo limited = info;
        limited.range = limits::in_rows();
        for (const SceneValue& row : given->items)
            value.push_back(row_of(row, columns, limited, fmt::format("{}[{}]", path_of(info), value.size())));
    }
    void group_of(const ParamInfo& info, const VisitFunction& visit) override
    {
        const SceneValue* given = find(info);
        if (given && given->kind != SceneValue::Kind::table) wrong_type(*given, path_of(info), "a table", info);
        read_table(given, given ? given->place : place_, path_of(info), text_, visit);
    }
    void list_of(const ParamInfo& info, const ListAccess& access) override
    {
        const SceneValue* given = find(info);
        if (!given) return;
        const std::string expected = fmt::format("a list of tables, each opened by [[{}]]", path_of(info));
        if (given->kind != SceneValue::Kind::list) wrong_type(*given, path_of(info), expected, info);
        access.clear();
        for (const SceneValue& item : given->items) {
            const size_t i = access.size();
            const std::string path = fmt::format("{}[{}]", path_of(info), i);
            if (item.kind != SceneValue::Kind::table) wrong_type(item, path, "a table", info);
            access.add();
            read_table(&item, item.place, path, text_, [&](ParamVisitor& v) { access.visit(i, v); });
        }
    }

  private:
    std::string path_of(const ParamInfo& info) const { return path_ + "." + info.name; }
    std::string at(const SceneValue& value) const { return text_(value.place); }
    bool is_given(const ParamInfo& info) const { return table_ && table_->find(info.name); }

    const SceneValue* find(const ParamInfo& info)
    {
        known_.push_back(info.name);
        return table_ ? table_->find(info.name) : nullptr;
    }

    [[noreturn]] void wrong_type(const SceneValue& given, const std::string& path, const std::string& expected,
                                 const ParamInfo& info) const
    {
        const std::string unit = info.unit.empty() ? "" : fmt::format(" [{}]", info.unit);
        bad_input("{}: {} must be {}{}, not {}", at(given), path, expected, unit, described(given));
    }

    void expect_in_range(const SceneValue& given, const ParamInfo& info, const std::string& path) const
    {
        const std::string unit = info.unit.empty() ? "" : " " + info.unit;
        if (!std::isfinite(given.number)) bad_input("{}: {} is {}; it must be finite", at(given), path, given.number);
        if (!info.range.contains(given.number))
            bad_input("{}: {} is {}{}; it must be {}{}", at(given), path, given.number, unit, info.range.text(), unit);
    }

    float float_of(const SceneValue& given, const ParamInfo& info, const std::string& path) const
    {
        const bool is_number = given.kind == SceneValue::Kind::number || given.kind == SceneValue::Kind::integer;
        if (!is_number) wrong_type(given, path, "a number", info);
        expect_in_range(given, info, path);
        const auto value = static_cast<float>(given.number);
        if (!std::isfinite(value)) bad_input("{}: {} is {}, which is too large", at(given), path, given.number);
        // A nonzero value must not underflow to 0.
        if (value == 0 && given.number != 0)
            bad_input("{}: {} is {}, which is too close to 0", at(given), path, given.number);
        return value;
    }

    std::vector<float> row_of(const SceneValue& given, int columns, const ParamInfo& info,
                              const std::string& path) const
    {
        const std::string expected = fmt::format("a list of {} numbers", columns);
        if (given.kind != SceneValue::Kind::list || given.items.size() != static_cast<size_t>(columns))
            wrong_type(given, path, expected, info);
        std::vector<float> row;
        for (const SceneValue& item : given.items)
            row.push_back(float_of(item, info, fmt::format("{}[{}]", path, row.size())));
        return row;
    }

    const SceneValue* table_;
    ScenePlace place_; // of the table, or of the nearest existing one around it
    std::string path_;
    const PlaceText& text_;
    std::vector<std::string> known_;
    std::string broken_; // the first requirement that fails
};

} // namespace

void read_table(const SceneValue* table, const ScenePlace& place, const std::string& path, const PlaceText& text,
                const VisitFunction& visit)
{
    Reader reader(table, place, path, text);
    visit(reader);
    reader.finish();
}

void read_known(const SceneValue& table, const std::string& path, const PlaceText& text, const VisitFunction& visit)
{
    Reader reader(&table, table.place, path, text);
    visit(reader);
}

} // namespace spindrift
