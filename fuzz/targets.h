// The formats that are fuzzed, each with good files to start from and a function that reads a bad one.
#pragma once

#include "fuzz/mutations.h"

#include <functional>
#include <string>
#include <vector>

namespace spindrift::fuzz {

struct Target {
    std::string name;
    std::string ending; // of case files
    // Good files, made by code and always the same.
    std::function<std::vector<std::string>()> seeds;
    // Makes a bad file from a good one.
    std::function<std::string(const std::string& seed, Random& random)> mutate;
    // Reads the bytes as the program would. Throws Error if it refuses them; any other failure is a finding. `folder`
    // is for files.
    std::function<void(const std::string& bytes, const std::string& folder)> run;
};

std::vector<Target> text_targets();
std::vector<Target> mesh_targets();
std::vector<Target> vdb_targets();
std::vector<Target> cache_targets();
std::vector<Target> state_targets();

// Throws an exception other than Error to report a finding.
[[noreturn]] void found(const std::string& what);
// Folder for files of cases: in memory, if the system has such a folder.
std::string scratch_folder();
// Writes without flushing to disk, unlike io/atomic_file.h.
void put_file(const std::string& path, const std::string& bytes);

} // namespace spindrift::fuzz
