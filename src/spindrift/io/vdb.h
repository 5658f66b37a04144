// VDB files: particle sets as VDB points, fields as float or vector grids, with the names that Houdini and Blender
// expect. This header does not include OpenVDB. Identical content gives identical bytes: the random id that OpenVDB
// writes into every file is replaced by one derived from the content.
//
//     write_particles("water.0001.vdb", particles, voxel, radius);
//     const Particles read = read_particles("water.0001.vdb").particles;
//     write_fields("smoke.0001.vdb", {{"density", &density}}, voxel);
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/points/particles.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace spindrift {

using FileMetadata = std::map<std::string, std::string>; // e.g. the frame, the program's version

// Writes points "P" (16-bit fixed point within a voxel: error below 1e-5 of it), "v", "id", "pscale" and every
// attribute of the set, in one PointDataGrid named "particles". `pscale` is the radius [m], stored as a uniform value
// unless the set has an attribute of that name. `orient`, unless empty, is written as quaternions: the rotation of each
// particle as x, y, z, w.
void write_particles(const std::string& path, const Particles& particles, float voxel, float pscale,
                     const FileMetadata& metadata = {}, const std::vector<Eigen::Vector4f>& orient = {});
// Reads the PointDataGrids of any VDB file (ours, Houdini's, with any codec or float/half/fixed-point type): all of
// them as one set, or only those of a given name. "id" is generated if missing; "pscale" becomes an attribute if it
// varies. Attributes that one of several grids lacks are zero there.
struct PointNames {       // names used in the file
    std::string grid;     // empty: all point grids
    std::string velocity; // empty: the first that exists of v, vel and velocity
};
struct ParticleFile {
    Particles particles;
    float voxel = 0;  // of the first point grid
    float pscale = 0; // uniform radius; 0 if none
    FileMetadata metadata;
};
ParticleFile read_particles(const std::string& path, const PointNames& names = {});

// A scalar field with values at cell centres (world position of cell (i,j,k): (i+0.5, j+0.5, k+0.5) * voxel) or at cell
// corners. Written with the grid class level set or fog volume.
struct NamedField {
    std::string name;
    const Field<float>* field = nullptr;
    bool is_level_set = false;
    bool corners = false;
};
// Vectors at cell centres: velocities or colours. Active where the level set is, or where they differ from the
// background.
struct NamedVectors {
    std::string name;
    const Field<Vec3f>* field = nullptr;
    const Field<float>* level_set = nullptr; // on the same topology
    bool staggered = false;                  // each component lies on the cell's lower face along its axis
    float voxel = 0;                         // 0: that of the other fields
    bool is_color = false;                   // does not rotate with the grid, unlike a velocity
};
// Copies whole leaves. Active are all cells that differ from the background; for level sets those within the narrow
// band. `half`: 16-bit floats.
void write_fields(const std::string& path, const std::vector<NamedField>& fields, float voxel,
                  const FileMetadata& metadata = {}, const std::vector<NamedVectors>& vectors = {}, bool half = false);
// A grid of any VDB file as a topology and a field, copied leaf by leaf. Active tiles of constant value become tiles of
// the topology. The inactive interior of another program's level set becomes background, since a field has no values
// outside its tiles.
template <class T> struct FieldFileOf {
    std::unique_ptr<Topology> topology;
    Field<T> field;
    float voxel = 0;
    Vec3f origin = Vec3f::Zero(); // world position of the value of cell (0,0,0); half a voxel each way in our files
    bool corners = false;         // the origin is zero: values lie at cell corners
    bool is_level_set = false;
    bool staggered = false; // each component lies on the cell's lower face along its axis
    std::vector<std::array<uint64_t, kTileCells / 64>> active; // by tile, a bit for each cell that the file sets
    bool has(int tile, int offset) const { return active[tile][offset / 64] >> (offset % 64) & 1; }
};
using FieldFile = FieldFileOf<float>;
// A scalar grid, float or double. (Vector grids may hold either, too.)
FieldFile read_field(const std::string& path, const std::string& name);
// Several scalar and vector grids of a file, which is read once. Throws if one of `names` is missing; grids of `any`
// are optional.
struct FieldSet {
    std::map<std::string, FieldFile> numbers;
    std::map<std::string, FieldFileOf<Vec3f>> vectors;
};
FieldSet read_fields(const std::string& path, const std::vector<std::string>& names,
                     const std::vector<std::string>& any = {});

// Contents of a VDB file as readable lines: grids, types, classes, voxel size, bounds, active count, point attributes
// with type and range, metadata.
std::string describe_vdb(const std::string& path);

// Throws Error(failed) naming the file if it is not a complete VDB file. Reads all of it. In files written here a
// single changed bit is detected, because their id is also a checksum; every reading function above verifies it.
void check_vdb(const std::string& path);

} // namespace spindrift
