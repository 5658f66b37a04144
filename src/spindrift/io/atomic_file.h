// Atomic files: written under a temporary name in the same folder, flushed to disk, then renamed, so that a file
// appears complete or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace spindrift {

// Creates missing folders, calls write(temporary_path), flushes and renames to `path`. On failure removes the temporary
// file, leaves an existing `path` untouched and throws Error(failed) with the system's reason ("no space left on the
// disk", "the folder is read-only", ...). Temporary names end in ".tmp", so that files left by a kill can be
// recognised.
void write_atomically(const std::string& path, const std::function<void(const std::string& temporary)>& write);
// Removes temporary files that killed processes left in a folder, and nothing else; only those of files whose names
// begin with `prefix` where other processes may be writing too.
void remove_leftovers(const std::string& folder, const std::string& prefix = {});
void write_file(const std::string& path, std::string_view bytes);
std::string read_file(const std::string& path); // throws Error(failed) naming the file
bool file_exists(const std::string& path);

// Stable 64-bit hash of bytes, for the records of what a cache was made from.
uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0);

} // namespace spindrift
