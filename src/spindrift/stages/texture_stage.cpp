#include "spindrift/stages/texture_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/engine/cache.h"
#include "spindrift/engine/graph.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/mesh/faults.h"
#include "spindrift/scene/limits.h"
#include "spindrift/stages/mesh_state.h"
#include "spindrift/video/video_patches.h"

#include <filesystem>
#include <set>

namespace spindrift {

namespace {

constexpr double kTextureBytesPerTriangle = 400;
constexpr const char* kTexture = "texture"; // meshes in a state
constexpr const char* kSurface = "surface";

// The attributes that channels of a picture become, besides red, green and blue.
std::vector<std::string> attributes_of(const std::string& file, const std::vector<std::string>& channels)
{
    // By what else vertices have, in memory and in PLY.
    const std::set<std::string> taken = {"x",
                                         "y",
                                         "z",
                                         "nx",
                                         "ny",
                                         "nz",
                                         "vx",
                                         "vy",
                                         "vz",
                                         "color",
                                         "direction",
                                         "example",
                                         "parameter",
                                         "parameter_rate",
                                         "patch_seeds",
                                         "opacity",
                                         "curvature",
                                         "divergence",
                                         "stretch",
                                         "squash",
                                         "viscous",
                                         "origin_weights",
                                         "origin_triangle"};
    std::vector<std::string> names;
    for (size_t c = 3; c < channels.size(); ++c) {
        std::string name = channels[c];
        std::ranges::replace(name, '.', '_'); // of a layer
        const bool plain = std::ranges::all_of(name, [](unsigned char l) { return std::isalnum(l) || l == '_'; }) &&
                           !name.starts_with("color_");
        if (!plain || taken.contains(name))
            bad_input("{}: the channel \"{}\" would become an attribute of that name, which is not possible; give it "
                      "another name, of letters and digits",
                      file, shortened(channels[c]));
        names.push_back(name == "A" ? "opacity" : name);
    }
    return names;
}

ExampleFiles read_picture(const std::string& file)
{
    ExampleFiles files;
    std::vector<std::string> channels;
    files.frames = {read_video_frame(file, ChannelsRead::all, channels)};
    check_values(file, files.frames[0]);
    files.attributes = attributes_of(file, channels);
    return files;
}

// Numbers as they are in the file.
Raster read_first_channel(const std::string& file)
{
    ChannelImage channels = read_channels(file);
    Raster out(channels.width, channels.height, 1);
    out.values = std::move(channels.channels.front().values);
    check_values(file, out);
    return out;
}

bool is_video(const std::string& file) { return has_frame_pattern(file) || is_film(file); }

// The frames of a video with those before them, without the motion of the whole.
ExampleFiles read_video_example(const std::string& file, const TextureParams& params)
{
    const Video video = read_video(file, {}, ChannelsRead::all);
    const MotionRemoval removal{.history = params.history,
                                .smoothing = std::max(params.motion, 1.0f),
                                .still = params.motion == 0 || params.history == 0};
    const int channels = video.frames.front().channels;
    ExampleFiles files;
    files.attributes = attributes_of(file, video.channels);
    for (const Raster& patch : video_patches(video, removal)) {
        const auto part = [&](int first, int count) {
            Raster out(patch.width, patch.height, count);
            for (int y = 0; y < patch.height; ++y)
                for (int x = 0; x < patch.width; ++x) std::copy_n(patch.at(x, y) + first, count, out.at(x, y));
            return out;
        };
        files.frames.push_back(part(0, channels));
        files.history.emplace_back();
        for (int i = 1; i <= params.history; ++i) files.history.back().push_back(part(i * channels, channels));
        if (patch.channels > channels * (1 + params.history))
            files.frames.back().guide = part(patch.channels - 1, 1).values;
    }
    return files;
}

// Throws Error(bad_input) if a number is beyond what a scene may have.
void check_range(const std::string& file, const Mesh& mesh)
{
    const auto check = [&](const std::vector<Vec3f>& values, const Range& range, const char* what) {
        for (size_t i = 0; i < values.size(); ++i)
            if (!(static_cast<double>(values[i].cwiseAbs().maxCoeff()) <= range.high))
                bad_input("{}: vertex {} {} ({:.3g}, {:.3g}, {:.3g}); at most {:g} is possible; units are metres and "
                          "seconds",
                          file, i, what, values[i].x(), values[i].y(), values[i].z(), range.high);
    };
    check(mesh.positions, limits::position(), "is at");
    check(mesh.velocities, limits::velocity(), "has the velocity");
}

// What a mesh of another program is used in spite of.
std::vector<std::string> faults_for_texture(const std::string& file, const Mesh& mesh)
{
    std::vector<std::string> found;
    Mesh used = mesh; // not all vertices have triangles
    std::vector<uint8_t> keep(mesh.positions.size(), 0);
    for (const Vec3i& t : mesh.triangles)
        for (const int vertex : t) keep[vertex] = 1;
    keep_vertices(used, keep);
    const Mesh joined = with_joined_vertices(used);
    if (const size_t twice = used.positions.size() - joined.positions.size(); twice > 0)
        found.push_back(
            fmt::format("{}: {} of {} vertices are where another one is, and textures are cut between these; "
                        "join them in the program that writes the meshes",
                        file, twice, used.positions.size()));
    if (const auto edge = open_edge(joined))
        found.push_back(
            fmt::format("{}: the surface is not closed: {}; textures end at such edges, and nothing diffuses "
                        "across them",
                        file, *edge));
    return found;
}

bool has_own_surface(const Stage& liquid) { return std::ranges::count(liquid.endings(), kSurfaceEnding) > 0; }

} // namespace

void TextureStage::visit(ParamVisitor& v)
{
    v("of", of_,
      "The surface that is textured: a track, ripples, a surface, or a liquid whose surface is tracked. Default: the "
      "only one of the scene.");
    v("input", input_,
      "Meshes of another program, PLY or OBJ, e.g. \"water.####.ply\"; the folder is relative to the scene's. Default: "
      "those of `of`.");
    params_.visit(v);
    files_.visit(v);
    expressions_.visit(v);
}

std::vector<Port> TextureStage::ports(const ShotGraph& graph) const
{
    if (!input_.empty()) return {};
    Port of{"of", {"track", "ripples", "surface", "liquid"}, named(of_)};
    of.missing = "there is no surface to texture; add [track] or [liquid], or name the meshes of another program as " +
                 param("input");
    const auto liquids = graph.of_kind("liquid");
    const bool meshed =
        !graph.of_kind("track").empty() || !graph.of_kind("ripples").empty() || !graph.of_kind("surface").empty();
    const bool tracked = !meshed && liquids.size() == 1 && has_own_surface(*liquids.front()->stage);
    if (of_.empty() && tracked) of.stages = {liquids.front()->stage->name()};
    if (of_.empty() && !tracked) of.kinds.pop_back(); // a liquid has a [surface], if not one of its own
    return {of};
}

// Texels and pixels as much larger as the cells of the surface.
std::vector<std::string> TextureStage::coarser(double k) const
{
    std::vector<std::string> sets;
    std::optional<float> texel = params_.texel;
    if (!texel && params_.mode == TextureParams::Mode::example) texel = params_.size / params_.exemplar.feature;
    if (texel) sets.push_back(fmt::format("{}={}", param("texel"), k * static_cast<double>(*texel)));
    if (files_.atlas > 0) sets.push_back(fmt::format("{}={}", param("atlas"), files_.coarser_atlas(k)));
    return sets;
}

void TextureFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    Mesh mesh = read_mesh(frame.input(stage, frame.frame));
    picture.count("triangles", mesh.triangles.size());
    picture.add_surface(std::move(mesh), LayerParams::Look::paint);
}

double TextureFacts::memory(const Foreseen& foreseen) const
{
    return DrawnScene::kBytesPerTriangle * foreseen.number("triangles");
}

// ------------------------------------------------------------------------------------------------------------
// preparing

void TextureStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    fps_ = shot.fps, range_ = shot.range();
    where_atlas_ = scene.where(param("atlas"));
    auto facts = std::make_shared<TextureFacts>();
    warnings_.clear();
    colliders_.clear(), container_.reset();
    if (const StageView* of = inputs.one("of")) {
        source_ = of->name, of_liquid_ = of->kind == "liquid";
        if (const auto liquid = of->as<LiquidFacts>();
            liquid && liquid->params.surface != LiquidParams::Surface::tracked)
            bad_input(
                "{}: {} is a liquid without a surface of its own; set {}.surface = \"tracked\", or name a surface "
                "or a track",
                scene.where(param("of")), source_, source_);
        if (const auto drawn = of->as<DrawableFacts>())
            facts->extent = drawn->extent, facts->bounded = drawn->bounded, facts->container = drawn->container,
            colliders_ = drawn->colliders, container_ = drawn->container;
        constexpr double kTriangles = 2e5; // nothing better is known before a rehearsal
        estimate_ = {kTextureBytesPerTriangle * kTriangles, 60 * kTriangles * range_.count(),
                     "a surface like any other", "make the surface coarser", kTriangles};
    } else {
        prepare_input(scene);
        const Mesh first = read(range_.first);
        facts->extent = bounds_of(first), facts->bounded = false;
        warnings_ = faults_for_texture(file_at(range_.first), first);
    }
    facts->stage = name();
    facts_ = facts;
    const double pixels = static_cast<double>(files_.atlas) * files_.atlas;
    estimate_.memory += TextureFileParams::memory(pixels);
    estimate_.disk += files_.disk(estimate_.cells) * range_.count();
    expressions_.prepare(scene, name(), range_, fps_, colliders_);
    constexpr auto kAfter = ExpressionParams::At::after_advection;
    TextureParams params = params_;
    if (params.rule == TextureParams::Rule::automatic &&
        (expressions_.writes(kAfter, "parameter") || expressions_.writes(kAfter, "parameter_rate")))
        params.rule = TextureParams::Rule::none;
    try {
        texture_ = std::make_unique<Texture>(params, /*motion=*/input_.empty(), example_files(scene));
    } catch (const Error& e) {
        throw Error(e.code, fmt::format("{}: {}", scene.where(name()), e.what()));
    }
}

void TextureStage::prepare_input(const SceneFile& scene)
{
    const std::string where = scene.where(param("input"));
    const std::string ending = std::filesystem::path(input_).extension().string();
    if (ending != ".ply" && ending != ".obj")
        bad_input("{}: {} is \"{}\"; meshes must end in .ply or .obj", where, param("input"), input_);
    input_files_ = scene.resolve(input_);
    dependencies_ = FilesOfFrames(input_files_, where).signature("meshes");
    double largest = 0;
    for (int frame = range_.first; frame <= range_.last; ++frame) {
        const std::string file = file_at(frame);
        if (!file_exists(file))
            bad_input("{}: {} is missing, which the shot needs; make the shot {} to {} shorter", where, file,
                      range_.first, range_.last);
        largest = std::max(largest, static_cast<double>(std::filesystem::file_size(file)));
    }
    constexpr double kBytesPerTriangleInFiles = 30;
    const double triangles = largest / kBytesPerTriangleInFiles;
    estimate_ = {kTextureBytesPerTriangle * triangles, 60 * triangles * range_.count(),
                 fmt::format("about {:.2g} triangles", triangles), "simplify the meshes", triangles};
}

// Pictures that the scene names.
std::vector<ExampleFiles> TextureStage::example_files(const SceneFile& scene)
{
    std::vector<ExampleFiles> files;
    if (params_.mode != TextureParams::Mode::example) return files;
    for (const TextureParams::Example& example : params_.all_examples()) {
        const std::string list = fmt::format("examples[{}].", files.size());
        const auto read = [&](const std::string& key, const std::string& name, const auto& reader) {
            const std::string file = scene.resolve(name);
            const std::string where = scene.where(param(params_.examples.empty() ? "example_file" : list + key));
            try {
                dependencies_ += has_frame_pattern(file) ? FilesOfFrames(file, where).signature("example")
                                                         : fmt::format("example: {}\n", file_signature(file));
                return reader(file);
            } catch (const Error& e) {
                const std::string what = e.what();
                bad_input("{}", what.starts_with(where) ? what : fmt::format("{}: {}", where, what));
            }
        };
        ExampleFiles& own = files.emplace_back();
        if (is_video(example.file))
            own =
                read("file", example.file, [&](const std::string& file) { return read_video_example(file, params_); });
        else if (!example.file.empty())
            own = read("file", example.file, read_picture);
        if (is_video(example.file) && params_.history == 0)
            warnings_.push_back(
                fmt::format("{} is a video, but with history = 0 the texture does not change as it does; "
                            "set {} = 1 for that",
                            example.file, param("history")));
        if (!example.height_file.empty()) own.height = read("height_file", example.height_file, read_first_channel);
        if (!example.parameter_file.empty())
            read("parameter_file", example.parameter_file, [&](const std::string& file) {
                if (own.frames.size() != 1) bad_input("{} is the parameter of a picture, but there is none", file);
                Raster parameter = read_first_channel(file);
                if (parameter.width != own.frames[0].width || parameter.height != own.frames[0].height)
                    bad_input("{} has {} x {} pixels, its picture {} x {}", file, parameter.width, parameter.height,
                              own.frames[0].width, own.frames[0].height);
                own.frames[0].guide = std::move(parameter.values);
                return 0;
            });
    }
    return files;
}

double TextureStage::memory(const Forecast& forecast) const
{
    const auto found = forecast.find(name());
    if (found == forecast.end()) return estimate_.memory;
    return kTextureBytesPerTriangle * found->second.number("triangles") +
           TextureFileParams::memory(found->second.number("atlas_pixels"));
}

// --------------------------------------------------------------------------------------------------------------
// running

std::string TextureStage::file_at(int frame) const
{
    if (!input_.empty()) return has_frame_pattern(input_files_) ? frame_path(input_files_, frame) : input_files_;
    const std::string path = input_path_(source_, frame);
    return of_liquid_ ? std::filesystem::path(path).replace_extension(kSurfaceEnding).string() : path;
}

Mesh TextureStage::read(int frame) const
{
    const std::string file = file_at(frame);
    Mesh mesh = read_mesh(file);
    if (!input_.empty()) check_range(file, mesh);
    return mesh;
}

// Of the frame `frame_`.
void TextureStage::set_walls()
{
    if (colliders_.empty() && !container_) return;
    const auto frame = static_cast<float>(frame_);
    for (Shape& shape : colliders_) shape.prepare(frame);
    texture_->set_walls([this, frame](const Vec3f& x) {
        float distance = kInfinity;
        for (const Shape& shape : colliders_) distance = std::min(distance, shape.distance(x, frame));
        if (container_)
            distance = std::min({distance, (x - container_->min).minCoeff(), (container_->max - x).minCoeff()});
        return distance;
    });
}

// Expressions see vertices as points. `seconds` have gone by since the frame before.
void TextureStage::change_attributes(float seconds)
{
    constexpr auto kAfter = ExpressionParams::At::after_advection;
    if (!expressions_.any(kAfter)) return;
    Mesh mesh = texture_->mesh();
    expressions_.run_on_vertices(kAfter, mesh, frame_, name());
    texture_->set_attributes(std::move(mesh.attributes));
    texture_->change_parameter(seconds);
}

FrameReport TextureStage::report(PhaseTimes times) const
{
    FrameReport report;
    report.numbers = {{"triangles", static_cast<double>(texture_->mesh().triangles.size())},
                      {"new", texture_->new_vertices()}};
    if (files_.atlas > 0) report.numbers.emplace_back("atlas_pixels", static_cast<double>(files_.atlas) * files_.atlas);
    if (params_.mode == TextureParams::Mode::react)
        report.numbers.emplace_back("iterations", texture_->reaction().iterations);
    if (const Synthesis* synthesis = texture_->synthesis())
        report.numbers.insert(report.numbers.end(),
                              {{"patches", synthesis->patches()}, {"energy", synthesis->energy()}});
    report.unconverged = texture_->reaction().unconverged;
    report.times = std::move(times);
    return report;
}

FrameReport TextureStage::start(int frame)
{
    PhaseTimes times;
    frame_ = frame;
    Mesh mesh;
    times.measure("read", [&] { mesh = read(frame); });
    set_walls();
    texture_->start(std::move(mesh));
    change_attributes(0);
    times.measure("texture", [&] { texture_->synthesize(); });
    return report(times);
}

FrameReport TextureStage::advance()
{
    PhaseTimes times;
    Mesh mesh;
    times.measure("read", [&] { mesh = read(frame_ + 1); });
    ++frame_;
    set_walls();
    times.measure("carry", [&] {
        try {
            texture_->carry(std::move(mesh), 1 / fps_);
        } catch (const Error& e) {
            throw Error(input_.empty() ? e.code : ExitCode::bad_input,
                        fmt::format("{}: {}", file_at(frame_), e.what()));
        }
    });
    change_attributes(1 / fps_);
    times.measure("texture", [&] { texture_->synthesize(); });
    return report(times);
}

void TextureStage::write(const std::string& path)
{
    Mesh mesh = texture_->mesh();
    expressions_.run_on_vertices(ExpressionParams::At::before_writing, mesh, frame_, name());
    TextureLook look{texture_->attributes_of_colors()};
    bool own_colors = params_.mode == TextureParams::Mode::colors && params_.pattern == TextureParams::Start::surface;
    if (params_.mode == TextureParams::Mode::example)
        for (const TextureParams::Example& example : params_.all_examples())
            own_colors |= !example.file.empty() || example.color || example.second_color;
    if (!own_colors) look.between.emplace(params_.color, params_.second_color);
    try {
        write_texture(path, std::move(mesh), texture_->surface(), files_, look);
    } catch (const Error& e) {
        if (e.code != ExitCode::bad_input) throw;
        throw Error(e.code, fmt::format("{}: frame {}: {}", where_atlas_, frame_, e.what()));
    }
}

// ----------------------------------------------------------------------------------------------------------------
// state

StateFile TextureStage::save() const
{
    StateFile file;
    file.numbers["frame"] = frame_;
    save_mesh(texture_->mesh(), kTexture, file);
    if (texture_->has_texels()) save_mesh(texture_->surface(), kSurface, file);
    return file;
}

FrameReport TextureStage::restore(StateFile file)
{
    PhaseTimes times;
    times.measure("restore", [&] {
        frame_ = static_cast<int>(file.numbers["frame"]);
        texture_->restore(load_mesh(file, kTexture), texture_->has_texels() ? load_mesh(file, kSurface) : Mesh());
    });
    return report(times);
}

StageKind texture_stage()
{
    return stage_kind<TextureStage>("texture", "Colours and patterns that move with a surface.");
}

} // namespace spindrift
