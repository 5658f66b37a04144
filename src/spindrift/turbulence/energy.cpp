#include "spindrift/turbulence/energy.h"

#include "spindrift/base/scratch.h"
#include "spindrift/turbulence/sampler.h"

namespace spindrift {

namespace {

// A tile with a margin that contains most backtraced points.
class TileWithMargin {
  public:
    void gather(const MacField& velocity, const Field<float>& energy, const Field<float>& open, int tile)
    {
        const Topology& topology = energy.topology();
        velocity_.gather(velocity, tile, Margin::nearest);
        Block<float, kMargin>&sum = carried_.u[0], &weight = carried_.u[1];
        sum.gather(energy, tile), weight.gather(open, tile); // missing tiles have weight 0
        for (size_t i = 0; i < std::size(sum.data); ++i) sum.data[i] *= weight.data[i];
        for (size_t n = 0; n < exists_.size(); ++n) exists_[n] = topology.neighbours(tile)[n] != topology.tile_count();
    }
    // Energy advected to a row of cells over `cells` = dt / voxel; false if a backtrace leaves the margin.
    bool trace_back(int x, int y, float cells, float start, Row& energy) const
    {
        const Row3 here = {splat(static_cast<float>(x) + 0.5f), splat(static_cast<float>(y) + 0.5f),
                           Row{0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f}};
        const Row3 middle = here + (-0.5f * cells) * velocity_.sample(here);
        if (!within(middle)) return false;
        const Row3 from = here + -cells * velocity_.sample(middle);
        if (!within(from)) return false;
        const auto place = place_among_centres(from);
        const Row sum = Carried::Corners(carried_, 0, place).value(place);
        const Row weight = Carried::Corners(carried_, 1, place).value(place);
        const RowMask tx = floor_int(from.x) >> 3, ty = floor_int(from.y) >> 3, tz = floor_int(from.z) >> 3;
        for (int k = 0; k < kTileSize; ++k) {
            const bool exists = exists_[neighbour_slot(tx[k], ty[k], tz[k])];
            energy[k] = exists && weight[k] > 1e-6f ? sum[k] / weight[k] : start;
        }
        return true;
    }

  private:
    static constexpr int kMargin = 4;
    using Carried = MacBlock<kMargin>;

    static bool within(const Row3& p)
    {
        constexpr float low = 1 - kMargin, high = kTileSize + kMargin - 1.001f;
        const Row3 in = clamp(p, low, high);
        const RowMask same = (in.x == p.x) & (in.y == p.y) & (in.z == p.z);
        bool all = true;
        for (int k = 0; k < kTileSize; ++k) all &= same[k] != 0;
        return all;
    }
    static Carried::Place place_among_centres(const Row3& p)
    {
        const Row x = p.x - 0.5f, y = p.y - 0.5f, z = p.z - 0.5f;
        const RowMask i = floor_int(x), j = floor_int(y), k = floor_int(z);
        constexpr int size = Block<float, kMargin>::kSize;
        return {((i + kMargin) * size + (j + kMargin)) * size + (k + kMargin), x - to_float(i), y - to_float(j),
                z - to_float(k)};
    }

    MacBlock<kMargin> velocity_;
    Carried carried_; // energy times weight, and weight
    std::array<bool, 27> exists_;
};

} // namespace

// Cells of tiles that remain keep their energy.
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
    advect(flow, dt); // with the previous step's open cells as source
    find_open(flow);  // update to the current ones
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

// Semi-Lagrangian, second-order Runge-Kutta. Fluid from outside the tiles has the start energy.
void TurbulentEnergy::advect(const Flow& flow, float dt)
{
    const float cells = dt / flow.voxel;
    next_.reset_uninitialized(*topology_, start_);
    for_each_tile(*topology_, [&](int tile) {
        auto& near = thread_scratch<TileWithMargin>();
        near.gather(flow.velocity, energy_, open_, tile);
        Sampler far(*topology_);
        float* out = next_.tile(tile);
        for_each_row([&](int x, int y, int o) {
            Row energy;
            if (near.trace_back(x, y, cells, start_, energy)) {
                store_row(out + o, energy);
                return;
            }
            for (int z = 0; z < kTileSize; ++z) {
                const Vec3f here = (topology_->first_cell(tile) + Vec3i(x, y, z)).cast<float>().array() + 0.5f;
                const Vec3f start = far.velocity(flow.velocity, here);
                const Vec3f from = here - cells * far.velocity(flow.velocity, here - 0.5f * cells * start, start);
                const bool exists = far.cell_at(from).tile != topology_->tile_count();
                out[o + z] = exists ? far.value(energy_, open_, from, start_) : start_;
            }
        });
    });
    std::swap(energy_, next_);
}

// (3.11) The coefficient follows the energy blurred over an eddy. Two steps of constant diffusion approximate the
// Gaussian, and stop at walls as required.
void TurbulentEnergy::diffuse(float voxel, float eddy_size, float dt)
{
    constexpr float kDeviation = 0.5f; // of the Gaussian, in eddy sizes: it covers about one eddy
    constexpr int kSplits = 2;
    const float spread = kDeviation * eddy_size / voxel;
    next_.copy_from(energy_);
    for (int s = 0; s < kSplits; ++s) diffusion_.step(next_, open_, 0.5f * spread * spread / kSplits);
    for_each_tile(*topology_, [&](int tile) {
        float* blurred = next_.tile(tile);
        const float* open = open_.tile(tile);
        for_each_row([&](int, int, int o) {
            store_row(blurred + o, eddy_size * load_row(open + o) * sqrt_row(load_row(blurred + o)));
        });
    });
    diffusion_.step(energy_, next_, dt / (voxel * voxel));
}

// (3.6) Norm of the symmetric velocity gradient, by differences across each cell.
void TurbulentEnergy::find_strain(const Flow& flow)
{
    constexpr float kMaxStrain = 1e12f;
    for_each_tile(*topology_, [&](int tile) {
        auto& block = thread_scratch<MacBlock<1>>();
        block.gather(flow.velocity, tile, Margin::nearest);
        float* strain = strain_.tile(tile);
        for_each_row([&](int x, int y, int o) {
            const auto row = [&](int a, const Vec3i& step) {
                return load_row_unaligned(&block.u[a].at(x + step.x(), y + step.y(), step.z()));
            };
            const auto slope = [&](int a, int along) { // derivative of component a, times the voxel
                const Vec3i up = Vec3i::Unit(a), side = Vec3i::Unit(along);
                if (a == along) return row(a, up) - row(a, Vec3i::Zero());
                return 0.25f * (row(a, side) + row(a, side + up) - row(a, -side) - row(a, up - side));
            };
            Row sum = splat(0);
            for (int a = 0; a < 3; ++a) {
                const Row stretch = slope(a, a), shear = 0.5f * (slope(a, (a + 1) % 3) + slope((a + 1) % 3, a));
                sum += stretch * stretch + 2 * shear * shear;
            }
            store_row(strain + o, min(sqrt_row(sum) / flow.voxel, splat(kMaxStrain)));
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
