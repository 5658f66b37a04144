// Runs expressions on VDB files and loads volumes to sample.
#pragma once

#include "spindrift/expression/volume_expression.h"
#include "spindrift/io/vdb.h"

namespace spindrift {

// Whether a file has point grids.
bool has_points(const std::string& path);

// Runs on the grids of one file and writes all its grids to another. Adds a missing volume that the expression writes,
// with the active voxels of the first volume that it names. Interpolates volumes whose voxels differ from those of the
// written one.
void run_on_volumes(const VolumeExpression& expression, const std::string& in, const std::string& out,
                    const ExpressionContext& context);

// Adds every float and vec3f grid of a file to the context, under its own name.
void add_volumes(const std::string& path, ExpressionContext& context);

// Writes points together with the volumes of another file.
void write_particles_beside_volumes(const std::string& path, const ParticleFile& points, const std::string& volumes);

} // namespace spindrift
