#include "spindrift/stages/drawable.h"

#include "spindrift/base/error.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/stages/body_files.h"

#include <filesystem>

namespace spindrift {

std::vector<Vec3f> colors_of(const Particles& particles, const std::string& attribute, const std::string& file)
{
    if (particles.size() == 0) return {}; // a file without points has no attributes either
    if (const auto* colors = particles.find<Vec3f>(attribute); colors && is_color_name(attribute)) {
        std::vector<Vec3f> shown(colors->size());
        for (size_t i = 0; i < shown.size(); ++i) shown[i] = (*colors)[i].cwiseMax(0.0f).cwiseMin(1.0f);
        return shown;
    }
    std::vector<float> values(particles.size());
    const auto fill = [&](const auto& value) {
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(value(i));
    };
    if (attribute == "speed")
        fill([&](size_t i) { return particles.v[i].norm(); });
    else if (attribute == "id")
        fill([&](size_t i) { return particles.id[i]; });
    else if (const auto* numbers = particles.find<float>(attribute))
        fill([&](size_t i) { return (*numbers)[i]; });
    else if (const auto* integers = particles.find<int32_t>(attribute))
        fill([&](size_t i) { return (*integers)[i]; });
    else if (const auto* vectors = particles.find<Vec3f>(attribute))
        fill([&](size_t i) { return (*vectors)[i].norm(); });
    else {
        std::string known = "speed, id";
        for (const auto& [name, array] : particles.attributes) known += ", " + name;
        fail("{}: particles have no attribute '{}' to colour by (color_by); they have {}", file, attribute, known);
    }
    // The ends of the map are the 1st and 99th percentile, so that outliers do not determine it.
    std::vector<float> sorted = values;
    float low = 0, high = 1;
    if (!sorted.empty()) {
        const size_t a = sorted.size() / 100, b = sorted.size() - 1 - a;
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<long>(a), sorted.end());
        low = sorted[a];
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<long>(b), sorted.end());
        high = sorted[b];
    }
    std::vector<Vec3f> colors(values.size());
    for (size_t i = 0; i < colors.size(); ++i)
        colors[i] = color_map(high > low ? (values[i] - low) / (high - low) : 0.5f);
    return colors;
}

void add_particles(const ParticleFile& file, const std::string& path, const std::string& color_by,
                   const Vec3f& plain_color, float scale, DrawnScene& picture, bool water)
{
    const Particles& particles = file.particles;
    const auto* radius = particles.find<float>("radius");
    RenderSpheres spheres;
    for (size_t i = 0; i < particles.size(); ++i) spheres.radii.push_back(radius ? scale * (*radius)[i] : file.pscale);
    const Vec3f plain = picture.layer().color.value_or(plain_color);
    spheres.colors =
        color_by.empty() ? std::vector<Vec3f>(particles.size(), plain) : colors_of(particles, color_by, path);
    spheres.water = water;
    spheres.centers = particles.P, spheres.velocities = particles.v;
    picture.add_spheres(std::move(spheres));
}

void add_bodies(const DrawableFacts& facts, const std::string& file_of_frame, DrawnScene& picture)
{
    constexpr double kTurn = 10 * kPi / 180; // that may pass for a straight line
    const Vec3f colors[] = {{0.47f, 0.24f, 0.10f}, {0.60f, 0.10f, 0.06f}, {0.62f, 0.42f, 0.06f}, {0.05f, 0.20f, 0.42f},
                            {0.10f, 0.32f, 0.13f}, {0.55f, 0.52f, 0.46f}, {0.34f, 0.09f, 0.30f}, {0.13f, 0.13f, 0.15f}};
    const std::vector<RigidMotion> motion = read_bodies(
        std::filesystem::path(file_of_frame).replace_extension(kBodiesEnding).string(), facts.body_meshes.size());
    const double open = picture.params().camera.shutter / 360 / picture.fps(); // [s]
    for (size_t b = 0; b < motion.size(); ++b) {
        const RigidMotion& now = motion[b];
        const double spin = now.spin.norm();
        const bool moves = spin > 0 || now.velocity.norm() > 0;
        std::vector<Mesh> moments;
        for (const float frames :
             picture.moments(moves ? 2 + static_cast<int>(std::min(spin * open / kTurn, 62.0)) : 1)) {
            Mesh mesh = facts.body_meshes[b];
            const double time = frames / picture.fps();
            Eigen::Quaterniond orientation = now.orientation;
            if (spin > 0 && time != 0) orientation = Eigen::AngleAxisd(spin * time, now.spin / spin) * orientation;
            const Mat3f turn = orientation.toRotationMatrix().cast<float>();
            const Vec3f place = (now.position + time * now.velocity).cast<float>();
            for (Vec3f& x : mesh.positions) x = turn * x + place;
            for (Vec3f& n : mesh.normals) n = turn * n;
            const Vec3f& color = picture.params().body_color.value_or(colors[b % std::size(colors)]);
            mesh.attributes["color"] = std::vector<Vec3f>(mesh.positions.size(), color);
            moments.push_back(std::move(mesh));
        }
        picture.add_solid(std::move(moments), false);
    }
    picture.count("bodies", motion.size());
}

void add_colliders(const DrawableFacts& facts, DrawnScene& picture)
{
    constexpr int kMoments = 9;
    for (const Shape& shape : facts.colliders) {
        std::vector<Mesh> moments;
        for (const float away : picture.moments(shape.moves() ? kMoments : 1))
            moments.push_back(shape.mesh(static_cast<float>(picture.frame()) + away));
        picture.add_solid(std::move(moments), shape.params().invert);
    }
}

} // namespace spindrift
