// Files that appear whole or not at all: written under a temporary name in the same folder, flushed to disk, renamed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace spindrift {

// Creates missing folders, calls write(temporary_path), flushes and renames to `path`. On any failure removes the
// temporary file, leaves an existing `path` as it was and throws Error(failed) with the system's reason ("no space
// left", "read-only folder", ...). The temporary name ends in ".tmp" so that leftovers of a kill are recognised.
void write_atomically(const std::string& path, const std::function<void(const std::string& temporary)>& write);
// Removes what kills left behind in a folder: files with such a temporary name and no others.
void remove_leftovers(const std::string& folder);
void write_file(const std::string& path, std::string_view bytes);
std::string read_file(const std::string& path); // throws Error(failed) naming the file
bool file_exists(const std::string& path);

// A stable 64-bit hash of bytes, for records of what a cache was made from.
uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0);

} // namespace spindrift
