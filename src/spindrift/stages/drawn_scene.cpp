#include "spindrift/stages/drawn_scene.h"

#include "spindrift/base/error.h"
#include "spindrift/render/marker_shadows.h"
#include "spindrift/render/sky.h"

#include <algorithm>
#include <cctype>

namespace spindrift {

void LayerParams::visit(ParamVisitor& v)
{
    v("of", of, "The stage whose frames are drawn.");
    v("mode", mode, choices("shown", "matte", "holdout"),
      "shown: drawn with its look. matte: flat white, without shading. holdout: hides what is behind it, with "
      "colour and alpha 0.");
    v("look", look, choices("as_picture", "water", "paint"),
      "Look of a surface or of droplets. as_picture: `look` or `spray_look` of the render.");
    v("color", color, unit::none, between(0, 1),
      "Colour of paint, particles or smoke; of water, that of white light after its depth. Default: that of the "
      "render, or of the stage.");
    v("color_by", color_by,
      "Colour particles by an attribute: \"speed\", \"id\", or any other; before `color`. Default: `color_by` of the "
      "render.");
}

namespace {

std::vector<std::string> optional_grids(bool velocity)
{
    std::vector<std::string> names = {"temperature", "Cd"};
    if (velocity) names.emplace_back("vel");
    return names;
}

// Replaces velocities on the lower faces of cells by those at the centres. Cells beside the last tile take zero for the
// missing face, which is where smoke and velocity end.
void move_to_centers(FieldFileOf<Vec3f>& file)
{
    const Topology& topology = *file.topology;
    Field<Vec3f> centers(topology, Vec3f::Zero());
    for_each_tile(topology, [&](int t) {
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = topology.first_cell(t) + cell_in_tile(c);
            for (int a = 0; a < 3; ++a)
                centers.tile(t)[c][a] = 0.5f * (file.field.tile(t)[c][a] + file.field.at(cell + Vec3i::Unit(a))[a]);
        }
    });
    file.field = std::move(centers);
    file.staggered = false;
}

} // namespace

SmokeFrame::SmokeFrame(const std::string& path, bool velocity)
    : fields(read_fields(path, {"density"}, optional_grids(velocity)))
{
    if (const auto found = fields.vectors.find("vel"); found != fields.vectors.end() && found->second.staggered)
        move_to_centers(found->second);
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
    place(fields.vectors, "vel", smoke.velocity);
    if (!smoke.density.field) fail("grid \"density\" of {} holds vectors, not one number per cell", path);
}

std::string layer_channel(const std::string& stage)
{
    std::string channel = stage;
    for (char& c : channel)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    if (channel.empty() || !std::isalpha(static_cast<unsigned char>(channel.front()))) channel = "layer_" + channel;
    return channel;
}

DrawnScene::DrawnScene(const RenderParams& params, const ShotParams& shot, int frame)
    : params_(params), frame_(frame), fps_(shot.fps)
{
}

std::vector<float> DrawnScene::moments(int count) const
{
    if (params_.camera.shutter == 0 || count < 2) return {0};
    std::vector<float> moments;
    for (int i = 0; i < count; ++i)
        moments.push_back((static_cast<float>(i) / static_cast<float>(count - 1) - 0.5f) * params_.camera.shutter /
                          360);
    return moments;
}

void DrawnScene::begin_layer(const std::string& name, const LayerParams& layer, bool alone)
{
    layers_.push_back({layer_channel(name), layer.mode});
    layer_ = layer, alone_ = alone;
}

std::string DrawnScene::color_by(const std::string& usual) const
{
    if (!layer_.color_by.empty() || layer_.color) return layer_.color_by;
    return params_.color_by.empty() ? usual : params_.color_by;
}

void DrawnScene::add_surface(Mesh mesh, LayerParams::Look look)
{
    surfaces_.push_back({std::move(mesh), layer_index(), layer_});
    if (layer_.look == LayerParams::Look::as_picture) surfaces_.back().look.look = look;
}

void DrawnScene::add_spheres(RenderSpheres spheres)
{
    if (spheres.centers.empty()) return;
    spheres.layer = layer_index();
    spheres_.push_back(std::move(spheres));
}

void DrawnScene::add_smoke(const std::string& path)
{
    SmokeFrame& frame = smokes_.emplace_back(path, params_.shows_velocity());
    frame.smoke.layer = layer_index();
    if (layer_.color) {
        frame.smoke.look = params_.smoke;
        frame.smoke.look->color = *layer_.color;
    }
    count("smoke_cells", frame.cells());
}

void DrawnScene::add_markers(ParticleFile now, const std::vector<ParticleFile>& before)
{
    std::vector<MarkerFrame> frames;
    for (const ParticleFile& file : before) frames.push_back({file.particles.P, file.particles.id});
    frames.push_back({now.particles.P, now.particles.id});
    std::vector<float> shadow = blended_shadows(frames, Sky(params_).key_direction(), {}, frame_);
    count("markers", now.particles.size());
    markers_.push_back({layer_index(), std::move(now.particles.P), std::move(now.particles.v),
                        std::move(now.particles.id), std::move(shadow), now.pscale,
                        layer_.color.value_or(params_.smoke.color)});
}

void DrawnScene::add_solid(std::vector<Mesh> moments, bool container)
{
    if (!moments.front().triangles.empty()) solids_.push_back({std::move(moments), container, layer_index()});
}

void DrawnScene::count(const std::string& what, size_t number)
{
    const auto found = std::ranges::find(numbers_, what, &std::pair<std::string, double>::first);
    if (found == numbers_.end())
        numbers_.emplace_back(what, static_cast<double>(number));
    else
        found->second += static_cast<double>(number);
}

Box3f DrawnScene::bounds() const
{
    Box3f box;
    for (const Surface& surface : surfaces_) box.add(bounds_of(surface.mesh));
    for (const RenderSpheres& spheres : spheres_)
        for (const Vec3f& center : spheres.centers) box.add(center);
    for (const RenderMarkers& markers : markers_)
        for (const Vec3f& x : markers.P) box.add(x);
    box.add(smoke_bounds());
    return box;
}

Box3f DrawnScene::smoke_bounds() const
{
    Box3f box;
    for (const SmokeFrame& smoke : smokes_) box.add(bounds_of(smoke.smoke, params_));
    return box;
}

RenderScene DrawnScene::scene() const
{
    RenderScene scene;
    scene.frame = static_cast<float>(frame_), scene.fps = fps_;
    scene.layers = layers_;
    for (const Surface& surface : surfaces_) {
        RenderSurface& drawn = scene.surfaces.emplace_back(&surface.mesh, surface.layer);
        if (surface.look.look == LayerParams::Look::water) drawn.look = RenderParams::Look::water;
        if (surface.look.look == LayerParams::Look::paint) drawn.look = RenderParams::Look::paint;
        if (!surface.look.color) continue;
        drawn.paint = *surface.look.color;
        drawn.water = params_.water;
        drawn.water->color = *surface.look.color;
    }
    for (const RenderSpheres& spheres : spheres_) scene.spheres.push_back(&spheres);
    for (const SmokeFrame& smoke : smokes_) scene.smokes.push_back(&smoke.smoke);
    for (const RenderMarkers& markers : markers_) scene.markers.push_back(&markers);
    for (const Solid& solid : solids_) {
        std::vector<const Mesh*> meshes;
        for (const Mesh& mesh : solid.moments) meshes.push_back(&mesh);
        scene.solids.emplace_back(std::move(meshes), solid.container, solid.layer);
    }
    return scene;
}

} // namespace spindrift
