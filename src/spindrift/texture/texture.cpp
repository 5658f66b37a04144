#include "spindrift/texture/texture.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/state_error.h"
#include "spindrift/mesh/remesh.h"
#include "spindrift/texture/directions.h"
#include "spindrift/texture/features.h"

#include <Eigen/Geometry>
#include <fmt/format.h>
#include <span>

namespace spindrift {

namespace {

using Mode = TextureParams::Mode;

constexpr size_t kVerticesPerTexture = 1024;
constexpr const char* kColor = "color";
constexpr const char* kPlace = "reference"; // on the first surface, as of tracked surfaces
constexpr const char* kActivator = "morphogen_a";
constexpr const char* kInhibitor = "morphogen_b";
constexpr const char* kDirection = "direction"; // the first axis of the example
constexpr const char* kSeeds = "patch_seeds";   // see Synthesis
constexpr const char* kLabel = "example";       // the number of one
constexpr const char* kParameter = "parameter"; // r of [Narain 2011, (2.8)]
constexpr const char* kRate = "parameter_rate"; // f of Dr/Dt = f(q, r)

// The same type and number of values, all zero.
AttributeArray zeros_like(const AttributeArray& array, size_t count)
{
    return std::visit(
        [count](const auto& values) -> AttributeArray {
            using T = typename std::decay_t<decltype(values)>::value_type;
            if constexpr (std::is_same_v<T, Vec3f>)
                return std::vector<Vec3f>(count, Vec3f::Zero());
            else
                return std::vector<T>(count, T(0));
        },
        array);
}

// Replaces the values of vertices that are new.
void take_fresh(const std::vector<SurfacePoint>& from, const AttributeArray& fresh, AttributeArray& carried)
{
    std::visit(
        [&](auto& values) {
            using Array = std::decay_t<decltype(values)>;
            const Array* given = std::get_if<Array>(&fresh);
            for (size_t i = 0; given && i < from.size(); ++i)
                if (from[i].triangle < 0) values[i] = (*given)[i];
        },
        carried);
}

Morphogens morphogens(const Mesh& mesh)
{
    return {std::get<std::vector<float>>(mesh.attributes.at(kActivator)),
            std::get<std::vector<float>>(mesh.attributes.at(kInhibitor))};
}

// The name of a value some frames before; of this frame for 0.
std::string frames_before(const std::string& name, int frames)
{
    return frames == 0 ? name : fmt::format("{}_{}", name, frames);
}

bool is_own(const std::string& channel, const std::string& name)
{
    return channel == name || channel.starts_with(name + "_");
}

// The components of an attribute.
template <class Array> auto components(Array& values)
{
    using Component = std::conditional_t<std::is_const_v<Array>, const float, float>;
    if (auto* vectors = std::get_if<std::vector<Vec3f>>(&values))
        return std::span<Component>(vectors->front().data(), 3 * vectors->size());
    return std::span<Component>(std::get<std::vector<float>>(values));
}

} // namespace

std::vector<int> TextureParams::patch_sizes() const
{
    constexpr int kLeastEdge = 7;
    std::vector<int> sizes;
    for (int edge = patch; edge >= kLeastEdge && sizes.size() < 3; edge /= 2) sizes.push_back(edge | 1);
    return sizes;
}

Texture::Texture(const TextureParams& params, bool motion, std::vector<ExampleFiles> files)
    : params_(params), motion_(motion), texel_(params.texel)
{
    params_.reaction.spacing = params_.size;
    params_.reaction.seed = params_.seed;
    if (params.mode != Mode::example) return;
    if (!texel_) texel_ = params.size / params.exemplar.feature;
    SynthesisParams synthesis = params.synthesis;
    synthesis.sizes = params.patch_sizes();
    // The frames before a frame of a video say how it goes on.
    synthesis.coherence = params.coherence.value_or(params.history > 0 ? 0.0f : 0.5f);
    ExampleSet examples = example_set(params, std::move(files));
    extra_ = examples.extra;
    synthesis_ = std::make_unique<Synthesis>(std::move(examples), synthesis);
}

// What is carried from frame to frame.
std::vector<std::string> Texture::channels() const
{
    std::vector<std::string> names = params_.carry;
    if (params_.mode == Mode::colors) names.push_back(kColor);
    if (params_.mode == Mode::parameters) names.push_back(kPlace);
    if (params_.mode == Mode::react) names.insert(names.end(), {kActivator, kInhibitor});
    if (params_.mode == Mode::example) {
        names.emplace_back(kSeeds);
        for (int frames = 0; frames <= params_.history; ++frames) {
            names.push_back(frames_before(kColor, frames));
            for (const std::string& name : extra_) names.push_back(frames_before(name, frames));
        }
        if (params_.select == TextureParams::Select::label) names.emplace_back(kLabel);
    }
    if (params_.turns()) names.emplace_back(kDirection);
    if (params_.guided()) names.emplace_back(kParameter);
    return names;
}

Vec3f Texture::pattern_color(const Vec3f& place) const
{
    const float share =
        pattern_at(static_cast<Pattern>(params_.pattern), place / params_.size, static_cast<uint64_t>(params_.seed));
    return params_.color + share * (params_.second_color - params_.color);
}

// The values of a channel where the surface is new; none if it is an attribute that the surface lacks.
std::optional<AttributeArray> Texture::fresh(const std::string& channel, const Mesh& surface) const
{
    const std::vector<Vec3f>& x = surface.positions;
    const auto given = surface.attributes.find(channel);
    if (params_.mode == Mode::parameters && channel == kPlace) return x;
    if (params_.mode == Mode::react && (channel == kActivator || channel == kInhibitor)) {
        std::vector<float> a(x.size()), b(x.size());
        parallel_for(
            x.size(), [&](size_t i) { start_reaction(params_.reaction, x[i], a[i], b[i]); }, kVerticesPerTexture);
        return channel == kActivator ? a : b;
    }
    if (params_.turns() && channel == kDirection) return first_directions(surface);
    if (params_.mode == Mode::example)
        if (auto values = fresh_of_example(channel, surface)) return values;
    if (params_.mode == Mode::colors && channel == kColor && params_.pattern != TextureParams::Start::surface) {
        std::vector<Vec3f> colors(x.size());
        parallel_for(
            x.size(), [&](size_t i) { colors[i] = pattern_color(x[i]); }, kVerticesPerTexture);
        return colors;
    }
    const bool number = given != surface.attributes.end() && std::holds_alternative<std::vector<float>>(given->second);
    if (params_.guided() && channel == kParameter && !number) return std::vector<float>(x.size(), 0);
    if (given != surface.attributes.end()) return given->second;
    if (channel == kColor) return std::vector<Vec3f>(x.size(), params_.color);
    return {};
}

std::optional<AttributeArray> Texture::fresh_of_example(const std::string& channel, const Mesh& surface) const
{
    const size_t count = surface.positions.size();
    const auto given = [&]<class T>(T otherwise) -> AttributeArray {
        const auto found = surface.attributes.find(channel);
        if (found != surface.attributes.end() && std::holds_alternative<std::vector<T>>(found->second))
            return found->second;
        return std::vector<T>(count, otherwise);
    };
    if (channel == kSeeds) return std::vector<int32_t>(count, 0);
    if (is_own(channel, kColor)) return std::vector<Vec3f>(count, params_.color); // any
    if (std::ranges::any_of(extra_, [&](const std::string& name) { return is_own(channel, name); }))
        return std::vector<float>(count, 0);
    if (channel == kLabel) return given(int32_t(0));
    return {};
}

// The surface with a vertex for each texel, and where these are on it.
Mesh Texture::with_texels(const Mesh& surface, std::vector<SurfacePoint>& on_surface) const
{
    constexpr double kMostTexels = 2e7;
    double area = 0;
    for (const Vec3i& t : surface.triangles)
        area += 0.5 * static_cast<double>((surface.positions[t[1]] - surface.positions[t[0]])
                                              .cross(surface.positions[t[2]] - surface.positions[t[0]])
                                              .norm());
    const double texel = static_cast<double>(*texel_);
    if (area > kMostTexels * texel * texel)
        bad_input("{:.3g} texels of {} m on a surface of {:.3g} m2; at most {:.0e} are possible; raise "
                  "texel, or size",
                  area / (texel * texel), *texel_, area, kMostTexels);
    // A triangle with two vertices for each texel: sqrt(3) / 2 edge^2 = texel^2.
    constexpr float kEdge = 1.0746f;
    Remeshed made = remeshed(surface, kEdge * *texel_);
    on_surface.resize(made.triangle.size());
    for (size_t i = 0; i < on_surface.size(); ++i) on_surface[i] = {made.triangle[i], made.weights[i]};
    Mesh mesh = std::move(made.mesh);
    mesh.attributes = carried_attributes(surface, on_surface, {}, {});
    mesh.attributes.erase("origin_triangle"), mesh.attributes.erase("origin_weights");
    if (!surface.velocities.empty()) {
        mesh.velocities.resize(mesh.positions.size());
        for (size_t i = 0; i < on_surface.size(); ++i)
            mesh.velocities[i] = blended(surface.velocities, surface, on_surface[i]);
    }
    return mesh;
}

void Texture::start(Mesh surface)
{
    add_features(surface, {}, 0);
    Mesh mesh;
    if (texel_) {
        std::vector<SurfacePoint> on_surface;
        mesh = with_texels(surface, on_surface);
        strain_of_texels(surface, on_surface);
        surface_ = std::move(surface);
    } else {
        mesh = std::move(surface);
    }
    for (const std::string& channel : channels())
        if (auto values = fresh(channel, mesh)) mesh.attributes[channel] = std::move(*values);
    new_vertices_ = static_cast<int>(mesh.positions.size());
    advected_.assign(mesh.positions.size(), 0);
    mesh_ = std::move(mesh);
    guide({}, {}, 0);
}

void Texture::carry(Mesh surface, float seconds)
{
    std::vector<SurfacePoint> from =
        frame_map(this->surface(), surface, seconds, {params_.map, motion_, params_.reach});
    add_features(surface, from, seconds);
    Mesh before = std::move(mesh_), mesh;
    if (texel_) {
        std::vector<SurfacePoint> on_surface;
        mesh = with_texels(surface, on_surface);
        strain_of_texels(surface, on_surface);
        from = map_of_texels(before, *texel_, surface_, surface, from, on_surface);
        surface_ = std::move(surface);
    } else {
        mesh = std::move(surface);
    }
    const std::vector<std::string> names = channels();
    std::erase_if(before.attributes, [&](const auto& a) { return std::ranges::count(names, a.first) == 0; });
    auto carried = carried_attributes(before, from, {}, {});
    for (const std::string& channel : names) {
        const auto values = fresh(channel, mesh);
        if (!values) continue; // stays zero
        const auto [at, added] = carried.try_emplace(channel, zeros_like(*values, from.size()));
        take_fresh(from, *values, at->second);
    }
    if (params_.mode == Mode::example) shift_history(carried);
    for (auto& [name, values] : carried) mesh.attributes[name] = std::move(values);
    new_vertices_ =
        static_cast<int>(std::ranges::count_if(from, [](const SurfacePoint& at) { return at.triangle < 0; }));
    advected_.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) advected_[i] = from[i].triangle >= 0;
    mesh_ = std::move(mesh);
    guide(before, from, seconds);
}

// What was synthesized one frame ago becomes the first of the values of frames before.
void Texture::shift_history(std::map<std::string, AttributeArray>& carried) const
{
    for (int frames = params_.history; frames > 0; --frames) {
        carried.at(frames_before(kColor, frames)) = carried.at(frames_before(kColor, frames - 1));
        for (const std::string& name : extra_)
            carried.at(frames_before(name, frames)) = carried.at(frames_before(name, frames - 1));
    }
}

void Texture::restore(Mesh mesh, Mesh surface)
{
    const std::vector<std::string> names = channels();
    for (size_t i = params_.carry.size(); i < names.size(); ++i) { // an expression may have made the others or not
        const std::string& channel = names[i];
        const auto found = mesh.attributes.find(channel);
        const bool vector = is_own(channel, kColor) || channel == kPlace || channel == kDirection;
        const size_t type = vector ? 2 : channel == kSeeds || channel == kLabel ? 1 : 0; // in AttributeArray
        if (found == mesh.attributes.end() || found->second.index() != type)
            bad_state("a texture has no \"{}\"", channel);
    }
    mesh_ = std::move(mesh), surface_ = std::move(surface);
}

// Features are those of the surface as it was given; texels interpolate them.
void Texture::add_features(Mesh& surface, const std::vector<SurfacePoint>& from, float seconds)
{
    if (params_.turns() && surface.normals.empty()) compute_normals(surface);
    if (!params_.needs_features()) return;
    constexpr float kNearWalls = 0.75f; // [edges]
    std::vector<Vec3f> velocities = surface.velocities;
    if (velocities.empty() && !from.empty()) {
        velocities.assign(from.size(), Vec3f::Zero());
        for (size_t i = 0; i < from.size(); ++i)
            if (from[i].triangle >= 0)
                velocities[i] =
                    (surface.positions[i] - blended(this->surface().positions, this->surface(), from[i])) / seconds;
    }
    std::vector<uint8_t> on_walls;
    if (walls_) {
        const float near = kNearWalls * static_cast<float>(mean_edge(surface));
        on_walls.resize(surface.positions.size());
        parallel_for(
            on_walls.size(), [&](size_t i) { on_walls[i] = walls_(surface.positions[i]) < near; }, kVerticesPerTexture);
    }
    FlowFeatures features = flow_features(surface, velocities, params_.feature_smoothing, on_walls);
    if (params_.orientation > 0) strain_ = std::move(features.strain);
    add_attributes(std::move(features), surface);
}

void Texture::strain_of_texels(const Mesh& surface, const std::vector<SurfacePoint>& on_surface)
{
    if (strain_.empty()) return;
    std::vector<Mat3f> strain(on_surface.size());
    for (size_t i = 0; i < strain.size(); ++i) {
        const Vec3i& t = surface.triangles[on_surface[i].triangle];
        const Vec3f& w = on_surface[i].weights;
        strain[i] = w[0] * strain_[t[0]] + w[1] * strain_[t[1]] + w[2] * strain_[t[2]];
    }
    strain_ = std::move(strain);
}

// Lets the flow change what has been carried: directions and the parameter.
void Texture::guide(const Mesh& before, const std::vector<SurfacePoint>& from, float seconds)
{
    const bool first = from.empty();
    if (params_.turns()) {
        auto& directions = std::get<std::vector<Vec3f>>(mesh_.attributes.at(kDirection));
        if (!first) turn_directions(before, mesh_, from, directions);
        if (!strain_.empty() && !first)
            turn_to_stretching(mesh_.normals, strain_, params_.orientation, seconds, directions);
    }
    if (!params_.guided()) return;
    auto& parameter = std::get<std::vector<float>>(mesh_.attributes.at(kParameter));
    if (!first)
        keep_total(before, std::get<std::vector<float>>(before.attributes.at(kParameter)), mesh_, from, parameter);
    if (params_.foams())
        change_foam(params_.foam, std::get<std::vector<float>>(mesh_.attributes.at(kCurvature)), seconds, parameter);
}

void Texture::change_parameter(float seconds)
{
    const auto found = mesh_.attributes.find(kRate);
    if (!params_.guided() || found == mesh_.attributes.end()) return;
    const auto* rate = std::get_if<std::vector<float>>(&found->second);
    if (!rate) bad_input("the attribute \"{}\" must be a float", kRate);
    auto& parameter = std::get<std::vector<float>>(mesh_.attributes.at(kParameter));
    for (size_t i = 0; i < parameter.size(); ++i) parameter[i] += seconds * (*rate)[i];
}

void Texture::show_guide()
{
    const auto& guide = std::get<std::vector<float>>(mesh_.attributes.at(kParameter));
    std::vector<Vec3f> colors(guide.size());
    for (size_t i = 0; i < colors.size(); ++i)
        colors[i] = params_.color + clamp01(guide[i]) * (params_.second_color - params_.color);
    mesh_.attributes[kColor] = std::move(colors);
}

ReactionFields Texture::fields(const Mesh& mesh) const
{
    const auto field = [&](const char* name) -> const std::vector<float>* {
        const auto found = mesh.attributes.find(name);
        return found == mesh.attributes.end() ? nullptr : std::get_if<std::vector<float>>(&found->second);
    };
    if (params_.reaction.system == ReactionParams::System::spots)
        return {.p1 = field("p1"),
                .p2 = field("p2"),
                .p3 = field("p3"),
                .substrate = field("substrate"),
                .spacing = field("size")};
    return {.feed = field("feed"), .kill = field("kill"), .spacing = field("size")};
}

// A pattern takes many steps to grow. On surface that is new it does so at once, next to the pattern of the surface
// around, which is held meanwhile.
void Texture::react_on_new_surface()
{
    std::vector<uint8_t> taken(mesh_.positions.size(), 0), held;
    for (const Vec3i& t : mesh_.triangles)
        if (std::ranges::any_of(t, [&](int i) { return !advected_[i]; }))
            for (const int i : t) taken[i] = 1;
    Mesh part = mesh_;
    keep_vertices(part, taken);
    for (size_t i = 0; i < taken.size(); ++i)
        if (taken[i]) held.push_back(advected_[i]);
    Morphogens values = morphogens(part);
    ReactionFields local = fields(part);
    if (std::ranges::count(held, 1) > 0) local.held = &held;
    reaction_ = react(part, params_.reaction, local, params_.start_steps, values);
    auto &a = std::get<std::vector<float>>(mesh_.attributes.at(kActivator)),
         &b = std::get<std::vector<float>>(mesh_.attributes.at(kInhibitor));
    for (size_t i = 0, k = 0; i < taken.size(); ++i)
        if (taken[i]) a[i] = values.a[k], b[i] = values.b[k], ++k;
}

void Texture::react_on_surface()
{
    int unconverged = 0; // on new surface
    if (new_vertices_ > 0) react_on_new_surface(), unconverged = reaction_.unconverged;
    Morphogens values = morphogens(mesh_);
    if (static_cast<size_t>(new_vertices_) < values.a.size()) {
        reaction_ = react(mesh_, params_.reaction, fields(mesh_), params_.steps, values);
        reaction_.unconverged += unconverged;
    }
    std::vector<Vec3f> colors(mesh_.positions.size());
    parallel_for(
        colors.size(),
        [&](size_t i) {
            const float share = spot_share(params_.reaction, values.a[i], values.b[i]);
            colors[i] = params_.color + share * (params_.second_color - params_.color);
        },
        kVerticesPerTexture);
    mesh_.attributes[kActivator] = std::move(values.a), mesh_.attributes[kInhibitor] = std::move(values.b);
    mesh_.attributes[kColor] = std::move(colors);
}

// The names of what texels hold of some frames, this one or before, one after the other.
std::vector<std::string> Texture::texel_names(int first_frame, int last_frame) const
{
    std::vector<std::string> names;
    for (int frames = first_frame; frames <= last_frame; ++frames) {
        names.push_back(frames_before(kColor, frames));
        for (const std::string& name : extra_) names.push_back(frames_before(name, frames));
    }
    return names;
}

// Copies attributes of all vertices to texels side by side.
void Texture::gather(const std::vector<std::string>& names, int stride, std::vector<float>& texels) const
{
    int offset = 0;
    for (const std::string& name : names) {
        const std::span<const float> values = components(mesh_.attributes.at(name));
        const auto each = static_cast<int>(values.size() / mesh_.positions.size());
        parallel_for(
            mesh_.positions.size(),
            [&](size_t i) {
                for (int c = 0; c < each; ++c) texels[i * stride + offset + c] = values[i * each + c];
            },
            kVerticesPerTexture);
        offset += each;
    }
}

// The reverse.
void Texture::scatter(const std::vector<std::string>& names, int stride, const std::vector<float>& texels)
{
    int offset = 0;
    for (const std::string& name : names) {
        const std::span<float> values = components(mesh_.attributes.at(name));
        const auto each = static_cast<int>(values.size() / mesh_.positions.size());
        parallel_for(
            mesh_.positions.size(),
            [&](size_t i) {
                for (int c = 0; c < each; ++c) values[i * each + c] = texels[i * stride + offset + c];
            },
            kVerticesPerTexture);
        offset += each;
    }
}

void Texture::synthesize_example()
{
    const size_t count = mesh_.positions.size();
    if (count == 0) return;
    const TexelLayout& layout = synthesis_->layout();
    const int rest = layout.stride() - layout.channels;
    std::vector<float> values(count * layout.channels);
    SynthesisFrame frame{.mesh = mesh_,
                         .directions = std::get<std::vector<Vec3f>>(mesh_.attributes.at(kDirection)),
                         .texel = *texel_,
                         .seed = static_cast<uint64_t>(params_.seed),
                         .advected = advected_,
                         .rest = std::vector<float>(count * rest)};
    const std::vector<std::string> now = texel_names(0, 0), earlier = texel_names(1, layout.history);
    std::vector<std::string> others = earlier;
    if (layout.guided) others.emplace_back(kParameter);
    gather(now, layout.channels, values), gather(others, rest, frame.rest);
    // Among examples that patches choose by their looks, objects of the first frame may say where they begin.
    const auto given = mesh_.attributes.find(kLabel);
    const bool all_new = static_cast<size_t>(new_vertices_) == count;
    const bool begins = params_.select == TextureParams::Select::any && all_new && given != mesh_.attributes.end() &&
                        std::holds_alternative<std::vector<int32_t>>(given->second);
    if (begins || params_.select == TextureParams::Select::label) frame.labels = labels();
    auto& seeds = std::get<std::vector<int32_t>>(mesh_.attributes.at(kSeeds));
    synthesis_->run(frame, seeds, values);
    scatter(now, layout.channels, values), scatter(earlier, rest, frame.rest);
}

// Numbers of examples from 1 on; those that do not exist become the nearest that does.
std::vector<int32_t> Texture::labels() const
{
    std::vector<int32_t> labels = std::get<std::vector<int32_t>>(mesh_.attributes.at(kLabel));
    const auto last = static_cast<int32_t>(params_.all_examples().size()) - 1;
    for (int32_t& label : labels) label = std::clamp(label - 1, 0, last);
    return labels;
}

void Texture::synthesize()
{
    if (params_.mode == Mode::example) return synthesize_example();
    if (params_.mode == Mode::react) return react_on_surface();
    if (params_.mode == Mode::guide) return show_guide();
    if (params_.mode == Mode::colors) return; // they are what is carried
    const auto& places = std::get<std::vector<Vec3f>>(mesh_.attributes.at(kPlace));
    std::vector<Vec3f> colors(places.size());
    parallel_for(
        places.size(), [&](size_t i) { colors[i] = pattern_color(places[i]); }, kVerticesPerTexture);
    mesh_.attributes[kColor] = std::move(colors);
}

} // namespace spindrift
