// Random numbers of stock AX: the first draw of a Mersenne Twister with the given seed. Computes only the part of the
// generator's state that this draw depends on.
#pragma once

#include <cstdint>

namespace spindrift {

double rand_of_double(double seed);
double rand_of_int(int64_t seed);
double rand32_of_double(double seed);
double rand32_of_int(int32_t seed);

} // namespace spindrift
