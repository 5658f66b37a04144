#include "spindrift/expression/kernel.h"

#include "spindrift/base/companion.h"
#include "spindrift/base/error.h"
#include "spindrift/expression/compiler.h"
#include "spindrift/scene/params.h"

#include <fmt/ranges.h>

namespace spindrift {

namespace {

std::string explain(const CompileFault& fault)
{
    if (fault.unknown.empty()) return fault.text;
    const std::string near = nearest_name(fault.unknown, fault.known);
    if (!near.empty()) return fmt::format("{}; did you mean {}?", fault.text, near);
    if (fault.known.size() > 20) return fault.text + "; see: spindrift describe ax";
    return fmt::format("{}; there are: {}", fault.text, fmt::join(fault.known, ", "));
}

} // namespace

const char* element_type_name(ElementType type)
{
    switch (type) {
    case ElementType::float32:
        return "float";
    case ElementType::int32:
        return "int32";
    case ElementType::vec3f:
        return "vec3f";
    }
    return "";
}

Kernel::Kernel(const std::string& label, const std::string& text, KernelTarget target,
               const std::vector<KernelParameter>& parameters)
{
    check_source(label, text);
    static CompileFunction* const compile =
        load_companion<CompileFunction>("libspindrift_ax.so", "spindrift_compile_kernel", "expressions need");
    CompileFault fault;
    compiled_.reset(compile({text, target, parameters}, fault));
    if (!compiled_) source_error(label, text, fault.position, explain(fault));
}

Kernel::~Kernel() = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;

const std::vector<KernelName>& Kernel::attributes() const { return compiled_->attributes; }
const std::vector<KernelName>& Kernel::volumes() const { return compiled_->volumes; }
const std::vector<KernelName>& Kernel::neighbour_attributes() const { return compiled_->neighbour_attributes; }
bool Kernel::deletes_points() const { return compiled_->deletes_points; }
bool Kernel::needs_collider() const { return compiled_->needs_collider; }
bool Kernel::needs_neighbours() const { return compiled_->needs_neighbours; }

void Kernel::run(const KernelArguments& arguments, size_t begin, size_t end) const
{
    compiled_->function(&arguments, begin, end);
}

} // namespace spindrift
