// Expressions and VDB files: volumes to run on, volumes to sample.
#pragma once

#include "spindrift/expression/volume_expression.h"
#include "spindrift/io/vdb.h"

namespace spindrift {

// Whether a file has grids of points.
bool has_points(const std::string& path);

// Runs on the grids of one file and writes all its grids to another. A volume that is written and missing is added,
// with the active voxels of the first one that the expression reads. Volumes on other voxels than the written one are
// interpolated.
void run_on_volumes(const VolumeExpression& expression, const std::string& in, const std::string& out,
                    const ExpressionContext& context);

// Every float and vec3f grid of a file, to be sampled by its name.
void add_volumes(const std::string& path, ExpressionContext& context);

// Points, beside the volumes that another file has.
void write_particles_beside_volumes(const std::string& path, const ParticleFile& points, const std::string& volumes);

} // namespace spindrift
