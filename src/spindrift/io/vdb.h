// VDB files: particle sets as VDB points, fields as float or vector grids, in the names that Houdini and Blender read.
// Nothing of OpenVDB shows in this header. Files are byte-identical for identical content: the random id that OpenVDB
// writes into every file is replaced by one derived from the content.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/points/particles.h"

#include <map>
#include <string>
#include <vector>

namespace spindrift {

using FileMetadata = std::map<std::string, std::string>; // e.g. the frame, the program's version

// Points "P" (16-bit fixed point within a voxel: error below 1e-5 of it), "v", "id", "pscale" and every attribute of
// the set, in one PointDataGrid named "particles". `pscale` is the radius [m] written for each particle as a uniform
// value, unless the set has an attribute of that name. `orient`, unless it is empty, is written as quaternions: the
// rotation of each particle as x, y, z, w.
void write_particles(const std::string& path, const Particles& particles, float voxel, float pscale,
                     const FileMetadata& metadata = {}, const std::vector<Eigen::Vector4f>& orient = {});
// Reads the PointDataGrids of any VDB file, ours, Houdini's, with any codec or float/half/fixed-point type: all of them
// as one set, or only those of a name. "id" is made up if missing; "pscale" becomes an attribute if it varies. What one
// of several grids lacks is zero there.
struct PointNames {       // what a file calls things
    std::string grid;     // empty: all grids of points
    std::string velocity; // empty: the first there is of v, vel and velocity
};
struct ParticleFile {
    Particles particles;
    float voxel = 0;  // of the first point grid
    float pscale = 0; // uniform radius, 0 if there is none
    FileMetadata metadata;
};
ParticleFile read_particles(const std::string& path, const PointNames& names = {});

// A scalar field whose value lies at cell centres (world position of cell (i,j,k): (i+0.5, j+0.5, k+0.5) * voxel) or at
// cell corners. The grid's class tells other programs what it is: a signed distance or a fog volume.
struct NamedField {
    std::string name;
    const Field<float>* field = nullptr;
    bool is_level_set = false;
    bool corners = false;
};
// Vectors at cell centres, velocities unless they are colours; active where the level set is, or where they differ from
// the background.
struct NamedVectors {
    std::string name;
    const Field<Vec3f>* field = nullptr;
    const Field<float>* level_set = nullptr; // on the same topology
    bool staggered = false;                  // each component lies on the lower face of the cell along its axis instead
    float voxel = 0;                         // 0: that of the other fields
    bool is_color = false;                   // the same in every frame of reference, where a velocity turns with it
};
// Copies whole leaves. Every cell of a tile becomes an active voxel except those equal to the background, or those
// outside the band of a level set.
// `half`: numbers of 16 bits.
void write_fields(const std::string& path, const std::vector<NamedField>& fields, float voxel,
                  const FileMetadata& metadata = {}, const std::vector<NamedVectors>& vectors = {}, bool half = false);
// A grid of any VDB file as a topology and a field, by copying whole leaves. Regions of one active value become tiles.
// The inactive inside of another program's level set is background here, for a field has no value for cells without a
// tile.
template <class T> struct FieldFileOf {
    std::unique_ptr<Topology> topology;
    Field<T> field;
    float voxel = 0;
    Vec3f origin = Vec3f::Zero(); // world position of the value of cell (0,0,0): half a voxel each way in our own files
    bool corners = false;         // the origin is zero: values lie at cell corners
    bool is_level_set = false;
};
using FieldFile = FieldFileOf<float>;
// A scalar grid, float or double.
FieldFile read_field(const std::string& path, const std::string& name);
// Several grids, scalars and vectors, of a file that is read once; `any` is those that are there. Throws if one of
// `names` is missing.
struct FieldSet {
    std::map<std::string, FieldFile> numbers;
    std::map<std::string, FieldFileOf<Vec3f>> vectors;
};
FieldSet read_fields(const std::string& path, const std::vector<std::string>& names,
                     const std::vector<std::string>& any = {});

// What is in a VDB file (grids, types, classes, voxel size, bounds, active count, point attributes with type and range,
// metadata), as lines for people.
std::string describe_vdb(const std::string& path);

// Throws Error(failed) naming the file if it is not a complete VDB file. Reads it through. In files written here a
// single changed bit is found, because their id is also a checksum; every reading function above checks it.
void check_vdb(const std::string& path);

} // namespace spindrift
