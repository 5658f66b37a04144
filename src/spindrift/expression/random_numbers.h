// The random numbers of stock AX for a seed: the first of a Mersenne Twister that was seeded with it. Only the part of
// the generator's state that this number depends on is computed.
#pragma once

#include <cstdint>

namespace spindrift {

double rand_of_double(double seed);
double rand_of_int(int64_t seed);
double rand32_of_double(double seed);
double rand32_of_int(int32_t seed);

} // namespace spindrift
