// Files of rigid bodies: their motion per frame as a small JSON file that any script can read, and their shapes as one
// PLY each for the whole shot. A point x of the mesh is at P + orient x in the world.
//
//     {"frame": 12, "bodies": [
//       {"id": 0, "name": "crate", "mesh": "bodies/0_crate.ply", "P": [x, y, z], "orient": [x, y, z, w],
//        "v": [m/s], "w": [rad/s]},
//       ...]}
//
// The names are those of Houdini's instancing attributes; orient is a quaternion with its real part last, as in Houdini
// (Blender has it first).
#pragma once

#include "spindrift/bodies/bodies.h"
#include "spindrift/io/state_file.h"
#include "spindrift/scene/scene_file.h"

namespace spindrift {

constexpr const char* kBodiesEnding = "bodies.json";

// Loads the shapes of the list `name` of the scene, e.g. "liquid.body".
std::vector<Bodies::Shapes> load_body_shapes(const SceneFile& scene, const std::vector<BodyParams>& bodies,
                                             const std::string& name);

void write_bodies(const std::string& path, const Bodies& bodies, int frame);
// Throws if the file is damaged or has a different number of bodies.
std::vector<RigidMotion> read_bodies(const std::string& path, size_t count);
// Writes bodies/*.ply to a folder.
void write_body_meshes(const Bodies& bodies, const std::string& folder);

// Stores the exact motion of bodies in a state, under a name that the solver chooses.
void save_motion(const std::vector<RigidMotion>& motion, const std::string& name, StateFile& file);
std::vector<RigidMotion> load_motion(const StateFile& file, const std::string& name);

} // namespace spindrift
