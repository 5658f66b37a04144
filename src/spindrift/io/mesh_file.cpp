#include "spindrift/io/mesh_file.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/file_start.h"
#include "spindrift/io/finite.h"
#include "spindrift/io/mesh_readers.h"
#include "spindrift/io/srgb.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>

namespace spindrift {

namespace {

enum class Format { ply, obj };

Format format_of(const std::string& path)
{
    const size_t dot = path.rfind('.');
    std::string ending = dot == std::string::npos ? "" : path.substr(dot);
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (ending == ".ply") return Format::ply;
    if (ending == ".obj") return Format::obj;
    bad_input("{}: a mesh file must end in .ply or .obj", path);
}

// Arrays of different lengths would produce an unreadable file.
void check_arrays(const std::string& path, const Mesh& mesh)
{
    const auto check = [&](const std::vector<Vec3f>& array, const char* what) {
        if (!array.empty() && array.size() != mesh.positions.size())
            fail("cannot write {}: the mesh has {} vertices but {} {}", path, mesh.positions.size(), array.size(),
                 what);
    };
    check(mesh.normals, "normals");
    check(mesh.velocities, "velocities");
    expect_finite(path, "P", std::span(mesh.positions));
    expect_finite(path, "N", std::span(mesh.normals));
    expect_finite(path, "v", std::span(mesh.velocities));
    for (const auto& [name, array] : mesh.attributes) {
        std::visit([&, &n = name](const auto& a) { expect_finite(path, n, std::span(a)); }, array);
        const size_t count = std::visit([](const auto& a) { return a.size(); }, array);
        if (count != mesh.positions.size())
            fail("cannot write {}: the mesh has {} vertices but {} values of \"{}\"", path, mesh.positions.size(),
                 count, name);
    }
}

// One group of vertex properties in a PLY file, contiguous in memory.
struct Column {
    std::string properties; // their header lines
    const char* data;
    size_t stride; // bytes from one vertex to the next
};

std::string property_lines(const char* type, const std::vector<std::string>& names)
{
    std::string lines;
    for (const std::string& name : names) lines += fmt::format("property {} {}\n", type, name);
    return lines;
}

Column column_of(const std::vector<std::string>& names, const std::vector<Vec3f>& array)
{
    return {property_lines("float", names), reinterpret_cast<const char*>(array.data()), sizeof(Vec3f)};
}
Column attribute_column(const std::string& name, const std::vector<Vec3f>& array)
{
    return column_of({name + "_x", name + "_y", name + "_z"}, array);
}
Column attribute_column(const std::string& name, const std::vector<float>& array)
{
    return {property_lines("float", {name}), reinterpret_cast<const char*>(array.data()), sizeof(float)};
}
Column attribute_column(const std::string& name, const std::vector<int32_t>& array)
{
    return {property_lines("int", {name}), reinterpret_cast<const char*>(array.data()), sizeof(int32_t)};
}

using ColorBytes = std::vector<std::array<uint8_t, 3>>;

// The mesh's colours in sRGB; empty if it has none.
ColorBytes color_bytes(const Mesh& mesh)
{
    for (const auto& [name, array] : mesh.attributes) {
        const auto* colors = std::get_if<std::vector<Vec3f>>(&array);
        if (!colors || !is_color_name(name)) continue;
        ColorBytes bytes(colors->size());
        parallel_for(
            colors->size(),
            [&](size_t i) {
                for (int a = 0; a < 3; ++a) {
                    const float shown = std::min(1.0f, std::max(0.0f, (*colors)[i][a])); // NaN becomes 0
                    bytes[i][a] = static_cast<uint8_t>(std::lround(255 * srgb_from_linear(shown)));
                }
            },
            4096);
        return bytes;
    }
    return {};
}

std::vector<Column> columns_of(const Mesh& mesh, const ColorBytes& colors)
{
    std::vector<Column> columns = {column_of({"x", "y", "z"}, mesh.positions)};
    if (!mesh.normals.empty()) columns.push_back(column_of({"nx", "ny", "nz"}, mesh.normals));
    if (!mesh.velocities.empty()) columns.push_back(column_of({"vx", "vy", "vz"}, mesh.velocities));
    for (const auto& [name, array] : mesh.attributes)
        columns.push_back(std::visit([&, &n = name](const auto& a) { return attribute_column(n, a); }, array));
    if (!colors.empty())
        columns.push_back({property_lines("uchar", {"red", "green", "blue"}),
                           reinterpret_cast<const char*>(colors.data()), sizeof colors[0]});
    return columns;
}

std::string ply_header(const Mesh& mesh, const std::vector<Column>& columns)
{
    std::string header = "ply\nformat binary_little_endian 1.0\n";
    header += fmt::format("element vertex {}\n", mesh.positions.size());
    for (const Column& column : columns) header += column.properties;
    header +=
        fmt::format("element face {}\nproperty list uchar int vertex_indices\nend_header\n", mesh.triangles.size());
    return header;
}

// The whole file in one buffer; rows have a fixed size, so they are filled in parallel.
std::string ply_bytes(const Mesh& mesh)
{
    constexpr size_t kFaceRow = 1 + 3 * sizeof(int32_t);
    constexpr size_t kChunk = 1 << 14;
    const ColorBytes colors = color_bytes(mesh);
    const std::vector<Column> columns = columns_of(mesh, colors);
    std::string bytes = ply_header(mesh, columns);
    const size_t vertices_begin = bytes.size();
    size_t row = 0;
    for (const Column& column : columns) row += column.stride;
    const size_t faces_begin = vertices_begin + mesh.positions.size() * row;
    bytes.resize(faces_begin + mesh.triangles.size() * kFaceRow);

    parallel_chunks(mesh.positions.size(), kChunk, [&](size_t begin, size_t end) {
        char* out = bytes.data() + vertices_begin + begin * row;
        for (size_t i = begin; i < end; ++i)
            for (const Column& column : columns)
                std::memcpy(out, column.data + i * column.stride, column.stride), out += column.stride;
    });
    parallel_chunks(mesh.triangles.size(), kChunk, [&](size_t begin, size_t end) {
        char* out = bytes.data() + faces_begin + begin * kFaceRow;
        for (size_t i = begin; i < end; ++i, out += kFaceRow) {
            *out = 3;
            std::memcpy(out + 1, mesh.triangles[i].data(), 3 * sizeof(int32_t));
        }
    });
    return bytes;
}

// "v 1 2.5 -3", with the shortest digits that parse back to the same float.
template <class Vector> void append_vector(std::string& text, const char* keyword, const Vector& value)
{
    std::array<char, 80> line;
    char* out = line.data();
    for (const char* c = keyword; *c; ++c) *out++ = *c;
    for (const float number : value) {
        *out++ = ' ';
        out = std::to_chars(out, line.data() + line.size(), number).ptr;
    }
    *out++ = '\n';
    text.append(line.data(), out);
}

void append_number(std::string& text, int number)
{
    const fmt::format_int digits(number);
    text.append(digits.data(), digits.size());
}

// `corners`: the texture coordinates of each triangle; null for none.
void append_obj(std::string& text, const Mesh& mesh, const std::vector<Vec3i>* corners)
{
    for (const Vec3f& p : mesh.positions) append_vector(text, "v", p);
    for (const Vec3f& n : mesh.normals) append_vector(text, "vn", n);
    const bool normals = !mesh.normals.empty();
    for (size_t t = 0; t < mesh.triangles.size(); ++t) {
        text += 'f';
        for (int k = 0; k < 3; ++k) {
            const int index = mesh.triangles[t][k] + 1; // OBJ counts from one
            append_number(text += ' ', index);
            if (corners) append_number(text += '/', (*corners)[t][k] + 1);
            if (normals) append_number(text += corners ? "/" : "//", index);
        }
        text += '\n';
    }
}

std::string obj_bytes(const Mesh& mesh)
{
    std::string text = "# Spindrift\n";
    text.reserve(mesh.positions.size() * (mesh.normals.empty() ? 36 : 72) + mesh.triangles.size() * 48);
    append_obj(text, mesh, nullptr);
    return text;
}

} // namespace

Mesh read_mesh(const std::string& path)
{
    const Format format = format_of(path);
    std::string bytes;
    try {
        if (format == Format::ply && !may_start_with(path, "ply"))
            fail("{} is not a PLY file: it does not start with \"ply\"", path);
        bytes = read_file(path);
    } catch (const Error& e) {
        bad_input("{}", e.what()); // the user names the mesh, so failures are input errors
    }
    return format == Format::ply ? read_ply(path, bytes) : read_obj(path, bytes);
}

void write_mesh(const std::string& path, const Mesh& mesh)
{
    const Format format = format_of(path);
    check_arrays(path, mesh);
    write_file(path, format == Format::ply ? ply_bytes(mesh) : obj_bytes(mesh));
}

void write_textured_mesh(const std::string& path, const Mesh& mesh, const std::vector<Vec2f>& places,
                         const std::vector<Vec3i>& triangles, const std::string& picture)
{
    check_arrays(path, mesh);
    const std::filesystem::path material = std::filesystem::path(path).replace_extension("mtl");
    const std::string name = std::filesystem::path(path).stem().string();
    write_file(material.string(),
               fmt::format("# Spindrift\nnewmtl {}\nKd 1 1 1\nKs 0 0 0\nillum 1\nmap_Kd {}\n", name, picture));
    std::string text = fmt::format("# Spindrift\nmtllib {}\n", material.filename().string());
    text.reserve(mesh.positions.size() * 72 + places.size() * 28 + mesh.triangles.size() * 72);
    for (const Vec2f& p : places) append_vector(text, "vt", p);
    text += "usemtl " + name + "\n";
    append_obj(text, mesh, &triangles);
    write_file(path, text);
}

} // namespace spindrift
