// Expressions on volumes, run at every active voxel of each volume that the expression writes:
//
//     VolumeExpression fade("smoke.before_writing", "float@density *= 1.0f - $dt;");
//     fade.run({&topology, voxel, {{"density", &density}}}, context);    // simulation fields
//     run_on_volumes(fade, "smoke.0001.vdb", "faded.0001.vdb", context); // grids of a file
//
// @name is the value of the volume `name` at the voxel. All values are read before any is written. See expression.h for
// everything else.
#pragma once

#include "spindrift/expression/expression.h"
#include "spindrift/field/tiles.h"

namespace spindrift {

// Fields on one topology, with values at cell centres.
struct ExpressionFields {
    const Topology* topology = nullptr;
    float voxel = 0;
    std::map<std::string, std::variant<Field<float>*, Field<Vec3f>*>> fields;
};

class VolumeExpression {
  public:
    VolumeExpression(std::string label, std::string text, ExpressionOptions options = {});

    // Every field that the expression names must exist. Throws like Expression::run().
    void run(const ExpressionFields& fields, const ExpressionContext& context) const;

    const std::string& label() const { return label_; }
    const std::string& text() const { return text_; }
    const ExpressionOptions& options() const { return options_; }
    const Kernel& kernel() const { return kernel_; }

  private:
    std::string label_, text_;
    ExpressionOptions options_;
    Kernel kernel_;
};

// Callbacks for one block of voxels.
class VoxelCallbacks : public KernelCallbacks {
  public:
    explicit VoxelCallbacks(const KernelCallbacks& outer) : outer_(outer) {}
    float volume(int slot, const float* x) const override { return outer_.volume(slot, x); }
    void volume_vector(int slot, const float* x, float* out) const override { outer_.volume_vector(slot, x, out); }
    float collider_distance(const float* x) const override { return outer_.collider_distance(x); }
    void collider_normal(const float* x, float* out) const override { outer_.collider_normal(x, out); }

  private:
    const KernelCallbacks& outer_;
};

} // namespace spindrift
