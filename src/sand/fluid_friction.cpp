#include "sand/fluid_friction.h"

namespace spindrift {

namespace {

// Of what would stop the sliding of a cell on its own. More than this, and neighbours would be stopped twice.
constexpr float kLargestShare = 0.3f;
// How often stress is found from what is left of sliding: (2.5) is about a cell alone, and a slope slides as a whole.
// With one, a pile of 38 degrees' friction came to rest at 10 degrees, with three at 33.
constexpr int kSweeps = 3;
// Of the pressure that takes back what rigid cells did to the divergence.
constexpr double kTolerance = 0.01;

constexpr int kShear[3][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}}; // where component (a, b) is among the six

Row row_at(const Block<float, 1>& block, int x, int y, int dx, int dy, int dz)
{
    return load_row_unaligned(&block.at(x + dx, y + dy, dz));
}
Row row_at(const Block<float, 1>& block, int x, int y, const Vec3i& d)
{
    return row_at(block, x, y, d.x(), d.y(), d.z());
}

Row pressure_row(const double* s)
{
    Row r;
    for (int k = 0; k < kTileSize; ++k) r[k] = static_cast<float>(s[k]);
    return max(r, splat(0));
}

// The velocity around a tile, and where there is sand.
struct Surroundings {
    Block<float, 1> u[3], wet;

    // Component a in the middle of cells, d cells off.
    Row middle(int a, int x, int y, const Vec3i& d) const
    {
        return 0.5f * (row_at(u[a], x, y, d) + row_at(u[a], x, y, d + Vec3i::Unit(a)));
    }
    // Its change over a cell along another axis. Beyond the sand it goes on as it is: nothing pulls there, and friction
    // at solids is their own.
    Row change(int a, int b, int x, int y) const
    {
        const Vec3i none = Vec3i::Zero(), step = Vec3i::Unit(b);
        const Row here = middle(a, x, y, none);
        return 0.5f * (row_at(wet, x, y, step) * (middle(a, x, y, step) - here) +
                       row_at(wet, x, y, -step) * (here - middle(a, x, y, -step)));
    }
};

} // namespace

int FluidFriction::apply(const PressedFlow& flow)
{
    find_wet_cells(flow);
    for (int i = 0; i < kSweeps; ++i) find_stress(flow), slide(flow);
    clusters_.find(rigid_, flow);
    clusters_.make_rigid(flow);
    return flow.projection.make_divergence_free(flow.velocity, flow.known, kTolerance).iterations;
}

// Closed faces move with their solid.
void FluidFriction::find_wet_cells(const PressedFlow& flow)
{
    const Topology& topology = flow.phi.topology();
    wet_.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        const Row zero = splat(0), one = splat(1);
        const SolidTile* solid = flow.solid_cells.tile(tile);
        const MacField* moving = flow.projection.solid_velocity(tile);
        for (int o = 0; o < kTileCells; o += kTileSize) {
            Row wet = load_row(flow.phi.tile(tile) + o) < zero ? one : zero;
            if (solid) {
                wet = load_row(solid->volume + o) > zero ? wet : zero;
                for (int a = 0; a < 3; ++a) {
                    float* u = flow.velocity.u[a].tile(tile) + o;
                    const Row of_solid = moving ? load_row(moving->u[a].tile(tile) + o) : zero;
                    store_row(u, load_row(solid->open[a] + o) > zero ? load_row(u) : of_solid);
                }
            }
            store_row(wet_.tile(tile) + o, wet);
        }
    });
}

void FluidFriction::find_stress(const PressedFlow& flow)
{
    const Topology& topology = flow.phi.topology();
    for (auto& component : stress_) component.reset_uninitialized(topology, 0);
    rigid_.reset_uninitialized(topology, 0);
    const float slope = std::sqrt(3.0f) * params_.friction; // sqrt(2) sin of the angle: |stress| over pressure
    const float cohesion = params_.cohesion * flow.dt / flow.voxel;
    for_each_tile(topology, [&](int tile) {
        const Row zero = splat(0);
        if (!flow.projection.has_liquid(tile)) {
            for (auto& component : stress_) std::fill_n(component.tile(tile), kTileCells, 0.0f);
            std::fill_n(rigid_.tile(tile), kTileCells, uint8_t{0});
            return;
        }
        thread_local Surroundings kept;
        Surroundings& around = kept;
        for (int a = 0; a < 3; ++a) around.u[a].gather(flow.velocity.u[a], tile);
        around.wet.gather(wet_, tile);
        for_each_row([&](int x, int y, int o) {
            // (2.5) the strain rate over a cell: the stress that would stop it.
            Row d[6];
            for (int a = 0; a < 3; ++a)
                d[a] = row_at(around.u[a], x, y, Vec3i::Unit(a)) - row_at(around.u[a], x, y, Vec3i::Zero());
            const Row mean = (d[0] + d[1] + d[2]) * (1.0f / 3);
            for (int a = 0; a < 3; ++a) {
                d[a] -= mean;
                const int b = (a + 1) % 3;
                d[kShear[a][b]] = 0.5f * (around.change(a, b, x, y) + around.change(b, a, x, y));
            }
            const Row norm =
                sqrt_row(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 2 * (d[3] * d[3] + d[4] * d[4] + d[5] * d[5]));
            // (2.9) with the norm of the yield surface that (2.4) misses.
            const Row wet = load_row(wet_.tile(tile) + o);
            const Row bound = slope * pressure_row(flow.projection.s().tile(tile) + o) + cohesion;
            const RowMask holds = (wet > zero) & (norm < bound);
            for (int k = 0; k < kTileSize; ++k) rigid_.tile(tile)[o + k] = holds[k] != 0;
            // (2.4) against the sliding, and no more than stops it: energy falls with the sign of a viscous stress.
            const Row share = wet * min(splat(kLargestShare), bound * inverse_or_zero(norm));
            for (int i = 0; i < 6; ++i) store_row(stress_[i].tile(tile) + o, share * d[i]);
        });
    });
}

// The velocity changes by the divergence of the stress, in the form that takes from the energy what the strain rate
// above loses: what one cell gains its neighbour loses.
void FluidFriction::slide(const PressedFlow& flow)
{
    const Topology& topology = flow.phi.topology();
    for_each_tile(topology, [&](int tile) {
        struct Blocks {
            Block<float, 1> stress[6], wet;
        };
        thread_local Blocks kept;
        Blocks& around = kept;
        around.wet.gather(wet_, tile);
        if (std::none_of(std::begin(around.wet.data), std::end(around.wet.data), [](float w) { return w > 0; })) return;
        for (int i = 0; i < 6; ++i) around.stress[i].gather(stress_[i], tile);
        const Row zero = splat(0);
        for_each_row([&](int x, int y, int o) {
            // What cell c gains of component a by shear, through its sides along b.
            const auto gain = [&](int a, int b, const Vec3i& c) {
                const Block<float, 1>& s = around.stress[kShear[a][b]];
                const Vec3i step = Vec3i::Unit(b);
                const Row here = row_at(s, x, y, c);
                const Row above = row_at(around.wet, x, y, c + step) * (here + row_at(s, x, y, c + step));
                const Row below = row_at(around.wet, x, y, c - step) * (here + row_at(s, x, y, c - step));
                return 0.5f * row_at(around.wet, x, y, c) * (above - below);
            };
            for (int a = 0; a < 3; ++a) {
                const Vec3i none = Vec3i::Zero(), down = -Vec3i::Unit(a);
                const int b = (a + 1) % 3, c = (a + 2) % 3;
                const Row change = row_at(around.stress[a], x, y, none) - row_at(around.stress[a], x, y, down) +
                                   0.5f * (gain(a, b, none) + gain(a, b, down) + gain(a, c, none) + gain(a, c, down));
                const Row open = load_row(flow.solid_cells.open(tile, a) + o);
                float* u = flow.velocity.u[a].tile(tile) + o;
                store_row(u, load_row(u) + (open > zero ? change : zero));
            }
        });
    });
}

size_t FluidFriction::bytes() const
{
    size_t sum = wet_.bytes() + rigid_.bytes() + clusters_.bytes();
    for (const auto& component : stress_) sum += component.bytes();
    return sum;
}

} // namespace spindrift
