// What is fuzzed: formats that Spindrift reads, each with good files to start from and what is done with a bad one.
#pragma once

#include "fuzz/mutations.h"

#include <functional>
#include <string>
#include <vector>

namespace spindrift::fuzz {

struct Target {
    std::string name;
    std::string ending; // of files that hold a case
    // Good files. Made by code, always the same.
    std::function<std::vector<std::string>()> seeds;
    // A bad file from a good one.
    std::function<std::string(const std::string& seed, Random& random)> mutate;
    // Reads the bytes as the program would. Throws Error for what it refuses; any other end is a finding. `folder` is
    // for files.
    std::function<void(const std::string& bytes, const std::string& folder)> run;
};

std::vector<Target> text_targets();
std::vector<Target> mesh_targets();
std::vector<Target> vdb_targets();
std::vector<Target> cache_targets();
std::vector<Target> state_targets();

// What should not be, as an exception that is no Error.
[[noreturn]] void found(const std::string& what);
// Where files of cases go: to memory, if the system has a folder for that.
std::string scratch_folder();
// Without flushing to disk, which io/atomic_file.h would do.
void put_file(const std::string& path, const std::string& bytes);

} // namespace spindrift::fuzz
