// `spindrift ax`: an expression applied to any cache, frame by frame, each frame by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spindrift {

struct AxOptions {
    std::string expression;              // its text, or the path of a file that ends in .ax
    std::string in, out;                 // files, or patterns such as splash.####.vdb
    std::string volumes;                 // a file or pattern whose volumes can be sampled
    std::string frames;                  // "10-40"; empty: all there are
    std::string target;                  // points, volumes; empty: points if the first file has any
    std::vector<std::string> parameters; // name=1.5, name=1,0,0
    int64_t loop_limit;
    double fps = 24;
    bool force = false; // write over files that exist

    AxOptions();
};

// Throws Error(bad_input) for whatever is wrong with the expression, the parameters or the first frame before anything
// is written.
void run_ax_command(const AxOptions& options);

} // namespace spindrift
