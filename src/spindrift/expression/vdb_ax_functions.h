// The functions of the language: those of AX that fit, and ours. Internal to this folder, because it includes AX.
#pragma once

#include "spindrift/expression/kernel.h"

#include <openvdb_ax/codegen/FunctionRegistry.h>

namespace spindrift {

// Group functions and names in quotes are not in it: the generator treats them by itself.
openvdb::ax::codegen::FunctionRegistry::UniquePtr make_function_registry(KernelTarget target,
                                                                         const openvdb::ax::FunctionOptions& options);

} // namespace spindrift
