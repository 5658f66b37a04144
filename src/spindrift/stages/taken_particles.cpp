#include "spindrift/stages/taken_particles.h"

#include "spindrift/base/parallel.h"
#include "spindrift/io/vdb.h"
#include "spindrift/stages/liquid_setup.h"

#include <algorithm>
#include <filesystem>

namespace spindrift {

void leave_out_taken(const std::string& spray_frame, Particles& particles)
{
    const std::string path = std::filesystem::path(spray_frame).replace_extension(kTakenEnding).string();
    std::vector<int32_t> taken = read_particles(path).particles.id;
    if (taken.empty()) return;
    std::ranges::sort(taken);
    std::vector<uint8_t> keep(particles.size());
    parallel_for(
        keep.size(), [&](size_t i) { keep[i] = !std::ranges::binary_search(taken, particles.id[i]); }, 4096);
    remove_particles(particles, keep);
}

} // namespace spindrift
