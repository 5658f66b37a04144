#include "spindrift/expression/volume_expression.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/expression/context_callbacks.h"

#include <fmt/ranges.h>

namespace spindrift {

namespace {

class TileCallbacks final : public VoxelCallbacks {
  public:
    TileCallbacks(const KernelCallbacks& outer, const Vec3i& first_cell, float voxel)
        : VoxelCallbacks(outer), first_cell_(first_cell), voxel_(voxel)
    {
    }
    void voxel_coordinate(size_t i, int32_t* out) const override
    {
        const Vec3i c = cell(i);
        for (int a = 0; a < 3; ++a) out[a] = c[a];
    }
    void voxel_position(size_t i, float* out) const override
    {
        const Vec3i c = cell(i);
        for (int a = 0; a < 3; ++a) out[a] = (static_cast<float>(c[a]) + 0.5f) * voxel_;
    }

  private:
    Vec3i cell(size_t i) const { return first_cell_ + cell_in_tile(static_cast<int>(i)); }

    Vec3i first_cell_;
    float voxel_;
};

bool all_finite(const void* numbers, size_t count)
{
    bool all = true;
    for (size_t k = 0; k < count; ++k) {
        const float x = static_cast<const float*>(numbers)[k];
        all &= x - x == 0;
    }
    return all;
}

} // namespace

VolumeExpression::VolumeExpression(std::string label, std::string text, ExpressionOptions options)
    : label_(std::move(label)), text_(std::move(text)), options_(std::move(options)),
      kernel_(label_, text_, KernelTarget::volumes, declare_parameters(label_, options_.parameters))
{
}

void VolumeExpression::run(const ExpressionFields& fields, const ExpressionContext& context) const
{
    for (const KernelName& wanted : kernel_.attributes()) {
        const auto found = fields.fields.find(wanted.name);
        if (found == fields.fields.end()) {
            std::vector<std::string> known;
            for (const auto& [name, field] : fields.fields) known.push_back(name);
            source_error(label_, text_, wanted.position,
                         fmt::format("there is no volume \"{}\"; there are: {}", wanted.name, fmt::join(known, ", ")));
        }
        const auto type =
            std::holds_alternative<Field<float>*>(found->second) ? ElementType::float32 : ElementType::vec3f;
        if (type != wanted.type)
            source_error(label_, text_, wanted.position,
                         fmt::format("the volume \"{}\" holds {} values, not {}", wanted.name, element_type_name(type),
                                     element_type_name(wanted.type)));
    }
    check_context(label_, text_, kernel_, context);

    const ContextCallbacks callbacks(kernel_, context);
    const std::vector<double> parameters = parameter_values(options_.parameters, context);
    int32_t overrun = 0;
    std::atomic<bool> finite = true;
    for_each_tile(*fields.topology, [&](int t) {
        check_interrupt();
        if (std::atomic_ref(overrun).load(std::memory_order_relaxed)) return;
        const TileCallbacks tile(callbacks, fields.topology->first_cell(t), fields.voxel);
        std::vector<void*> arrays;
        for (const KernelName& name : kernel_.attributes())
            arrays.push_back(
                std::visit([&](auto* field) -> void* { return field->tile(t); }, fields.fields.at(name.name)));
        kernel_.run({arrays.data(), parameters.data(), &tile, nullptr, options_.loop_limit, &overrun}, 0, kTileCells);
        for (size_t a = 0; a < arrays.size(); ++a) {
            const KernelName& name = kernel_.attributes()[a];
            const size_t count = size_t(kTileCells) * (name.type == ElementType::vec3f ? 3 : 1);
            if (name.written && !all_finite(arrays[a], count)) finite = false;
        }
    });
    callbacks.rethrow();
    if (overrun) fail_at_loop_limit(label_, context.frame, options_.loop_limit);
    if (!finite)
        fail("{}: frame {}: the expression gives values that are not finite; does it divide by zero?", label_,
             context.frame);
}

} // namespace spindrift
