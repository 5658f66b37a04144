// `spindrift ax`: applies an expression to any cache, one frame at a time; frames do not see each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spindrift {

struct AxOptions {
    std::string expression;              // its text, or the path of a file that ends in .ax
    std::string in, out;                 // files, or patterns such as splash.####.vdb
    std::string volumes;                 // a file or pattern whose volumes can be sampled
    std::string frames;                  // "10-40"; empty: all that exist
    std::string target;                  // points, volumes; empty: points if the first file has any
    std::vector<std::string> parameters; // name=1.5, name=1,0,0
    int64_t loop_limit;
    double fps = 24;
    bool force = false; // overwrite existing files

    AxOptions();
};

// Throws Error(bad_input) before anything is written if the expression, the parameters or the first frame are invalid.
void run_ax_command(const AxOptions& options);

} // namespace spindrift
