#include "spindrift/scene/scene_file.h"

#include "spindrift/base/error.h"
#include "spindrift/scene/scene_value.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <toml++/toml.h>

namespace spindrift {

namespace {

constexpr size_t kMaxFileBytes = 16 << 20;
constexpr size_t kMaxDepth = 32;

} // namespace

// ------------------------------------------------------------------------------------------------- the file as a tree

struct SceneFile::Impl {
    std::string path;
    std::vector<std::string> overrides;
    SceneValue root;

    std::string text_of(const ScenePlace& place) const
    {
        if (place.override_index >= 0) return "--set " + shortened(overrides[place.override_index]);
        return fmt::format("{}:{}:{}", path, place.line, place.column);
    }

    std::string read_text() const;
    void reject_long_keys(const std::string& text, int override_index) const;
    SceneValue value_of(const toml::node& node, int override_index, size_t depth) const;
    void expect_tables() const;
    const SceneValue& nearest(const std::string& dotted_path) const; // or its nearest existing parent
    void apply_override(int index);
    SceneValue parse_override(int index, std::string_view text) const;
};

namespace {

ScenePlace place_of(const toml::source_region& source, int override_index)
{
    return {source.begin.line, source.begin.column, override_index};
}

} // namespace

std::string SceneFile::Impl::read_text() const
{
    std::error_code problem;
    if (std::filesystem::is_directory(path, problem)) bad_input("{}: is a folder, not a scene file", path);
    if (std::filesystem::exists(path, problem) && !std::filesystem::is_regular_file(path, problem))
        bad_input("{}: is a pipe or a device, not a scene file; save its output to a file and use that", path);
    std::ifstream stream(path, std::ios::binary);
    if (!stream) bad_input("{}: cannot be opened: {}", path, std::strerror(errno));
    std::string text;
    char block[65536];
    while (stream.read(block, sizeof(block)), stream.gcount() > 0) {
        text.append(block, stream.gcount());
        if (text.size() > kMaxFileBytes)
            bad_input("{}: is larger than {} MB, the limit for a scene; put large data in mesh files", path,
                      kMaxFileBytes >> 20);
    }
    if (stream.bad()) bad_input("{}: cannot be read: {}", path, std::strerror(errno));
    return text;
}

// The parser limits the nesting of values but not the length of dotted keys a.b.c.d..., and would overflow the stack.
void SceneFile::Impl::reject_long_keys(const std::string& text, int override_index) const
{
    ScenePlace place = {1, 1, override_index};
    size_t dots = 0;
    bool blank = true, comment = false; // contents of the line so far
    for (const char c : text) {
        if (c == '\n') {
            ++place.line, place.column = 0;
            blank = true, comment = false;
        } else if (blank && c != ' ' && c != '\t') {
            blank = false;
            comment = c == '#';
        }
        if (c == '\n' || c == '=' || c == ',') dots = 0;
        if (c == '.' && !comment && ++dots > 3 * kMaxDepth)
            bad_input("{}: a name with more than {} parts", text_of(place), 3 * kMaxDepth);
        ++place.column;
    }
}

SceneValue SceneFile::Impl::value_of(const toml::node& node, int override_index, size_t depth) const
{
    SceneValue value;
    value.place = value.key_place = place_of(node.source(), override_index);
    if (depth > kMaxDepth) bad_input("{}: nested more than {} deep", text_of(value.place), kMaxDepth);
    if (const toml::table* table = node.as_table()) {
        for (const auto& [key, member] : *table) {
            SceneValue copy = value_of(member, override_index, depth + 1);
            copy.key_place = place_of(key.source(), override_index);
            value.members.emplace(std::string(key.str()), std::move(copy));
        }
    } else if (const toml::array* array = node.as_array()) {
        value.kind = SceneValue::Kind::list;
        value.items.reserve(array->size());
        for (const toml::node& item : *array) value.items.push_back(value_of(item, override_index, depth + 1));
    } else if (const auto* text = node.as_string()) {
        value.kind = SceneValue::Kind::text;
        value.text = text->get();
        // The system would end a file name there, but messages would not.
        if (value.text.find('\0') != std::string::npos) bad_input("{}: holds a NUL character", text_of(value.place));
    } else if (const auto* integer = node.as_integer()) {
        value.kind = SceneValue::Kind::integer;
        value.integer = integer->get();
        value.number = static_cast<double>(value.integer);
    } else if (const auto* number = node.as_floating_point()) {
        value.kind = SceneValue::Kind::number;
        value.number = number->get();
    } else if (const auto* boolean = node.as_boolean()) {
        value.kind = SceneValue::Kind::boolean;
        value.boolean = boolean->get();
    } else {
        value.kind = SceneValue::Kind::date;
    }
    return value;
}

void SceneFile::Impl::expect_tables() const
{
    for (const auto& [name, value] : root.members) {
        const std::string where = text_of(value.key_place), title = shortened(name);
        const bool list_of_tables = value.kind == SceneValue::Kind::list && !value.items.empty() &&
                                    value.items[0].kind == SceneValue::Kind::table;
        if (list_of_tables)
            bad_input("{}: write [{}], not [[{}]]; for another one, give its table a name of its own, such as "
                      "[second_{}], and kind = \"{}\"",
                      where, title, title, title, title);
        if (value.kind != SceneValue::Kind::table)
            bad_input("{}: '{}' is outside any table; move it below a line such as [liquid]", where, title);
    }
}

// ----------------------------------------------------------------------------------------------------------- overrides

namespace {

// One step of "liquid.source[0].radius": a name, or the index of an item.
struct Step {
    std::string name;
    std::optional<size_t> index;
};

// Empty if the text is not such a path.
std::vector<Step> steps_of(std::string_view path)
{
    std::vector<Step> steps;
    while (!path.empty()) {
        const bool bracket = path.front() == '[';
        if (bracket || (path.front() == '.' && !steps.empty())) path.remove_prefix(1);
        const size_t length = std::min(path.find_first_of(bracket ? "]" : ".["), path.size());
        const std::string_view part = path.substr(0, length);
        path.remove_prefix(length);
        const bool digits = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
        size_t index = 0;
        if (digits && std::from_chars(part.data(), part.data() + part.size(), index).ec != std::errc()) return {};
        if (part.empty() || (bracket && (!digits || path.empty()))) return {};
        if (bracket) path.remove_prefix(1);
        if (!path.empty() && path.front() != '.' && path.front() != '[') return {};
        steps.push_back({std::string(part), digits ? std::optional(index) : std::nullopt});
    }
    return steps;
}

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

} // namespace

SceneValue SceneFile::Impl::parse_override(int index, std::string_view text) const
{
    const std::string where = text_of({1, 1, index}), document = fmt::format("value = {}", text);
    reject_long_keys(document, index);
    try {
        const toml::table parsed = toml::parse(document);
        if (parsed.size() != 1) bad_input("{}: give one value", where);
        return value_of(*parsed.get("value"), index, 0);
    } catch (const toml::parse_error& error) {
        // Shells strip quotes, so a bare word is text; text that opens like another kind of value was meant as one.
        const bool structured = !text.empty() && std::string_view("[{\"'").find(text.front()) != std::string_view::npos;
        if (structured) bad_input("{}: {}", where, one_line(error.description()));
        SceneValue word;
        word.kind = SceneValue::Kind::text;
        word.place = {1, 1, index};
        word.text = text;
        return word;
    }
}

void SceneFile::Impl::apply_override(int index)
{
    const std::string_view text = overrides[index];
    const ScenePlace place = {1, 1, index};
    const std::string where = text_of(place);
    const size_t equals = text.find('=');
    const std::vector<Step> steps = steps_of(trimmed(text.substr(0, std::min(equals, text.size()))));
    if (equals == text.npos || steps.size() < 2 || steps[0].index) bad_input("{}: write it as table.name=value", where);
    if (steps.size() > kMaxDepth) bad_input("{}: nested more than {} deep", where, kMaxDepth);

    SceneValue* value = &root;
    std::string so_far;
    for (size_t i = 0; i < steps.size(); ++i) {
        const Step& step = steps[i];
        if (step.index) {
            if (value->kind != SceneValue::Kind::list)
                bad_input("{}: '{}' is {}, not a list", where, so_far, described(*value));
            if (*step.index >= value->items.size())
                bad_input("{}: '{}' has no item {}; it has {}, counted from 0", where, so_far, *step.index,
                          value->items.size());
            value = &value->items[*step.index];
            so_far += fmt::format("[{}]", *step.index);
            continue;
        }
        if (value->kind != SceneValue::Kind::table)
            bad_input("{}: '{}' is {}, not a table", where, so_far, described(*value));
        so_far += (so_far.empty() ? "" : ".") + step.name;
        const bool item_follows = i + 1 < steps.size() && steps[i + 1].index;
        if (item_follows && !value->find(step.name))
            bad_input("{}: the scene has no list '{}'{}", where, so_far,
                      did_you_mean(step.name, value->names(), "there are"));
        SceneValue added;
        added.place = added.key_place = place;
        value = &value->members.try_emplace(step.name, added).first->second;
    }
    *value = parse_override(index, trimmed(text.substr(equals + 1)));
    value->key_place = place;
}

// -------------------------------------------------------------------------------------------------------------- public

SceneFile::SceneFile(const std::string& path, const std::vector<std::string>& overrides)
    : impl_(std::make_unique<Impl>(Impl{path, overrides, {}}))
{
    const std::string text = impl_->read_text();
    impl_->reject_long_keys(text, -1);
    try {
        impl_->root = impl_->value_of(toml::parse(text), -1, 0);
    } catch (const toml::parse_error& error) {
        bad_input("{}: {}", impl_->text_of(place_of(error.source(), -1)), one_line(error.description()));
    }
    impl_->expect_tables();
    for (size_t i = 0; i < overrides.size(); ++i) impl_->apply_override(static_cast<int>(i));
    if (impl_->root.members.empty())
        bad_input("{}:1:1: the scene is empty; it needs a table for each stage, such as [liquid]", path);
}

SceneFile::~SceneFile() = default;
SceneFile::SceneFile(SceneFile&&) noexcept = default;

const std::string& SceneFile::path() const { return impl_->path; }
std::string SceneFile::name() const { return std::filesystem::path(impl_->path).stem().string(); }
bool SceneFile::has(const std::string& table) const { return impl_->root.find(table) != nullptr; }

void SceneFile::read(const std::string& table, const VisitFunction& visit) const
{
    const SceneValue* given = impl_->root.find(table);
    read_table(
        given, given ? given->place : ScenePlace(), table, [this](const ScenePlace& p) { return impl_->text_of(p); },
        visit);
}

std::vector<std::string> SceneFile::tables() const { return impl_->root.names(); }

std::string SceneFile::text(const std::string& table, const std::string& name) const
{
    const SceneValue* given = impl_->root.find(table);
    const SceneValue* value = given ? given->find(name) : nullptr;
    if (!value) return {};
    if (value->kind != SceneValue::Kind::text)
        bad_input("{}: {}.{} must be a text in quotes, not {}", impl_->text_of(value->place), table, name,
                  described(*value));
    return value->text;
}

const SceneValue& SceneFile::Impl::nearest(const std::string& dotted_path) const
{
    const SceneValue* value = &root;
    for (const Step& step : steps_of(dotted_path)) {
        const SceneValue* next = nullptr;
        if (value->kind == SceneValue::Kind::list && step.index && *step.index < value->items.size())
            next = &value->items[*step.index];
        else if (value->kind == SceneValue::Kind::table)
            next = value->find(step.name);
        if (!next) break;
        value = next;
    }
    return *value;
}

std::string SceneFile::where(const std::string& dotted_path) const
{
    return impl_->text_of(impl_->nearest(dotted_path).place);
}

std::string SceneFile::where_named(const std::string& dotted_path) const
{
    return impl_->text_of(impl_->nearest(dotted_path).key_place);
}

void SceneFile::read_part(const std::string& dotted_path, const VisitFunction& visit) const
{
    read_known(
        impl_->nearest(dotted_path), dotted_path, [this](const ScenePlace& p) { return impl_->text_of(p); }, visit);
}

std::vector<std::pair<std::string, std::string>> SceneFile::named_tables() const
{
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [table, members] : impl_->root.members)
        for (const auto& [list, value] : members.members)
            for (size_t i = 0; i < value.items.size(); ++i)
                if (const SceneValue* name = value.items[i].find("name"); name && name->kind == SceneValue::Kind::text)
                    found.emplace_back(fmt::format("{}.{}[{}]", table, list, i), name->text);
    return found;
}

std::string SceneFile::resolve(const std::string& file) const
{
    return (std::filesystem::path(impl_->path).parent_path() / file).string();
}

} // namespace spindrift
