#include "spindrift/stages/scene_shapes.h"

#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/mesh/faults.h"
#include "spindrift/scene/mesh_sequence.h"
#include "spindrift/spray/params.h"

#include <filesystem>
#include <fmt/ranges.h>

namespace spindrift {

namespace {

// A table of the scene that a shape names as its parent.
struct Parent {
    std::string path; // e.g. "liquid.collider[0]"
    bool is_null = false;
    ShapeParams params; // of a null, only the motion is set
};

// Whether a list holds tables that can be parents.
bool holds_parents(const std::string& path)
{
    const std::string list = path.substr(0, path.find('['));
    if (list == "shot.null") return true;
    for (const char* name : {".source", ".sink", ".collider", ".emitter"})
        if (list.ends_with(name)) return true;
    return false;
}

// `where` is the shape that names the parent.
Parent find_parent(const SceneFile& scene, const std::string& name, const std::string& where)
{
    const std::string place = scene.where(where + ".parent");
    std::vector<std::string> found, names;
    for (const auto& [path, known] : scene.named_tables()) {
        if (path.find(".body[") != std::string::npos && known == name)
            bad_input(
                "{}: {}.parent is \"{}\", a rigid body, whose motion is not known before it is simulated; name a shape "
                "with keyframes",
                place, where, name);
        if (!holds_parents(path)) continue;
        names.push_back(known);
        if (known == name) found.push_back(path);
    }
    if (found.size() > 1)
        bad_input("{}: {}.parent is \"{}\", but both {} and {} have that name; give them different names", place, where,
                  name, found[0], found[1]);
    if (found.empty()) {
        const std::string nearest = nearest_name(name, names);
        bad_input("{}: {}.parent is \"{}\", but nothing has that name{}", place, where, name,
                  !nearest.empty() ? fmt::format("; did you mean \"{}\"?", nearest)
                  : names.empty()  ? "; give a shape or a [[shot.null]] that name"
                                   : fmt::format("; there are \"{}\"", fmt::join(names, "\", \"")));
    }
    Parent parent{found[0], found[0].starts_with("shot."), {}};
    const std::string list = parent.path.substr(0, parent.path.find('['));
    EmitterParams emitter;
    if (list.ends_with(".emitter")) {
        scene.read_part(parent.path, [&](ParamVisitor& v) { emitter.visit(v); });
        parent.params = emitter.carrier();
    } else if (parent.is_null) {
        scene.read_part(parent.path,
                        [&](ParamVisitor& v) { parent.params.visit_keys(v), parent.params.visit_more(v); });
    } else {
        scene.read_part(parent.path, [&](ParamVisitor& v) { parent.params.visit(v); });
    }
    if (!parent.params.scales_evenly())
        bad_input("{}: {}.parent is \"{}\", which is scaled unevenly; that would shear its children, so a "
                  "parent must have the same scale along x, y and z",
                  place, where, name);
    return parent;
}

// The parents of a shape, nearest first.
std::vector<Parent> parents_of(const SceneFile& scene, const ShapeParams& shape, const std::string& where)
{
    std::vector<Parent> parents;
    std::string child = where, name = shape.parent;
    while (!name.empty()) {
        Parent next = find_parent(scene, name, child);
        bool circle = next.path == where;
        for (const Parent& before : parents) circle |= before.path == next.path;
        if (circle)
            bad_input("{}: {}.parent is \"{}\", which moves with this shape itself; one of them must have no parent",
                      scene.where(child + ".parent"), child, name);
        child = next.path, name = next.params.parent;
        parents.push_back(std::move(next));
    }
    return parents;
}

Shape load_moved(const SceneFile& scene, ShapeParams shape, const std::string& where,
                 std::shared_ptr<const Motion> parent, bool may_be_open)
{
    const bool is_mesh = !shape.file.empty();
    if (is_mesh) shape.file = scene.resolve(shape.file);
    return Shape(shape, scene.where(where + (is_mesh ? ".file" : "")), std::move(parent), may_be_open);
}

} // namespace

Shape load_shape(const SceneFile& scene, ShapeParams shape, const std::string& where, bool may_be_open)
{
    const std::vector<Parent> parents = parents_of(scene, shape, where);
    std::shared_ptr<const Motion> motion;
    for (size_t i = parents.size(); i-- > 0;) {
        const Parent& parent = parents[i];
        motion = std::make_shared<Motion>(
            parent.is_null ? Motion(parent.params, Vec3f::Zero(), std::move(motion))
                           : load_moved(scene, parent.params, parent.path, std::move(motion), true).motion());
    }
    return load_moved(scene, std::move(shape), where, std::move(motion), may_be_open);
}

std::string mesh_files_of(const ShapeParams& shape, const SceneFile& scene)
{
    std::string lines;
    for (Parent& parent : parents_of(scene, shape, "")) {
        lines +=
            canonical_text([&](ParamVisitor& v) { v.group(("parent " + parent.path).c_str(), parent.params, ""); });
        ShapeParams alone = parent.params;
        alone.parent.clear();
        lines += mesh_files_of(alone, scene);
    }
    if (shape.file.empty()) return lines;
    for (const std::string& file : mesh_files(scene.resolve(shape.file)))
        lines += fmt::format("mesh {}: {:016x}\n", std::filesystem::path(file).filename().string(),
                             hash_bytes(read_file(file)));
    return lines;
}

Box3f extent_of(const DomainParams& domain, std::initializer_list<const std::vector<Shape>*> shapes, float frame)
{
    if (domain.bounded()) return {*domain.min, *domain.max};
    Box3f extent;
    for (const auto* list : shapes)
        for (const Shape& shape : *list)
            if (const Box3f box = shape.bounds(frame); box.size().allFinite())
                extent.add(box);
            else if (const Box3f walls = bounds_of(shape.mesh(frame)); !walls.empty()) // the bounds of a container
                extent.add(walls);
    return extent;
}

std::vector<std::string> odd_meshes(const SceneFile& scene, const std::vector<Shape>& shapes, const std::string& name,
                                    float frame)
{
    std::vector<std::string> warnings;
    for (size_t i = 0; i < shapes.size(); ++i) {
        const ShapeParams& params = shapes[i].params();
        if (params.shape != ShapeParams::Kind::mesh || params.invert) continue;
        for (const std::string& odd : oddities(with_joined_vertices(shapes[i].mesh(frame))))
            warnings.push_back(
                fmt::format("{}: {} {}", scene.where(fmt::format("{}[{}].file", name, i)), params.file, odd));
    }
    return warnings;
}

double volume_of(const Vec3f& size) { return static_cast<double>(size.x()) * size.y() * size.z(); }

double volume_inside(const Shape& shape, const Box3f& box, float frame)
{
    constexpr int n = 48;
    int inside = 0;
    for (int x = 0; x < n; ++x)
        for (int y = 0; y < n; ++y)
            for (int z = 0; z < n; ++z) {
                const Vec3f f = (Vec3i(x, y, z).cast<float>().array() + 0.5f) / n;
                inside += shape.distance(box.min + f.cwiseProduct(box.size()), frame) < 0;
            }
    return volume_of(box.size()) * inside / (n * n * n);
}

} // namespace spindrift
