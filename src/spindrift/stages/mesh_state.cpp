#include "spindrift/stages/mesh_state.h"

#include "spindrift/base/state_error.h"

#include <cmath>

namespace spindrift {

void put_rows(std::vector<uint64_t>& out, const std::vector<Vec3i>& rows)
{
    for (const Vec3i& row : rows)
        for (int k = 0; k < 3; ++k) out.push_back(static_cast<uint64_t>(static_cast<int64_t>(row[k])));
}

std::vector<Vec3i> rows_of(const std::vector<uint64_t>& from, int64_t least, int64_t most)
{
    if (from.size() % 3 != 0) bad_state("a surface has {} indices, not three a triangle", from.size());
    std::vector<Vec3i> rows;
    for (size_t i = 0; i + 2 < from.size(); i += 3) {
        Vec3i& row = rows.emplace_back();
        for (int k = 0; k < 3; ++k) {
            const auto value = static_cast<int64_t>(from[i + static_cast<size_t>(k)]);
            if (value < least || value > most) bad_state("a surface has the index {}", value);
            row[k] = static_cast<int>(value);
        }
    }
    return rows;
}

std::vector<float> flat(const std::vector<Vec3f>& vectors)
{
    std::vector<float> all;
    all.reserve(3 * vectors.size());
    for (const Vec3f& v : vectors) all.insert(all.end(), v.begin(), v.end());
    return all;
}

std::vector<Vec3f> vectors_from(const std::vector<float>& all)
{
    std::vector<Vec3f> vectors;
    for (size_t i = 0; i + 2 < all.size(); i += 3) vectors.emplace_back(all[i], all[i + 1], all[i + 2]);
    return vectors;
}

void save_mesh(const Mesh& mesh, const std::string& prefix, StateFile& file)
{
    file.fields[prefix + ".P"] = flat(mesh.positions);
    file.fields[prefix + ".N"] = flat(mesh.normals);
    file.fields[prefix + ".v"] = flat(mesh.velocities);
    put_rows(file.tiles[prefix + ".triangles"], mesh.triangles);
    for (const auto& [name, array] : mesh.attributes) {
        if (const auto* vectors = std::get_if<std::vector<Vec3f>>(&array))
            file.fields[prefix + ".v." + name] = flat(*vectors);
        else if (const auto* numbers = std::get_if<std::vector<float>>(&array))
            file.fields[prefix + ".f." + name] = *numbers;
        else
            for (const int32_t value : std::get<std::vector<int32_t>>(array))
                file.tiles[prefix + ".i." + name].push_back(static_cast<uint32_t>(value));
    }
}

Mesh load_mesh(const StateFile& file, const std::string& prefix)
{
    Mesh mesh;
    for (const auto& [key, values] : file.fields)
        if (key.starts_with(prefix + "."))
            for (const float value : values)
                if (!std::isfinite(value)) bad_state("\"{}\" of a surface has the value {}", key, value);
    const auto part = [&](const auto& parts, const std::string& name) {
        const auto found = parts.find(prefix + name);
        if (found == parts.end()) bad_state("\"{}{}\" is missing", prefix, name);
        return found->second;
    };
    mesh.positions = vectors_from(part(file.fields, ".P"));
    mesh.velocities = vectors_from(part(file.fields, ".v"));
    if (!mesh.velocities.empty() && mesh.velocities.size() != mesh.positions.size())
        bad_state("a surface has {} velocities for {} vertices", mesh.velocities.size(), mesh.positions.size());
    mesh.normals = vectors_from(part(file.fields, ".N"));
    if (!mesh.normals.empty() && mesh.normals.size() != mesh.positions.size())
        bad_state("a surface has {} normals for {} vertices", mesh.normals.size(), mesh.positions.size());
    mesh.triangles = rows_of(part(file.tiles, ".triangles"), 0, static_cast<int64_t>(mesh.positions.size()) - 1);
    const auto name_of = [&](const std::string& key, const char* type) {
        const std::string start = prefix + type;
        return key.starts_with(start) ? key.substr(start.size()) : std::string();
    };
    for (const auto& [key, values] : file.fields) {
        if (const std::string vector = name_of(key, ".v."); !vector.empty())
            mesh.attributes[vector] = vectors_from(values);
        else if (const std::string number = name_of(key, ".f."); !number.empty())
            mesh.attributes[number] = values;
    }
    for (const auto& [key, values] : file.tiles)
        if (const std::string name = name_of(key, ".i."); !name.empty()) {
            std::vector<int32_t> integers;
            for (const uint64_t value : values)
                integers.push_back(static_cast<int32_t>(static_cast<uint32_t>(value & 0xffffffff)));
            mesh.attributes[name] = std::move(integers);
        }
    for (const auto& [name, array] : mesh.attributes)
        if (const size_t count = std::visit([](const auto& a) { return a.size(); }, array);
            count != mesh.positions.size())
            bad_state("\"{}\" of a surface has {} values for {} vertices", name, count, mesh.positions.size());
    return mesh;
}

} // namespace spindrift
