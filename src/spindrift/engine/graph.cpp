#include "spindrift/engine/graph.h"

#include "spindrift/base/error.h"
#include "spindrift/base/printable.h"

#include <algorithm>
#include <cctype>
#include <fmt/ranges.h>
#include <new>

namespace spindrift {

namespace {

// The name becomes a folder, a prefix of --set and part of channel names.
bool usable_name(const std::string& name)
{
    return !name.empty() && name.size() <= 64 &&
           std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

std::string quoted_list(const std::vector<std::string>& names)
{
    return fmt::format("\"{}\"", fmt::join(names, "\", \""));
}

std::vector<std::string> names_of(const std::vector<const ShotGraph::Node*>& nodes)
{
    std::vector<std::string> names;
    for (const ShotGraph::Node* node : nodes) names.push_back(node->stage->name());
    return names;
}

} // namespace

void visit_stage(Stage& stage, ParamVisitor& v)
{
    std::string kind = stage.kind();
    v("kind", kind, "The kind of stage, if it differs from the table's name: [skin] with kind = \"surface\".");
    stage.visit(v);
}

std::vector<std::string> ShotGraph::Node::read() const
{
    std::vector<std::string> stages;
    for (const Input& input : inputs)
        if (input.frames && std::ranges::count(stages, input.stage) == 0) stages.push_back(input.stage);
    return stages;
}

ShotGraph::ShotGraph(const SceneFile& scene, const StageKinds& kinds, const std::vector<std::string>& also)
    : scene_(scene), kinds_(kinds)
{
    add_stages();
    for (const std::string& kind : also)
        if (const StageKind* known = kind_named(kind); known && known->needs_no_table && of_kind(kind).empty())
            add_stage(*known, kind, false);
    for (const StageKind& kind : kinds_)
        for (size_t i = 0; i < nodes_.size(); ++i) // find_inputs() may append stages
            if (nodes_[i].stage->kind() == kind.name && nodes_[i].inputs.empty()) find_inputs(nodes_[i].stage->name());
    sort();
}

const StageKind* ShotGraph::kind_named(const std::string& name) const
{
    const auto found = std::ranges::find(kinds_, name, &StageKind::name);
    return found == kinds_.end() ? nullptr : &*found;
}

const ShotGraph::Node* ShotGraph::find(const std::string& name) const
{
    const auto found = std::ranges::find_if(nodes_, [&](const Node& node) { return node.stage->name() == name; });
    return found == nodes_.end() ? nullptr : &*found;
}

std::vector<const ShotGraph::Node*> ShotGraph::of_kind(const std::string& kind) const
{
    std::vector<const Node*> found;
    for (const Node& node : nodes_)
        if (node.stage->kind() == kind) found.push_back(&node);
    return found;
}

void ShotGraph::add_stages()
{
    std::vector<std::string> known = {"shot"};
    for (const StageKind& kind : kinds_) known.push_back(kind.name);
    for (const std::string& table : scene_.tables()) {
        if (table == "shot") continue;
        const std::string given = scene_.text(table, "kind");
        const StageKind* kind = kind_named(given.empty() ? table : given);
        if (!kind && given.empty())
            bad_input("{}: unknown table [{}]{}; a table with another name needs a kind, such as kind = \"surface\"",
                      scene_.where_named(table), shortened(table), did_you_mean(table, known, "valid tables"));
        if (!kind)
            bad_input("{}: {}.kind is \"{}\", which is not a kind of stage{}", scene_.where(table + ".kind"), table,
                      shortened(given), did_you_mean(given, {known.begin() + 1, known.end()}, "there are"));
        if (kind_named(table) && table != kind->name)
            bad_input("{}: [{}] cannot be of the kind \"{}\", because its name is that of another kind; rename it",
                      scene_.where(table + ".kind"), table, kind->name);
        if (!usable_name(table))
            bad_input("{}: '{}' is not a name for a stage; use letters, digits, - and _", scene_.where_named(table),
                      shortened(table));
        add_stage(*kind, table, true);
    }
}

void ShotGraph::add_stage(const StageKind& kind, const std::string& name, bool in_scene)
{
    Node& node = nodes_.emplace_back(Node{kind.make({name, kind.name}), in_scene, {}});
    scene_.read(name, [&](ParamVisitor& v) { visit_stage(*node.stage, v); });
}

// The stages that a port reads if the scene does not name any.
std::vector<std::string> ShotGraph::unnamed(const Node& node, const Port& port)
{
    std::vector<std::string> all;
    if (port.unnamed == Port::Unnamed::none) return all;
    for (const std::string& kind : port.kinds) {
        const std::vector<std::string> names = names_of(of_kind(kind));
        all.insert(all.end(), names.begin(), names.end());
        if (port.unnamed == Port::Unnamed::all || all.empty()) continue;
        if (all.size() > 1)
            bad_input("{}: [{}] may read {}; say which, as in {} = \"{}\"", scene_.where(node.stage->name()),
                      node.stage->name(), quoted_list(all), port.name, all.front());
        return all;
    }
    if (!all.empty() || port.unnamed == Port::Unnamed::all) return all;
    // A kind that needs no table is added if all its inputs exist.
    for (const std::string& name : port.kinds) {
        const StageKind* kind = kind_named(name);
        if (!kind || !kind->needs_no_table) continue;
        const std::vector<Port> ports = kind->make({name, name})->ports(*this);
        const bool has_inputs = std::ranges::all_of(ports, [&](const Port& p) {
            return p.optional || std::ranges::any_of(p.kinds, [&](const auto& k) { return !of_kind(k).empty(); });
        });
        if (has_inputs) return {name};
    }
    return all;
}

// Checks that a port may read the stage `name`, which exists or is of a kind that needs no table. Throws bad_input
// otherwise.
void ShotGraph::expect_readable(const Node& node, const Port& port, const std::string& name,
                                const std::string& param_name) const
{
    const std::string param = node.stage->param(param_name), where = scene_.where(param);
    const Node* found = find(name);
    const StageKind* kind = found ? kind_named(found->stage->kind()) : kind_named(name);
    if (!kind || (!found && !kind->needs_no_table)) {
        std::vector<std::string> known;
        for (const Node& other : nodes_)
            if (std::ranges::count(port.kinds, other.stage->kind()) > 0) known.push_back(other.stage->name());
        bad_input("{}: {} is \"{}\", but the scene has no such stage{}{}", where, param, shortened(name),
                  did_you_mean(name, known, "it may be one of"),
                  known.empty() && !port.missing.empty() ? "; " + port.missing : "");
    }
    if (std::ranges::count(port.kinds, kind->name) == 0)
        bad_input("{}: {} is \"{}\", a stage of the kind \"{}\"; it must be of the kind {}", where, param, name,
                  kind->name, quoted_list(port.kinds));
}

void ShotGraph::find_inputs(const std::string& name)
{
    const auto node = [&]() -> Node& { return const_cast<Node&>(*find(name)); }; // adding stages moves the nodes
    for (const Port& port : node().stage->ports(*this)) {
        std::vector<std::string> stages = port.stages.empty() ? unnamed(node(), port) : port.stages;
        std::erase(stages, port.stages.empty() ? name : "");
        if (stages.empty() && !port.optional)
            bad_input("{}: {}", scene_.where(name), port.missing.empty() ? "reads nothing" : port.missing);
        if (stages.size() > 1 && !port.many)
            bad_input("{}: {} names {} stages, and only one can be read", scene_.where(node().stage->param(port.name)),
                      node().stage->param(port.name), stages.size());
        for (size_t i = 0; i < stages.size(); ++i) {
            const std::string& stage = stages[i];
            expect_readable(node(), port, stage, port.param(i));
            if (const std::string param = node().stage->param(port.param(i));
                std::ranges::count(stages.begin(), stages.begin() + static_cast<long>(i), stage) > 0)
                bad_input("{}: {} names \"{}\" a second time; name each stage once", scene_.where(param), param, stage);
            if (!find(stage)) {
                add_stage(*kind_named(stage), stage, false);
                find_inputs(stage);
            }
            node().inputs.push_back({port.name, stage, port.frames});
        }
    }
}

void ShotGraph::sort()
{
    const auto rank = [&](const Node& node) {
        return std::pair(kind_named(node.stage->kind()) - kinds_.data(), node.stage->name());
    };
    std::ranges::sort(nodes_, {}, rank);
    std::vector<Node> sorted;
    while (!nodes_.empty()) {
        const auto is_waiting = [&](const Input& input) {
            return std::ranges::any_of(nodes_, [&](const Node& n) { return n.stage->name() == input.stage; });
        };
        const auto next = std::ranges::find_if(
            nodes_, [&](const Node& node) { return std::ranges::none_of(node.inputs, is_waiting); });
        if (next == nodes_.end()) { // every remaining stage waits for another: follow the inputs until a stage repeats
            std::vector<std::string> way = {nodes_.front().stage->name()};
            const Input* last = nullptr;
            while (std::ranges::count(way, way.back()) < 2) {
                last = &*std::ranges::find_if(find(way.back())->inputs, is_waiting);
                way.push_back(last->stage);
            }
            way.erase(way.begin(), std::ranges::find(way, way.back()));
            bad_input("{}: stages read each other in a cycle: {}", scene_.where(way[way.size() - 2] + "." + last->port),
                      fmt::join(way, " reads "));
        }
        sorted.push_back(std::move(*next));
        nodes_.erase(next);
    }
    nodes_ = std::move(sorted);
}

void ShotGraph::prepare(const ShotParams& shot)
{
    std::map<std::string, StageView> views;
    for (const Node& node : nodes_) {
        std::map<std::string, std::vector<StageView>> ports;
        for (const Input& input : node.inputs) ports[input.port].push_back(views.at(input.stage));
        Inputs inputs;
        for (auto& [port, stages] : ports) inputs.add(port, std::move(stages));
        Stage& stage = *node.stage;
        try {
            stage.prepare({scene_, shot, inputs});
        } catch (const std::bad_alloc&) {
            fail("{}: out of memory while {} was prepared; its input is too large for this machine",
                 scene_.where(stage.name()), stage.name());
        }
        views[stage.name()] = {stage.name(), stage.kind(), stage.facts()};
    }
}

std::string ShotGraph::text() const
{
    std::string lines;
    for (const Node& node : nodes_) {
        const Stage& stage = *node.stage;
        lines += stage.name() == stage.kind() ? stage.name() : fmt::format("{} ({})", stage.name(), stage.kind());
        std::vector<std::string> inputs;
        for (const Input& input : node.inputs)
            inputs.push_back(input.frames ? fmt::format("{}: {}", input.port, input.stage)
                                          : fmt::format("{}: {} (no frames)", input.port, input.stage));
        if (!inputs.empty()) lines += fmt::format(" <- {}", fmt::join(inputs, ", "));
        if (!stage.input_files().empty()) lines += fmt::format(" <- files {}", stage.input_files());
        lines += "\n";
    }
    return lines;
}

// Draws columns from left to right; each stage is one column to the right of its rightmost input.
std::string ShotGraph::svg() const
{
    constexpr int kWidth = 150, kHeight = 44, kGap = 70, kRow = 64, kMargin = 20;
    std::map<std::string, std::pair<int, int>> place; // column, row
    std::map<int, int> rows;
    for (const Node& node : nodes_) {
        int column = 0;
        for (const Input& input : node.inputs) column = std::max(column, place[input.stage].first + 1);
        place[node.stage->name()] = {column, rows[column]++};
    }
    int most = 1;
    for (const auto& [column, count] : rows) most = std::max(most, count);
    const auto x = [&](const std::string& name) { return kMargin + place[name].first * (kWidth + kGap); };
    const auto y = [&](const std::string& name) {
        const auto [column, row] = place[name];
        return kMargin + row * kRow + (most - rows[column]) * kRow / 2;
    };
    std::string shapes;
    for (const Node& node : nodes_)
        for (const Input& input : node.inputs) {
            const int x0 = x(input.stage) + kWidth, y0 = y(input.stage) + kHeight / 2;
            const int x1 = x(node.stage->name()), y1 = y(node.stage->name()) + kHeight / 2, half = (x1 - x0) / 2;
            shapes += fmt::format("<path d=\"M{} {} C{} {} {} {} {} {}\" fill=\"none\" stroke=\"#668\" "
                                  "stroke-width=\"1.5\"{} marker-end=\"url(#arrow)\"><title>{}</title></path>\n",
                                  x0, y0, x0 + half, y0, x1 - half, y1, x1, y1,
                                  input.frames ? "" : " stroke-dasharray=\"4 3\"", input.port);
        }
    for (const Node& node : nodes_) {
        const std::string& name = node.stage->name();
        shapes +=
            fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{}\" "
                        "stroke=\"#446\"/>\n<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n<text x=\"{}\" "
                        "y=\"{}\" fill=\"#556\">{}</text>\n",
                        x(name), y(name), kWidth, kHeight, node.in_scene ? "#eef3fa" : "#ffffff", x(name) + kWidth / 2,
                        y(name) + 19, name, x(name) + kWidth / 2, y(name) + 35, node.stage->kind());
    }
    const int columns = rows.empty() ? 1 : rows.rbegin()->first + 1;
    const int width = 2 * kMargin + columns * kWidth + (columns - 1) * kGap;
    const int height = 2 * kMargin + (most - 1) * kRow + kHeight;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" "
        "font-family=\"sans-serif\" font-size=\"13\" text-anchor=\"middle\">\n<defs><marker id=\"arrow\" "
        "viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
        "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#668\"/></marker></defs>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
        width, height, width, height, shapes);
}

} // namespace spindrift
