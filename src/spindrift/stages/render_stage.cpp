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

std::vector<Port> RenderStage::ports(const ShotGraph& graph) const
{
    Port show{"show", {}, shown_stages(graph), Port::Unnamed::none};
    show.many = true, show.optional = !input_.empty();
    show.missing = fmt::format("there is nothing to draw; add a table such as [liquid], or name the files of another "
                               "program as {}",
                               param("input"));
    for (const StageKind& kind : graph.kinds())
        if (kind.make({kind.name, kind.name})->drawable()) show.kinds.push_back(kind.name);

    // Solids of all stages of the shot. Only bodies have files for each frame.
    Port solids{"solids", show.kinds, {}, Port::Unnamed::none, /*many=*/true, /*optional=*/true, {}, false};
    Port bodies{"bodies", show.kinds, {}, Port::Unnamed::none, true, true, {}, true};
    for (const StageKind& kind : graph.kinds())
        for (const ShotGraph::Node* node : graph.of_kind(kind.name))
            if (node->stage->drawable() && node->stage->stands_for().empty())
                (has_bodies(*node->stage) ? bodies : solids).stages.push_back(node->stage->name());

    std::vector<Port> ports = {show, solids, bodies};
    Port handover{"handover", {"spray"}, {}, Port::Unnamed::none, true, true, {}, true};
    for (const std::string& name : show.stages)
        for (const std::string& spray : handover_port(graph, name).stages)
            if (std::ranges::count(handover.stages, spray) == 0) handover.stages.push_back(spray);
    ports.push_back(handover);
    return ports;
}

const LayerParams& RenderStage::layer_of(const std::string& stage) const
{
    static const LayerParams plain;
    const auto found = std::ranges::find(layer_params_, stage, &LayerParams::of);
    return found == layer_params_.end() ? plain : *found;
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

// Colliders are drawn whether or not the frames of their stage are read.
std::string RenderStage::dependencies() const
{
    std::string text;
    for (const auto& facts : around_) text += facts->collider_text;
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
        picture.begin_layer("input", {}, layers_.empty());
        const std::string path = frame_path(input_files_, frame);
        if (input_is_mesh_)
            picture.add_surface(read_mesh(path));
        else
            picture.add_smoke(path);
    }
    if (solids_ == Solids::hidden) return;
    LayerParams solids;
    solids.mode = static_cast<RenderLayer::Mode>(solids_);
    picture.begin_layer("solids", solids, false);
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
