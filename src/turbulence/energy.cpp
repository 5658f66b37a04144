#include "turbulence/energy.h"

#include "turbulence/sampler.h"

namespace spindrift {

// Cells of tiles that were there before keep their energy.
void TurbulentEnergy::set_topology(const Topology& topology)
{
    if (topology.codes() == topology_->codes()) return;
    auto taken = std::make_unique<Topology>(topology);
    Field<float> energy(*taken, start_), open(*taken, 1, 0);
    for_each_tile(*taken, [&](int tile) {
        const int before = topology_->find(taken->tile(tile));
        if (before == topology_->tile_count()) return;
        std::copy_n(energy_.tile(before), kTileCells, energy.tile(tile));
        std::copy_n(open_.tile(before), kTileCells, open.tile(tile));
    });
    std::swap(energy_, energy), std::swap(open_, open), std::swap(topology_, taken);
    strain_.reset(*topology_, 0);
    diffusion_.set_topology(*topology_);
}

void TurbulentEnergy::step(const Flow& flow, float eddy_size, float dt)
{
    set_topology(flow.topology());
    advect(flow, dt); // from where there was fluid before...
    find_open(flow);  // ... to where there is now
    diffuse(flow.voxel, eddy_size, dt);
    find_strain(flow);
    react(eddy_size, dt);
}

void TurbulentEnergy::find_open(const Flow& flow)
{
    for_each_tile(*topology_, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c) {
            const bool is_open = flow.open(tile, c);
            open_.tile(tile)[c] = is_open ? 1 : 0;
            if (!is_open) energy_.tile(tile)[c] = start_;
        }
    });
}

// Back along the flow (second-order Runge-Kutta). What comes from beyond the tiles has the energy of the start.
void TurbulentEnergy::advect(const Flow& flow, float dt)
{
    const float cells = dt / flow.voxel;
    next_.reset_uninitialized(*topology_, start_);
    for_each_tile(*topology_, [&](int tile) {
        Sampler there(*topology_);
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f here = (topology_->first_cell(tile) + cell_in_tile(c)).cast<float>().array() + 0.5f;
            const Vec3f middle = here - 0.5f * cells * there.velocity(flow.velocity, here);
            const Vec3f from = here - cells * there.velocity(flow.velocity, middle);
            const bool inside = there.cell_at(from).tile != topology_->tile_count();
            next_.tile(tile)[c] = inside ? there.value(energy_, open_, from, start_) : start_;
        }
    });
    std::swap(energy_, next_);
}

// (3.11) The coefficient is that of the energy blurred over an eddy. Two steps of constant diffusion are the Gaussian:
// they end at walls, as it should.
void TurbulentEnergy::diffuse(float voxel, float eddy_size, float dt)
{
    constexpr float kDeviation = 0.5f; // of the Gaussian, in eddies: it reaches about one eddy far
    constexpr int kSteps = 2;
    const float spread = kDeviation * eddy_size / voxel;
    next_.copy_from(energy_);
    for (int s = 0; s < kSteps; ++s) diffusion_.step(next_, open_, 0.5f * spread * spread / kSteps);
    for_each_tile(*topology_, [&](int tile) {
        float* blurred = next_.tile(tile);
        const float* open = open_.tile(tile);
        for_each_row([&](int, int, int o) {
            store_row(blurred + o, eddy_size * load_row(open + o) * sqrt_row(load_row(blurred + o)));
        });
    });
    diffusion_.step(energy_, next_, dt / (voxel * voxel));
}

// (3.6) The norm of the symmetric part of the velocity's gradient, by differences across each cell.
void TurbulentEnergy::find_strain(const Flow& flow)
{
    constexpr float kMost = 1e12f;
    for_each_tile(*topology_, [&](int tile) {
        thread_local MacBlock<1> block;
        block.gather(flow.velocity, tile, Margin::nearest);
        float* strain = strain_.tile(tile);
        for_each_row([&](int x, int y, int o) {
            const auto row = [&](int a, const Vec3i& step) {
                return load_row_unaligned(&block.u[a].at(x + step.x(), y + step.y(), step.z()));
            };
            const auto slope = [&](int a, int along) { // of component a, times the voxel
                const Vec3i up = Vec3i::Unit(a), side = Vec3i::Unit(along);
                if (a == along) return row(a, up) - row(a, Vec3i::Zero());
                return 0.25f * (row(a, side) + row(a, side + up) - row(a, -side) - row(a, up - side));
            };
            Row sum = splat(0);
            for (int a = 0; a < 3; ++a) {
                const Row stretch = slope(a, a), shear = 0.5f * (slope(a, (a + 1) % 3) + slope((a + 1) % 3, a));
                sum += stretch * stretch + 2 * shear * shear;
            }
            store_row(strain + o, min(sqrt_row(sum) / flow.voxel, splat(kMost)));
        });
    });
}

void TurbulentEnergy::react(float eddy_size, float dt)
{
    for_each_tile(*topology_, [&](int tile) {
        float* energy = energy_.tile(tile);
        for (int c = 0; c < kTileCells; ++c) {
            if (open_.tile(tile)[c] == 0) continue;
            // With Q = l_0 S, where production and cascade balance, and T = tanh(S t / 2):
            // q(t) = (q + Q T) / (1 + q T / Q).
            const float strain = strain_.tile(tile)[c], tanh = std::tanh(0.5f * strain * dt);
            const float balance = eddy_size * strain, q = std::sqrt(energy[c]);
            const float slowed = balance > 0 && tanh > 0 ? tanh / balance : 0.5f * dt / eddy_size;
            const float next = (q + balance * tanh) / (1 + q * slowed);
            energy[c] = std::max(next * next, std::numeric_limits<float>::min());
        }
    });
}

void TurbulentEnergy::restore(const std::vector<uint64_t>& tiles, const std::vector<float>& energy,
                              const std::vector<float>& open)
{
    set_topology(Topology(tiles));
    std::copy(energy.begin(), energy.end(), energy_.values().begin());
    std::copy(open.begin(), open.end(), open_.values().begin());
}

size_t TurbulentEnergy::bytes() const
{
    return topology_->bytes() + energy_.bytes() + strain_.bytes() + open_.bytes() + next_.bytes();
}

} // namespace spindrift
