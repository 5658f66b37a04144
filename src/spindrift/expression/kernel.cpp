#include "spindrift/expression/kernel.h"

#include "spindrift/base/error.h"
#include "spindrift/expression/compiler.h"
#include "spindrift/scene/params.h"

#include <dlfcn.h>
#include <filesystem>
#include <fmt/ranges.h>

namespace spindrift {

namespace {

constexpr const char* kLibrary = "libspindrift_ax.so";

// Candidate locations of the compiler: beside the binary that contains this code (the program, or a library that Python
// or another program loaded), beside the program, in a lib folder next to either, and the install location.
std::vector<std::filesystem::path> compiler_candidates()
{
    namespace fs = std::filesystem;
    std::error_code ignored;
    std::vector<fs::path> folders;
    if (Dl_info info; ::dladdr(reinterpret_cast<const void*>(&compiler_candidates), &info) != 0 && info.dli_fname)
        folders.push_back(fs::absolute(info.dli_fname, ignored).parent_path());
    folders.push_back(fs::read_symlink("/proc/self/exe", ignored).parent_path());
    std::vector<fs::path> places;
    for (const fs::path& folder : folders)
        for (const char* below : {"", "../lib/spindrift", "spindrift"}) places.push_back(folder / below / kLibrary);
#ifdef SPINDRIFT_INSTALLED_COMPILER
    places.emplace_back(SPINDRIFT_INSTALLED_COMPILER);
#endif
    return places;
}

// Never unloaded: destructors at process exit may still call its code.
CompileFunction* load_compiler()
{
    std::string tried;
    for (const std::filesystem::path& place : compiler_candidates()) {
        std::error_code missing;
        if (!std::filesystem::exists(place, missing)) {
            tried += (tried.empty() ? "" : ", ") + place.parent_path().lexically_normal().string();
            continue;
        }
        void* library = ::dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (!library) fail("expressions need {}, which cannot be loaded: {}", place.string(), ::dlerror());
        auto* function = reinterpret_cast<CompileFunction*>(::dlsym(library, "spindrift_compile_kernel"));
        if (!function) fail("{} is from another version of the program", place.string());
        return function;
    }
    fail("expressions need {}, which is not in any of {}; install it in one of them", kLibrary, tried);
}

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
    static CompileFunction* const compile = load_compiler();
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
