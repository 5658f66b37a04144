// PLY: a text header that lists elements and their properties, then the rows of each element as text or as binary
// numbers of either byte order. Files are untrusted: every count is checked against the remaining bytes before memory
// is allocated for it.
#include "spindrift/base/error.h"
#include "spindrift/io/mesh_readers.h"
#include "spindrift/io/srgb.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

namespace spindrift {

namespace {

enum class Type { int8, uint8, int16, uint16, int32, uint32, float32, float64 };
enum class Encoding { ascii, little, big };

struct Property {
    std::string name;
    Type type = Type::float32;
    std::optional<Type> length; // type of the length, if the property is a list
};

struct Element {
    std::string name;
    size_t count = 0;
    std::vector<Property> properties;
};

struct Header {
    Encoding encoding = Encoding::ascii;
    std::vector<Element> elements;
    size_t end = 0; // where the rows begin
};

size_t size_of(Type type)
{
    constexpr std::array<size_t, 8> kSizes = {1, 1, 2, 2, 4, 4, 4, 8};
    return kSizes[static_cast<size_t>(type)];
}

std::optional<Type> type_named(std::string_view name)
{
    struct Name {
        const char *old_name, *new_name;
    };
    constexpr std::array<Name, 8> kNames = {{{"char", "int8"},
                                             {"uchar", "uint8"},
                                             {"short", "int16"},
                                             {"ushort", "uint16"},
                                             {"int", "int32"},
                                             {"uint", "uint32"},
                                             {"float", "float32"},
                                             {"double", "float64"}}};
    for (size_t i = 0; i < kNames.size(); ++i)
        if (name == kNames[i].old_name || name == kNames[i].new_name) return static_cast<Type>(i);
    return std::nullopt;
}

size_t line_at(std::string_view bytes, size_t position)
{
    return 1 +
           static_cast<size_t>(std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

std::vector<std::string_view> words_of(std::string_view line)
{
    std::vector<std::string_view> words;
    for (size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != line.npos;) {
        const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
        words.push_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

// Parses the header line by line.
class HeaderReader {
  public:
    HeaderReader(const std::string& path, std::string_view bytes) : path_(path), bytes_(bytes) {}

    Header read()
    {
        if (words_of(next_line()) != std::vector<std::string_view>{"ply"}) bad_input("{} is not a PLY file", path_);
        bool has_format = false;
        for (;;) {
            const auto words = words_of(next_line());
            if (words.empty() || words[0] == "comment" || words[0] == "obj_info") continue;
            if (words[0] == "end_header") break;
            if (words[0] == "format")
                add_format(words), has_format = true;
            else if (words[0] == "element")
                add_element(words);
            else if (words[0] == "property")
                add_property(words);
            else
                wrong("unknown header line");
        }
        if (!has_format) wrong("the header has no format line");
        header_.end = at_;
        return std::move(header_);
    }

  private:
    [[noreturn]] void wrong(const char* what) const { bad_input("{}, line {}: {}", path_, line_, what); }

    std::string_view next_line()
    {
        ++line_;
        const size_t end = bytes_.find('\n', at_);
        if (end == bytes_.npos) wrong("the file ends inside its header");
        const std::string_view line = bytes_.substr(at_, end - at_);
        at_ = end + 1;
        return line;
    }

    void add_format(const std::vector<std::string_view>& words)
    {
        if (words.size() < 2) wrong("a format line without a format");
        if (words[1] == "ascii")
            header_.encoding = Encoding::ascii;
        else if (words[1] == "binary_little_endian")
            header_.encoding = Encoding::little;
        else if (words[1] == "binary_big_endian")
            header_.encoding = Encoding::big;
        else
            wrong("unknown format");
    }

    void add_element(const std::vector<std::string_view>& words)
    {
        Element element;
        if (words.size() != 3) wrong("an element needs a name and a count");
        element.name = words[1];
        const char* end = words[2].data() + words[2].size();
        const auto [rest, error] = std::from_chars(words[2].data(), end, element.count);
        if (error != std::errc() || rest != end) wrong("the count of an element is not a whole number");
        for (const Element& other : header_.elements)
            if (other.name == element.name) wrong("an element of this name already exists");
        header_.elements.push_back(std::move(element));
    }

    void add_property(const std::vector<std::string_view>& words)
    {
        if (header_.elements.empty()) wrong("a property before the first element");
        const bool is_list = words.size() == 5 && words[1] == "list";
        if (!is_list && words.size() != 3) wrong("a property needs a type and a name");
        Property property;
        const auto type = type_named(words[is_list ? 3 : 1]);
        if (!type) wrong("unknown type");
        property.type = *type;
        property.name = words.back();
        if (is_list) {
            property.length = type_named(words[2]);
            if (!property.length || *property.length >= Type::float32)
                wrong("the length of a list must be a whole number");
        }
        header_.elements.back().properties.push_back(std::move(property));
    }

    const std::string& path_;
    std::string_view bytes_;
    size_t at_ = 0, line_ = 0;
    Header header_;
};

// Reads the numbers after the header in any encoding. Every type fits a double exactly.
class Numbers {
  public:
    Numbers(const std::string& path, std::string_view bytes, const Header& header)
        : path_(path), bytes_(bytes), at_(header.end), encoding_(header.encoding)
    {
    }

    [[noreturn]] void wrong(const std::string& what) const
    {
        if (encoding_ == Encoding::ascii) bad_input("{}, line {}: {}", path_, line_at(bytes_, at_), what);
        bad_input("{}, byte {}: {}", path_, at_, what);
    }

    // Upper bound of the remaining rows of an element; guards memory against false counts.
    size_t most_rows(const Element& element) const
    {
        size_t row = 0;
        for (const Property& p : element.properties)
            row += encoding_ == Encoding::ascii ? 2 : size_of(p.length.value_or(p.type));
        const size_t left = bytes_.size() - at_ + (encoding_ == Encoding::ascii); // the last number needs no separator
        return row == 0 ? element.count : left / row;
    }
    size_t most_values(Type type) const
    {
        return (bytes_.size() - at_ + 1) / (encoding_ == Encoding::ascii ? 2 : size_of(type));
    }

    double next(Type type)
    {
        switch (encoding_) {
        case Encoding::ascii:
            return next_text();
        case Encoding::little:
            return next_binary<std::endian::little>(type);
        default:
            return next_binary<std::endian::big>(type);
        }
    }

    size_t next_length(const Property& list)
    {
        const double length = next(*list.length);
        if (length < 0 || length != std::floor(length))
            wrong("the length of a list is not a whole number of at least 0");
        if (length > static_cast<double>(most_values(list.type))) wrong("a list is longer than the rest of the file");
        return static_cast<size_t>(length);
    }

    void skip(const Property& property)
    {
        const size_t count = property.length ? next_length(property) : 1;
        for (size_t i = 0; i < count; ++i) next(property.type);
    }

  private:
    double next_text()
    {
        const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
        while (at_ < bytes_.size() && is_space(bytes_[at_])) ++at_;
        if (at_ == bytes_.size()) wrong("the file ends too early");
        const char* begin = bytes_.data() + at_ + (bytes_[at_] == '+');
        const char* end = bytes_.data() + bytes_.size();
        double value = 0;
        const auto [rest, error] = std::from_chars(begin, end, value);
        if (error != std::errc() || (rest != end && !is_space(*rest))) wrong("not a number");
        at_ = rest - bytes_.data();
        return value;
    }

    template <std::endian order> double next_binary(Type type)
    {
        switch (type) {
        case Type::int8:
            return take<int8_t, order>();
        case Type::uint8:
            return take<uint8_t, order>();
        case Type::int16:
            return take<int16_t, order>();
        case Type::uint16:
            return take<uint16_t, order>();
        case Type::int32:
            return take<int32_t, order>();
        case Type::uint32:
            return take<uint32_t, order>();
        case Type::float32:
            return static_cast<double>(take<float, order>());
        default:
            return take<double, order>();
        }
    }

    template <class T, std::endian order> T take()
    {
        if (bytes_.size() - at_ < sizeof(T)) wrong("the file ends too early");
        std::array<char, sizeof(T)> raw;
        std::memcpy(raw.data(), bytes_.data() + at_, sizeof(T));
        if constexpr (order != std::endian::native) std::reverse(raw.begin(), raw.end());
        at_ += sizeof(T);
        return std::bit_cast<T>(raw);
    }

    const std::string& path_;
    std::string_view bytes_;
    size_t at_;
    Encoding encoding_;
};

// Index of a property among x y z nx ny nz vx vy vz, or -1.
int vertex_slot(const Property& property)
{
    constexpr std::array<const char*, 9> kNames = {"x", "y", "z", "nx", "ny", "nz", "vx", "vy", "vz"};
    constexpr std::array<const char*, 3> kVelocity = {"velocity_x", "velocity_y", "velocity_z"};
    if (property.length) return -1;
    for (size_t i = 0; i < kNames.size(); ++i)
        if (property.name == kNames[i] || (i >= 6 && property.name == kVelocity[i - 6])) return static_cast<int>(i);
    return -1;
}

// Vertex properties that become attributes.
class ExtraColumns {
  public:
    explicit ExtraColumns(const Element& element)
    {
        for (const Property& p : element.properties)
            if (!p.length && vertex_slot(p) < 0) values_[p.name].resize(element.count), types_[p.name] = p.type;
    }
    void set(const std::string& name, size_t vertex, double value) { values_[name][vertex] = value; }

    // Moves columns to attributes: three names that end in _x, _y, _z make a vector.
    void move_to(std::map<std::string, AttributeArray>& attributes)
    {
        take_bytes_of_color(attributes);
        for (auto& [name, values] : values_) {
            const std::string stem = name.size() > 2 && name.ends_with("_x") ? name.substr(0, name.size() - 2) : "";
            if (!stem.empty() && values_.contains(stem + "_y") && values_.contains(stem + "_z")) {
                std::vector<Vec3f> vectors(values.size());
                for (size_t i = 0; i < values.size(); ++i)
                    vectors[i] = Vec3d(values[i], values_[stem + "_y"][i], values_[stem + "_z"][i]).cast<float>();
                attributes[stem] = std::move(vectors);
            } else if (!is_rest_of_vector(name)) {
                if (types_[name] < Type::uint32)
                    attributes[name] = std::vector<int32_t>(values.begin(), values.end());
                else
                    attributes[name] = std::vector<float>(values.begin(), values.end());
            }
        }
    }

  private:
    // Byte properties red, green and blue in sRGB become "color", unless the file also has it in full precision.
    void take_bytes_of_color(std::map<std::string, AttributeArray>& attributes)
    {
        const std::string names[] = {"red", "green", "blue"};
        const auto is_byte = [&](const std::string& name) {
            return types_.contains(name) && types_[name] == Type::uint8;
        };
        if (!std::ranges::all_of(names, is_byte)) return;
        if (!values_.contains("color_x") && !values_.contains("Cd_x")) {
            std::vector<Vec3f> colors(values_["red"].size());
            for (int a = 0; a < 3; ++a)
                for (size_t i = 0; i < colors.size(); ++i)
                    colors[i][a] = linear_from_srgb(static_cast<float>(values_[names[a]][i]) / 255);
            attributes["color"] = std::move(colors);
        }
        for (const std::string& name : names) values_.erase(name);
    }
    bool is_rest_of_vector(const std::string& name) const
    {
        if (name.size() <= 2 || !(name.ends_with("_y") || name.ends_with("_z"))) return false;
        const std::string stem = name.substr(0, name.size() - 2);
        return values_.contains(stem + "_x") && values_.contains(stem + "_y") && values_.contains(stem + "_z");
    }
    std::map<std::string, std::vector<double>> values_;
    std::map<std::string, Type> types_;
};

void read_vertices(Numbers& numbers, const Element& element, Mesh& mesh)
{
    ExtraColumns extra(element);
    std::vector<int> slots;
    for (const Property& p : element.properties) slots.push_back(vertex_slot(p));
    const auto has = [&](int first) {
        for (int slot = first; slot < first + 3; ++slot)
            if (std::count(slots.begin(), slots.end(), slot) != 1) return false;
        return true;
    };
    if (!has(0)) numbers.wrong("the vertices have no x, y and z");
    const bool normals = has(3), velocities = has(6);
    mesh.positions.reserve(element.count);
    if (normals) mesh.normals.reserve(element.count);
    if (velocities) mesh.velocities.reserve(element.count);

    for (size_t i = 0; i < element.count; ++i) {
        std::array<Vec3f, 3> row = {Vec3f::Zero(), Vec3f::Zero(), Vec3f::Zero()};
        for (size_t p = 0; p < slots.size(); ++p) {
            if (slots[p] < 0) {
                if (element.properties[p].length)
                    numbers.skip(element.properties[p]);
                else
                    extra.set(element.properties[p].name, i, numbers.next(element.properties[p].type));
                continue;
            }
            const auto value = static_cast<float>(numbers.next(element.properties[p].type));
            if (!std::isfinite(value)) numbers.wrong(fmt::format("vertex {} is not finite", i));
            row[slots[p] / 3][slots[p] % 3] = value;
        }
        mesh.positions.push_back(row[0]);
        if (normals) mesh.normals.push_back(row[1]);
        if (velocities) mesh.velocities.push_back(row[2]);
    }
    extra.move_to(mesh.attributes);
}

bool is_corner_list(const Property& property)
{
    return property.length && (property.name == "vertex_indices" || property.name == "vertex_index");
}

// Triangulates one polygon as a fan around its first corner.
void read_polygon(Numbers& numbers, const Property& list, size_t vertex_count, size_t face, Mesh& mesh)
{
    const size_t corners = numbers.next_length(list);
    if (corners < 3) numbers.wrong(fmt::format("face {} has {} corners", face, corners));
    Vec3i triangle = Vec3i::Zero();
    for (size_t i = 0; i < corners; ++i) {
        const double index = numbers.next(list.type);
        if (!(index >= 0 && index < static_cast<double>(vertex_count)) || index != std::floor(index))
            numbers.wrong(fmt::format("face {} uses vertex {}, but there are {}", face, index, vertex_count));
        triangle[i < 2 ? static_cast<int>(i) : 2] = static_cast<int>(index);
        if (i < 2) continue;
        mesh.triangles.push_back(triangle);
        triangle[1] = triangle[2];
    }
}

void read_faces(Numbers& numbers, const Element& element, size_t vertex_count, Mesh& mesh)
{
    mesh.triangles.reserve(element.count);
    for (size_t face = 0; face < element.count; ++face)
        for (const Property& property : element.properties) {
            if (is_corner_list(property))
                read_polygon(numbers, property, vertex_count, face, mesh);
            else
                numbers.skip(property);
        }
}

const Element* find(const Header& header, const char* name)
{
    const auto& elements = header.elements;
    const auto it = std::find_if(elements.begin(), elements.end(), [&](const Element& e) { return e.name == name; });
    return it == elements.end() ? nullptr : &*it;
}

void skip_element(Numbers& numbers, const Element& element)
{
    if (element.properties.empty()) return; // its rows take no bytes, whatever its count is
    for (size_t i = 0; i < element.count; ++i)
        for (const Property& property : element.properties) numbers.skip(property);
}

const Element& vertices_of(const Header& header, const std::string& path)
{
    const Element* vertices = find(header, "vertex");
    if (!vertices) bad_input("{} has no vertices", path);
    if (vertices->count > static_cast<size_t>(std::numeric_limits<int>::max()))
        bad_input("{} has too many vertices to index: {}", path, vertices->count);
    return *vertices;
}

void expect_rows(const Numbers& numbers, const Element& element)
{
    if (element.count > numbers.most_rows(element))
        numbers.wrong(fmt::format("the file is too short for {} rows of \"{}\"", element.count, element.name));
}

} // namespace

Mesh read_ply(const std::string& path, std::string_view bytes)
{
    const Header header = HeaderReader(path, bytes).read();
    const Element& vertices = vertices_of(header, path);
    const Element* faces = find(header, "face");
    const auto has_corners = [](const Element& e) {
        return std::any_of(e.properties.begin(), e.properties.end(), is_corner_list);
    };
    if (vertices.count > 0 && !(faces && has_corners(*faces)))
        bad_input("{} has vertices but no faces (vertex_indices); is it a point cloud?", path);

    Mesh mesh;
    Numbers numbers(path, bytes, header);
    for (const Element& element : header.elements) {
        expect_rows(numbers, element);
        if (&element == &vertices)
            read_vertices(numbers, element, mesh);
        else if (&element == faces)
            read_faces(numbers, element, vertices.count, mesh);
        else
            skip_element(numbers, element);
    }
    return mesh;
}

Mesh read_ply_vertices(const std::string& path, std::string_view bytes)
{
    const Header header = HeaderReader(path, bytes).read();
    const Element& vertices = vertices_of(header, path);
    Mesh mesh;
    Numbers numbers(path, bytes, header);
    for (const Element& element : header.elements) {
        expect_rows(numbers, element);
        if (&element == &vertices) {
            read_vertices(numbers, element, mesh);
            break; // the rest is not needed
        }
        skip_element(numbers, element);
    }
    return mesh;
}

} // namespace spindrift
