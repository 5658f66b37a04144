#include "spindrift/io/point_file.h"

#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/file_start.h"
#include "spindrift/io/mesh_readers.h"
#include "spindrift/points/attribute_checks.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>

namespace spindrift {

namespace {

// Converts numbers of any type to ids.
std::optional<std::vector<int32_t>> as_ids(const AttributeArray& array)
{
    if (const auto* ids = std::get_if<std::vector<int32_t>>(&array)) return *ids;
    if (const auto* numbers = std::get_if<std::vector<float>>(&array)) {
        std::vector<int32_t> ids(numbers->size());
        // Values that are not finite or out of range become 0.
        const auto id = [](float x) { return std::abs(x) < 2147483520.0f ? static_cast<int32_t>(x) : 0; };
        std::transform(numbers->begin(), numbers->end(), ids.begin(), id);
        return ids;
    }
    return std::nullopt;
}

// Takes the velocity from the attributes if it is not under its usual name.
void take_velocity(const std::string& path, const std::string& name, bool has_usual, Particles& particles)
{
    const auto take = [&](const std::string& from) {
        const auto* found = particles.find<Vec3f>(from);
        if (found) particles.v = *found, particles.attributes.erase(from);
        return found != nullptr;
    };
    if (name.empty()) {
        has_usual || take("v") || take("vel") || take("velocity");
    } else if (!take(name) && !(has_usual && (name == "v" || name == "velocity"))) {
        std::string known;
        for (const auto& [other, array] : particles.attributes)
            if (particles.find<Vec3f>(other)) known += (known.empty() ? "" : ", ") + other;
        bad_input("{} has no vector \"{}\" for the velocity (vectors: {})", path, name, known.empty() ? "none" : known);
    }
}

ParticleFile read_ply_points(const std::string& path, const PointNames& names)
{
    if (!may_start_with(path, "ply")) fail("{} is not a PLY file: it does not start with \"ply\"", path);
    Mesh mesh = read_ply_vertices(path, read_file(path));
    ParticleFile file;
    Particles& particles = file.particles;
    const bool has_velocities = !mesh.velocities.empty();
    particles.attributes = std::move(mesh.attributes);
    particles.P = std::move(mesh.positions), particles.v = std::move(mesh.velocities);
    particles.v.resize(particles.size(), Vec3f::Zero());
    take_velocity(path, names.velocity, has_velocities, particles);
    particles.id.resize(particles.size());
    std::iota(particles.id.begin(), particles.id.end(), 0);
    if (const auto id = particles.attributes.find("id"); id != particles.attributes.end())
        if (auto ids = as_ids(id->second)) particles.id = std::move(*ids), particles.attributes.erase(id);
    return file;
}

} // namespace

void expect_finite(const std::string& path, const Particles& particles)
{
    for (size_t i = 0; i < particles.size(); ++i) {
        const bool place = particles.P[i].allFinite();
        if (place && particles.v[i].allFinite()) continue;
        bad_input("{}: the {} of point {} of {} is not finite; remove such points in the program that wrote the file",
                  path, place ? "velocity" : "position", i, particles.size());
    }
    if (const auto radius = particles.attributes.find("pscale"); radius != particles.attributes.end())
        if (const size_t bad = count_non_finite(radius->second))
            bad_input(
                "{}: the radius \"pscale\" of {} of {} points is not finite; fix it in the program that wrote the file",
                path, bad, particles.size());
}

ParticleFile read_points(const std::string& path, const PointNames& names)
{
    const std::string ending = std::filesystem::path(path).extension().string();
    if (ending != ".vdb" && ending != ".ply") bad_input("{}: a file of points must end in .vdb or .ply", path);
    ParticleFile file;
    try {
        file = ending == ".ply" ? read_ply_points(path, names) : read_particles(path, names);
    } catch (const Error& e) {
        bad_input("{}", e.what()); // the user names the file, so failures are input errors
    }
    expect_finite(path, file.particles);
    if (!std::isfinite(file.pscale))
        bad_input("{}: the radius \"pscale\" of its points is not finite; fix it in the program that wrote the file",
                  path);
    return file;
}

} // namespace spindrift
