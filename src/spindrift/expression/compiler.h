// Interface to the expression compiler. The compiler is a separate library (libspindrift_ax.so), loaded with the first
// expression, so that programs without expressions do not pay for loading LLVM at startup.
#pragma once

#include "spindrift/expression/kernel.h"

namespace spindrift {

struct CompileRequest {
    std::string text; // already accepted by check_source()
    KernelTarget target;
    std::vector<KernelParameter> parameters;
};

// A compile error. For an unknown name, `unknown` is that name and `known` lists the valid ones.
struct CompileFault {
    std::string text;
    SourcePosition position;
    std::string unknown;
    std::vector<std::string> known;
};

struct KernelNames {
    std::vector<KernelName> attributes, volumes, neighbour_attributes;
    bool deletes_points = false, needs_collider = false, needs_neighbours = false;
};
struct CompiledKernel : KernelNames {
    virtual ~CompiledKernel() = default;
    void (*function)(const KernelArguments*, uint64_t begin, uint64_t end) = nullptr;
};

using CompileFunction = CompiledKernel*(const CompileRequest&, CompileFault&);

} // namespace spindrift

// Returns null and fills the fault on error. Does not throw.
extern "C" spindrift::CompileFunction spindrift_compile_kernel;
