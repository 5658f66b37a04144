// Finding the files that belong to the library but are not linked into it: the expression compiler, the picture codec,
// optical flow and the program that reads foreign VDB files.
#pragma once

#include <string>

namespace spindrift {

// Path of the file of this name. Searched are the folder of the binary that contains this code (the program, or a
// library that Python or another program loaded), the folder of the program, a lib folder next to either, and the
// install location. Throws Error(failed) that begins with `need` ("expressions need") and names the folders searched.
std::string find_companion(const std::string& name, const std::string& need);

// A function of a module. The module is never unloaded: destructors at process exit may still call its code.
void* load_companion_symbol(const std::string& module, const char* function, const std::string& need);
template <class Function>
Function* load_companion(const std::string& module, const char* function, const std::string& need)
{
    return reinterpret_cast<Function*>(load_companion_symbol(module, function, need));
}

} // namespace spindrift
