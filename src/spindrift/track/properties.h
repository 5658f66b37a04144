// Properties of a tracked surface's vertices, carried from the mesh of one step to that of the next along the origins
// of its vertices [Bargteil 2006, 3.6].
#pragma once

#include "spindrift/mesh/distance.h"
#include "spindrift/track/distance_tree.h"

namespace spindrift {

// Attributes of the vertices that a source adds, by name. Numbers are the first component.
using GivenValues = std::map<std::string, Vec3f>;

// Where each vertex was on the surface of the start, and which connected part of that it belongs to, counted from 0;
// for vertices that a source has added, where they came in, and from_source().
constexpr const char* kReference = "reference";
constexpr const char* kReferencePiece = "reference_piece";

// The map to the frame before, in files.
constexpr const char* kOriginTriangle = "origin_triangle";
constexpr const char* kOriginWeights = "origin_weights";

// SurfacePoint::triangle of a vertex that belongs to a source.
inline int from_source(size_t source) { return -2 - static_cast<int>(source); }
inline size_t source_of(int triangle) { return static_cast<size_t>(-2 - triangle); }

Vec3f blended(const std::vector<Vec3f>& values, const Mesh& mesh, const SurfacePoint& at);

// Gives vertices without an origin (triangle -1), such as those where a liquid has just reached a wall, that of the
// nearest vertex along the mesh that has one.
void adopt_origins(const Mesh& mesh, std::vector<SurfacePoint>& from);
// Each attribute at the origins: blended between the corners of a triangle, or, for integers and `labels`, that of the
// nearest corner. Vertices of a source get what it gives; without an origin or a given value, zero.
std::map<std::string, AttributeArray> carried_attributes(const Mesh& before, const std::vector<SurfacePoint>& from,
                                                         const std::vector<std::string>& labels,
                                                         const std::vector<GivenValues>& given);
// Projects each direction onto the plane across its normal, and makes its length one. A direction along the normal
// becomes any one in that plane.
void make_tangent(const std::vector<Vec3f>& normals, std::vector<Vec3f>& directions);
// Leaves out the corners of origins that belong to another piece than the nearest corner: what lies between the
// references of two pieces is on neither.
void keep_to_one_piece(const Mesh& before, const std::vector<int32_t>& piece, std::vector<SurfacePoint>& from);
// Moves points to the nearest point of a surface, except those whose piece is negative. Returns where they are on it;
// triangle -1 for those that were not moved.
std::vector<SurfacePoint> snap(const MeshDistance& surface, const Mesh& mesh, const std::vector<int32_t>& piece,
                               std::vector<Vec3f>& points);
// Takes the values of points that are on a mesh from there: `known`, which has a value for each.
void replace(const std::vector<SurfacePoint>& on_mesh, const AttributeArray& known, AttributeArray& values);

} // namespace spindrift
