#include "spindrift/expression/context_callbacks.h"

#include "spindrift/base/error.h"
#include "spindrift/expression/functions.h"

#include <fmt/ranges.h>

namespace spindrift {

namespace {

Vec3f vector_at(const float* x) { return {x[0], x[1], x[2]}; }

void store(const Vec3f& v, float* out)
{
    for (int c = 0; c < 3; ++c) out[c] = v[c];
}

} // namespace

std::vector<KernelParameter> declare_parameters(const std::string& label, const ExpressionParameters& parameters)
{
    std::vector<KernelParameter> declared;
    for (const ExpressionVariable& variable : expression_variables()) {
        if (parameters.contains(variable.name))
            bad_input("{}: a parameter cannot be named {}, which is built in: {}", label, variable.name, variable.help);
        declared.push_back({variable.name, false});
    }
    for (const auto& [name, value] : parameters) declared.push_back({name, std::holds_alternative<Vec3f>(value)});
    return declared;
}

std::vector<double> parameter_values(const ExpressionParameters& parameters, const ExpressionContext& context)
{
    std::vector<double> values;
    const auto add = [&](double x, double y, double z) { values.insert(values.end(), {x, y, z}); };
    for (const double value : {context.time, double(context.frame), context.dt, context.fps}) add(value, value, value);
    for (const auto& [name, value] : parameters) {
        if (const auto* vector = std::get_if<Vec3f>(&value))
            add(double(vector->x()), double(vector->y()), double(vector->z()));
        else
            add(std::get<double>(value), std::get<double>(value), std::get<double>(value));
    }
    return values;
}

void check_context(const std::string& label, const std::string& text, const Kernel& kernel,
                   const ExpressionContext& context)
{
    for (const KernelName& volume : kernel.volumes()) {
        const bool vector = volume.type == ElementType::vec3f;
        if (vector ? context.vector_volumes.contains(volume.name) : context.volumes.contains(volume.name)) continue;
        if (vector ? context.volumes.contains(volume.name) : context.vector_volumes.contains(volume.name))
            source_error(label, text, volume.position,
                         fmt::format("the volume \"{}\" holds {}; use {}()", volume.name,
                                     vector ? "numbers" : "vectors", vector ? "volume" : "volumev"));
        std::vector<std::string> known;
        for (const auto& [name, sample] : context.volumes) known.push_back(name);
        for (const auto& [name, sample] : context.vector_volumes) known.push_back(name);
        source_error(
            label, text, volume.position,
            known.empty()
                ? fmt::format("there is no volume \"{}\"; no volumes are available here", volume.name)
                : fmt::format("there is no volume \"{}\"; there are: {}", volume.name, fmt::join(known, ", ")));
    }
    if (kernel.needs_collider() && !context.collider_distance)
        bad_input("{}: the expression needs colliders, but there are none here", label);
}

ContextCallbacks::ContextCallbacks(const Kernel& kernel, const ExpressionContext& context) : context_(context)
{
    for (const KernelName& volume : kernel.volumes()) {
        const bool vector = volume.type == ElementType::vec3f;
        volumes_.push_back(vector ? nullptr : &context.volumes.at(volume.name));
        vector_volumes_.push_back(vector ? &context.vector_volumes.at(volume.name) : nullptr);
    }
}

float ContextCallbacks::volume(int slot, const float* x) const
{
    return guarded([&] { return (*volumes_[slot])(vector_at(x)); });
}

void ContextCallbacks::volume_vector(int slot, const float* x, float* out) const
{
    store(guarded([&] { return (*vector_volumes_[slot])(vector_at(x)); }), out);
}

float ContextCallbacks::collider_distance(const float* x) const
{
    return guarded([&] { return context_.collider_distance(vector_at(x)); });
}

void ContextCallbacks::collider_normal(const float* x, float* out) const
{
    store(guarded([&] { return context_.collider_normal(vector_at(x)); }), out);
}

void ContextCallbacks::rethrow() const
{
    if (thrown_) std::rethrow_exception(thrown_);
}

void fail_at_loop_limit(const std::string& label, int frame, int64_t limit)
{
    fail("{}: frame {}: the loops of the expression took more than {} iterations; if that is intended, raise the "
         "loop limit",
         label, frame, limit);
}

} // namespace spindrift
