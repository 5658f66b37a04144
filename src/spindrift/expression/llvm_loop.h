// The LLVM half of the compiler, independent of AX: turns the code for one element into a loop in machine code.
#pragma once

#include "spindrift/expression/kernel.h"

#include <llvm/ExecutionEngine/ExecutionEngine.h>
#include <llvm/IR/Module.h>

namespace spindrift {

// Arguments of the element function, after one pointer per attribute.
namespace element_argument {
inline constexpr const char* index = "index";
inline constexpr const char* parameters = "parameters";
inline constexpr const char* callbacks = "callbacks";
inline constexpr const char* keep = "keep";
inline constexpr const char* loop_limit = "loop_limit";
inline constexpr const char* overrun = "overrun";
} // namespace element_argument

// Declares the element function; `values` are the attributes' types in AX.
llvm::Function* declare_element(llvm::Module& module, const std::vector<llvm::Type*>& values);

// Gives undefined operations a defined result; see kernel.h.
void define_undefined(llvm::Module& module);

// Counts loop iterations in the function and returns at the limit. Returns whether the function has loops.
bool limit_loops(llvm::Function& element);

// Adds the function `kernel_name`, which calls `element` for each index of a range and converts between storage types
// and AX types.
inline constexpr const char* kernel_name = "spindrift.kernel";
void add_loop(llvm::Function& element, const std::vector<KernelName>& attributes,
              const std::vector<llvm::Type*>& values, bool can_overrun);

// Optimises the module for this processor and compiles it. `symbols` are the C++ functions that it calls.
using Symbols = std::vector<std::pair<std::string, uint64_t>>;
std::unique_ptr<llvm::ExecutionEngine> make_engine(std::unique_ptr<llvm::Module> module, const Symbols& symbols);

} // namespace spindrift
