#include "spindrift/stages/picture.h"

#include "spindrift/base/error.h"

namespace spindrift {

void LayerParams::visit(ParamVisitor& v)
{
    v("of", of, "The stage whose frames are drawn.");
    v("color_by", color_by,
      "Colour its particles by an attribute: \"speed\", \"id\", or any that they carry. Left out: render.color_by.");
}

SmokeFrame::SmokeFrame(const std::string& path) : fields(read_fields(path, {"density"}, {"temperature", "Cd"}))
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

Picture::Picture(const RenderParams& params, const ShotParams& shot, int frame)
    : params_(params), frame_(frame), fps_(shot.fps)
{
}

std::vector<float> Picture::moments(int count) const
{
    if (params_.camera.shutter == 0 || count < 2) return {0};
    std::vector<float> moments;
    for (int i = 0; i < count; ++i)
        moments.push_back((static_cast<float>(i) / static_cast<float>(count - 1) - 0.5f) * params_.camera.shutter /
                          360);
    return moments;
}

void Picture::add_surface(Mesh mesh) { surfaces_.push_back(std::move(mesh)); }

void Picture::add_spheres(RenderSpheres spheres)
{
    spheres.water = water_spheres_;
    water_spheres_ = false;
    if (!spheres.centers.empty()) spheres_.push_back(std::move(spheres));
}

void Picture::add_smoke(const std::string& path)
{
    smokes_.emplace_back(path);
    count("smoke_cells", smokes_.back().cells());
}

void Picture::add_solid(std::vector<Mesh> moments, bool container)
{
    if (!moments.front().triangles.empty()) solids_.push_back({std::move(moments), container});
}

Box3f Picture::bounds() const
{
    Box3f box;
    for (const Mesh& surface : surfaces_) box.add(bounds_of(surface));
    for (const RenderSpheres& spheres : spheres_)
        for (const Vec3f& center : spheres.centers) box.add(center);
    box.add(smoke_bounds());
    return box;
}

Box3f Picture::smoke_bounds() const
{
    Box3f box;
    for (const SmokeFrame& smoke : smokes_) box.add(bounds_of(smoke.smoke, params_));
    return box;
}

namespace {

void append(const RenderSpheres& more, RenderSpheres& all)
{
    const size_t before = all.centers.size();
    if (all.radii.empty()) all.radii.assign(before, all.radius);
    for (size_t i = 0; i < more.centers.size(); ++i) all.radii.push_back(more.radius_of(i));
    const auto add = [&](const std::vector<Vec3f>& from, std::vector<Vec3f>& to, bool needed) {
        if (from.empty() && to.empty() && !needed) return;
        to.resize(before, Vec3f::Zero());
        to.insert(to.end(), from.begin(), from.end());
        to.resize(before + more.centers.size(), Vec3f::Zero());
    };
    add(more.velocities, all.velocities, false), add(more.colors, all.colors, true);
    add(more.normals, all.normals, false);
    add(more.centers, all.centers, true);
}

} // namespace

RenderScene Picture::scene()
{
    while (spheres_.size() > 1) append(spheres_[1], spheres_[0]), spheres_.erase(spheres_.begin() + 1);
    RenderScene scene;
    scene.frame = static_cast<float>(frame_), scene.fps = fps_;
    if (!surfaces_.empty()) scene.liquid = &surfaces_.front();
    if (!spheres_.empty()) scene.spheres = &spheres_.front();
    if (!smokes_.empty()) scene.smoke = &smokes_.front().smoke;
    for (const Solid& solid : solids_) {
        std::vector<const Mesh*> meshes;
        for (const Mesh& mesh : solid.moments) meshes.push_back(&mesh);
        scene.solids.emplace_back(std::move(meshes), solid.container);
    }
    return scene;
}

} // namespace spindrift
