// The function registry: usable AX functions and those of Spindrift. Internal to this folder, because it includes AX.
#pragma once

#include "spindrift/expression/kernel.h"

#include <openvdb_ax/codegen/FunctionRegistry.h>

namespace spindrift {

// Excludes group functions and quoted names, which the generator handles.
openvdb::ax::codegen::FunctionRegistry::UniquePtr make_function_registry(KernelTarget target,
                                                                         const openvdb::ax::FunctionOptions& options);

} // namespace spindrift
