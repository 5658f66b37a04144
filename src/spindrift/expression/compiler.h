// The boundary to the compiler, which lives in a library of its own (libspindrift_ax.so): it is loaded with the first
// expression, so that programs without expressions do not pay for loading LLVM at their start.
#pragma once

#include "spindrift/expression/kernel.h"

namespace spindrift {

struct CompileRequest {
    std::string text; // that check_source() has let through
    KernelTarget target;
    std::vector<KernelParameter> parameters;
};

// What is wrong with the text. If a word is unknown, the words that would have been known.
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

// Null after a fault. Does not throw.
extern "C" spindrift::CompileFunction spindrift_compile_kernel;
