#include "spindrift/stages/render_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/engine/graph.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/stages/body_files.h"
#include "spindrift/stages/film.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace spindrift {

void RenderStage::visit(ParamVisitor& v)
{
    v("show", show_,
      "The stages that are drawn, e.g. \"ripples\" or [\"surface\", \"spray\"]; \"liquid\" draws its particles. Left "
      "out: those of [[render.layer]], or else everything there is.");
    v.list("layer", layer_params_, "A stage that is drawn, with a look of its own.");
    v("solids", solids_, choices("shown", "matte", "holdout", "hidden"),
      "Colliders and bodies of the stages that are drawn: as the mode of a layer says, or not at all.");
    params_.visit(v);
    v("input", input_,
      "Files of another program that are drawn too: meshes of a liquid (PLY or OBJ), e.g. \"water.####.ply\", or smoke "
      "(VDB "
      "with a grid \"density\" and perhaps \"temperature\" and \"Cd\"). The folder is relative to the scene's.");
}

namespace {

// Names of layers that are not a stage's.
constexpr const char *kInputLayer = "input", *kSolidsLayer = "solids";

bool has_bodies(const Stage& stage) { return std::ranges::count(stage.endings(), kBodiesEnding) > 0; }

} // namespace

// All stages that can be drawn, except those that another stage replaces in the picture. If several replace the same
// stage, the first is drawn.
std::vector<std::string> RenderStage::shown_stages(const ShotGraph& graph) const
{
    if (!show_.empty()) return show_;
    std::vector<std::string> shown;
    for (const LayerParams& layer : layer_params_) shown.push_back(layer.of);
    if (!shown.empty()) return shown;
    std::set<std::string> stood_for;
    for (const StageKind& kind : graph.kinds())
        for (const ShotGraph::Node* node : graph.of_kind(kind.name)) {
            const std::string port = node->stage->stands_for();
            bool first = true;
            for (const ShotGraph::Input& input : node->inputs)
                if (input.port == port) first &= stood_for.insert(input.stage).second;
            if (node->stage->drawable() && (port.empty() || first)) shown.push_back(node->stage->name());
        }
    std::vector<std::string> ends;
    for (const std::string& name : shown) {
        const std::string by = graph.find(name)->stage->shown_by();
        if (stood_for.contains(name)) continue;
        const std::string& drawn = by.empty() ? name : by;
        if (std::ranges::count(ends, drawn) == 0) ends.push_back(drawn);
    }
    return ends;
}

// Each layer names one of the stages that are drawn, and no two the same.
void RenderStage::expect_layers_of_stages(const SceneFile& scene) const
{
    for (size_t i = 0; i < layer_params_.size(); ++i) {
        const std::string layer = param(fmt::format("layer[{}]", i)), &of = layer_params_[i].of;
        if (of.empty())
            bad_input("{}: {} does not say what it draws; name a stage, as in of = \"surface\"", scene.where(layer),
                      layer);
        const auto names_same = [&](const LayerParams& other) { return other.of == of; };
        if (std::ranges::count_if(layer_params_, names_same) > 1 && &layer_of(of) != &layer_params_[i])
            bad_input("{}: {}.of is \"{}\", and an earlier layer draws that stage; remove one of them",
                      scene.where(layer + ".of"), layer, shortened(of));
        if (!show_.empty() && std::ranges::count(show_, of) == 0)
            bad_input("{}: {}.of is \"{}\", which {} does not name{}", scene.where(layer + ".of"), layer, shortened(of),
                      param("show"), did_you_mean(of, show_, "it names"));
    }
}

std::vector<Port> RenderStage::ports(const ShotGraph& graph) const
{
    expect_layers_of_stages(graph.scene());
    Port show{"show", {}, shown_stages(graph), Port::Unnamed::none};
    if (show_.empty())
        for (size_t i = 0; i < layer_params_.size(); ++i) show.params.push_back(fmt::format("layer[{}].of", i));
    show.many = true, show.optional = !input_.empty();
    show.missing = fmt::format("there is nothing to draw; add a table such as [liquid], or name the files of another "
                               "program as {}",
                               param("input"));
    for (const StageKind& kind : graph.kinds())
        if (kind.make({kind.name, kind.name})->drawable()) show.kinds.push_back(kind.name);

    // Solids of all stages of the shot. Only bodies that are drawn are read from files of each frame.
    Port solids{"solids", show.kinds, {}, Port::Unnamed::none, /*many=*/true, /*optional=*/true, {}, false};
    Port bodies{"bodies", show.kinds, {}, Port::Unnamed::none, true, true, {}, true};
    for (const StageKind& kind : graph.kinds())
        for (const ShotGraph::Node* node : graph.of_kind(kind.name))
            if (node->stage->drawable() && node->stage->stands_for().empty())
                (has_bodies(*node->stage) && solids_ != Solids::hidden ? bodies : solids)
                    .stages.push_back(node->stage->name());

    return {show, solids, bodies, handover_port(graph, show.stages)};
}

const LayerParams& RenderStage::layer_of(const std::string& stage) const
{
    static const LayerParams plain;
    const auto found = std::ranges::find(layer_params_, stage, &LayerParams::of);
    return found == layer_params_.end() ? plain : *found;
}

void RenderStage::expect_looks_that_apply(const SceneFile& scene) const
{
    for (size_t i = 0; i < layer_params_.size(); ++i) {
        const LayerParams& layer = layer_params_[i];
        const auto drawn = std::ranges::find(layers_, layer.of, [](const Layer& l) { return l.facts->stage; });
        const DrawableFacts::Looks looks = drawn->facts->looks();
        std::string known = "mode";
        if (looks.look) known += ", look";
        if (looks.color) known += ", color";
        if (looks.color_by) known += ", color_by";
        const auto expect = [&](bool applies, bool set, const char* name) {
            const std::string place = param(fmt::format("layer[{}].{}", i, name));
            if (set && !applies)
                bad_input("{}: {} does not apply to \"{}\"; a layer of that stage has: {}", scene.where(place), place,
                          layer.of, known);
        };
        expect(looks.look, layer.look != LayerParams::Look::as_picture, "look");
        expect(looks.color, layer.color.has_value(), "color");
        expect(looks.color_by, !layer.color_by.empty(), "color_by");
    }
}

// The channel names of layers consist of letters, digits and _, so different stages may get the same.
void RenderStage::expect_distinct_channels(const SceneFile& scene) const
{
    std::map<std::string, std::string> used; // channel, and the layer that it is of
    if (!input_files_.empty()) used[kInputLayer] = param("input");
    if (solids_ != Solids::hidden) used[kSolidsLayer] = "colliders and bodies";
    for (const Layer& layer : layers_) {
        const std::string &stage = layer.facts->stage, channel = layer_channel(stage);
        const auto [other, is_new] = used.emplace(channel, fmt::format("[{}]", stage));
        if (!is_new)
            bad_input(
                "{}: the layers of [{}] and of {} would both have the name \"{}\" in pictures of [{}]; rename the "
                "stage",
                scene.where_named(stage), stage, other->second, channel, name());
    }
}

void RenderStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    shot_ = shot;
    if (!input_.empty()) {
        const std::string ending = std::filesystem::path(input_).extension().string();
        input_is_mesh_ = ending == ".ply" || ending == ".obj";
        if (!input_is_mesh_ && ending != ".vdb")
            bad_input("{}: {} is \"{}\"; meshes must end in .ply or .obj, and files of smoke in .vdb",
                      scene.where(param("input")), param("input"), input_);
        input_files_ = scene.resolve(input_);
    }
    for (const StageView& stage : inputs.all("show"))
        layers_.push_back({layer_of(stage.name), stage.as<DrawableFacts>()});
    expect_looks_that_apply(scene);
    expect_distinct_channels(scene);
    for (const char* port : {"bodies", "solids"})
        for (const StageView& stage : inputs.all(port))
            if (auto facts = stage.as<DrawableFacts>()) around_.push_back(std::move(facts));
    taken_ = TakenParticles(inputs.all("handover"));
}

Estimate RenderStage::estimate() const
{
    const double pixels = static_cast<double>(params_.width) * params_.height;
    const double bytes_per_pixel = is_png() ? 1.2 : 15;
    return {pixels * DrawnScene::kBytesPerPixel + 1e8, pixels * bytes_per_pixel * shot_.range().count(),
            fmt::format("{} x {} pixels", params_.width, params_.height),
            fmt::format("lower {} and {}", param("width"), param("height"))};
}

// Colliders and containers are drawn, and extents framed, whether or not the frames of their stage are read.
std::string RenderStage::dependencies() const
{
    std::string text;
    for (const auto& facts : around_) text += facts->collider_text;
    const auto add = [&](const char* what, const DrawableFacts& facts, const std::optional<Box3f>& box) {
        if (!box || box->empty()) return;
        const Vec3f &a = box->min, &b = box->max;
        text +=
            fmt::format("{} of {}: {} {} {} {} {} {}\n", what, facts.stage, a.x(), a.y(), a.z(), b.x(), b.y(), b.z());
    };
    for (const auto& facts : around_) add("container", *facts, facts->container);
    for (const Layer& layer : layers_) add("extent", *layer.facts, layer.facts->extent);
    return text;
}

// Pictures are made smaller by the factor of a rehearsal, independently of the simulations.
double RenderStage::coarseness(double) const
{
    constexpr double kPaths = 1e6;
    const double paths = static_cast<double>(params_.width) * params_.height * params_.samples;
    return std::clamp(std::sqrt(paths / kPaths), 2.0, 64.0);
}

std::vector<std::string> RenderStage::coarser(double k) const
{
    const auto pixels = [k](int edge) { return std::max(1, static_cast<int>(std::lround(edge / k))); };
    return {fmt::format("{}={}", param("width"), pixels(params_.width)),
            fmt::format("{}={}", param("height"), pixels(params_.height))};
}

double RenderStage::memory(const Forecast& forecast) const
{
    const auto own = forecast.find(name());
    const auto number = [&](const char* what) { return own == forecast.end() ? 0 : own->second.number(what); };
    double bytes = DrawnScene::kBytesPerPixel * number("pixels");
    for (const Layer& layer : layers_)
        if (const auto found = forecast.find(layer.facts->stage); found != forecast.end())
            bytes += layer.facts->memory(found->second);
    if (!input_.empty()) bytes += DrawnScene::kBytesPerSmokeCell * number("smoke_cells");
    if (params_.shows_velocity()) bytes += DrawnScene::kBytesPerMovingSmokeCell * number("smoke_cells");
    return bytes;
}

// The film's encoder, and two pictures for it in this process.
double RenderStage::memory_of_helpers() const
{
    if (!is_png()) return 0;
    const double pixels = static_cast<double>(params_.width) * params_.height;
    return memory_of_encoder(params_.width, params_.height, shot_.range().count()) +
           DrawnScene::kBytesPerPixel * pixels;
}

// From a few frames of the other program's files.
Box3f RenderStage::extent_of_input()
{
    constexpr int kLooks = 5;
    if (!input_extent_) {
        input_extent_.emplace();
        const FrameRange range = shot_.range();
        std::set<std::string> paths;
        for (int i = 0; i < kLooks; ++i)
            paths.insert(frame_path(input_files_, range.first + (range.count() - 1) * i / (kLooks - 1)));
        for (const std::string& path : paths)
            if (file_exists(path))
                input_extent_->add(input_is_mesh_ ? bounds_of(read_mesh(path))
                                                  : bounds_of(SmokeFrame(path).smoke, params_));
    }
    return *input_extent_;
}

// The same for all frames.
Box3f RenderStage::extent_of_shot()
{
    Box3f extent;
    for (const Layer& layer : layers_)
        if (!layer.facts->extent.empty()) extent.add(layer.facts->extent);
    if (!input_files_.empty()) extent.add(extent_of_input());
    return extent;
}

void RenderStage::draw(int frame, const InputPath& input, DrawnScene& picture) const
{
    const DrawnFrame drawn{frame, input, taken_};
    for (const Layer& layer : layers_) {
        picture.begin_layer(layer.facts->stage, layer.params, layers_.size() == 1);
        layer.facts->draw(drawn, picture);
    }
    if (!input_files_.empty()) {
        picture.begin_layer(kInputLayer, {}, layers_.empty());
        const std::string path = frame_path(input_files_, frame);
        if (input_is_mesh_)
            picture.add_surface(read_mesh(path));
        else
            picture.add_smoke(path);
    }
    if (solids_ == Solids::hidden) return;
    LayerParams solids;
    solids.mode = static_cast<RenderLayer::Mode>(solids_);
    picture.begin_layer(kSolidsLayer, solids, false);
    for (const auto& facts : around_)
        if (!facts->body_meshes.empty()) add_bodies(*facts, input(facts->stage, frame), picture);
    for (const auto& facts : around_) add_colliders(*facts, picture);
}

RenderScene RenderStage::scene_of(DrawnScene& picture)
{
    RenderScene scene = picture.scene();
    scene.extent = extent_of_shot();
    for (const auto& facts : around_)
        if (facts->container) scene.container = facts->container;
    for (const Layer& layer : layers_)
        if (layer.facts->container) scene.container = layer.facts->container;
    if (scene.extent.empty()) scene.extent = picture.bounds(); // all is another program's
    // Smoke without a domain may leave the expected region; the automatic camera then frames the smoke too.
    const bool held = (input_.empty() || input_is_mesh_) &&
                      std::ranges::all_of(layers_, [](const Layer& l) { return l.facts->bounded; });
    if (const Box3f smoke = picture.smoke_bounds(); !held && !smoke.empty()) {
        scene.view = scene.extent;
        scene.view.add(smoke);
    }
    return scene;
}

FrameReport RenderStage::make(int frame, const InputPath& input, const std::vector<std::string>& outputs)
{
    FrameReport report;
    DrawnScene picture(params_, shot_, frame);
    RenderScene scene;
    report.times.measure("read", [&] {
        draw(frame, input, picture);
        scene = scene_of(picture);
    });
    report.numbers = picture.numbers();
    report.numbers.emplace_back("pixels", static_cast<double>(params_.width) * params_.height);
    if (is_png()) {
        Image image;
        report.times.measure("render", [&] { image = render(scene, params_); });
        report.times.measure("write", [&] { write_image(outputs[0], tone_mapped(image, params_)); });
        return report;
    }
    ChannelImage image;
    report.times.measure("render", [&] { image = channels_of(render_picture(scene, params_), scene); });
    report.times.measure("write", [&] { write_image(outputs[0], image); });
    return report;
}

std::vector<std::string> RenderStage::products(const ShotPaths& paths) const
{
    return {contact_sheet_path(paths, name()), film_path(paths, name())};
}

void RenderStage::shot_complete(const std::vector<std::string>& files, const ShotPaths& paths, Progress& progress)
{
    const auto developed = [this](const Image& image) { return is_png() ? image : tone_mapped(image, params_); };
    make_contact_sheet(paths, name(), files, developed, progress);
    if (is_png()) make_film(paths, name(), files, shot_.fps, progress);
}

StageKind render_stage() { return stage_kind<RenderStage>("render", "Preview pictures, a contact sheet and a film."); }

} // namespace spindrift
