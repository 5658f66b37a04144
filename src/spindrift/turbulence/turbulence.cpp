#include "spindrift/turbulence/turbulence.h"

#include "spindrift/base/error.h"
#include "spindrift/points/state_checks.h"

namespace spindrift {

Turbulence::Turbulence(const TurbulenceParams& params)
    : params_(params), energy_(params.start_energy), particles_(params)
{
}

void Turbulence::step(const Flow& flow, float dt)
{
    voxel_ = flow.voxel;
    energy_.step(flow, cascade().eddy_size, dt);
    particles_.step(flow, energy_, cascade(), dt);
    velocity_.set(particles_.particles(), cascade(), params_);
    velocity_.set_solids(flow.solid_distance, energy_.topology(), voxel_);
}

Turbulence::State Turbulence::state() const
{
    const auto values = [](const Field<float>& field) {
        return std::vector<float>(field.values().begin(), field.values().end());
    };
    State state;
    state.tiles = energy_.topology().codes(), state.voxel = voxel_;
    state.energy = values(energy_.energy()), state.open = values(energy_.open());
    if (velocity_.solids().any()) state.solid_distance = values(velocity_.solids().field());
    state.particles = particles_.state();
    return state;
}

void Turbulence::restore(State state)
{
    const size_t cells = state.tiles.size() * kTileCells;
    if (state.energy.size() != cells || state.open.size() != cells ||
        (!state.solid_distance.empty() && state.solid_distance.size() != cells))
        bad_state("turbulence has {} tiles, but {} energies", state.tiles.size(), state.energy.size());
    check_state_tiles(state.tiles, "turbulence");
    for (const auto* values : {&state.energy, &state.open}) check_state_values(*values, cells, "turbulence");
    // The voxel size is zero before the first tiles exist.
    check_state_number(state.voxel, state.tiles.empty() ? 0.0f : 1e-8f, 1e5f, "voxel of turbulence");
    check_state_values(state.solid_distance, state.solid_distance.empty() ? 0 : cells, "distance to solids");
    check_state(state.particles.particles, state.voxel);
    voxel_ = state.voxel;
    energy_.restore(state.tiles, state.energy, state.open);
    particles_.restore(std::move(state.particles), state.tiles);
    velocity_.set(particles_.particles(), cascade(), params_);
    Field<float> distance(energy_.topology(), 0);
    std::copy(state.solid_distance.begin(), state.solid_distance.end(), distance.values().begin());
    velocity_.set_solids(state.solid_distance.empty() ? nullptr : &distance, energy_.topology(), voxel_);
}

} // namespace spindrift
