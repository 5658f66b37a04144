// The half of the compiler that knows LLVM and nothing of AX: from the code for one element to a loop in machine code.
#pragma once

#include "spindrift/expression/kernel.h"

#include <llvm/ExecutionEngine/ExecutionEngine.h>
#include <llvm/IR/Module.h>

namespace spindrift {

// The arguments of the function for one element, after one pointer for each attribute.
namespace element_argument {
inline constexpr const char* index = "index";
inline constexpr const char* parameters = "parameters";
inline constexpr const char* world = "world";
inline constexpr const char* keep = "keep";
inline constexpr const char* loop_limit = "loop_limit";
inline constexpr const char* overrun = "overrun";
} // namespace element_argument

// Declares that function; `values` are the types of the attributes in the language.
llvm::Function* declare_element(llvm::Module& module, const std::vector<llvm::Type*>& values);

// Gives every operation a result: see kernel.h.
void define_undefined(llvm::Module& module);

// Makes every loop of the function count, and give up at the limit. Returns whether there are any.
bool limit_loops(llvm::Function& element);

// Adds the function `kernel_name` that calls `element` for a range and converts between the arrays' types and the
// language's.
inline constexpr const char* kernel_name = "spindrift.kernel";
void add_loop(llvm::Function& element, const std::vector<KernelName>& attributes,
              const std::vector<llvm::Type*>& values, bool can_overrun);

// Optimises the module for this processor and makes machine code of it. `symbols` are the functions of ours that it
// calls.
using Symbols = std::vector<std::pair<std::string, uint64_t>>;
std::unique_ptr<llvm::ExecutionEngine> make_engine(std::unique_ptr<llvm::Module> module, const Symbols& symbols);

} // namespace spindrift
