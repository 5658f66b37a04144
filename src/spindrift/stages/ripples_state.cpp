#include "spindrift/stages/ripples_state.h"

#include "spindrift/base/error.h"
#include "spindrift/base/state_error.h"

#include <bit>

namespace spindrift {

namespace {

constexpr const char* kEddies = "ripples.eddies.";

int64_t bits(float x) { return std::bit_cast<int32_t>(x); }
float real(int64_t x) { return std::bit_cast<float>(static_cast<int32_t>(x)); }

// Stores the eddies' particles as fields: a state file has only one particle set, which is the stage's own.
void save_eddies(const Particles& particles, StateFile& file)
{
    particles.for_each_array([&](const std::string& name, const auto& array) {
        std::vector<float>& out = file.fields[kEddies + name];
        out.resize(array.size() * sizeof array[0] / sizeof(float));
        if (!out.empty()) std::memcpy(out.data(), array.data(), out.size() * sizeof(float));
    });
}

Particles load_eddies(StateFile& file)
{
    const std::string prefix = kEddies;
    Particles particles;
    particles.resize(file.fields[prefix + "id"].size());
    for (const auto& [name, values] : file.fields)
        if (name.starts_with(prefix)) {
            const std::string own = name.substr(prefix.size());
            if (own != "P" && own != "v" && own != "id") particles.attribute<float>(own);
        }
    particles.for_each_array([&](const std::string& name, auto& array) {
        const std::vector<float>& in = file.fields[prefix + name];
        if (in.size() * sizeof(float) != array.size() * sizeof array[0])
            bad_state("{} numbers for {} of the eddies of ripples", in.size(), name);
        if (!in.empty()) std::memcpy(static_cast<void*>(array.data()), in.data(), in.size() * sizeof(float));
    });
    return particles;
}

} // namespace

void save_ripples(Ripples::State state, StateFile& file)
{
    Turbulence::State& turbulence = state.turbulence;
    file.numbers["ripples.voxel_bits"] = bits(state.voxel);
    file.numbers["ripples.turbulence.voxel_bits"] = bits(turbulence.voxel);
    file.numbers["ripples.next_eddy"] = turbulence.particles.next_id;
    file.numbers["ripples.eddy_steps"] = turbulence.particles.steps;
    file.tiles["ripples"] = std::move(state.tiles), file.tiles["ripples.band"] = std::move(state.band);
    file.tiles["ripples.flow"] = std::move(state.flow_tiles);
    file.tiles["ripples.turbulence"] = std::move(turbulence.tiles);
    file.fields["ripples.difference"] = std::move(state.difference);
    file.fields["ripples.distance"] = std::move(state.distance);
    file.tiles["ripples.before"] = std::move(state.tiles_before);
    file.fields["ripples.difference_before"] = std::move(state.difference_before);
    file.fields["ripples.solid_distance"] = std::move(state.solid_distance);
    file.fields["ripples.turbulence.energy"] = std::move(turbulence.energy);
    file.fields["ripples.turbulence.open"] = std::move(turbulence.open);
    file.fields["ripples.turbulence.solid_distance"] = std::move(turbulence.solid_distance);
    save_eddies(turbulence.particles.particles, file);
}

Ripples::State load_ripples(StateFile& file)
{
    Ripples::State state;
    state.voxel = real(file.numbers["ripples.voxel_bits"]);
    state.tiles = std::move(file.tiles["ripples"]), state.band = std::move(file.tiles["ripples.band"]);
    state.flow_tiles = std::move(file.tiles["ripples.flow"]);
    state.difference = std::move(file.fields["ripples.difference"]);
    state.distance = std::move(file.fields["ripples.distance"]);
    state.tiles_before = std::move(file.tiles["ripples.before"]);
    state.difference_before = std::move(file.fields["ripples.difference_before"]);
    state.solid_distance = std::move(file.fields["ripples.solid_distance"]);
    Turbulence::State& turbulence = state.turbulence;
    turbulence.tiles = std::move(file.tiles["ripples.turbulence"]);
    turbulence.voxel = real(file.numbers["ripples.turbulence.voxel_bits"]);
    turbulence.energy = std::move(file.fields["ripples.turbulence.energy"]);
    turbulence.open = std::move(file.fields["ripples.turbulence.open"]);
    turbulence.solid_distance = std::move(file.fields["ripples.turbulence.solid_distance"]);
    turbulence.particles = {load_eddies(file), static_cast<int>(file.numbers["ripples.next_eddy"]),
                            file.numbers["ripples.eddy_steps"]};
    return state;
}

} // namespace spindrift
