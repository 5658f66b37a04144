#include "spindrift/stages/render_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/sand/grain_points.h"
#include "spindrift/stages/body_files.h"
#include "spindrift/stages/film.h"
#include "spindrift/stages/taken_particles.h"

#include <filesystem>
#include <set>

namespace spindrift {

namespace {

constexpr double kBytesPerPixel = 160, kBytesPerTriangle = 300, kBytesPerSphere = 150, kBytesPerSmokeCell = 30;

// One colour a particle: that of a colour attribute, or else the attribute's smallest value at one end of the map and
// its largest at the other.
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
        fail("{}: particles have no attribute '{}' to colour by (render.color_by); they have {}", file, attribute,
             known);
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
    for (size_t i = 0; i < colors.size(); ++i)
        colors[i] = color_map(high > low ? (values[i] - low) / (high - low) : 0.5f);
    return colors;
}

// What a file has of smoke.
struct SmokeFrame {
    FieldSet fields;
    RenderSmoke smoke;

    explicit SmokeFrame(const std::string& path) : fields(read_fields(path, {"density"}, {"temperature", "Cd"}))
    {
        const auto place = [&](const auto& among, const char* name, auto& placed) {
            const auto found = among.find(name);
            if (found == among.end()) return;
            if (found->second.is_level_set) fail("grid \"{}\" of {} is a level set, not a volume of smoke", name, path);
            placed.field = &found->second.field;
            placed.voxel = found->second.voxel, placed.origin = found->second.origin;
        };
        smoke.name = path;
        place(fields.numbers, "density", smoke.density);
        place(fields.numbers, "temperature", smoke.temperature);
        place(fields.vectors, "Cd", smoke.color);
        if (!smoke.density.field) fail("grid \"density\" of {} holds vectors, not one number per cell", path);
    }
    size_t cells() const { return smoke.density.field->topology().cell_count(); }
};

} // namespace

void RenderStage::visit(ParamVisitor& v)
{
    params_.visit(v);
    v("input", input_,
      "Smoke of another program, VDB files with a grid \"density\" and perhaps \"temperature\" and \"Cd\", e.g. "
      "\"smoke.####.vdb\"; the folder is relative to the scene's. Left out: that of [smoke].");
}

void RenderStage::prepare(const SceneFile& scene, const ShotParams& shot)
{
    shot_ = shot;
    if (!input_.empty()) {
        if (std::filesystem::path(input_).extension() != ".vdb")
            bad_input("{}: render.input is \"{}\"; files of smoke must end in .vdb", scene.where("render.input"),
                      input_);
        input_files_ = scene.resolve(input_);
    }
    // What is all there is need not be asked for.
    if (params_.show == Show::surface && !scene.has("liquid") && !scene.has("surface"))
        for (const auto& [table, shown] : {std::pair("spray", Show::spray), std::pair("smoke", Show::smoke),
                                           std::pair("crowd", Show::crowd), std::pair("sand", Show::sand)})
            if (scene.has(table)) {
                params_.show = shown;
                break;
            }
    if (params_.show == Show::sand) {
        if (!scene.has("sand")) bad_input("{}: the scene has no sand; add [sand]", scene.where("render.show"));
        return;
    }
    if (params_.show == Show::crowd) {
        if (!scene.has("crowd")) bad_input("{}: the scene has no crowd; add [crowd]", scene.where("render.show"));
        return;
    }
    has_spray_ = params_.show == Show::spray || (params_.show != Show::smoke && scene.has("spray") &&
                                                 !(params_.show == Show::surface && liquid_->spray_is_meshed));
    has_smoke_ = !input_.empty() || scene.has("smoke");
    if (params_.show == Show::smoke && !has_smoke_)
        bad_input("{}: the scene has no smoke; add [smoke], or name the files of another program as render.input",
                  scene.where("render.show"));
}

Estimate RenderStage::estimate() const
{
    const double pixels = static_cast<double>(params_.width) * params_.height;
    const double bytes_per_pixel = is_png() ? 1.2 : 5;
    return {pixels * kBytesPerPixel + 1e8, pixels * bytes_per_pixel * shot_.range().count(),
            fmt::format("{} x {} pixels", params_.width, params_.height), "lower render.width and render.height"};
}

// Pictures shrink by the work of a rehearsal, whatever the simulations do.
double RenderStage::coarseness(double) const
{
    constexpr double kPaths = 1e6;
    const double paths = static_cast<double>(params_.width) * params_.height * params_.samples;
    return std::clamp(std::sqrt(paths / kPaths), 2.0, 64.0);
}

std::vector<std::string> RenderStage::coarser(double k) const
{
    const auto pixels = [k](int edge) { return std::max(1, static_cast<int>(std::lround(edge / k))); };
    return {fmt::format("render.width={}", pixels(params_.width)),
            fmt::format("render.height={}", pixels(params_.height))};
}

double RenderStage::memory(const Forecast& forecast) const
{
    const auto of = [&](const char* stage, const char* number) {
        const auto found = forecast.find(stage);
        return found == forecast.end() ? 0 : found->second.number(number);
    };
    const char* surface = params_.show == Show::ripples ? "ripples" : "surface";
    double bytes = kBytesPerPixel * of("render", "pixels");
    if (params_.show == Show::surface || params_.show == Show::ripples)
        bytes += kBytesPerTriangle * of(surface, "triangles");
    if (params_.show == Show::particles) bytes += kBytesPerSphere * of("liquid", "particles");
    if (params_.show == Show::sand) bytes += kBytesPerSphere * of("grains", "grains");
    if (has_spray_) bytes += kBytesPerSphere * of("spray", "droplets");
    if (has_smoke_)
        bytes += kBytesPerSmokeCell * (input_.empty()
                                           ? kTileCells * std::max(of("smoke", "tiles"), of("smoke", "fine_tiles"))
                                           : of("render", "smoke_cells"));
    return bytes;
}

// The film's encoder, and two pictures for it in this process.
double RenderStage::memory_of_helpers() const
{
    if (!is_png()) return 0;
    const double pixels = static_cast<double>(params_.width) * params_.height;
    return memory_of_encoder(params_.width, params_.height, shot_.range().count()) + kBytesPerPixel * pixels;
}

std::vector<std::string> RenderStage::inputs() const
{
    switch (params_.show) {
    case Show::surface:
        return {"surface"};
    case Show::ripples:
        return {"ripples"};
    case Show::particles:
        return {"liquid"};
    case Show::spray:
        return {"spray"};
    case Show::crowd:
        return {"crowd"};
    case Show::sand:
        return {"grains"};
    case Show::smoke:
        break;
    }
    if (!input_.empty()) return {};
    return {"smoke"};
}

std::vector<std::string> RenderStage::optional_inputs() const
{
    std::vector<std::string> inputs;
    if (params_.show == Show::crowd) return inputs;
    if (params_.show == Show::sand) return has_bodies() ? std::vector<std::string>{"sand"} : inputs;
    if (has_spray_) inputs.push_back("spray");
    if (has_bodies()) inputs.push_back("liquid");
    if (input_.empty()) inputs.push_back("smoke");
    return inputs;
}

// Particles as spheres: of the file's radius, or each of its own and larger by the scale for spray.
void RenderStage::add_spheres(const ParticleFile& file, const std::string& color_by, const std::string& path,
                              RenderSpheres& spheres) const
{
    const Particles& particles = file.particles;
    const auto* radius = particles.find<float>("radius");
    for (size_t i = 0; i < particles.size(); ++i)
        spheres.radii.push_back(radius ? params_.spray_scale * (*radius)[i] : file.pscale);
    const std::vector<Vec3f> colors = color_by.empty() ? std::vector<Vec3f>(particles.size(), params_.spray_color)
                                                       : colors_of(particles, color_by, path);
    spheres.centers.insert(spheres.centers.end(), particles.P.begin(), particles.P.end());
    spheres.velocities.insert(spheres.velocities.end(), particles.v.begin(), particles.v.end());
    spheres.colors.insert(spheres.colors.end(), colors.begin(), colors.end());
}

// Sand as its grains, each a little different in colour and lit by its normal.
void RenderStage::add_grains(const ParticleFile& file, RenderSpheres& spheres) const
{
    constexpr float kVariety = 0.25f; // beside the material's colour
    std::vector<SandMaterialParams> materials = sand_->params.materials;
    if (materials.empty()) materials.emplace_back();
    const Particles& grains = file.particles;
    const auto* material = grains.find<int32_t>(kMaterial);
    const auto* normal = grains.find<Vec3f>(kNormal);
    spheres.radius = file.pscale, spheres.centers = grains.P, spheres.velocities = grains.v;
    spheres.colors.resize(grains.size()), spheres.normals.resize(grains.size());
    parallel_for(
        grains.size(),
        [&](size_t i) {
            Random random(0, static_cast<uint64_t>(grains.id[i]));
            const size_t kind = material ? std::min(static_cast<size_t>((*material)[i]), materials.size() - 1) : 0;
            spheres.colors[i] = materials[kind].color * (1 + kVariety * random.uniform(-1, 1));
            spheres.normals[i] = normal ? (*normal)[i] : Vec3f::Zero().eval();
        },
        4096);
}

// People as capsules, by default in the colour of their group.
void RenderStage::add_people(const ParticleFile& file, const std::string& path, RenderSpheres& capsules) const
{
    constexpr float kHeight = 1.7f, kStoutest = 0.25f; // [m]
    const Particles& people = file.particles;
    const auto* radius = people.find<float>("pscale");
    const auto* group = people.find<int32_t>("group");
    capsules.velocities = people.v;
    for (size_t i = 0; i < people.size(); ++i) {
        const float r = std::min(0.9f * (radius ? (*radius)[i] : file.pscale), kStoutest);
        capsules.centers.push_back(people.P[i] + r * Vec3f::UnitY());
        capsules.ends.push_back(people.P[i] + (kHeight - r) * Vec3f::UnitY());
        capsules.radii.push_back(r);
    }
    if (!params_.color_by.empty() && params_.color_by != "group") {
        capsules.colors = colors_of(people, params_.color_by, path);
        return;
    }
    const Vec3f colors[] = {{0.62f, 0.12f, 0.07f}, {0.06f, 0.22f, 0.50f}, {0.60f, 0.40f, 0.05f}, {0.08f, 0.33f, 0.14f},
                            {0.36f, 0.10f, 0.38f}, {0.05f, 0.36f, 0.38f}, {0.50f, 0.22f, 0.10f}, {0.25f, 0.25f, 0.27f}};
    for (size_t i = 0; i < people.size(); ++i)
        capsules.colors.push_back(colors[group ? static_cast<size_t>((*group)[i]) % std::size(colors) : 0]);
}

std::vector<float> RenderStage::moments(int count) const
{
    if (params_.camera.shutter == 0 || count < 2) return {0};
    std::vector<float> moments;
    for (int i = 0; i < count; ++i)
        moments.push_back((static_cast<float>(i) / static_cast<float>(count - 1) - 0.5f) * params_.camera.shutter /
                          360);
    return moments;
}

// Bodies where the frame of their stage has them, each in a colour of its own.
void RenderStage::add_bodies(const std::string& file_of_frame, std::vector<Solid>& solids) const
{
    constexpr double kTurn = 10 * kPi / 180; // that may pass for a straight line
    const Vec3f colors[] = {{0.47f, 0.24f, 0.10f}, {0.60f, 0.10f, 0.06f}, {0.62f, 0.42f, 0.06f}, {0.05f, 0.20f, 0.42f},
                            {0.10f, 0.32f, 0.13f}, {0.55f, 0.52f, 0.46f}, {0.34f, 0.09f, 0.30f}, {0.13f, 0.13f, 0.15f}};
    const std::vector<RigidMotion> motion = read_bodies(
        std::filesystem::path(file_of_frame).replace_extension(kBodiesEnding).string(), body_meshes().size());
    const double open = params_.camera.shutter / 360 / shot_.fps; // [s]
    for (size_t b = 0; b < motion.size(); ++b) {
        const RigidMotion& now = motion[b];
        const double spin = now.spin.norm();
        const bool moves = spin > 0 || now.velocity.norm() > 0;
        Solid solid;
        for (const float frames : moments(moves ? 2 + static_cast<int>(std::min(spin * open / kTurn, 62.0)) : 1)) {
            Mesh mesh = body_meshes()[b];
            const double time = frames / shot_.fps;
            Eigen::Quaterniond orientation = now.orientation;
            if (spin > 0 && time != 0) orientation = Eigen::AngleAxisd(spin * time, now.spin / spin) * orientation;
            const Mat3f turn = orientation.toRotationMatrix().cast<float>();
            const Vec3f place = (now.position + time * now.velocity).cast<float>();
            for (Vec3f& x : mesh.positions) x = turn * x + place;
            for (Vec3f& n : mesh.normals) n = turn * n;
            mesh.attributes["color"] = std::vector<Vec3f>(mesh.positions.size(), colors[b % std::size(colors)]);
            solid.moments.push_back(std::move(mesh));
        }
        solids.push_back(std::move(solid));
    }
}

void RenderStage::add_colliders(const std::vector<Shape>& colliders, int frame, std::vector<Solid>& solids) const
{
    constexpr int kMoments = 9;
    for (const Shape& shape : colliders) {
        Solid solid{{}, shape.params().invert};
        for (const float away : moments(shape.moves() ? kMoments : 1))
            solid.moments.push_back(shape.mesh(static_cast<float>(frame) + away));
        if (!solid.moments.front().triangles.empty()) solids.push_back(std::move(solid));
    }
}

// The same for all frames. Of another program's smoke a few frames are looked at.
Box3f RenderStage::extent_of_shot()
{
    constexpr int kLooks = 5;
    if (params_.show == Show::crowd) return crowd_->extent;
    if (params_.show == Show::sand) return sand_->extent;
    Box3f extent = liquid_->extent;
    if (!smoke_->extent.empty()) extent.add(smoke_->extent);
    if (input_files_.empty()) return extent;
    if (!input_extent_) {
        input_extent_.emplace();
        const FrameRange range = shot_.range();
        std::set<std::string> paths;
        for (int i = 0; i < kLooks; ++i)
            paths.insert(frame_path(input_files_, range.first + (range.count() - 1) * i / (kLooks - 1)));
        for (const std::string& path : paths)
            if (file_exists(path)) input_extent_->add(bounds_of(SmokeFrame(path).smoke, params_));
    }
    extent.add(*input_extent_);
    return extent;
}

FrameReport RenderStage::make(int frame, const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs)
{
    FrameReport report;
    RenderScene scene;
    scene.frame = static_cast<float>(frame), scene.fps = shot_.fps;
    scene.extent = extent_of_shot();
    if (liquid_->params.domain.bounded()) scene.container = liquid_->extent;
    Mesh water;
    RenderSpheres spheres;
    std::optional<SmokeFrame> smoke;
    std::vector<Solid> solids;
    report.times.measure("read", [&] {
        auto input = inputs.begin();
        if (params_.show == Show::surface || params_.show == Show::ripples) {
            water = read_mesh(*input++);
            scene.surfaces = {&water};
            report.numbers = {{"triangles", static_cast<double>(water.triangles.size())}};
        } else if (params_.show == Show::particles) {
            ParticleFile file = read_particles(*input);
            if (liquid_->is_handed_over("")) leave_out_taken(input[1], file.particles); // spray's frame comes next
            add_spheres(file, params_.color_by.empty() ? "speed" : params_.color_by, *input, spheres);
            ++input;
            report.numbers = {{"particles", static_cast<double>(spheres.centers.size())}};
        } else if (params_.show == Show::crowd) {
            add_people(read_particles(*input), *input, spheres);
            ++input;
            report.numbers = {{"people", static_cast<double>(spheres.centers.size())}};
            if (!crowd_->obstacles.triangles.empty()) scene.solids.push_back(&crowd_->obstacles);
        }
        if (params_.show == Show::sand) {
            add_grains(read_particles(*input++), spheres);
            report.numbers = {{"grains", static_cast<double>(spheres.centers.size())}};
        }
        const bool spray_alone = params_.show == Show::spray;
        if (has_spray_) {
            const size_t before = spheres.centers.size();
            add_spheres(read_particles(*input), spray_alone ? params_.color_by : "", *input, spheres);
            ++input;
            report.numbers.emplace_back("droplets", static_cast<double>(spheres.centers.size() - before));
        }
        if (has_bodies()) {
            add_bodies(params_.show == Show::particles ? inputs.front() : *input++, solids);
            report.numbers.emplace_back("bodies", static_cast<double>(body_meshes().size()));
        }
        if (has_smoke_) {
            smoke.emplace(*input);
            scene.smokes = {&smoke->smoke};
            report.numbers.emplace_back("smoke_cells", static_cast<double>(smoke->cells()));
        }
        spheres.water = spray_alone && params_.spray_look == RenderParams::SprayLook::water;
        if (!spheres.centers.empty()) scene.spheres = {&spheres};
        if (scene.extent.empty()) { // all is another program's
            scene.extent = bounds_of(water);
            for (const Vec3f& center : spheres.centers) scene.extent.add(center);
            if (smoke) scene.extent.add(bounds_of(smoke->smoke, params_));
        }
        // Smoke that no domain holds may come farther than anybody knew: the automatic camera steps back from it.
        if (smoke && !(input_.empty() && smoke_->params.domain.bounded())) {
            scene.view = scene.extent;
            scene.view.add(bounds_of(smoke->smoke, params_));
        }
        for (const auto* colliders : {&liquid_->colliders, &smoke_->colliders, &sand_->colliders})
            add_colliders(*colliders, frame, solids);
        for (const Solid& solid : solids) {
            std::vector<const Mesh*> meshes;
            for (const Mesh& mesh : solid.moments) meshes.push_back(&mesh);
            scene.solids.emplace_back(std::move(meshes), solid.container);
        }
    });
    Image image;
    report.times.measure("render", [&] { image = render(scene, params_); });
    report.numbers.emplace_back("pixels", static_cast<double>(params_.width) * params_.height);
    report.times.measure("write", [&] { write_image(outputs[0], is_png() ? tone_mapped(image, params_) : image); });
    return report;
}

std::vector<std::string> RenderStage::products(const ShotPaths& paths) const
{
    return {contact_sheet_path(paths), film_path(paths)};
}

void RenderStage::shot_complete(const std::vector<std::string>& files, const ShotPaths& paths, Progress& progress)
{
    const auto developed = [this](const Image& image) { return is_png() ? image : tone_mapped(image, params_); };
    make_contact_sheet(paths, files, developed, progress);
    if (is_png()) make_film(paths, files, shot_.fps, progress);
}

} // namespace spindrift
