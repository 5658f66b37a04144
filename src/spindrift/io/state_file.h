// The exact state of a time stage between two frames, in our own binary format: named numbers, a particle set and
// fields, bit for bit, with a check sum. Only this program reads it, and only to resume; everything for other programs
// is VDB.
#pragma once

#include "spindrift/points/particles.h"

#include <map>
#include <string>

namespace spindrift {

struct StateFile {
    std::map<std::string, int64_t> numbers;
    Particles particles;
    std::map<std::string, std::vector<uint64_t>> tiles = {}; // of topologies
    std::map<std::string, std::vector<float>> fields = {};   // cell by cell of their tiles
};

// Atomic. Throws NotFinite (io/finite.h) and writes nothing if a value is not finite. `fingerprint` says what the state
// was computed from.
void write_state(const std::string& path, const std::string& fingerprint, const StateFile& state);
// The bytes of such a file, whatever the values are.
std::string state_bytes(const std::string& fingerprint, const StateFile& state);
// False if it is missing or was computed from something else. Throws StateError if it is damaged.
bool read_state(const std::string& path, const std::string& fingerprint, StateFile& state);

} // namespace spindrift
