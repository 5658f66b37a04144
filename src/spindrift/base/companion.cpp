#include "spindrift/base/companion.h"

#include "spindrift/base/error.h"

#include <dlfcn.h>
#include <filesystem>
#include <vector>

namespace spindrift {

namespace fs = std::filesystem;

std::string find_companion(const std::string& name, const std::string& need)
{
    std::error_code ignored;
    std::vector<fs::path> binaries;
    if (Dl_info info; ::dladdr(reinterpret_cast<const void*>(&find_companion), &info) != 0 && info.dli_fname)
        binaries.push_back(fs::absolute(info.dli_fname, ignored).parent_path());
    binaries.push_back(fs::read_symlink("/proc/self/exe", ignored).parent_path());
    std::vector<fs::path> folders;
    for (const fs::path& folder : binaries)
        for (const char* below : {"", "../lib/spindrift", "spindrift"}) folders.push_back(folder / below);
    folders.emplace_back(SPINDRIFT_COMPANIONS);

    std::string searched;
    for (const fs::path& folder : folders) {
        if (fs::exists(folder / name, ignored)) return folder / name;
        searched += (searched.empty() ? "" : ", ") + folder.lexically_normal().string();
    }
    fail("{} {}, which is not in any of {}; install it in one of them", need, name, searched);
}

void* load_companion_symbol(const std::string& module, const char* function, const std::string& need)
{
    const std::string path = find_companion(module, need);
    void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) fail("{} {}, which cannot be loaded: {}", need, path, ::dlerror());
    void* symbol = ::dlsym(library, function);
    if (!symbol) fail("{} is from another version of the program", path);
    return symbol;
}

} // namespace spindrift
