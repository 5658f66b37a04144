#include "spindrift/texture/texture.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/state_error.h"
#include "spindrift/mesh/remesh.h"
#include "spindrift/texture/directions.h"
#include "spindrift/texture/features.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

using Mode = TextureParams::Mode;

constexpr size_t kVerticesPerTexture = 1024;
constexpr const char* kColor = "color";
constexpr const char* kPlace = "reference"; // on the first surface, as of tracked surfaces
constexpr const char* kActivator = "morphogen_a";
constexpr const char* kInhibitor = "morphogen_b";
constexpr const char* kDirection = "direction"; // the first axis of the example
constexpr const char* kParameter = "parameter"; // that guides the texture
constexpr const char* kSeeds = "patch_seeds";   // see Synthesis

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

void check_exemplar(const Exemplar& exemplar, int patch)
{
    if (std::min(exemplar.width, exemplar.height) < patch + 2)
        bad_input(
            "the example has {} x {} pixels, but a patch of {} must fit with room to move; use a larger picture, or "
            "lower `patch`",
            exemplar.width, exemplar.height, patch);
    Vec3f least = exemplar.pixels.front(), most = least;
    for (const Vec3f& c : exemplar.pixels) {
        if (!c.allFinite()) bad_input("the example has pixels that are not finite");
        least = least.cwiseMin(c), most = most.cwiseMax(c);
    }
    if ((most - least).maxCoeff() < 1e-4f) bad_input("the example has the same colour everywhere");
}

} // namespace

std::vector<int> TextureParams::patch_sizes() const
{
    constexpr int kLeastEdge = 7;
    std::vector<int> sizes;
    for (int edge = patch; edge >= kLeastEdge && sizes.size() < 3; edge /= 2) sizes.push_back(edge | 1);
    return sizes;
}

Texture::Texture(const TextureParams& params, bool motion, std::optional<Exemplar> exemplar)
    : params_(params), motion_(motion), texel_(params.texel)
{
    params_.reaction.spacing = params_.size;
    params_.reaction.seed = params_.seed;
    if (params.mode != Mode::example) return;
    if (!texel_) texel_ = params.size / params.exemplar.feature;
    ExemplarParams made = params.exemplar;
    made.color = params.color, made.second_color = params.second_color, made.seed = params.seed;
    Exemplar example = exemplar ? std::move(*exemplar) : make_exemplar(made);
    SynthesisParams synthesis = params.synthesis;
    synthesis.sizes = params.patch_sizes();
    check_exemplar(example, synthesis.sizes.front());
    synthesis_ = std::make_unique<Synthesis>(std::move(example), synthesis);
}

// What is carried from frame to frame.
std::vector<std::string> Texture::channels() const
{
    std::vector<std::string> names = params_.carry;
    if (params_.mode == Mode::colors) names.push_back(kColor);
    if (params_.mode == Mode::parameters) names.push_back(kPlace);
    if (params_.mode == Mode::react) names.insert(names.end(), {kActivator, kInhibitor});
    if (params_.mode == Mode::example) names.insert(names.end(), {kColor, kSeeds});
    if (params_.turns()) names.push_back(kDirection);
    if (params_.guided()) names.push_back(kParameter);
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
    if (params_.mode == Mode::example && channel == kSeeds) return std::vector<int32_t>(x.size(), 0);
    if (params_.mode == Mode::example && channel == kColor) return std::vector<Vec3f>(x.size(), params_.color); // any
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
    first_ = true;
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
    for (auto& [name, values] : carried) mesh.attributes[name] = std::move(values);
    new_vertices_ =
        static_cast<int>(std::ranges::count_if(from, [](const SurfacePoint& at) { return at.triangle < 0; }));
    advected_.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) advected_[i] = from[i].triangle >= 0;
    mesh_ = std::move(mesh);
    guide(before, from, seconds);
    first_ = false;
}

void Texture::restore(Mesh mesh, Mesh surface)
{
    const std::vector<std::string> names = channels();
    for (size_t i = params_.carry.size(); i < names.size(); ++i) { // an expression may have made the others or not
        const std::string& channel = names[i];
        const auto found = mesh.attributes.find(channel);
        const bool vector = channel == kColor || channel == kPlace || channel == kDirection;
        const size_t type = vector ? 2 : channel == kSeeds ? 1 : 0; // in AttributeArray
        if (found == mesh.attributes.end() || found->second.index() != type)
            bad_state("a texture has no \"{}\"", channel);
    }
    mesh_ = std::move(mesh), surface_ = std::move(surface);
    first_ = false;
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
    if (params_.rule != TextureParams::Rule::foam) return;
    auto& foam = std::get<std::vector<float>>(mesh_.attributes.at(kParameter));
    if (!first) keep_total(before, std::get<std::vector<float>>(before.attributes.at(kParameter)), mesh_, from, foam);
    change_foam(params_.foam, std::get<std::vector<float>>(mesh_.attributes.at(kCurvature)), seconds, foam);
}

void Texture::show_guide()
{
    const auto& guide = std::get<std::vector<float>>(mesh_.attributes.at(kParameter));
    std::vector<Vec3f> colors(guide.size());
    for (size_t i = 0; i < colors.size(); ++i)
        colors[i] = params_.color + clamp01(guide[i]) * (params_.second_color - params_.color);
    mesh_.attributes[kColor] = std::move(colors);
}

ReactionFields Texture::fields() const
{
    const auto field = [&](const char* name) -> const std::vector<float>* {
        const auto found = mesh_.attributes.find(name);
        return found == mesh_.attributes.end() ? nullptr : std::get_if<std::vector<float>>(&found->second);
    };
    if (params_.reaction.system == ReactionParams::System::spots)
        return {.p1 = field("p1"),
                .p2 = field("p2"),
                .p3 = field("p3"),
                .substrate = field("substrate"),
                .spacing = field("size")};
    return {.feed = field("feed"), .kill = field("kill"), .spacing = field("size")};
}

void Texture::react_on_surface()
{
    Morphogens values = {std::get<std::vector<float>>(mesh_.attributes.at(kActivator)),
                         std::get<std::vector<float>>(mesh_.attributes.at(kInhibitor))};
    iterations_ = react(mesh_, params_.reaction, fields(), first_ ? params_.start_steps : params_.steps, values);
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

void Texture::synthesize_example()
{
    auto colors = std::get<std::vector<Vec3f>>(mesh_.attributes.at(kColor));
    const auto& directions = std::get<std::vector<Vec3f>>(mesh_.attributes.at(kDirection));
    auto& seeds = std::get<std::vector<int32_t>>(mesh_.attributes.at(kSeeds));
    synthesis_->run(mesh_, directions, *texel_, static_cast<uint64_t>(params_.seed), advected_, seeds, colors);
    mesh_.attributes[kColor] = std::move(colors);
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
