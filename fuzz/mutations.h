// From a good file to a bad one: a few random changes, the same ones for the same seed and case.
#pragma once

#include "spindrift/base/random.h"

#include <string>
#include <vector>

namespace spindrift::fuzz {

// In [0, count).
inline size_t pick(Random& random, size_t count) { return count == 0 ? 0 : random.bits() % count; }

// Numbers that programs forget about: limits of types, sizes near that of the file, not finite, ...
uint64_t odd_integer(Random& random, size_t file_size);
float odd_float(Random& random);

// Binary files: bits, bytes, numbers of 1 to 8 bytes, lengths in front of names, blocks moved, removed or repeated,
// and cuts.
std::string mutate_bytes(const std::string& seed, Random& random);
// Text: words exchanged, repeated or replaced by those of a dictionary, odd numbers, lines and brackets out of order.
std::string mutate_text(const std::string& seed, const std::vector<std::string>& words, Random& random);

} // namespace spindrift::fuzz
