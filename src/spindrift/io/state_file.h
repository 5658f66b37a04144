// Exact state of a time stage between two frames, in a binary format of our own: named numbers, a particle set and
// fields, bit for bit, with a checksum. Read only by this program, and only to resume; data for other programs is VDB.
//
//     write_state("run.state", fingerprint, {{{"frame", 12}}, particles});
//     StateFile state;
//     if (read_state("run.state", fingerprint, state)) resume_at(state.numbers["frame"], state.particles);
#pragma once

#include "spindrift/points/particles.h"

#include <map>
#include <string>

namespace spindrift {

struct StateFile {
    std::map<std::string, int64_t> numbers;
    Particles particles;
    std::map<std::string, std::vector<uint64_t>> tiles = {}; // Morton codes of topologies
    std::map<std::string, std::vector<float>> fields = {};   // values of all cells, tile by tile
};

// Atomic. Throws NotFinite (io/finite.h) and writes nothing if a value is not finite. `fingerprint` identifies the
// inputs that the state was computed from.
void write_state(const std::string& path, const std::string& fingerprint, const StateFile& state);
// The bytes of such a file, without checking values.
std::string state_bytes(const std::string& fingerprint, const StateFile& state);
// False if the file is missing or has another fingerprint. Throws StateError if it is damaged.
bool read_state(const std::string& path, const std::string& fingerprint, StateFile& state);

} // namespace spindrift
