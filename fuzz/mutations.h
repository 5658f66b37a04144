// Mutations of good files into bad ones: a few random changes, determined by the seed and the case.
#pragma once

#include "spindrift/base/random.h"

#include <string>
#include <vector>

namespace spindrift::fuzz {

// A random number in [0, count).
inline size_t pick(Random& random, size_t count) { return count == 0 ? 0 : random.bits() % count; }

// Numbers that programs often mishandle: limits of types, sizes near that of the file, values that are not finite.
uint64_t odd_integer(Random& random, size_t file_size);
float odd_float(Random& random);

// Binary files: bits, bytes, numbers of 1 to 8 bytes, lengths before names, blocks moved, removed or repeated, and
// truncation.
std::string mutate_bytes(const std::string& seed, Random& random);
// Text: words swapped, repeated or replaced from a dictionary, extreme numbers, lines and brackets out of order.
std::string mutate_text(const std::string& seed, const std::vector<std::string>& words, Random& random);

} // namespace spindrift::fuzz
