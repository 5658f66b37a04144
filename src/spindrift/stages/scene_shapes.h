// Loads the shapes that a scene names, including their meshes and parents.
#pragma once

#include "spindrift/scene/scene_file.h"
#include "spindrift/scene/shapes.h"
#include "spindrift/world/params.h"

namespace spindrift {

// `where` is the shape's position in the scene, e.g. "liquid.source[0]". Throws bad_input for a mesh that cannot be
// used, and for a parent that is unknown or moves with the shape itself.
Shape load_shape(const SceneFile& scene, ShapeParams shape, const std::string& where, bool may_be_open = false);

// Loads the shapes of the list `name` of the scene, e.g. "liquid.source".
template <class Params> std::vector<Shape> load_shapes(const SceneFile& scene, const std::vector<Params>& items,
                                                       const std::string& name, bool may_be_open = false)
{
    std::vector<Shape> shapes;
    for (size_t i = 0; i < items.size(); ++i)
        shapes.push_back(load_shape(scene, items[i], name + "[" + std::to_string(i) + "]", may_be_open));
    return shapes;
}
// As load_shapes() for colliders, whose meshes may be open.
template <class Params>
std::vector<Shape> load_colliders(const SceneFile& scene, const std::vector<Params>& items, const std::string& name)
{
    return load_shapes(scene, items, name, true);
}

// What a shape depends on besides its own parameters: "mesh ship.ply: <hash>" for each of its mesh files, and the
// parameters of its parents.
std::string mesh_files_of(const ShapeParams& shape, const SceneFile& scene);

template <class Params> std::string mesh_files_of(const std::vector<Params>& items, const SceneFile& scene)
{
    std::string lines;
    for (const ShapeParams& item : items) lines += mesh_files_of(item, scene);
    return lines;
}

// Everything that the positions and motions of shapes depend on, as lines of text.
template <class Params>
std::string text_of_shapes(const std::string& name, const std::vector<Params>& items, const SceneFile& scene)
{
    std::vector<ShapeParams> shapes(items.begin(), items.end());
    return mesh_files_of(shapes, scene) + canonical_text([&](ParamVisitor& v) { v.list(name.c_str(), shapes, ""); });
}

// The region that a camera should see: the domain, or the bounds of finite shapes at a frame.
Box3f extent_of(const DomainParams& domain, std::initializer_list<const std::vector<Shape>*> shapes, float frame);

// Warnings about meshes that are used although something is odd about them (mesh/faults.h), at a frame. `name` is the
// list's, e.g. "liquid.source".
std::vector<std::string> odd_meshes(const SceneFile& scene, const std::vector<Shape>& shapes, const std::string& name,
                                    float frame);

// Volume of a box [m3], and of the part of it that a shape covers, to about one percent.
double volume_of(const Vec3f& size);
double volume_inside(const Shape& shape, const Box3f& box, float frame);

} // namespace spindrift
