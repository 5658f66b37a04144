#include "pipeline/render_stage.h"

#include "base/error.h"
#include "io/mesh_file.h"
#include "io/vdb.h"
#include "pipeline/liquid_stage.h"

namespace spindrift {

namespace {

// One colour a particle, the attribute's smallest value at one end of the map and its largest at the other.
std::vector<Vec3f> colors_of(const Particles& particles, const std::string& attribute, const std::string& file)
{
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
        fail("{}: particles have no attribute '{}' to colour by (render.color_by); they have {}", file, attribute, known);
    }
    // A few outliers must not take all the colour: the ends of the map are the 1st and 99th percentile.
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
    for (size_t i = 0; i < colors.size(); ++i) colors[i] = color_map(high > low ? (values[i] - low) / (high - low) : 0.5f);
    return colors;
}

} // namespace

void RenderStage::prepare(const SceneFile& scene, const ShotParams& shot, const ShotPaths&)
{
    frames_ = shot.range().count();
    if (!scene.has("liquid")) return;
    const LiquidParams liquid = liquid_of(scene);
    const std::vector<Shape> sources = load_shapes(scene, liquid.sources, "source");
    colliders_ = load_shapes(scene, liquid.colliders, "collider");
    extent_ = extent_of(liquid, sources, colliders_, shot.range().first);
    if (liquid.domain.bounded()) container_ = extent_;
}

Estimate RenderStage::estimate() const
{
    const double pixels = static_cast<double>(params_.width) * params_.height;
    const double bytes_per_pixel = params_.format == RenderParams::Format::png ? 1.2 : 5;
    return {pixels * 64 + 1e8, pixels * bytes_per_pixel * frames_, fmt::format("{} x {} pixels", params_.width, params_.height)};
}

FrameReport RenderStage::make(int frame, const std::string& input, const std::string& output)
{
    FrameReport report;
    RenderScene scene;
    scene.extent = extent_, scene.container = container_;
    Mesh water;
    RenderSpheres spheres;
    std::vector<Mesh> solids;
    report.times.measure("read", [&] {
        if (params_.show == RenderParams::Show::surface) {
            water = read_mesh(input);
            scene.liquid = &water;
            report.numbers = {{"triangles", static_cast<double>(water.triangles.size())}};
        } else {
            ParticleFile file = read_particles(input);
            spheres.colors = colors_of(file.particles, params_.color_by, input);
            spheres.centers = std::move(file.particles.P);
            spheres.radius = file.pscale;
            scene.spheres = &spheres;
            report.numbers = {{"particles", static_cast<double>(spheres.centers.size())}};
        }
        for (const Shape& shape : colliders_)
            if (Mesh mesh = shape.mesh(static_cast<float>(frame)); !mesh.triangles.empty()) solids.push_back(std::move(mesh));
        for (const Mesh& mesh : solids) scene.solids.push_back(&mesh);
    });
    Image image;
    report.times.measure("render", [&] { image = render(scene, params_); });
    report.times.measure("write", [&] {
        write_image(output, params_.format == RenderParams::Format::png ? tone_mapped(image, params_) : image);
    });
    return report;
}

} // namespace spindrift
